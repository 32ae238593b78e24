"""How far the draws can be trusted: rank-normalised split R-hat and effective sample sizes.

Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021). Arrays are (chain, draw, …) and every trailing entry is judged
at once; a progress bar asks often, so this is NumPy alone. The tests compare it with ArviZ.
"""

from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from judgemap.core.types import FloatArray

GOOD_RHAT = 1.01
GOOD_ESS = 400
AT_A_TIME = 4_000_000
"""Values that are judged at a time: of a nation's areas, some hundreds, so that no copy of all draws is made."""


class Sampling(NamedTuple):
    """How well each of several quantities was sampled."""

    rhat: FloatArray
    ess_bulk: FloatArray
    ess_tail: FloatArray

    @property
    def good(self) -> bool:
        """Whether chains agree and draws are enough, for every quantity."""
        return bool((self.rhat <= GOOD_RHAT).all() and (self.ess_bulk >= GOOD_ESS).all())


def judge_sampling(draws: FloatArray) -> Sampling:
    """Judge draws (chain, draw, quantity) by all three measures.

    >>> sampling = judge_sampling(np.random.default_rng(1).normal(size=(4, 500, 3)))
    >>> sampling.rhat.shape, bool((sampling.ess_bulk > 1500).all())
    ((3,), True)
    """
    columns = max(1, AT_A_TIME // max(draws.shape[0] * draws.shape[1], 1))
    if draws.ndim == 3 and draws.shape[2] > columns:
        parts = [judge_sampling(draws[:, :, first : first + columns]) for first in range(0, draws.shape[2], columns)]
        return Sampling(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    halves = _split(draws)
    scores = _normalise(halves)
    return Sampling(np.maximum(_rhat(scores), _tail_rhat(halves)), _ess(scores), ess_tail(draws))


def worst_so_far(draws: FloatArray) -> tuple[float, float]:
    """Return the least effective sample size and the largest R-hat of draws (chain, draw, quantity) that go on.

    A quantity that has not moved in any chain yet says nothing, and is left out.

    >>> size, largest = worst_so_far(np.random.default_rng(1).normal(size=(4, 500, 3)))
    >>> size > 1500, largest < 1.02
    (True, True)
    """
    moving = draws[:, :, np.ptp(draws, axis=(0, 1)) > 0]
    return float(ess_bulk(moving).min()), float(rhat(moving).max())


def rhat(draws: FloatArray) -> FloatArray:
    """R-hat: 1 where chains agree; the larger of the bulk's and the tails'.

    >>> rng = np.random.default_rng(1)
    >>> bool(rhat(rng.normal(size=(4, 500))) < 1.01)
    True
    """
    halves = _split(draws)
    return np.maximum(_rhat(_normalise(halves)), _tail_rhat(halves))


def ess_bulk(draws: FloatArray) -> FloatArray:
    """Effective number of independent draws for the middle of the distribution.

    >>> rng = np.random.default_rng(1)
    >>> bool(1500 < ess_bulk(rng.normal(size=(4, 500))) < 2500)
    True
    """
    return _ess(_normalise(_split(draws)))


def ess_tail(draws: FloatArray) -> FloatArray:
    """Effective number of independent draws for the 5 % and 95 % quantiles, whichever is smaller."""
    halves = _split(draws)
    low, high = np.quantile(draws, [0.05, 0.95], axis=(0, 1))
    return np.minimum(_ess((halves <= low).astype(np.float64)), _ess((halves <= high).astype(np.float64)))


def _split(draws: FloatArray) -> FloatArray:
    """Cut every chain in two halves, so that a drifting chain disagrees with itself."""
    draws = np.asarray(draws, dtype=np.float64)
    if draws.ndim < 2 or draws.shape[1] < 4:
        raise ValueError("diagnostics need an array (chain, draw, …) with at least four draws per chain")
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]], axis=0)


def _normalise(draws: FloatArray) -> FloatArray:
    """Replace draws by normal scores of their ranks over all chains, ties sharing their mean rank."""
    n = draws.shape[0] * draws.shape[1]
    columns = np.ascontiguousarray(draws.reshape(n, -1).T)
    order = np.argsort(columns, axis=1)
    scores = np.empty_like(columns)
    for column, places, result in zip(columns, order, scores, strict=True):
        ordered = column[places]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        ends = np.r_[starts[1:], n]
        result[places] = np.repeat(ndtri(((starts + ends + 1) / 2 - 0.375) / (n + 0.25)), ends - starts)
    return np.ascontiguousarray(scores.T).reshape(draws.shape)


def _tail_rhat(halves: FloatArray) -> FloatArray:
    return _rhat(_normalise(np.abs(halves - np.median(halves, axis=(0, 1)))))


def _rhat(draws: FloatArray) -> FloatArray:
    n = draws.shape[1]
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    between = draws.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: FloatArray = np.sqrt((between + within * (n - 1) / n) / within)
    return ratio


def _ess(draws: FloatArray) -> FloatArray:
    """Geyer's initial monotone sequence on the autocorrelations of all chains together."""
    chains, n = draws.shape[:2]
    flat = draws.reshape(chains, n, -1)
    autocovariance = _autocovariance(flat).mean(axis=0)
    within = autocovariance[0] * n / (n - 1)
    pooled = within * (n - 1) / n + (flat.mean(axis=1).var(axis=0, ddof=1) if chains > 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (within - autocovariance) / pooled
    rho[0] = 1.0
    least = 1 / np.log10(chains * n)
    ess = np.array([chains * n / max(_autocorrelation_time(rho[:, k], n), least) for k in range(rho.shape[1])])
    ess = np.where(np.isfinite(pooled) & (pooled > 0), ess, np.where(pooled == 0, chains * n, np.nan))
    return ess.reshape(draws.shape[2:])


def _autocovariance(draws: FloatArray) -> FloatArray:
    n = draws.shape[1]
    length = next_fast_len(2 * n)
    spectrum = rfft(draws - draws.mean(axis=1, keepdims=True), n=length, axis=1)
    result: FloatArray = irfft(np.abs(spectrum) ** 2, n=length, axis=1)[:, :n] / n
    return result


def _autocorrelation_time(rho: FloatArray, n: int) -> float:
    """τ = −1 + 2Σ P_t, P_t = ρ_2t + ρ_2t+1 while positive and made non-increasing."""
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    if not np.all(np.isfinite(pairs)):
        return float("nan")
    negative = np.flatnonzero(pairs <= 0)
    last = min(int(negative[0]) if len(negative) else n, (n - 1) // 2 - 1)
    kept = np.minimum.accumulate(pairs[:last])
    return float(-1 + 2 * kept.sum() + max(rho[2 * last], 0.0))
