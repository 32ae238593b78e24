"""How far the draws can be trusted: rank-normalised split R-hat and effective sample sizes.

Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021). Arrays are (chain, draw, …), and all trailing entries are
assessed at once. A progress bar calls this often, so it uses only NumPy. The tests compare it with ArviZ.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from judgemap.core.types import FloatArray

GOOD_RHAT = 1.01
GOOD_ESS = 400
AT_A_TIME = 4_000_000
"""The most values copied at a time, a few hundred areas of a national map, so that all draws are never copied."""
IN_CACHE = 160_000
"""The most values assessed at a time: few enough to stay in the processor's cache, with what is made of them."""


class Sampling(NamedTuple):
    """How well each of several quantities was sampled."""

    rhat: FloatArray
    ess_bulk: FloatArray
    ess_tail: FloatArray

    @property
    def good(self) -> bool:
        """Whether the chains agree and there are enough draws, for every quantity."""
        return bool((self.rhat <= GOOD_RHAT).all() and (self.ess_bulk >= GOOD_ESS).all())


def assess_sampling(draws: FloatArray) -> Sampling:
    """Assess draws (chain, draw, quantity) by all three measures."""
    columns = max(1, IN_CACHE // max(draws.shape[0] * draws.shape[1], 1))
    if draws.ndim == 3 and draws.shape[2] > columns:
        parts = [assess_sampling(draws[:, :, first : first + columns]) for first in range(0, draws.shape[2], columns)]
        return Sampling(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    chains = _by_quantity(draws)
    halves = _split(chains)
    scores, ordered = _normalise(halves)
    assessed = np.maximum(_rhat(scores), _tail_rhat(halves, ordered)), _ess(scores), _tail_ess(chains, halves)
    return Sampling(*(each.reshape(draws.shape[2:]) for each in assessed))


def worst_so_far(draws: FloatArray) -> tuple[float, float]:
    """Return the smallest effective sample size and largest R-hat of draws (chain, draw, quantity) in progress.

    A quantity that has not yet moved in any chain says nothing, and is left out.
    """
    moving = draws[:, :, np.ptp(draws, axis=(0, 1)) > 0]
    return float(ess_bulk(moving).min()), float(rhat(moving).max())


def rhat(draws: FloatArray) -> FloatArray:
    """R-hat, 1 if the chains agree: the larger of that of the bulk and that of the tails."""
    halves = _split(_by_quantity(draws))
    scores, ordered = _normalise(halves)
    return np.maximum(_rhat(scores), _tail_rhat(halves, ordered)).reshape(draws.shape[2:])


def ess_bulk(draws: FloatArray) -> FloatArray:
    """Effective number of independent draws for the bulk of the distribution."""
    return _ess(_normalise(_split(_by_quantity(draws)))[0]).reshape(draws.shape[2:])


def _by_quantity(draws: FloatArray) -> FloatArray:
    """Return draws as (quantity, chain, draw), so that values used together are adjacent in memory."""
    draws = np.asarray(draws, dtype=np.float64)
    if draws.ndim < 2 or draws.shape[1] < 4:
        raise ValueError("diagnostics need an array (chain, draw, …) with at least four draws per chain")
    flat = draws.reshape(*draws.shape[:2], math.prod(draws.shape[2:]))
    return np.ascontiguousarray(flat.transpose(2, 0, 1))


def _split(chains: FloatArray) -> FloatArray:
    """Cut every chain into two halves, so that a drifting chain disagrees with itself."""
    half = chains.shape[2] // 2
    return np.concatenate([chains[:, :, :half], chains[:, :, -half:]], axis=1)


def _normalise(draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return normal scores of the draws' ranks over all chains, ties sharing their mean rank, and the sorted draws."""
    n = draws.shape[1] * draws.shape[2]
    columns = draws.reshape(len(draws), n)
    order = np.argsort(columns, axis=1)
    ordered = np.take_along_axis(columns, order, axis=1)
    ranks = np.arange(2, 2 * n + 1) / 2  # whole ranks, and the half ranks that ties can share
    score: FloatArray = ndtri((ranks - 0.375) / (n + 0.25))
    scores = np.empty_like(columns)
    np.put_along_axis(scores, order, score[None, ::2], axis=1)
    for each in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)):
        starts = np.flatnonzero(np.r_[True, ordered[each, 1:] != ordered[each, :-1]])
        ends = np.r_[starts[1:], n]
        scores[each, order[each]] = np.repeat(score[starts + ends - 1], ends - starts)
    return scores.reshape(draws.shape), ordered


def _tail_rhat(halves: FloatArray, ordered: FloatArray) -> FloatArray:
    n = ordered.shape[1]
    middle = (ordered[:, (n - 1) // 2] + ordered[:, n // 2]) / 2
    return _rhat(_normalise(np.abs(halves - middle[:, None, None]))[0])


def _rhat(draws: FloatArray) -> FloatArray:
    n = draws.shape[2]
    within = draws.var(axis=2, ddof=1).mean(axis=1)
    between = draws.mean(axis=2).var(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: FloatArray = np.sqrt((between + within * (n - 1) / n) / within)
    return ratio


def _tail_ess(chains: FloatArray, halves: FloatArray) -> FloatArray:
    """Effective number of independent draws for the 5 % and 95 % quantiles, whichever is smaller."""
    limits = np.quantile(chains.reshape(len(chains), -1), [0.05, 0.95], axis=1)
    low, high = (_ess((halves <= limit[:, None, None]).astype(np.float64)) for limit in limits)
    return np.minimum(low, high)


def _ess(draws: FloatArray) -> FloatArray:
    """Effective sample size by Geyer's initial monotone sequence, from the autocorrelations of all chains together."""
    chains, n = draws.shape[1:]
    autocovariance = _autocovariance(draws)
    within = autocovariance[:, 0] * n / (n - 1)
    pooled = within * (n - 1) / n + (draws.mean(axis=2).var(axis=1, ddof=1) if chains > 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (within[:, None] - autocovariance) / pooled[:, None]
        rho[:, 0] = 1.0
        # Negatively correlated draws can beat independent ones; like Stan, cap the ESS of S draws at S log₁₀ S.
        ess = chains * n / np.maximum(_autocorrelation_time(rho), 1 / np.log10(chains * n))
    return np.where(np.isfinite(pooled) & (pooled > 0), ess, np.where(pooled == 0, chains * n, np.nan))


def _autocovariance(draws: FloatArray) -> FloatArray:
    """Return the autocovariance averaged over the chains, (quantity, lag)."""
    n = draws.shape[2]
    length = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(draws - draws.mean(axis=2, keepdims=True), n=length, axis=2)
    squares = np.square(spectrum.view(np.float64)).mean(axis=1)
    power = squares[:, ::2] + squares[:, 1::2]
    return np.fft.irfft(power, n=length, axis=1)[:, :n] / n


def _autocorrelation_time(rho: FloatArray) -> FloatArray:
    """τ = −1 + 2Σ P_t, P_t = ρ_2t + ρ_2t+1 while positive and made non-increasing, for every row."""
    size, n = rho.shape
    pairs = rho[:, : n - n % 2].reshape(size, -1, 2).sum(axis=2)
    negative = pairs <= 0
    last = np.where(negative.any(axis=1), negative.argmax(axis=1), n)
    last = np.minimum(last, (n - 1) // 2 - 1)
    kept = np.minimum.accumulate(pairs, axis=1)
    total = np.where(np.arange(pairs.shape[1]) < last[:, None], kept, 0.0).sum(axis=1)
    time: FloatArray = -1 + 2 * total + np.maximum(rho[np.arange(size), 2 * last], 0.0)
    return np.where(np.isfinite(pairs).all(axis=1), time, np.nan)
