"""The options of a fit as one value."""

import json
import shlex
from dataclasses import fields
from inspect import signature

import numpy as np
import pytest
from typer.testing import CliRunner

import judgemap as jm
from judgemap.cli.fit import fit as fit_command
from judgemap.cli.inputs import AREA_OPTIONS
from judgemap.cli.main import app
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import HalfNormal
from judgemap.errors import StudyError
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.settings import DEFAULTS, SETTINGS, FitSettings

QUICK = {"chains": 2, "warmup": 20, "draws": 40, "thin": 1, "seed": 3}


@pytest.fixture(scope="module")
def ring():
    """Eight areas in a ring, and three judges of 20 answers."""
    areas = jm.Areas(tuple("abcdefgh"), tuple("ABCDEFGH"), AreaGraph(8, [[i, (i + 1) % 8] for i in range(8)]))
    rng = np.random.default_rng(1)
    left, judges = rng.integers(8, size=60), np.repeat(["x", "y", "z"], 20).tolist()
    right = (left + rng.integers(1, 8, size=60)) % 8
    return areas, Comparisons.from_words(areas.ids, judges, left, right, rng.choice(["left", "right"], 60).tolist())


def test_it_has_every_option_of_the_command():
    options = signature(fit_command).parameters
    about_files = {*AREA_OPTIONS, "comparisons", "output", "figures", "winner_is", "as_json", "cores", "vary", "memory"}
    about_files |= {"force"}
    assert {each.name for each in fields(FitSettings)} == set(options) - about_files
    for each in fields(FitSettings):
        if each.name != "seed":
            assert options[each.name].default == each.default, each.name


@pytest.mark.parametrize("fit", [jm.fit_spatial, jm.fit_standard, jm.fit_clusters])
def test_python_has_the_same_options_with_the_same_defaults(fit):
    options = signature(fit).parameters
    model = fit.__name__.removeprefix("fit_")
    assert set(options) - {"data", "areas", "covariance", "cores", "memory", "watch"} == {
        name for name, each in SETTINGS.items() if model in each.models and name != "model"
    }
    assert all(options[name].default == value for name, value in DEFAULTS.items() if name in options)
    assert all(f"{name}" in (fit.__doc__ or "") for name in options)


@pytest.mark.parametrize(
    "settings",
    [
        FitSettings(**QUICK),
        FitSettings(as_in_paper=True, **QUICK),
        FitSettings(model="standard", chi=2.0, omega=3.0, ties="davidson", **QUICK),
        FitSettings(prior="graph-exponential", length=0.5, alpha=1.5, sampler="gibbs", ties="leave-out", **QUICK),
        FitSettings(judges="differ", side=True, attention=True, lapses=True, reach=True, alpha_scale=2.0, seed=1),
        FitSettings(judges="alike", smoothness="infer", seed=2**40),
        FitSettings(model="clusters", affinity="window", length=2.0, beta=1e-6, clusters=3, loss="binder", **QUICK),
        FitSettings(model="clusters", mu0=0.5, kappa0=2.0, a0=3.0, b0=4.0, **QUICK),
    ],
    ids=lambda settings: settings.model,
)
def test_the_command_asks_for_the_same_fit(ring, settings, tmp_path, monkeypatch):
    """Nothing is fitted: `test_replication.py` compares numbers to the last digit."""
    areas, data = ring
    monkeypatch.chdir(tmp_path)
    data.to_frame().to_csv("comparisons.csv", index=False)
    ids = np.array(areas.ids)
    rows = {"edges.csv": ("area_a,area_b", ids[areas.graph.edges].tolist()),
            "areas.csv": ("id,name", zip(areas.ids, areas.names, strict=True))}  # fmt: skip
    for name, (header, cells) in rows.items():
        (tmp_path / name).write_text("\n".join([header, *(f"{a},{b}" for a, b in cells)]))
    asked = []
    monkeypatch.setattr(FitSettings, "run", lambda given, *_, **__: asked.append(given) or given.no_such_thing)
    CliRunner().invoke(app, shlex.split(settings.command("comparisons.csv", "edges.csv"))[1:])
    assert asked == [settings]


EXPLICIT = {"prior": "communicability", "judges": "alike", "chi": 0.1, "omega": 0.1}


def test_as_in_the_paper_is_the_papers_model_number_for_number(study, rough):
    """The pinned numbers are what this model gave when it was the default; the last digits vary between processors."""
    areas, data, paper = study.areas, study.data, rough
    short = {"seed": 1, "chains": 2, "draws": 200}
    assert (paper.risk == jm.fit_spatial(data, areas, **EXPLICIT, **short).risk).all()
    pinned = [-2.4655125846281987, -2.416651310590085, -1.4211404474824945, 0.30693487432648303]
    np.testing.assert_allclose(paper.areas["risk_median"][:4], pinned, rtol=1e-6)
    np.testing.assert_allclose(np.median(paper.alpha), 2.5999527800423143, rtol=1e-6)
    assert paper.settings.options()[0] == "--as-in-paper"
    assert paper.record.made_by.endswith("by the spatial model as in the paper.")
    fixed = jm.fit_spatial(data, areas, as_in_paper=True, alpha=2.0, prior="car", **short)
    assert (fixed.record.prior, fixed.record.assumed) == ("car", {"alpha2": 4.0}), "what is said goes before the paper"


def test_the_plain_fit(ring):
    areas, data = ring
    fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=20)
    assert (fit.settings.prior, fit.settings.judges, fit.settings.variance) == ("car", "differ", HalfNormal(5.0))
    assert fit.record.why == "3 judges are named"
    assert fit.record.made_by.startswith("The map shows the view of the population of judges")
    assert FitSettings(seed=1).options() == ["--seed", "1"]


@pytest.mark.parametrize(
    ("judges", "given", "said"),
    [
        (["a", "b", "c", "c"], {}, ("differ", "3 judges are named")),
        (["a", "b", "b", "b"], {}, ("alike", "fewer than 3 are named")),
        (["a", "b", "c", None], {}, ("alike", "some answers do not name their judge")),
        (["a", "b", "c", "d"], {}, ("alike", "no judge answered twice")),
        (["a", "b", "c", "c"], {"sampler": "gibbs"}, ("alike", "the Gibbs sampler cannot tell them apart")),
        (["a", "b", "c", "c"], {"judges": "alike"}, ("alike", "as asked")),
        (["a", "b", "c", "c"], {"as_in_paper": True}, ("alike", "as in the paper")),
        (["a", "b", "b", "b"], {"as_in_paper": True, "judges": "differ"}, ("differ", "as asked")),
    ],
)
def test_judges_differ_where_the_data_name_enough_of_them(square, judges, given, said):
    data = Comparisons.from_words(square.ids, judges, [0, 1, 2, 0], [1, 2, 3, 2], ["left"] * 4)
    chosen, why = FitSettings(seed=1, **given).chosen_for(data, len(square))
    assert (chosen.judges, why) == said
    assert FitSettings(seed=1, **given).chosen_for(data, 1_001)[0].judges == said[0]


def test_the_direction_is_in_the_command():
    assert "--winner-is higher" in FitSettings(seed=1).command("a b.csv", "map.gpkg", "higher")
    assert "'a b.csv'" in FitSettings(seed=1).command("a b.csv", "map.gpkg")


def test_json_and_back():
    settings = FitSettings(model="clusters", length=2.0, clusters=4, seed=2**40)
    assert FitSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"model": "spatail"},
            "no model 'spatail' .did you mean 'spatial'.*; choose one of 'spatial', 'standard', 'cl",
        ),
        ({"prior": "exponentail"}, "there is no prior 'exponentail' \\(did you mean 'exponential'"),
        ({"sampler": "nuts"}, "there is no sampler 'nuts'; choose one of 'hmc', 'gibbs'"),
        ({"affinity": "windows"}, "there is no affinity 'windows' \\(did you mean 'window'"),
        ({"loss": "rand"}, "there is no loss 'rand'; choose one of 'vi', 'binder'"),
        ({"length": 0}, "the length scale must be a positive number, received 0"),
        ({"alpha": -0.0}, "a fixed α must be a positive number"),
        ({"chi": -1.0}, "the shape χ of the prior of α² must be a positive number, received -1.0"),
        ({"beta": 0.0}, "beta of the cluster prior must be a positive number, received 0.0"),
        ({"mu0": float("inf")}, "mu0 must be a finite number, received inf"),
        ({"clusters": 3}, "clusters: only the model 'clusters' has clusters"),
        ({"model": "clusters", "clusters": 0}, "clusters must be at least 1, received 0"),
        ({"draws": 3}, "draws must be at least 4, received 3"),
        ({"chains": "8"}, "chains must be a whole number, received '8'"),
        ({"chains": True}, "chains must be a whole number, received True"),
        ({"thin": 1.5}, "thin must be a whole number"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"seed": None}, "seed must be a whole number, received None"),
        ({"model": None}, "model must be a word, received None"),
        ({"chi": [1]}, "chi must be a finite number"),
        ({"drawz": 3}, "there is no setting 'drawz' \\(did you mean 'draws'"),
        ({"model": "clusters", "judges": "differ"}, "judges: the model 'clusters' has no such part"),
        ({"model": "standard", "smoothness": "infer"}, "smoothness: the model 'standard' has no such part"),
        ({"side": 1}, "side must be true or false"),
        ({"ties": "rao"}, "there is no ties 'rao'"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(given, said):
    with pytest.raises(StudyError, match=said):
        FitSettings.from_dict(given)
