"""Clusters say no more than the answers do."""

import pytest

import judgemap as jm
from judgemap.report.figures.colours import NEUTRAL, area_colour, cluster_colours, lightness
from judgemap.report.words.text import numbers_of_clusters
from judgemap.study.assess.findings import PLACED, Level


@pytest.fixture(scope="module")
def clustered():
    areas, data = jm.example_study(seed=1)
    return jm.fit_clusters(data, areas, seed=5, chains=2, warmup=100, draws=100)


@pytest.mark.parametrize("n_clusters", [None, 2, 4])
def test_no_area_below_the_average_is_shown_in_a_cluster_above_it(clustered, n_clusters):
    shown = clustered.partition(n_clusters)
    risk = clustered.areas["risk_median"].to_numpy()
    levels = [shown.grouping.groups[label - 1].level for label in shown.labels]
    for area, level in enumerate(levels):
        if shown.placed[area]:
            assert shown.probability[area] >= PLACED
            assert not (level is Level.ABOVE and risk[area] <= 0)
            assert not (level is Level.BELOW and risk[area] >= 0)


def test_a_partition_has_its_probability(clustered):
    shown = clustered.partition(2).grouping
    assert shown.number_chance == pytest.approx(float(clustered.n_clusters.get(2, 0.0)))
    assert 0 <= shown.chance <= shown.number_chance
    assert 0.4 < shown.agreement <= 1
    assert sum(group.areas for group in shown.groups) == 77
    for group in shown.groups:
        assert group.low <= group.mean <= group.high


def test_the_distribution_adds_up(clustered):
    words = numbers_of_clusters(clustered.best.grouping.numbers)
    shares = [int(part.split(":")[1].strip("< %")) for part in words.split(", ")]
    assert 95 <= sum(shares) <= 105


def test_colours_go_by_level():
    red, darker_first, grey, blue = cluster_colours([Level.ABOVE, Level.ABOVE, Level.ABOUT, Level.BELOW])
    assert lightness(red) < lightness(darker_first) < lightness(NEUTRAL) < lightness(blue)
    assert grey == NEUTRAL


def test_areas_fade_with_their_membership():
    shades = [lightness(area_colour("#8a1c14", chance, placed=True)) for chance in (0.99, 0.85, 0.7, 0.5)]
    assert shades == sorted(shades)
    assert len(set(shades)) == 4
    assert area_colour("#8a1c14", 0.99, placed=False) == "#ffffff"
