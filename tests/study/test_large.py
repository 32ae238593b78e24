"""Fits of large maps through the library and the command, on maps small enough for a test."""

import json

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.sparse import hmc
from judgemap.errors import StudyError
from judgemap.study.assess import explain
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit import draws as kept_draws
from judgemap.study.fit import large
from judgemap.study.fit.record import NoteKind, data_notes
from judgemap.study.fit.settings import LARGE, LARGE_PLAN, FitSettings, View

QUICK = {"chains": 4, "warmup": 5, "draws": 8}
SIDE = 12


@pytest.fixture
def areas() -> jm.Areas:
    """A chessboard, without a map, and an island."""
    at = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    edges = np.concatenate(
        [np.stack([at[:, :-1], at[:, 1:]], -1).reshape(-1, 2), np.stack([at[:-1], at[1:]], -1).reshape(-1, 2)]
    )
    ids = tuple(f"a{place}" for place in range(SIDE * SIDE + 1))
    return jm.Areas(ids, ids, AreaGraph(len(ids), edges))


def answers(areas: jm.Areas, among: int, size: int = 600, step: int | None = None) -> Comparisons:
    """Answers on the first ``among`` areas, each with one ``step`` further on, or anywhere."""
    rng = np.random.default_rng(1)
    left = rng.integers(among, size=size)
    right = left ^ 1 if step else (left + rng.integers(1, among, size=size)) % among
    outcome = np.where(rng.random(size) < 0.6, "left", "right").tolist()
    return Comparisons.from_words(areas.ids, [f"j{k % 7}" for k in range(size)], left, right, outcome)


def with_ties(data: Comparisons) -> Comparisons:
    """The same answers, one in ten a tie."""
    outcome = np.where(np.arange(len(data)) % 10 == 0, 2, data.outcome)
    return Comparisons(
        data.ids, data.judges, data.judge, data.left, data.right, outcome, data.seconds, data.answered_at
    )


@pytest.fixture
def treated_as_large(monkeypatch):
    monkeypatch.setattr("judgemap.study.fit.settings.LARGE", 100)


@pytest.mark.usefixtures("treated_as_large")
@pytest.mark.parametrize("model", ["spatial", "standard"])
def test_a_large_map_has_the_same_files(areas, tmp_path, model):
    data = answers(areas, len(areas))
    fit = FitSettings(model=model, seed=1, **QUICK).run(data, areas, memory=4)
    assert fit.posterior["risk"].dtype == np.float32
    assert np.allclose(fit.risk.mean(axis=1), 0, atol=1e-5)
    folder = fit.save(tmp_path / "results")
    again = jm.load_fit(folder)
    assert np.array_equal(again.risk, fit.risk)
    assert {path.name for path in folder.iterdir()} == {"areas.csv", "posterior.nc", "fit.json"}
    assert json.loads((folder / "fit.json").read_text())["note_kinds"].count("engine") == 1
    half = fit.p_top(len(areas) // 2)
    assert half.sum() == pytest.approx(len(areas) // 2)


@pytest.mark.parametrize("prior", ["car", "multi-resolution"])
def test_other_priors_of_a_large_map(monkeypatch, tmp_path, prior):
    """The same settings whatever the size, and a saved fit knows its prior."""
    areas, data = jm.example_study(seed=1)
    settings = FitSettings(prior=prior, judges="alike", seed=1, chains=8, draws=60)
    usual = settings.run(data, areas)
    monkeypatch.setattr("judgemap.study.fit.settings.LARGE", 50)
    fit = settings.run(data, areas, memory=4)
    assert [note.kind for note in fit.record.notes].count(NoteKind.ENGINE) == 1
    assert fit.record.prior == usual.record.prior
    assert fit.record.prior.partition(",")[0] == prior
    assert np.abs(fit.areas["risk_mean"] - usual.areas["risk_mean"]).max() < 0.3
    again = jm.load_fit(fit.save(tmp_path / "results"))
    assert again.record.correlation == fit.record.correlation


@pytest.mark.usefixtures("treated_as_large")
def test_a_prior_on_centroids_needs_outlines(areas):
    with pytest.raises(StudyError, match="have no outlines"):
        FitSettings(prior="multi-resolution", seed=1, **QUICK).run(answers(areas, len(areas)), areas)


@pytest.mark.usefixtures("treated_as_large")
def test_memory_is_stated_before_anything_is_computed(areas):
    with pytest.raises(StudyError, match=r"145 areas .* needs about 0\.5 GB of memory, and 0\.1 GB are allowed"):
        FitSettings(seed=1, **QUICK).run(answers(areas, len(areas)), areas, memory=0.1)
    with pytest.raises(StudyError, match=r"200,000 areas with 16 × 250 draws needs about .* GB .* coarser map"):
        large.check_memory(200_000, 5_000_000, LARGE_PLAN, memory=4)
    large.check_memory(32_844, 1_000_000, LARGE_PLAN, memory=3)


@pytest.mark.usefixtures("treated_as_large")
def test_ties_are_part_of_the_model(areas, tmp_path):
    """A fit that knows how often equal areas tie, and says so again when it is read."""
    data = with_ties(answers(areas, len(areas)))
    fit = jm.fit_spatial(data, areas, seed=1, judges="alike", **QUICK)
    assert 0 < fit.tie_chance.mean() < 0.5
    assert "θ" in fit.record.diagnostics.ess_bulk_of
    assert fit.record.data.ties == 60
    again = jm.load_fit(fit.save(tmp_path / "results"))
    assert again.words == fit.words
    assert again.choice_chances(np.array([0]), np.array([1])).shape == (1,)


@pytest.mark.usefixtures("treated_as_large")
@pytest.mark.parametrize("model", ["spatial", "standard"])
def test_judges_differ_if_asked_to(areas, tmp_path, model):
    """The population's map, σ, and no map of the panel, whose judges know different parts."""
    data = answers(areas, len(areas))
    fit = FitSettings(model=model, seed=1, judges="differ", **QUICK).run(data, areas)
    assert fit.record.view is View.POPULATION
    assert fit.sigma.mean() > 0
    assert {"α²", "σ²"} == set(fit.record.diagnostics.ess_bulk_of)
    again = jm.load_fit(fit.save(tmp_path / "results"))
    assert again.words == fit.words
    with pytest.raises(StudyError, match=r"no map of the panel: with 145 areas"):
        again.seen_by("panel")


def test_a_nation_in_thousands_of_groups():
    """Half of 8,000 areas were never compared, the others only in pairs; the notes stay as short as for a small map."""
    ids = tuple(f"a{place}" for place in range(8_000))
    nation = jm.Areas(ids, ids, AreaGraph(len(ids), np.column_stack([np.arange(7_999), np.arange(1, 8_000)])))
    left = np.arange(0, 4_000, 2)
    data = Comparisons.from_words(ids, ["j1", "j2"] * 1_000, left, left + 1, ["left"] * 2_000)
    silent, apart = data_notes(data, data.counts(), nation, "spatial")
    assert silent.text == (
        "4,000 of 8,000 areas were never compared ('a4000', 'a4001', 'a4002', 'a4003', 'a4004' and 3,995 more): "
        "their risk rests on their neighbours and the prior."
    )
    assert apart.text == (
        "The compared areas fall into 2,000 groups that were never compared with each other: "
        "differences between groups depend on the prior alone."
    )


@pytest.mark.usefixtures("treated_as_large")
@pytest.mark.parametrize("judges", ["alike", "differ"])
def test_a_large_map_is_assessed_by_a_part_of_it(areas, monkeypatch, judges):
    """The part has its own areas, borders and answers, and the draws of its areas, centred."""
    monkeypatch.setattr(explain, "LARGE", 100)
    monkeypatch.setattr(explain, "PART", 60)
    data = answers(areas, len(areas))
    fit = jm.fit_spatial(data, areas, seed=1, **QUICK, judges=judges)
    whole = explain.Explanation(fit, data)
    part = whole.part
    kept = areas.index(part.fit.map.ids)
    assert len(part.fit.map) == 60
    assert len(set(part.fit.map.graph.components())) == 1
    inside = np.isin(data.left, kept) & np.isin(data.right, kept)
    assert len(part.data) == inside.sum() < len(data)
    assert part.fit.counts.n.sum() == (inside & data.decided).sum()
    drawn = fit.risk[:, kept]
    np.testing.assert_allclose(part.fit.risk, drawn - drawn.mean(axis=1, keepdims=True))
    found = whole.to_dict()
    assert {"judges", "reliability", "checks", "verdict", "met", "sampling"} < set(found)
    assert "areas" not in found
    assert len(found["met"]) == len(areas)
    shown = " ".join(whole.verdict.lines)
    assert f"60 of the {len(areas)} areas" in shown
    assert found["part_words"] in shown


@pytest.mark.usefixtures("treated_as_large")
def test_what_large_maps_cannot_have_is_refused_in_a_sentence(areas, monkeypatch):
    data = answers(areas, len(areas))
    monkeypatch.setattr("judgemap.study.fit.settings.DENSE_LIMIT", 100)
    with pytest.raises(StudyError, match="the sampler 'gibbs' cannot be used on a map of 145 areas"):
        jm.fit_spatial(data, areas, seed=1, sampler="gibbs", **QUICK)
    with pytest.raises(StudyError, match=r"Davidson's rule .* 145 areas; fit with --ties model"):
        jm.fit_spatial(with_ties(data), areas, seed=1, ties="davidson", judges="alike", **QUICK)
    with pytest.raises(StudyError, match=r"attention: this is for maps of up to 100 areas, .* leave it out"):
        jm.fit_spatial(data, areas, seed=1, judges="differ", attention=True, **QUICK)
    monkeypatch.setattr("judgemap.study.fit.settings.LARGE", 90)
    with pytest.raises(StudyError, match=r"reach: this is for maps of up to 90 areas"):
        jm.fit_spatial(data, areas, seed=1, reach=True, attention=True, **QUICK)
    with pytest.raises(StudyError, match=r"the prior 'communicability' is for maps .* choose 'car'"):
        jm.fit_spatial(data, areas, seed=1, **QUICK, as_in_paper=True)


@pytest.mark.usefixtures("treated_as_large")
def test_a_folder_keeps_some_draws_and_says_which(areas, tmp_path, monkeypatch):
    monkeypatch.setattr(kept_draws, "LARGE_VALUES", 1_000)
    monkeypatch.setattr(kept_draws, "MOST_VALUES", 2_500)
    fit = jm.fit_spatial(answers(areas, len(areas)), areas, seed=1, **QUICK, judges="alike")
    said = "posterior.nc keeps one draw in 2 of each chain, risks rounded to five figures; areas.csv uses all draws."
    assert [note.text for note in fit.record.notes if note.kind is NoteKind.DRAWS_KEPT] == [said]
    again = jm.load_fit(fit.save(tmp_path / "results"))
    assert again.posterior["draw"].tolist() == [0, 2, 4, 6]
    assert again.sample_stats.sizes["draw"] == 8
    assert again.warnings == fit.warnings, "they speak of all draws"
    kept = fit.posterior["risk"][:, ::2]
    assert np.abs(again.posterior["risk"] - kept).max() <= np.abs(kept).max() / kept_draws.STEPS


def test_the_plain_fit_is_the_same_at_any_size(areas):
    """Judges differ wherever they are named, unless another setting needs the sampler for smaller maps."""
    data = answers(areas, len(areas))
    for size in (145, 1_500, 50_000):
        assert FitSettings(seed=1).chosen_for(data, size)[0].judges == "differ"
    for other in ({"prior": "multi-resolution"}, {"attention": True}):
        chosen, why = FitSettings(seed=1, **other).chosen_for(data, 1_500)
        assert chosen.judges == "alike"
        assert why == "these settings cannot tell them apart on more than 1,000 areas"
    assert FitSettings(seed=1, judges="differ").plan_for(1_500) == LARGE_PLAN


@pytest.mark.usefixtures("treated_as_large")
def test_judges_all_over_a_large_map_are_alike_unless_asked_for(areas, monkeypatch):
    """Their views would cost more than the answers are worth, and the fit says so."""
    data = answers(areas, len(areas))
    monkeypatch.setattr(hmc, "affordable", lambda model: False)
    fit = jm.fit_spatial(data, areas, seed=1, **QUICK)
    assert fit.record.view is View.POOLED
    assert "taken to be alike (each compared areas all over a large map)" in fit.record.made_by
    assert jm.fit_spatial(data, areas, seed=1, judges="differ", **QUICK).record.view is View.POPULATION


def test_plans_go_by_size():
    settings = FitSettings(seed=1, judges="alike")
    assert settings.plan_for(LARGE + 1) == LARGE_PLAN
    assert settings.plan_for(LARGE) == settings.plan
    assert FitSettings(seed=1, draws=50).plan_for(LARGE + 1).draws == 50
    for only_dense in ({"sampler": "gibbs"}, {"ties": "davidson"}, {"prior": "communicability"}):
        assert FitSettings(seed=1, judges="alike", **only_dense).plan_for(LARGE + 1) != LARGE_PLAN


@pytest.mark.usefixtures("treated_as_large")
def test_judges_who_share_no_areas_are_alike_unless_asked_for(areas):
    """What a district's only judge thinks may be the map or the judge: no answers tell these apart."""
    rng = np.random.default_rng(1)
    left = rng.integers(140, size=600)
    right = left // 20 * 20 + (left + rng.integers(1, 20, size=600)) % 20
    data = Comparisons.from_words(areas.ids, [f"j{area // 20}" for area in left], left, right, ["left"] * 600)
    fit = jm.fit_spatial(data, areas, seed=1, **QUICK)
    assert "taken to be alike (hardly two of them compared the same areas)" in fit.record.made_by
