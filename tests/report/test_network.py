"""The drawing of a graph without a map."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgemap.core.model.graph import AreaGraph
from judgemap.report.figures.layout import layout


def grid(width, height):
    place = np.arange(width * height).reshape(height, width)
    across = np.column_stack([place[:, :-1].ravel(), place[:, 1:].ravel()])
    down = np.column_stack([place[:-1].ravel(), place[1:].ravel()])
    return AreaGraph(width * height, np.concatenate([across, down]))


def apart(points):
    distance = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    np.fill_diagonal(distance, np.inf)
    return distance


def test_a_grid_is_drawn_as_one():
    """Neighbours lie about one edge apart, the long side lies across, and nothing crosses over."""
    graph = grid(6, 3)
    points = layout(graph)
    i, j = graph.edges.T
    assert np.allclose(np.hypot(*(points[i] - points[j]).T), 1, atol=0.35)
    assert np.ptp(points[:, 0]) > 1.5 * np.ptp(points[:, 1])
    columns = points[:, 0].reshape(3, 6).mean(axis=0)
    assert np.all(np.diff(columns) > 0.7)


@pytest.mark.parametrize("leaves", [2, 3, 5, 12])
def test_leaves_of_a_star_do_not_coincide(leaves):
    points = layout(AreaGraph(leaves + 1, [[0, leaf] for leaf in range(1, leaves + 1)]))
    assert apart(points).min() > 0.3


def test_parts_stand_side_by_side():
    graph = AreaGraph(9, [[0, 1], [1, 2], [2, 0], [3, 4], [5, 6]])
    points, parts = layout(graph), graph.components()
    for part in range(parts.max() + 1):
        assert apart(points)[parts == part][:, parts != part].min() > 1


@given(st.integers(1, 15), st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=40))
def test_any_graph_can_be_drawn_and_is_drawn_alike_again(size, pairs):
    graph = AreaGraph(size, [[a, b] for a, b in pairs if a != b and max(a, b) < size])
    points = layout(graph)
    assert np.all(np.isfinite(points))
    assert size == 1 or apart(points).min() > 0.05
    assert np.array_equal(points, layout(graph))
