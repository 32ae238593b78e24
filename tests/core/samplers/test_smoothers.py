"""Priors that are never a matrix, against the matrix, closed forms and integrals."""

import numpy as np
import pytest
from calibration import Setting, geweke, geweke_limit, sbc_ranks, uniformity
from scipy import linalg
from synthetic import delaunay_map, ring
from test_spatial_calibration import hmc_kernel
from test_spatial_exactness import LIMIT, largest, moment_errors, three_areas

from judgemap.core.model import multiresolution
from judgemap.core.model.car import IntrinsicCar, intrinsic_car
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.multiresolution import MultiResolution, coarse_to_fine, level_lengths
from judgemap.core.model.prior import Covariance, InverseGamma, Model, communicability
from judgemap.core.samplers.large import hmc as large
from judgemap.core.samplers.large.hmc import DenseMass, FreeMass, LargeModel, find_centre
from judgemap.core.samplers.large.smoothers import (
    Borders,
    Communicability,
    Independent,
    Smoother,
    correlation_among,
    exponential_diagonal,
)
from judgemap.core.samplers.run import Plan, run, sample

PATH = AreaGraph(3, [[0, 1], [1, 2]])
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0]])
POINTS = np.random.default_rng(4).random((150, 2)) * 12
MAPS = {
    "a ring": ring(12),
    "a map": delaunay_map(150),
    "islands": AreaGraph(9, [[0, 1], [1, 2], [2, 0], [4, 5], [6, 7]]),
    "one area": AreaGraph(1, []),
}
PRIORS: dict[str, tuple[Smoother, Covariance]] = {
    **{f"car, {name}": (IntrinsicCar(graph), intrinsic_car(graph)) for name, graph in MAPS.items()},
    **{
        f"communicability, {name}": (Communicability(graph), communicability(graph))
        for name, graph in (MAPS | {"a hub": AreaGraph(101, [[0, i] for i in range(1, 101)])}).items()
    },
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
    assert np.allclose(prior.diagonal, np.diagonal(exact.inverse), rtol=1e-8)
    for begin in (0, n // 2):
        panel = np.zeros((n - begin, min(5, n - begin)), dtype=np.float32)
        prior.add_columns(0.5, begin, panel)
        wanted = exact.inverse[begin:, begin : begin + panel.shape[1]] / 2
        assert np.abs(np.tril(panel - wanted)).max() < 1e-5 * most


@pytest.mark.statistical
@pytest.mark.parametrize(
    "name", ["car, islands", "communicability, a ring", "communicability, islands", "multi-resolution"]
)
def test_noise_has_the_covariance_it_says(name):
    """5 standard errors for each of up to 400 entries: a false alarm in 2e-4 tests."""
    (prior, exact), rng = PRIORS[name], np.random.default_rng(1)
    for drawn, C in ((prior.draw(rng, 20_000), exact.matrix), (prior.precision_noise(rng, 20_000), exact.inverse)):
        error = np.sqrt((np.outer(np.diagonal(C), np.diagonal(C)) + C**2) / 20_000)
        assert (np.abs(drawn @ drawn.T / 20_000 - C) < 5 * error).all()


def test_the_diagonal_of_an_exponential():
    graph = delaunay_map(80)
    for power in (1.0, -1.0, 0.3):
        exact = np.diagonal(linalg.expm(power * graph.adjacency()))
        assert np.allclose(exponential_diagonal(Borders.of(graph), power), exact, rtol=1e-11)


def test_areas_that_border_hundreds_of_others_are_refused():
    with pytest.raises(ValueError, match=r"border very many others .* check the edges"):
        Communicability(AreaGraph(400, [[0, i] for i in range(1, 400)]))


def test_independent_areas():
    prior = Independent(3)
    panel = np.zeros((3, 2), dtype=np.float32)
    prior.add_columns(2.0, 1, panel[1:])
    assert panel.tolist() == [[0, 0], [2, 0], [0, 2]]


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


SMALL: dict[str, tuple[Covariance, Smoother]] = {
    "car": (intrinsic_car(PATH), IntrinsicCar(PATH)),
    "multi-resolution": (multiresolution.multiresolution(CORNERS, 1.0), MultiResolution(CORNERS, 1.0)),
}


def small_model(name: str) -> Model:
    known = three_areas()
    return Model(known.counts, SMALL[name][0], known.variance)


def draw_large(name: str, mass: type[DenseMass | FreeMass], draws: int = 100):
    known = small_model(name)
    model = LargeModel(known.counts, SMALL[name][1], known.variance)
    centre = find_centre(model)
    target, rng = large.LargeTarget(model, mass(centre), centre), np.random.default_rng(7)
    starts, kernel = large.draw_starts(rng, target, 64), large.kernel(target, 2)._replace(width=64)  # one batch
    return run(rng, kernel, starts, Plan(chains=64, warmup=20, draws=draws))


@pytest.mark.statistical
@pytest.mark.parametrize("name", SMALL)
def test_moments_are_exact(name):
    """Both engines against brute-force integration over three areas and α²."""
    model = small_model(name)
    for draws in (sample(np.random.default_rng(7), model), draw_large(name, DenseMass)):
        errors = moment_errors(draws, model)
        assert largest(errors) < LIMIT, errors


@pytest.mark.statistical
def test_moments_without_a_factor():
    errors = moment_errors(draw_large("car", FreeMass, draws=40), small_model("car"))
    assert largest(errors) < LIMIT, errors


@pytest.mark.statistical
def test_a_planted_bug_is_caught(monkeypatch):
    """The scale forgotten where the prior is multiplied with."""
    right = IntrinsicCar.precision
    monkeypatch.setattr(IntrinsicCar, "precision", lambda self, x: right(self, x) / self.scale)
    assert largest(moment_errors(draw_large("car", DenseMass), small_model("car"))) > LIMIT


FOUR = AreaGraph(4, [[0, 1], [1, 2]])
SPOTS = np.array([[0.0, 0.0], [1.0, 0.0], [2.5, 0.0], [2.0, 4.0]])
SETTINGS = {
    "car": (intrinsic_car(FOUR), lambda: IntrinsicCar(FOUR)),
    "multi-resolution": (multiresolution.multiresolution(SPOTS, 1.0), lambda: MultiResolution(SPOTS, 1.0)),
}


def build_large(name: str):
    def build(model: Model):
        bigger = LargeModel(model.counts, SETTINGS[name][1](), model.variance)
        centre = find_centre(bigger)
        return large.kernel(large.LargeTarget(bigger, DenseMass(centre), centre), 2)

    return build


@pytest.mark.slow  # thousands of centres; the integrals above are the quick sibling
@pytest.mark.statistical
@pytest.mark.parametrize("name", SETTINGS)
def test_geweke(name):
    setting = Setting(SETTINGS[name][0], InverseGamma(5, 5), comparisons=12)
    scores = geweke(np.random.default_rng(11), build_large(name), setting, chains=40, length=20, reference=4000)
    assert max(map(abs, scores.values())) < geweke_limit(len(scores)), scores


@pytest.mark.slow  # hundreds of fits; the integrals above are the quick sibling
@pytest.mark.statistical
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("engine", ["hmc", "large"])
def test_calibrated(name, engine):
    setting = Setting(SETTINGS[name][0], InverseGamma(5, 5), comparisons=20)
    build = hmc_kernel if engine == "hmc" else build_large(name)
    ranks = sbc_ranks(np.random.default_rng(3), build, setting, replicates=60, draws=31, steps=30)
    p = {function: uniformity(each, draws=31) for function, each in ranks.items()}
    assert min(p.values()) > 1e-3 / len(p), p
