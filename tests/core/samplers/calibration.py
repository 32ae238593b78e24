"""Is a sampler exact? Two tests that need no known answer.

Both simulate a whole study: an object whose ``prior(rng)`` draws what is unknown, the truth, whose ``data(rng, truth)``
draws what follows from it, and whose ``evaluate(data, truth)`` returns test functions of both. `joint_scores` compares
the joint distribution of unknowns and data with what a chain makes of it; `joint_ranks` asks whether the truth looks
like one more draw of its posterior. `Setting` is such a study of strengths and α², with `geweke` and `sbc_ranks` for
any ``build(model) -> Kernel``.

The log-likelihood, a function of unknowns and data together, sees what unknowns alone do not. Squares and Geweke's
standard errors need moments: choose a prior such as α² ~ InvGamma(5, 5), not the default InvGamma(0.1, 0.1), whose mean
does not exist.

Not a test module itself: pytest puts this folder on the path because it has no ``__init__.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc, ndtri, stdtr

from judgemap.core.model.counts import PairCounts, log_likelihood
from judgemap.core.model.prior import Covariance, FixedVariance, Model, VariancePrior
from judgemap.core.samplers.kernel import Kernel
from judgemap.core.simulate.trials import simulate_counts
from judgemap.core.types import FloatArray, IntArray

FALSE_ALARM = 1e-3
Build = Callable[[Model], Kernel]
Truth = tuple[FloatArray, float]
"""Strengths and log α²."""


def joint_scores(
    rng: np.random.Generator, study: Any, step: Callable[..., Any], chains: int, length: int, reference: int
) -> FloatArray:
    """Geweke's joint distribution test: a z-score for each test function, standard normal if the sampler is exact.

    The successive-conditional chain alternates new data given the truth with ``step(rng, data, truth) -> truth``, and
    so has the joint prior as its stationary distribution, whose expectations come from ``reference`` independent draws.
    A test function is evaluated after the step, at the data that the step has seen. In place of one long chain cut into
    batches, ``chains`` short ones start from exact draws of the joint prior: their averages are batch means that are
    independent and unbiased whatever the autocorrelation, so the standard error needs no tuning. A wrong sampler needs
    some ``length`` to drift from its exact start. Source: Geweke (2004), Getting it right, JASA 99, 799-804.
    """

    def exact() -> FloatArray:
        truth = study.prior(rng)
        return study.evaluate(study.data(rng, truth), truth)

    def average() -> FloatArray:
        truth, total = study.prior(rng), 0.0
        for _ in range(length):
            data = study.data(rng, truth)
            truth = step(rng, data, truth)
            total = total + study.evaluate(data, truth)
        return total / length

    known = np.array([exact() for _ in range(reference)])
    return normal_scores(np.array([average() for _ in range(chains)]), known)


def joint_ranks(
    rng: np.random.Generator, study: Any, posterior: Callable[..., Sequence[Any]], replicates: int
) -> IntArray:
    """Simulation-based calibration: ranks of the truth among posterior draws, a column for each test function.

    ``posterior(rng, data, truth)`` returns nearly independent draws. Ranks are uniform if the sampler is exact. Ties
    are broken at random. Source: Talts et al. (2018), Validating Bayesian inference algorithms, arXiv 1804.06788.
    """
    ranks = []
    for _ in range(replicates):
        truth = study.prior(rng)
        data = study.data(rng, truth)
        values = np.array([study.evaluate(data, each) for each in posterior(rng, data, truth)])
        true = study.evaluate(data, truth)
        ranks.append(np.sum(values < true, axis=0) + rng.integers(np.sum(values == true, axis=0) + 1))
    return np.array(ranks)


def normal_scores(averages: FloatArray, exact: FloatArray) -> FloatArray:
    """Compare averages over chains, one row each, with exact draws: t scores, given as normal ones."""
    error = np.sqrt(averages.var(axis=0, ddof=1) / len(averages) + exact.var(axis=0, ddof=1) / len(exact))
    t = (averages.mean(axis=0) - exact.mean(axis=0)) / error
    z: FloatArray = np.sign(t) * -ndtri(np.maximum(stdtr(len(averages) - 1, -np.abs(t)), 1e-300))
    return z


def geweke_limit(functions: int, false_alarm: float = FALSE_ALARM) -> float:
    """Return the bound that the largest of ``functions`` |z| passes with at most the probability ``false_alarm``.

    >>> round(geweke_limit(functions=10), 2)
    3.89
    """
    return float(-ndtri(false_alarm / (2 * functions)))


def worst(scores: FloatArray | Sequence[float], false_alarm: float = FALSE_ALARM) -> float:
    """Return the largest |z|, divided by its limit."""
    return float(np.abs(scores).max() / geweke_limit(len(scores), false_alarm))


def uniformity(ranks: IntArray, draws: int, bins: int = 8) -> float:
    """Return the p-value of Pearson's χ² test that ranks in 0 … draws are uniform, in equal bins.

    >>> uniformity(np.arange(32).repeat(10), draws=31)
    1.0
    >>> uniformity(np.zeros(100, dtype=int), draws=31) < 1e-9
    True
    """
    if (draws + 1) % bins:
        raise ValueError(f"{draws} draws give {draws + 1} ranks, which {bins} bins do not divide")
    seen = np.bincount(ranks * bins // (draws + 1), minlength=bins)
    expected = len(ranks) / bins
    return float(chdtrc(bins - 1, np.sum((seen - expected) ** 2) / expected))


def smallest_p(ranks: IntArray, draws: int) -> float:
    """Return the smallest p-value of the columns' uniformity, multiplied by how many there are."""
    return min(uniformity(column, draws) for column in ranks.T) * ranks.shape[1]


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """Strengths and α² from their priors, and how many comparisons of uniform pairs.

    The test functions are each strength, its square, log α² (left out where α² is fixed) and the log-likelihood.
    """

    covariance: Covariance
    variance: VariancePrior
    comparisons: int

    def draw_prior(self, rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        """Draw λ, shape (size, areas), and log α², shape (size,), from the prior."""
        if isinstance(self.variance, FixedVariance):
            log_variance = np.full(size, np.log(self.variance.value))
        else:
            log_variance = np.array([self.variance.terms.draw(rng) for _ in range(size)])
        return np.exp(log_variance / 2)[:, None] * self.covariance.draw(rng, size), log_variance

    def prior(self, rng: np.random.Generator) -> Truth:
        (strengths,), (log_variance,) = self.draw_prior(rng, 1)
        return strengths, log_variance

    def data(self, rng: np.random.Generator, truth: Truth) -> PairCounts:
        return simulate_counts(rng, truth[0], self.comparisons)

    def model(self, counts: PairCounts) -> Model:
        """Return the model with these comparisons."""
        return Model(counts, self.covariance, self.variance)

    def evaluate(self, counts: PairCounts, truth: Truth) -> FloatArray:
        strengths, log_variance = truth
        scales = [] if isinstance(self.variance, FixedVariance) else [log_variance]
        return np.array([*strengths, *strengths**2, *scales, log_likelihood(counts, strengths)])

    def named(self, values: FloatArray | IntArray) -> dict[str, Any]:
        """Name the test functions."""
        areas = range(self.covariance.n_areas)
        scales = [] if isinstance(self.variance, FixedVariance) else ["log_variance"]
        names = [*(f"strength_{i}" for i in areas), *(f"strength_{i}²" for i in areas), *scales, "log_likelihood"]
        return dict(zip(names, values, strict=True))


def geweke(
    rng: np.random.Generator,
    build: Build,
    setting: Setting,
    chains: int = 100,
    length: int = 50,
    reference: int = 10_000,
) -> dict[str, float]:
    """Geweke's test of a kernel, by name. Costs ``chains`` × ``length`` calls of ``build``."""

    def step(rng: np.random.Generator, counts: PairCounts, truth: Truth) -> Truth:
        starts = truth[0][None], np.array([truth[1]])
        (strengths,), (log_variance,) = advance(rng, build(setting.model(counts)), starts, steps=1)
        return strengths, log_variance

    return setting.named(joint_scores(rng, setting, step, chains, length, reference))


def sbc_ranks(
    rng: np.random.Generator, build: Build, setting: Setting, replicates: int = 200, draws: int = 31, steps: int = 50
) -> dict[str, IntArray]:
    """Simulation-based calibration of a kernel, by name; the draws are where separate chains are after ``steps``."""

    def posterior(rng: np.random.Generator, counts: PairCounts, _truth: Truth) -> list[Truth]:
        kernel = build(setting.model(counts))
        return list(zip(*advance(rng, kernel, setting.draw_prior(rng, draws), steps), strict=True))

    return setting.named(joint_ranks(rng, setting, posterior, replicates).T)


def advance(
    rng: np.random.Generator, kernel: Kernel, starts: tuple[FloatArray, FloatArray], steps: int
) -> tuple[FloatArray, FloatArray]:
    """Return strengths and log α² after several steps, one row per chain."""
    _, draws = kernel.advance(rng, kernel.init(rng, *starts), steps, steps)
    return draws["strengths"][:, -1], draws["log_variance"][:, -1]
