import json
from dataclasses import replace

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.geo.maps import Areas
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.priors import PRIORS

COLUMNS = [
    "id", "name", "risk_median", "risk_mean", "risk_sd", "risk_low", "risk_high", "rank", "rank_low",
    "rank_high", "p_top10",
]  # fmt: skip


@pytest.fixture(scope="module")
def few(square):
    """Three comparisons that leave Dogwood out."""
    return Comparisons.from_words(square.ids, ("1", "1", "2"), [0, 1, 2], [1, 2, 0], ("left", "right", "tie"))


def test_table_and_probabilities_by_name(rough):
    assert list(rough.areas.columns) == COLUMNS
    assert len(rough.areas) == 77
    np.testing.assert_allclose(rough.areas["risk_mean"], rough.risk.mean(axis=0))
    np.testing.assert_allclose(rough.risk.mean(axis=1), 0.0, atol=1e-10)
    assert rough.areas["p_top10"].sum() == pytest.approx(10)
    assert rough.p_top(3).sum() == pytest.approx(3)
    assert rough.p_riskier().loc["32", "32"] == 0.5
    np.testing.assert_allclose(rough.alpha**2, rough.posterior["alpha2"].ravel())


def test_saved_and_loaded_without_loss(rough, tmp_path):
    folder = rough.save(tmp_path / "results")
    assert {path.name for path in folder.iterdir()} == {"areas.csv", "areas.geojson", "posterior.nc", "fit.json"}
    again = jm.load_fit(folder)
    for group in ("posterior", "sample_stats", "observed_data"):
        assert getattr(again, group).to_xarray().identical(getattr(rough, group).to_xarray()), group
    assert again.info == rough.info
    assert again.map.ids == rough.map.ids
    assert again.map.names == rough.map.names
    np.testing.assert_array_equal(again.map.graph.edges, rough.map.graph.edges)
    assert again.map.geometry is not None
    assert again.map.bridges == rough.map.bridges
    assert again.areas.equals(rough.areas)


def test_columns_are_added_by_area(rough):
    again = replace(rough)
    again.areas["p_top5"] = again.p_top(5)
    assert again.areas["p_top5"].sum() == pytest.approx(5)
    assert again.areas.loc["32", "name"] == "Loop"
    assert list(again.to_frame().columns) == [*COLUMNS, "p_top5", "geometry"]
    assert again.to_frame().crs == rough.map.geometry.crs
    assert again.to_frame().loc["32", "geometry"].equals(rough.map.geometry[rough.map.ids.index("32")])


def test_a_fit_without_a_map_has_no_frame(rough):
    with pytest.raises(jm.StudyError, match="have no outlines"):
        replace(rough, map=replace(rough.map, geometry=None)).to_frame()


def test_a_seed_that_is_left_out_is_drawn_and_recorded(square, few):
    first, second = (jm.fit_standard(few, square, chains=2, draws=np.int64(8)) for _ in range(2))
    assert first.record.seed != second.record.seed
    again = jm.fit_standard(few, square, seed=first.record.seed, chains=2, draws=8)
    np.testing.assert_array_equal(again.risk, first.risk)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"draws": "50"}, "draws must be a whole number, received '50'"),
        ({"covariance": "car"}, "to choose a prior by its name, write prior="),
        ({"drws": 5}, r"there is no option 'drws' \(did you mean 'draws'\?\); the options are seed, as_in"),
        ({"cores": "2"}, "cores must be a whole number from 1 up, received '2'"),
        ({"watch": 3}, "watch must be a function"),
    ],
)
def test_a_wrong_option_gets_a_sentence(square, few, given, said):
    with pytest.raises(jm.StudyError, match=said):
        jm.fit_spatial(few, square, **given)


def test_arguments_that_do_not_belong_together_get_a_sentence(square, few, study):
    with pytest.raises(jm.StudyError, match=r"comparisons first and then the areas.*received Areas and Comparisons"):
        jm.fit_spatial(square, few)
    with pytest.raises(jm.StudyError, match="the comparisons are of different areas"):
        jm.fit_spatial(study.data, square, seed=1, as_in_paper=True)


def test_the_log_likelihood_of_a_plain_fit(rough, study):
    data = study.data
    logs = rough.log_likelihood(data)
    used = np.flatnonzero(data.decided)
    np.testing.assert_array_equal(logs["answer"], used)
    strength = -rough.posterior["risk"]
    won = np.where(data.outcome == 0, data.left, data.right)[used]
    lost = np.where(data.outcome == 0, data.right, data.left)[used]
    np.testing.assert_allclose(logs, -np.log1p(np.exp(strength[..., lost] - strength[..., won])), atol=1e-12)
    assert "log_likelihood" in rough.inference_data.children
    assert "log_likelihood" not in replace(rough).inference_data.children, "a fit from a folder has no answers"


def test_many_answers_use_some_draws_of_each_chain(rough, study, monkeypatch):
    every = rough.log_likelihood(study.data)
    monkeypatch.setattr("judgemap.study.fit.result.MOST_LOGS", 2 * 50 * 1848)
    some = rough.log_likelihood(study.data)
    assert some.sizes == {"chain": 2, "draw": 50, "answer": 1848}
    np.testing.assert_array_equal(some, every.sel(draw=some["draw"]))


def test_arviz_reads_the_file(rough, tmp_path):
    import arviz as az

    data = az.from_netcdf(rough.save(tmp_path / "results") / "posterior.nc")
    assert data.posterior["risk"].dims == ("chain", "draw", "area")
    assert json.loads(data.posterior.attrs["judgemap"])["seed"] == 1
    assert float(az.rhat(data, var_names=["risk"])["risk"].max()) == pytest.approx(
        max(rough.info["diagnostics"]["rhat_max"], 0), rel=0.05
    )
    groups = {"posterior", "sample_stats", "observed_data", "constant_data", "log_likelihood"}
    assert set(rough.inference_data.children) == groups
    np.testing.assert_array_equal(rough.inference_data["posterior"]["risk"], data.posterior["risk"])


def test_known_truth_is_found():
    """95 % intervals of 77 areas: fewer than 62 hits has probability 4e-6 if areas were independent."""
    study = jm.simulate_study(np.random.default_rng(9), jm.chicago())
    fit = jm.fit_spatial(study.data, study.areas, seed=9, chains=8, draws=500, as_in_paper=True)
    inside = (fit.areas["risk_low"] <= study.true_risk) & (study.true_risk <= fit.areas["risk_high"])
    assert inside.sum() >= 62
    assert np.corrcoef(fit.areas["risk_median"], study.true_risk)[0, 1] > 0.95


def test_the_working_directory_can_be_the_folder(rough, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rough.save(".")
    (tmp_path / "notes.txt").write_text("mine")
    rough.save(".")
    assert jm.load_fit(".").info == rough.info
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_in_the_place_of_a_file_is_refused_before_anything_changes(rough, tmp_path):
    folder = rough.save(tmp_path / "results")
    (folder / "areas.csv").unlink()
    (folder / "areas.csv").mkdir()
    with pytest.raises(jm.StudyError, match=r"areas\.csv was not written by judgemap; move it"):
        rough.save(folder)
    assert jm.load_fit(folder).info == rough.info


def test_a_failure_leaves_the_earlier_fit(rough, tmp_path, monkeypatch):
    folder = rough.save(tmp_path / "results")
    monkeypatch.setattr(jm.Fit, "_attributes", lambda self: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        rough.save(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    monkeypatch.undo()
    assert jm.load_fit(folder).info == rough.info


def test_no_fit_there(tmp_path):
    with pytest.raises(jm.StudyError, match=r"holds no fit .* make one with 'judgemap fit'"):
        jm.load_fit(tmp_path)
    (tmp_path / "fit.json").write_text("{}")
    with pytest.raises(jm.StudyError, match=r"is not a complete fit \(there is no posterior\.nc in it\)"):
        jm.load_fit(tmp_path)


def test_uncompared_areas_and_ties_are_said(square, few):
    short = {"seed": 1, "chains": 2, "draws": 50, "alpha": 2.0, "as_in_paper": True}
    notes = " ".join(jm.fit_spatial(few, square, **short).info["notes"])
    assert "1 of 3 answers are ties, and are part of the model." in notes
    left_out = jm.fit_spatial(few, square, ties="leave-out", **short)
    assert "1 of 3 shown pairs have no winner (1 tie)" in " ".join(left_out.info["notes"])
    assert "1 of 4 areas were never compared ('Dogwood'): their risk rests on their neighbours and the prior" in notes
    assert "Judges with only one answer, treated like any other: '2'." in notes


def test_poor_sampling_is_said_in_words(square, few):
    poor = {"sampler": "gibbs", "ties": "leave-out", "chains": 2, "draws": 30, "warmup": 0, "as_in_paper": True}
    fit = jm.fit_spatial(few, square, seed=1, **poor)
    words = " ".join(fit.warnings)
    assert "Effective sample size" in words
    assert "draws per chain" in words
    told = int(words.split("run about ")[-1].split(" ")[0].replace(",", ""))
    assert told > 30


@pytest.mark.parametrize("kind", PRIORS)
def test_priors_by_name(kind):
    areas = jm.chicago()
    matrix = jm.prior_covariance(areas, kind, None if kind != "graph-exponential" else 0.5).matrix
    i, j = areas.graph.edges.T
    assert matrix[i, j].mean() > matrix.mean(), "neighbours are more alike than strangers"


def test_prior_errors(square):
    with pytest.raises(jm.StudyError, match=r"no prior 'gaussian'.*choose one of 'car'"):
        jm.prior_covariance(square, "gaussian")
    with pytest.raises(jm.StudyError, match="have no outlines"):
        jm.prior_covariance(square, "exponential")
    with pytest.raises(jm.StudyError, match="cannot be built: the length scale must be a positive"):
        jm.prior_covariance(square, "graph-exponential", -1.0)


def test_values_say_what_they_are_in_one_line(rough, study):
    areas, data = study.areas, study.data
    assert repr(areas) == f"Areas(77 areas, {len(areas.graph.edges)} pairs of neighbours, a map)"
    assert repr(data) == "Comparisons(1848 pairs shown, 1848 decided, 12 judges, winner is lower)"
    assert repr(rough) == "Fit(spatial model, 77 areas, 1848 comparisons, 2 × 200 draws)"
    drawn = jm.schedule(areas, design="uniform", pairs=100, seed=1)
    assert repr(drawn) == "Schedule(100 pairs of 77 areas, uniform design, seed 1)"


@pytest.mark.parametrize(("failed", "said"), [(3, 0), (30, 1)])  # a few are no reason to doubt a fit
def test_proposals_that_broke_down_are_reported(rough, failed, said):
    counts = np.zeros((2, 200), dtype=int)
    counts[1, 7] = failed
    broken = replace(rough, sample_stats=rough.sample_stats.assign(divergences=counts))
    assert sum(f"{failed} of 400 proposals failed" in warning for warning in broken.warnings) == said
    assert len(broken.warnings) == len(rough.warnings) + said


@pytest.mark.parametrize(("winner_is", "higher"), [("lower", "b"), ("higher", "a")])
def test_risk_is_high_where_the_rate_is(winner_is, higher):
    """Area a wins every comparison."""
    areas = Areas(("a", "b"), ("a", "b"), AreaGraph(2, [[0, 1]]))
    data = Comparisons.from_words(("a", "b"), ("x",) * 20, [0] * 20, [1] * 20, ("left",) * 20, winner_is=winner_is)
    fit = jm.fit_standard(data, areas, seed=1, chains=2, warmup=20, draws=50, as_in_paper=True)
    assert fit.areas.set_index("id")["risk_median"].idxmax() == higher
