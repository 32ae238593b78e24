"""What is written for speedyBBT says the same as the fit's data."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import judgemap as jm
from judgemap.errors import StudyError
from judgemap.study.data.comparisons import Outcome
from judgemap.study.export import export_speedybbt, wide_draws


@pytest.fixture(scope="module")
def study():
    areas, data = jm.example_study(seed=1)
    return areas, data, jm.fit_spatial(data, areas, seed=1, chains=2, draws=60, as_in_paper=True)


def test_winners_losers_and_the_prior(study, tmp_path):
    areas, data, fit = study
    assert export_speedybbt(fit, data, tmp_path / "r") == len(data)
    with (tmp_path / "r" / "comparisons.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["outcome"] for row in rows} == {"1"}
    wins = np.zeros((len(areas), len(areas)), dtype=int)
    for row in rows:
        wins[int(row["item1"]) - 1, int(row["item2"]) - 1] += 1
    counts = data.counts()
    assert (wins[counts.first, counts.second] == counts.wins).all()
    assert (wins[counts.second, counts.first] == counts.n - counts.wins).all()
    covariance = np.loadtxt(tmp_path / "r" / "covariance.csv", delimiter=",")
    assert np.array_equal(covariance, fit.covariance.matrix)
    script = (tmp_path / "r" / "speedybbt.R").read_text(encoding="utf-8")
    assert "risk <- -1 * (lambda" in script, "the winner has the lower rate"
    assert "item.prior.var" not in script, "its name differs between versions"
    assert "names(formals(fit))" in script


def test_what_speedybbt_cannot_fit_is_refused(study, tmp_path):
    areas, data, _ = study
    fixed = jm.fit_spatial(data, areas, seed=1, chains=2, draws=60, alpha=3.0, as_in_paper=True)
    with pytest.raises(StudyError, match="α² inferred"):
        export_speedybbt(fixed, data, tmp_path / "r")
    tied = replace(
        data, outcome=np.where(np.arange(len(data)) < 40, Outcome.TIE, data.outcome).astype(data.outcome.dtype)
    )
    with_ties = jm.fit_spatial(tied, areas, seed=1, chains=2, draws=60, as_in_paper=True)
    with pytest.raises(StudyError, match="fit with --ties leave-out, and export"):
        export_speedybbt(with_ties, tied, tmp_path / "r")


def test_the_wide_table_holds_every_draw(study):
    _, _, fit = study
    table = wide_draws(fit)
    assert table.shape == (120, 3 + 77 + 2)
    assert table[".chain"].tolist() == [1] * 60 + [2] * 60
    chain_2 = fit.posterior["risk"][1]
    first = fit.map.ids[0]
    assert np.array_equal(table.loc[table[".chain"] == 2, f"risk[{first}]"].to_numpy(), chain_2[:, 0])
    assert np.array_equal(table["alpha2"].to_numpy(), fit.posterior["alpha2"].ravel())


def test_the_command_says_what_to_type():
    from judgemap.cli.main import app

    done = CliRunner().invoke(app, ["export", "speedybbt", "-o", "r"])
    assert "judgemap export results --as speedybbt" in str(done.exception)
