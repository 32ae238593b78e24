"""Pictures of a clustering, on a map and without one: they say what the numbers say."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

import judgemap as jm
from judgemap.report.figures import clusters


@pytest.fixture(scope="module", params=["map", "network"])
def clustered(request):
    areas, data = jm.example_study(seed=5)
    if request.param == "network":
        areas = jm.Areas(areas.ids, areas.names, areas.graph)
    return jm.fit_clusters(data, areas, seed=5, chains=2, warmup=200, draws=200)


@pytest.fixture(scope="module")
def spatial():
    areas, data = jm.example_study(seed=5)
    return jm.fit_spatial(data, areas, seed=5, chains=2, draws=200)


@pytest.mark.parametrize("draw", [clusters.cluster_map, clusters.cluster_violins, clusters.cluster_number_bars,
                                  clusters.co_clustering_matrix])  # fmt: skip
def test_pictures_are_drawn_alike_each_time(clustered, draw):
    one, two = draw(clustered), draw(clustered)
    ET.fromstring(one.svg())  # noqa: S314 - our own output
    assert one.svg() == two.svg()
    assert one.alt.endswith(".")
    assert one.caption


def test_the_map_counts_areas_as_the_table_does(clustered):
    alt = clusters.cluster_map(clustered).alt
    for cluster, size in clustered.clusters["cluster"].value_counts().items():
        assert f"cluster {cluster} has {size} areas" in alt
    kind = "Network drawing" if clustered.map.geometry is None else "Map"
    assert alt.startswith(kind)


def test_against_the_spatial_model(clustered, spatial):
    picture = clusters.against_spatial(clustered, spatial)
    medians = [each.areas["risk_median"] for each in (clustered, spatial)]
    assert f"correlation {np.corrcoef(*medians)[0, 1]:.3f}" in picture.alt
    areas = jm.Areas(("a", "b"), ("A", "B"), type(spatial.map.graph)(2, [[0, 1]]))
    with pytest.raises(jm.StudyError, match="different areas"):
        clusters.against_spatial(clustered, type(spatial)(areas, *(getattr(spatial, f) for f in
                                 ("posterior", "sample_stats", "observed_data", "info"))))  # fmt: skip
