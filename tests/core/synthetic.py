"""Synthetic maps, and the goodness of fit of drawn pairs, for the tests of schedules."""

import numpy as np
from scipy.spatial import Delaunay
from scipy.special import chdtrc

from judgemap.core.model.graph import AreaGraph


def delaunay_map(n_areas, seed=1):
    """A map of areas around random points: neighbours as in a Delaunay triangulation."""
    corners = Delaunay(np.random.default_rng(seed).random((n_areas, 2))).simplices
    return AreaGraph(n_areas, np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]))


def ring(n_areas):
    """Areas in a circle, each between two others."""
    return AreaGraph(n_areas, [[i, (i + 1) % n_areas] for i in range(n_areas)])


def all_pairs(n_areas):
    """Every pair i < j, one a row."""
    return np.stack(np.triu_indices(n_areas, 1), axis=1)


def fit_of_draws(pairs, probabilities):
    """p-value of Pearson's χ² of drawn pairs against a matrix of probabilities; 0 if an impossible pair came."""
    n_areas = len(probabilities)
    i, j = all_pairs(n_areas).T
    drawn = np.bincount(pairs.min(axis=1) * n_areas + pairs.max(axis=1), minlength=n_areas**2)[i * n_areas + j]
    expected = len(pairs) * probabilities[i, j]
    if np.any(drawn[expected == 0]):
        return 0.0
    drawn, expected = drawn[expected > 0], expected[expected > 0]
    assert expected.min() >= 5, "too few draws for a χ² test"
    return float(chdtrc(len(drawn) - 1, ((drawn - expected) ** 2 / expected).sum()))


def matrix_of(design):
    """All probabilities of a design as a symmetric matrix."""
    i, j = all_pairs(design.n_areas).T
    q = np.zeros((design.n_areas, design.n_areas))
    q[i, j] = q[j, i] = design.probability(i, j)
    return q
