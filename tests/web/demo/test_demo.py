"""The demonstration: two studies, found again at the second start; and the visitor who tries all pages."""

import json
import sqlite3
import sys
from collections import Counter

import numpy as np
import pytest
from visits import demonstration, visit_demonstration

from judgemap.cli.serving import describe
from judgemap.errors import StudyError
from judgemap.study.data.example import PER_JUDGE, chicago, simulate_study
from judgemap.web.accounts.models import Researcher
from judgemap.web.demo.study import HASTY, prepare_demo, with_ties
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.judge.models import Pair
from judgemap.web.results.models import FitRun
from judgemap.web.studies.models import Study

pytestmark = pytest.mark.django_db


def test_two_studies_and_two_fits_are_made_once(tmp_path):
    lines = []
    first = prepare_demo(tmp_path, 1, lines.append)
    again = prepare_demo(tmp_path, 1, lines.append)
    assert (again.finished, again.open, again.password) == (first.finished, first.open, first.password)
    assert len(lines) == 1
    assert Study.objects.count() == 2
    assert [first.finished.status, first.open.status] == ["closed", "open"]
    assert list(first.open.version.offered) == ["en", "fr", "es", "ar"], (
        "every language of the demonstration is translated"
    )
    assert list(FitRun.objects.order_by("number").values_list("settings__model", flat=True)) == ["spatial", "clusters"]
    assert (tmp_path / "demo-password").stat().st_mode & 0o777 == 0o600
    said = describe(first, "http://here", tmp_path)
    assert "http://here/studies/try-judging/map" in said
    assert f"judgemap study basemap try-judging Chicago.osm.pbf --data {tmp_path}" in said


def test_no_demonstration_among_the_studies_of_others(tmp_path, people):
    with pytest.raises(StudyError, match="is not a demonstration; name another folder with --data"):
        prepare_demo(tmp_path, 1, lambda _: None)
    assert list(tmp_path.iterdir()) == []


def test_a_lost_password_is_made_anew(tmp_path):
    first = prepare_demo(tmp_path, 1, lambda _: None)
    (tmp_path / "demo-password").unlink()
    again = prepare_demo(tmp_path, 1, lambda _: None)
    assert again.password != first.password
    assert Researcher.objects.get().check_password(again.password)


def test_what_is_stored_is_what_was_simulated(tmp_path):
    made = prepare_demo(tmp_path, 1, lambda _: None)
    rng = np.random.default_rng(1)
    simulated = with_ties(rng, simulate_study(rng, chicago()))
    stored = load_comparisons(made.finished)
    assert Counter(stored.per_judge().values()) == Counter(PER_JUDGE)

    def rows(data):
        return Counter(
            zip(data.left.tolist(), data.right.tolist(), data.outcome.tolist(), data.seconds.tolist(), strict=True)
        )

    assert rows(stored) == rows(simulated)
    for pair in Pair.objects.order_by("?")[:50]:
        assert pair.issued_at < pair.answers.get().answered_at


def test_ties_where_areas_are_alike_and_one_judge_who_guesses():
    rng = np.random.default_rng(2)
    study = simulate_study(rng, chicago())
    data = with_ties(rng, study)
    apart = np.abs(study.true_risk[data.left] - study.true_risk[data.right])
    assert apart[data.tied].max() < 0.1 <= apart[~data.tied].min()
    assert data.seconds[data.judge_names == str(HASTY + 1)].max() <= 1.0


@pytest.mark.slow
def test_every_page_of_the_demonstration_answers(tmp_path):
    with demonstration([sys.executable, "-m", "judgemap"], tmp_path / "demo") as server:
        assert visit_demonstration(server) == []
    with sqlite3.connect(next((tmp_path / "demo").glob("*.sqlite3"))) as database:
        rows = json.loads(database.execute("select rows from results_fitrun where number = 1").fetchone()[0])
    truth = np.loadtxt(tmp_path / "demo" / "true-risk.txt")
    assert np.corrcoef([row["risk_median"] for row in rows], truth)[0, 1] > 0.9, "the truth is found again"
