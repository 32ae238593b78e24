"""The compiled pass over the pairs is the likelihood written plainly in NumPy."""

import numpy as np
import pytest

from judgemap.core.model.counts import PairCounts, count_pairs, laplacian
from judgemap.core.samplers.compiled import exp_of_negative, tanh_of_half
from judgemap.core.samplers.spatial.compiled import add_laplacian, add_to_triangle, lay_out, log_likelihood, pass_pairs
from judgemap.core.types import FloatArray

CHAINS = (1, 3, 8, 33)


def compiled(counts: PairCounts, strengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """∇ℓ and ℓ by one pass; each alone is the same."""
    rows, nothing = lay_out(counts), np.empty(0)
    score, fall, alone = np.zeros_like(strengths), np.zeros(strengths.shape[1]), np.zeros_like(strengths)
    pass_pairs(rows, strengths, score, fall, nothing, nothing)
    pass_pairs(rows, strengths, alone, nothing, nothing, nothing)
    np.testing.assert_array_equal(alone, score)
    np.testing.assert_array_equal(log_likelihood(rows, strengths), -fall)
    return score, -fall


def plainly(counts: PairCounts, strengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """∇ℓ and ℓ as docs/model.md has them: arrays of every pair and chain, and library functions."""
    half = (strengths[counts.first] - strengths[counts.second]) / 2
    score = np.repeat(counts.excess()[:, None], strengths.shape[1], axis=1)
    np.subtract.at(score, counts.first, counts.n[:, None] / 2 * np.tanh(half))
    np.add.at(score, counts.second, counts.n[:, None] / 2 * np.tanh(half))
    return score, counts.excess() @ strengths - counts.n @ np.logaddexp(half, -half)


def study(rng: np.random.Generator, answers: int, n_areas: int = 20) -> PairCounts:
    first = rng.integers(n_areas, size=answers)
    return count_pairs(first, (first + rng.integers(1, n_areas, size=answers)) % n_areas, n_areas)


@pytest.mark.parametrize("chains", CHAINS)
@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("answers", [1, 300, 20_000])
def test_equals_numpy(answers: int, spread: float, chains: int) -> None:
    """Few answers a pair and over a hundred, blocks that are full and not, differences from 0 to thousands."""
    rng = np.random.default_rng(1)
    counts = study(rng, answers)
    strengths = spread * rng.standard_normal((20, chains))
    score, height = compiled(counts, strengths)
    expected_score, expected_height = plainly(counts, strengths)
    np.testing.assert_allclose(score, expected_score, rtol=0, atol=1e-10)
    np.testing.assert_allclose(height, expected_height, rtol=1e-12, atol=1e-10)


def test_products_with_the_laplacian() -> None:
    rng = np.random.default_rng(6)
    counts = study(rng, 300)
    weights, vectors, result = rng.random(len(counts.n)), rng.standard_normal((20, 5)), np.ones((20, 5))
    add_laplacian(counts.first, counts.second, weights, vectors, result)
    np.testing.assert_allclose(result - 1, laplacian(counts, weights) @ vectors, rtol=0, atol=1e-10)


def test_the_laplacian_above_the_diagonal() -> None:
    rng = np.random.default_rng(6)
    counts = study(rng, 300)
    weights, matrix = rng.random(len(counts.n)), np.ones((20, 20))
    add_to_triangle(counts.first, counts.second, weights, matrix)
    np.testing.assert_allclose(np.triu(matrix - 1), np.triu(laplacian(counts, weights)), rtol=0, atol=1e-12)


def test_pairs_without_a_decided_answer() -> None:
    """Pairs that were always tied say nothing here."""
    some, none = count_pairs([0, 1], [1, 2], 3), count_pairs([0, 1], [1, 2], 3, ties=[(0, 2)])
    strengths = np.array([[0.3, 5.0], [-1.0, 0.0], [2.0, 1.0]])
    for one, other in zip(compiled(some, strengths), compiled(none, strengths), strict=True):
        np.testing.assert_array_equal(one, other)


def test_certain_answers_add_nothing() -> None:
    """However large the strengths: no difference of large numbers is left over."""
    counts = count_pairs([0, 0, 0, 1], [1, 1, 1, 2], 3)
    height = log_likelihood(lay_out(counts), np.array([[3e15], [1.7e7], [-5e3]]))
    assert -1e-200 < height[0] <= 0


def test_the_exponential_to_the_last_digits() -> None:
    x = -np.concatenate([[0.0], np.geomspace(1e-300, 700, 5000)])
    ours = np.array([exp_of_negative(each) for each in x])
    np.testing.assert_allclose(ours, np.exp(x), rtol=1e-15)
    assert 0 < exp_of_negative(-1e9) < 1e-300


def test_the_hyperbolic_tangent_to_the_last_digits() -> None:
    x = np.concatenate([[0.0], np.geomspace(1e-300, 1e9, 5000), np.linspace(0, 40, 5000)])
    ours = np.array([tanh_of_half(each) for each in x])
    np.testing.assert_allclose(ours, np.tanh(x / 2), rtol=0, atol=4e-16)
    assert (ours[x > 40] == 1).all()
    assert tanh_of_half(np.inf) == 1


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_a_chain_that_left_the_numbers_says_so(broken: float) -> None:
    """Its proposal has to be refused, so its log-likelihood may not look like one."""
    counts = study(np.random.default_rng(2), 300)
    strengths = np.zeros((20, 2))
    strengths[3, 1] = broken
    height = log_likelihood(lay_out(counts), strengths)
    assert np.isfinite(height[0])
    assert not np.isfinite(height[1])
