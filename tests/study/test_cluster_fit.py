"""Clusters: found where they are, numbered by risk, and saying no more than the answers do."""

import json
from dataclasses import replace

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.assess.partitions import adjusted_rand_index, risk_of_clusters
from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.clusters import kernel as clusters
from judgemap.core.simulate.trials import simulate_counts
from judgemap.errors import StudyError
from judgemap.report.figures.colours import NEUTRAL, area_colour, cluster_colours, lightness
from judgemap.study.assess.comparing import cluster_sensitivity, read_variation
from judgemap.study.assess.findings import PLACED, Level
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.export import settings_of
from judgemap.study.fit.settings import FitSettings

SHORT = {"chains": 4, "warmup": 300, "draws": 400, "thin": 2}
TRUE = np.repeat([0, 1, 2], 8)


def rows_of_areas(strengths, comparisons):
    """Three rows of eight areas, joined at their ends, and comparisons from known strengths."""
    edges = [[i, i + 1] for i in range(23)]
    areas = jm.Areas(tuple(f"A{i}" for i in range(24)), tuple(f"Area {i}" for i in range(24)), AreaGraph(24, edges))
    counts = simulate_counts(np.random.default_rng(1), strengths, comparisons)
    left = np.r_[np.repeat(counts.first, counts.wins), np.repeat(counts.second, counts.n - counts.wins)]
    right = np.r_[np.repeat(counts.second, counts.wins), np.repeat(counts.first, counts.n - counts.wins)]
    n = len(left)
    return areas, Comparisons.from_words(areas.ids, ("1",) * n, left, right, ("left",) * n)


@pytest.fixture(scope="module")
def planted():
    noise = np.random.default_rng(2).normal(scale=0.3, size=24)
    return rows_of_areas(np.array([-3.0, 0.0, 3.0])[TRUE] + noise, 3000)


@pytest.fixture(scope="module")
def fit(planted):
    areas, data = planted
    return jm.fit_clusters(data, areas, seed=1, **SHORT)


def test_known_clusters_are_found(fit):
    """Three groups six noise widths apart, 3,000 comparisons: a wrong link would show in Rand's index at once."""
    assert adjusted_rand_index(fit.best.labels, TRUE) > 0.9
    assert fit.n_clusters.idxmax() == 3
    assert fit.warnings == []


def test_cluster_one_is_the_highest_risk(fit):
    """The winner has the lower rate, so the group of lowest strength is cluster 1."""
    assert (fit.best.labels[:8] == 1).all()
    medians = np.median(risk_of_clusters(fit.best.labels, fit.risk), axis=0)
    assert (np.diff(medians) < 0).all()


def test_direction_turns_the_order_round(planted):
    areas, data = planted
    higher = replace(data, winner_is="higher")
    fit = jm.fit_clusters(higher, areas, seed=1, chains=4, warmup=300, draws=40, thin=2)
    assert (fit.best.labels[-8:] == 1).all()


def test_table_and_probabilities(fit):
    table = fit.clusters
    assert list(table.columns) == ["id", "name", "cluster", "probability"]
    assert table["probability"].between(0, 1).all()
    np.testing.assert_allclose(fit.n_clusters.sum(), 1.0, atol=1e-5)
    np.testing.assert_allclose(np.diag(fit.co_clustering), 1.0)
    together = (fit.labels[:, 3] == fit.labels[:, 4]).mean()
    assert fit.co_clustering[3, 4] == pytest.approx(together)


def test_a_chosen_number_of_clusters(fit):
    for number in (1, 2, 4):
        assert fit.partition(n_clusters=number).n_clusters == number
    assert fit.partition(loss="binder").n_clusters >= 1
    with pytest.raises(jm.StudyError, match="24 areas cannot make 25 clusters; ask for 1 to 24"):
        fit.partition(n_clusters=25)
    with pytest.raises(jm.StudyError, match="no loss 'rand'; choose one of 'vi', 'binder'"):
        fit.partition(loss="rand")


def test_saved_and_loaded_without_loss(fit, tmp_path):
    two = replace(fit, record=replace(fit.record, settings=replace(fit.settings, clusters=2)))
    folder = two.save(fit.save(tmp_path / "results"))
    again = jm.load_fit(folder)
    assert isinstance(again, jm.ClusterFit)
    np.testing.assert_array_equal(again.labels, fit.labels)
    np.testing.assert_array_equal(again.risk, fit.risk)
    assert again.best.n_clusters == 2
    assert (folder / "clusters.csv").read_text().startswith("id,name,cluster,probability\n")
    info = json.loads((folder / "fit.json").read_text())
    assert info["n_clusters"]["3"] > 0.5
    assert info["hyperparameters"]["beta"] == 1e-8
    assert info["diagnostics"]["clusters"]["together_gap"] < 0.1


def test_a_stuck_chain_would_be_said(fit):
    judged = fit.record.diagnostics
    stuck = replace(judged, clusters=replace(judged.clusters, together_gap=0.4))
    words = replace(fit, record=replace(fit.record, diagnostics=stuck)).warnings
    assert "differs by up to 0.40 between them" in words[0]


def test_a_sampler_that_breaks_down_is_reported_in_a_sentence(planted, monkeypatch):
    def fails(*_):
        raise FloatingPointError("the precision is not positive definite")

    monkeypatch.setattr(clusters, "draw_strengths", fails)
    areas, data = planted
    with pytest.raises(jm.StudyError, match=r"the fit broke down .*not positive definite.*try the other sampler"):
        jm.fit_clusters(data, areas, seed=1, sampler="gibbs", **SHORT)


def test_a_map_in_two_parts(planted):
    areas, data = planted
    edges = [edge for edge in areas.graph.edges.tolist() if edge != [11, 12]]
    apart = jm.Areas(areas.ids, areas.names, AreaGraph(24, edges))
    fit = jm.fit_clusters(data, apart, seed=1, chains=2, warmup=50, draws=50)
    assert "The map is in 2 parts: no cluster spans two of them." in fit.info["notes"]
    assert not (fit.labels[:, 0] == fit.labels[:, 23]).any()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"affinity": "windw"}, r"no affinity 'windw' \(did you mean 'window'\?\)"),
        ({"affinity": "window", "length": 0.5}, "must reach at least the neighbours"),
        ({"affinity": "decay", "length": -1.0}, "the length scale must be a positive number, received -1.0"),
    ],
)
def test_bad_settings(planted, settings, sentence):
    areas, data = planted
    with pytest.raises(jm.StudyError, match=sentence):
        jm.fit_clusters(data, areas, seed=1, **settings)


def test_an_isolated_area_is_named(planted):
    areas, data = planted
    edges = [edge for edge in areas.graph.edges.tolist() if 5 not in edge]
    alone = jm.Areas(areas.ids, areas.names, AreaGraph(24, edges))
    with pytest.raises(jm.StudyError, match="'Area 5' has no neighbour to share a cluster with"):
        jm.fit_clusters(data, alone, seed=1)


def test_sensitivity(planted, fit):
    areas, data = planted
    asked = []

    def refit(**changed):
        asked.append(changed)
        return jm.fit_clusters(data, areas, seed=1, chains=2, warmup=100, draws=100, **changed)

    table = cluster_sensitivity(fit, refit, [("beta", [1e-8, 1e-2]), ("b0", [0.1])])
    assert asked == [{"beta": 1e-2}, {"b0": 0.1}], "the value that was fitted is not fitted again"
    assert table["parameter"].tolist() == ["(as fitted)", "beta", "beta", "b0"]
    assert table["adjusted_rand"][0] == 1.0
    assert table["mean_n"][2] > table["mean_n"][1], "a larger β makes more clusters"


def test_variations_are_read():
    assert read_variation("a0=1,2.5") == ("a0", [1.0, 2.5])
    with pytest.raises(jm.StudyError, match=r"no hyperparameter 'betta' \(did you mean 'beta'\?\)"):
        read_variation("betta=1")
    with pytest.raises(jm.StudyError, match=r"write numbers separated by commas, as in beta=0.5,1,2"):
        read_variation("beta=small")


@pytest.fixture(scope="module")
def tied_answers():
    """Six areas in a ring, three judges; neighbours often tie."""
    rng = np.random.default_rng(4)
    left = rng.integers(6, size=150)
    right = (left + rng.integers(1, 6, size=150)) % 6
    near = np.abs(left - right) == 1
    words = np.where(near & (rng.random(150) < 0.5), "tie", np.where(left < right, "left", "right"))
    return Comparisons.from_words(tuple("abcdef"), [f"j{k % 3}" for k in range(150)], left, right, words.tolist())


def test_ties_are_in_the_model_where_there_are_any(tied_answers, tmp_path):
    ring = read_ring(tmp_path)
    quick = {"seed": 1, "chains": 2, "warmup": 50, "draws": 60, "thin": 2}
    fit, left_out = (jm.fit_clusters(tied_answers, ring, ties=ties, **quick) for ties in ("model", "leave-out"))
    assert fit.record.data.ties == int(tied_answers.tied.sum())
    assert 0.2 < np.median(fit.tie_chance) < 0.95
    assert fit.words.startswith("Two areas of equal risk tie with probability")
    assert "θ" in fit.record.diagnostics.ess_bulk_of
    only = jm.fit_clusters(tied_answers.where(tied_answers.decided), ring, **quick)
    np.testing.assert_array_equal(left_out.risk, only.risk)
    assert left_out.words == only.words == ""
    again = jm.load_fit(fit.save(tmp_path / "results"))
    assert isinstance(again, jm.ClusterFit)
    assert again.words == fit.words
    assert settings_of(left_out).options()[-2:] == ["--seed", "1"]
    assert settings_of(left_out).ties == "leave-out"
    first, second = np.array([0, 2]), np.array([5, 3])
    won, lost = fit.choice_chances(first, second), fit.choice_chances(second, first)
    np.testing.assert_allclose(won + lost, 1.0)


def test_clusters_have_no_davidson(tied_answers, tmp_path):
    with pytest.raises(StudyError, match="choose 'model' or 'leave-out'"):
        jm.fit_clusters(tied_answers, read_ring(tmp_path), seed=1, ties="davidson")
    with pytest.raises(StudyError, match="supports Rao and Kupper's ties, not Davidson's") as refused:
        FitSettings(model="clusters", ties="davidson")
    assert refused.value.field == "ties"


def read_ring(folder):
    rows = [f"{a},{b}" for a, b in zip("abcdef", "bcdefa", strict=True)]
    (folder / "edges.csv").write_text("\n".join(["area_a,area_b", *rows]))
    return jm.read_edges(folder / "edges.csv")


@pytest.mark.parametrize("n_clusters", [None, 2, 4])
def test_no_area_below_the_average_is_shown_in_a_cluster_above_it(rough_clusters, n_clusters):
    shown = rough_clusters.partition(n_clusters)
    risk = rough_clusters.areas["risk_median"].to_numpy()
    levels = [shown.grouping.groups[label - 1].level for label in shown.labels]
    for area, level in enumerate(levels):
        if shown.placed[area]:
            assert shown.probability[area] >= PLACED
            assert not (level is Level.ABOVE and risk[area] <= 0)
            assert not (level is Level.BELOW and risk[area] >= 0)


def test_a_partition_has_its_probability(rough_clusters):
    shown = rough_clusters.partition(2).grouping
    assert shown.number_chance == pytest.approx(float(rough_clusters.n_clusters.get(2, 0.0)))
    assert 0 <= shown.chance <= shown.number_chance
    assert 0.4 < shown.agreement <= 1
    assert sum(group.areas for group in shown.groups) == 77
    for group in shown.groups:
        assert group.low <= group.mean <= group.high


def test_colours_go_by_level():
    red, darker_first, grey, blue = cluster_colours([Level.ABOVE, Level.ABOVE, Level.ABOUT, Level.BELOW])
    assert lightness(red) < lightness(darker_first) < lightness(NEUTRAL) < lightness(blue)
    assert grey == NEUTRAL


def test_areas_fade_with_their_membership():
    shades = [lightness(area_colour("#8a1c14", chance, placed=True)) for chance in (0.99, 0.85, 0.7, 0.5)]
    assert shades == sorted(shades)
    assert len(set(shades)) == 4
    assert area_colour("#8a1c14", 0.99, placed=False) == "#ffffff"
