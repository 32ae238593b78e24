"""Priors that are never a matrix, against the matrix, and closed forms."""

import numpy as np
import pytest
from synthetic import delaunay_map, ring

from judgemap.core.design.walks import correlation_among
from judgemap.core.model import multiresolution
from judgemap.core.model.car import IntrinsicCar, intrinsic_car
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.multiresolution import MultiResolution, coarse_to_fine, level_lengths
from judgemap.core.model.prior import Covariance, communicability
from judgemap.core.samplers.sparse.model import Smoother

POINTS = np.random.default_rng(4).random((150, 2)) * 12
MAPS = {
    "a ring": ring(12),
    "a map": delaunay_map(150),
    "islands": AreaGraph(9, [[0, 1], [1, 2], [2, 0], [4, 5], [6, 7]]),
    "one area": AreaGraph(1, []),
}
PRIORS: dict[str, tuple[Smoother, Covariance]] = {
    **{f"car, {name}": (IntrinsicCar(graph), intrinsic_car(graph)) for name, graph in MAPS.items()},
    # With so few areas each is given by all before it, and the process from coarse to fine is the process.
    "multi-resolution": (MultiResolution(POINTS[:20], 1.0), multiresolution.multiresolution(POINTS[:20], 1.0)),
}


@pytest.mark.parametrize("name", PRIORS)
def test_without_a_matrix_they_are_what_the_matrix_says(name):
    prior, exact = PRIORS[name]
    n, most = prior.n_areas, np.abs(exact.inverse).max()
    assert np.allclose(exact.matrix @ exact.inverse, np.eye(n), atol=1e-9 * max(1.0, most))
    assert np.allclose(exact.factor @ exact.factor.T, exact.matrix, atol=1e-9)
    assert np.abs(prior.precision(np.eye(n)) - exact.inverse).max() < 1e-8 * most
    # The root may differ from C⁻¹ in what it says of the level of a part, and only so.
    part = prior.graph.components() if isinstance(prior, IntrinsicCar) else np.arange(n)
    inner = (prior.root.T @ prior.root).toarray()
    levels = np.equal.outer(np.unique(part), part).astype(float)
    assert np.allclose(levels @ inner @ levels.T, levels @ exact.inverse @ levels.T)
    size = np.bincount(part)[part]
    assert np.abs((inner - exact.inverse)[np.not_equal.outer(part, part)]).max(initial=0.0) < 1e-12
    assert (np.abs(inner - exact.inverse) <= 1 / size + 1e-12 * most).all()


def test_correlation_of_a_few_areas_is_that_of_the_whole_map():
    graph, few = delaunay_map(150), np.array([3, 17, 90, 149])
    assert np.allclose(correlation_among(graph, few), communicability(graph).matrix[np.ix_(few, few)], atol=1e-12)


def test_an_area_is_the_mean_of_its_neighbours():
    """The closed form of a CAR: E(u_i | others) is the neighbours' mean, with variance α²/(s · their number)."""
    graph = MAPS["a map"]
    prior = IntrinsicCar(graph)
    Q, A = prior.scale * prior.laplacian.toarray(), graph.adjacency()
    np.fill_diagonal(Q, 0.0)
    assert np.allclose(-Q / (prior.scale * prior.degrees)[:, None], A / A.sum(axis=1)[:, None])
    spread = np.diagonal(np.linalg.pinv(prior.scale * prior.laplacian.toarray()))
    assert np.exp(np.log(spread).mean()) == pytest.approx(1.0), "α is the typical standard deviation"


def test_the_level_of_a_map_in_one_piece_changes_nothing():
    """Contrasts, which are all that answers tell of, have the intrinsic prior's covariance whatever the level's is."""
    prior, exact = PRIORS["car, a map"]
    centre = np.eye(150) - 1 / 150
    assert np.allclose(centre @ exact.matrix @ centre, np.linalg.pinv(prior.scale * prior.laplacian.toarray()))


def test_an_area_alone_and_parts_apart():
    C = intrinsic_car(AreaGraph(5, [[0, 1], [1, 2]])).matrix
    assert np.allclose(C[3:], np.eye(5)[3:]), "an area without neighbours is N(0, α²), independent of all others"


def test_levels_double_up_to_half_the_width():
    assert np.allclose(level_lengths(POINTS, 1.0), [1, 2, 4])
    assert np.allclose(level_lengths(POINTS, 50.0), [50])
    with pytest.raises(ValueError, match="must be a positive number"):
        level_lengths(POINTS, 0.0)


def test_from_coarse_to_fine():
    order = coarse_to_fine(POINTS)
    assert sorted(order) == list(range(150))
    gaps = [np.hypot(*(POINTS[order[:place]] - POINTS[order[place]]).T).min() for place in range(1, 150)]
    assert (np.diff(gaps) <= 1e-12).all()


def test_the_process_from_coarse_to_fine_is_close_to_the_process():
    """The divergence of the two is below a thousandth an area; given by 10 areas in place of 20 it would be larger."""
    exact = multiresolution.multiresolution(POINTS, 1.0).matrix

    def divergence() -> float:
        product = MultiResolution(POINTS, 1.0).precision(exact)
        return float(np.trace(product) - 150 - np.linalg.slogdet(product)[1]) / 2 / 150

    near = divergence()
    assert 0 <= near < 1e-3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(multiresolution, "NEAREST", 10)
        assert divergence() > 2 * near


def test_two_areas_at_one_point():
    twice = np.concatenate([POINTS[:40], POINTS[:1]])
    with pytest.raises(ValueError, match="the same centroid; choose a prior based on borders"):
        MultiResolution(twice, 1.0)
