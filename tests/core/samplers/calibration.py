"""Is a sampler exact? Two tests that need no known answer, for any ``build(model) -> Kernel``.

Both simulate the whole study: α² and the strengths from the prior, the comparisons from the strengths. `geweke`
compares the joint distribution of strengths and comparisons with what a chain makes of it; `sbc_ranks` asks whether
the true value looks like one more draw of its posterior. Use them as::

    from calibration import Setting, geweke, geweke_limit, sbc_ranks, uniformity

    setting = Setting(covariance, InverseGamma(5, 5), comparisons=20)
    scores = geweke(rng, kernel, setting)
    assert all(abs(z) < geweke_limit(len(scores)) for z in scores.values())

    ranks = sbc_ranks(rng, kernel, setting, draws=31)
    assert all(uniformity(r, draws=31) > 1e-3 / len(ranks) for r in ranks.values())

The test functions are each strength, its square, log α² (left out where α² is fixed) and the log-likelihood, which
looks at strengths and comparisons together. Squares and Geweke's standard errors need moments: choose a prior such as
α² ~ InvGamma(5, 5), not the default InvGamma(0.1, 0.1), whose mean does not exist.

Not a test module itself: pytest puts this folder on the path because it has no ``__init__.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtri, stdtr

from judgemap.core.model.counts import PairCounts, log_likelihood
from judgemap.core.model.prior import Covariance, FixedVariance, Model, VariancePrior
from judgemap.core.samplers.kernel import Kernel
from judgemap.core.simulate.trials import simulate_counts
from judgemap.core.types import FloatArray, IntArray

Build = Callable[[Model], Kernel]


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """The joint distribution to simulate from: the prior of α² and λ, and how many comparisons of uniform pairs."""

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

    def draw_counts(self, rng: np.random.Generator, strengths: FloatArray) -> PairCounts:
        """Draw the comparisons, pairs and answers, given one vector of strengths."""
        return simulate_counts(rng, strengths, self.comparisons)

    def model(self, counts: PairCounts) -> Model:
        """Return the model with these comparisons."""
        return Model(counts, self.covariance, self.variance)

    def names(self) -> list[str]:
        """Name the test functions, in the order of `evaluate`."""
        areas = range(self.covariance.n_areas)
        variance = [] if isinstance(self.variance, FixedVariance) else ["log_variance"]
        return [f"strength_{i}" for i in areas] + [f"strength_{i}²" for i in areas] + variance + ["log_likelihood"]

    def evaluate(self, counts: PairCounts, strengths: FloatArray, log_variance: FloatArray) -> FloatArray:
        """Evaluate the test functions: one row a chain, one column a function."""
        columns = [strengths, strengths**2, log_variance[:, None], log_likelihood(counts, strengths.T)[:, None]]
        if isinstance(self.variance, FixedVariance):
            del columns[2]
        return np.hstack(columns)


def geweke(
    rng: np.random.Generator,
    build: Build,
    setting: Setting,
    chains: int = 100,
    length: int = 50,
    reference: int = 10_000,
) -> dict[str, float]:
    """Geweke's joint distribution test: a z-score for each test function, standard normal if the sampler is exact.

    The successive-conditional chain alternates one step of ``build(model)`` given the comparisons with new
    comparisons given the strengths, and so has the joint prior as its stationary distribution, whose expectations
    come from ``reference`` independent draws. A test function is evaluated after the step, at the comparisons that
    the step has seen. In place of one long chain cut into batches, ``chains`` short ones start from exact draws of
    the joint prior: their averages are batch means that are independent and unbiased whatever the autocorrelation,
    so the standard error needs no tuning. Their t score, ``chains`` − 1 degrees of freedom, is given as the normal
    score of the same probability. A wrong sampler needs some ``length`` to drift from its exact start.

    Costs ``chains`` × ``length`` calls of ``build``. Source: Geweke (2004), Getting it right, JASA 99, 799-804.
    """
    exact = np.concatenate([_joint_draw(rng, setting) for _ in range(reference)])
    averages = np.array([_successive_conditional(rng, build, setting, length) for _ in range(chains)])
    return dict(zip(setting.names(), normal_scores(averages, exact).tolist(), strict=True))


def normal_scores(averages: FloatArray, exact: FloatArray) -> FloatArray:
    """Compare averages over chains, one row each, with exact draws: t scores, given as normal ones."""
    error = np.sqrt(averages.var(axis=0, ddof=1) / len(averages) + exact.var(axis=0, ddof=1) / len(exact))
    t = (averages.mean(axis=0) - exact.mean(axis=0)) / error
    z: FloatArray = np.sign(t) * -ndtri(stdtr(len(averages) - 1, -np.abs(t)))
    return z


def geweke_limit(functions: int, false_alarm: float = 1e-3) -> float:
    """Return the bound that the largest of ``functions`` |z| passes with at most the probability ``false_alarm``.

    >>> round(geweke_limit(functions=10), 2)
    3.89
    """
    return float(-ndtri(false_alarm / (2 * functions)))


def sbc_ranks(
    rng: np.random.Generator, build: Build, setting: Setting, replicates: int = 200, draws: int = 31, steps: int = 50
) -> dict[str, IntArray]:
    """Simulation-based calibration: the rank, 0 … draws, of the truth among posterior draws, for each test function.

    Each replicate simulates a truth and its comparisons, then runs one batch of ``draws`` chains from fresh draws of
    the prior and keeps where each of them is after ``steps`` steps. Kept values are so independent given the
    comparisons, and ranks are uniform if the sampler is exact and ``steps`` enough to forget the start. Ties are
    broken at random. Source: Talts et al. (2018), Validating Bayesian inference algorithms, arXiv 1804.06788.
    """
    ranks = np.array([_rank_of_truth(rng, build, setting, draws, steps) for _ in range(replicates)])
    return dict(zip(setting.names(), ranks.T, strict=True))


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


def advance(
    rng: np.random.Generator, kernel: Kernel, starts: tuple[FloatArray, FloatArray], steps: int
) -> tuple[FloatArray, FloatArray]:
    """Return strengths and log α² after several steps, one row per chain."""
    _, draws = kernel.advance(rng, kernel.init(rng, *starts), steps, steps)
    return draws["strengths"][:, -1], draws["log_variance"][:, -1]


def _joint_draw(rng: np.random.Generator, setting: Setting) -> FloatArray:
    strengths, log_variance = setting.draw_prior(rng, 1)
    return setting.evaluate(setting.draw_counts(rng, strengths[0]), strengths, log_variance)


def _successive_conditional(rng: np.random.Generator, build: Build, setting: Setting, length: int) -> FloatArray:
    strengths, log_variance = setting.draw_prior(rng, 1)
    total = np.zeros(len(setting.names()))
    for _ in range(length):
        counts = setting.draw_counts(rng, strengths[0])
        kernel = build(setting.model(counts))
        strengths, log_variance = advance(rng, kernel, (strengths, log_variance), steps=1)
        total += setting.evaluate(counts, strengths, log_variance)[0]
    return total / length


def _rank_of_truth(rng: np.random.Generator, build: Build, setting: Setting, draws: int, steps: int) -> IntArray:
    truth = setting.draw_prior(rng, 1)
    counts = setting.draw_counts(rng, truth[0][0])
    kernel = build(setting.model(counts))
    values = setting.evaluate(counts, *advance(rng, kernel, setting.draw_prior(rng, draws), steps))
    true = setting.evaluate(counts, *truth)
    below, equal = np.sum(values < true, axis=0), np.sum(values == true, axis=0)
    ranks: IntArray = below + rng.integers(equal + 1)
    return ranks
