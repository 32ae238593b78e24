"""Tables and pictures of simulation studies say the numbers that were measured."""

import pytest

from judgemap.core.model.graph import AreaGraph
from judgemap.report.figures.experiments import remarks, summary_picture, summary_table
from judgemap.study.simulations.clustering import Clustering
from judgemap.study.simulations.robustness import Robustness
from judgemap.study.simulations.runner import Job, Results, SetResult
from judgemap.study.simulations.scalability import Scalability
from judgemap.study.simulations.scheduling import Scheduling

MAP = AreaGraph(3, [[0, 1], [1, 2]])


def results(experiment, rows):
    sets = tuple(SetResult(number, list(each), 1.0) for number, each in enumerate(rows, start=1))
    return Results(Job(experiment, MAP, len(sets), 1), sets)


@pytest.fixture
def scheduling():
    utility = {"u2": 1e5, "u2_robust": 200.0, "u1_uncentred": 0.01}
    ratios = {"uniform": 1.0, "naive": 1.0, "principal": 0.5, "optimal": 2.0}
    rows = [
        [{"design": name, "u1": base * ratio, **utility} for name, ratio in ratios.items()] for base in (0.02, 0.04)
    ]
    return results(Scheduling(), rows)


@pytest.fixture
def scalability():
    ess = {"ess_min": 10.0, "ess_median": 50.0, "ess_max": 90.0, "ess_log_variance": 20.0, "setup_seconds": 2.0}
    row = {**ess, "seconds": 0.5, "acceptance": 1.0}
    rhats = {"gibbs": 1.005, "single-site": 1.2, "block-walk": 2.5, "hmc": 1.0, "caron-doucet": 1.0}
    return results(Scalability(), [[{"sampler": name, "rhat_max": rhat, **row} for name, rhat in rhats.items()]] * 2)


@pytest.fixture
def clustering():
    row = {"binder_rand": 0.7, "binder_adjusted_rand": 0.6, "absolute_error": 0.25, "p_true_clusters": 0.5}
    row |= {"true_clusters": 3, "found_clusters": 2, "rand": 0.8}
    return results(
        Clustering(), [[{**row, "adjusted_rand": a, "chains_agree": ok}] for a, ok in ((0.2, True), (0.6, False))]
    )


@pytest.fixture
def robustness():
    covered = {"paper": 0.5, "plain": 0.6, "remedy": 0.94}
    row = {"scaled": 0.9, "ranks": 0.96, "r2": 0.8, "claimed": 0.85}
    made = [{"case": "careless", "fit": fit, "risk": risk, **row} for fit, risk in covered.items()]
    return results(Robustness(behaviours=("careless",), truths=()), [made] * 2)


def test_robustness(robustness):
    rows = {str(row[1]): [str(cell) for cell in row] for row in summary_table(robustness).rows}
    assert rows["remedy"] == ["one judge in five careless", "remedy", "0.940", "0.900", "0.960", "0.800 (0.850)"]
    assert "over 2 sets: one judge in five careless, paper 0.900; " in summary_picture(robustness).alt


def test_scheduling(scheduling):
    text = summary_table(scheduling).text()
    assert "optimal              0.0600 (0.0400–0.0800)   2.000 (2.000–2.000)" in text
    assert "principal component 0.500; optimal 2.000" in summary_picture(scheduling).alt
    assert "2 sets" in summary_table(scheduling).caption


def test_scalability(scalability):
    rows = {str(row[0]): [str(cell) for cell in row[1:]] for row in summary_table(scalability).rows}
    assert rows["block random walk"] == ["100 (20.0–180)", "20.0", "40.0", "20.0", "2.500", "0 of 2"]
    said = " ".join(remarks(scalability))
    assert "single site: chains agreed (R-hat of every area ≤ 1.01) in 0 of 2 sets" in said
    assert "HMC" not in said
    assert "Gibbs" not in said


def test_clustering(clustering):
    rows = {str(row[0]): [str(cell) for cell in row[1:]] for row in summary_table(clustering).rows}
    assert rows["adjusted Rand index"] == ["0.400", "0.400", "0.200", "0.600"]
    assert "agreed (R-hat < 1.05) in 1 of 2 sets" in " ".join(remarks(clustering))
    assert "adjusted Rand index 0.400" in summary_picture(clustering).alt


@pytest.mark.parametrize("study", ["scheduling", "scalability", "clustering", "robustness"])
def test_pictures_are_written_alike_and_without_markup(request, study):
    made = request.getfixturevalue(study)
    svg = summary_picture(made).svg()
    assert svg == summary_picture(made).svg()
    assert "mathdefault" not in svg
