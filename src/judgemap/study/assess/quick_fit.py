"""Quick fits of any part of the comparisons, for figures about judges and halves of them.

A quick fit is the Gaussian nearest to the posterior (`core.gaussian`), found in milliseconds for 76 areas.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from judgemap.core.approximate.gaussian import Gaussian, gaussian
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.prior import (
    Covariance,
    InverseGamma,
    Model,
    VariancePrior,
)
from judgemap.errors import StudyError
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.settings import ClusterSettings

if TYPE_CHECKING:
    from judgemap.study.fit.result import Fit


class Belief(NamedTuple):
    """What a quick fit assumes: the covariance of the strengths, and the prior of α²."""

    covariance: Covariance
    variance: VariancePrior


def belief_of(fit: "Fit") -> Belief:
    """Return the prior for quick fits of a fit's answers: the fit's own.

    Clusters have a different kind of prior; for them it is the spatial model's, with its default prior of α².

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> belief_of(jm.fit_standard(data, areas, seed=1, chains=2, draws=50)).variance
    InverseGamma(shape=0.1, scale=0.1)
    """
    variance = fit.record.hyperparameters
    return Belief(fit.covariance, InverseGamma() if isinstance(variance, ClusterSettings) else variance)


def quick_fit(counts: PairCounts, belief: Belief, near: Gaussian | None = None) -> Gaussian:
    """Fit in milliseconds, starting from a similar fit ``near`` if given.

    >>> from judgemap.core.model.counts import count_pairs
    >>> from judgemap.core.model.prior import FixedVariance, independent
    >>> fit = quick_fit(count_pairs([0, 0], [1, 1], n_areas=2), Belief(independent(2), FixedVariance(4.0)))
    >>> bool(fit.chances([0], [1])[0] > 0.5)
    True
    """
    return gaussian(Model(counts, belief.covariance, belief.variance), near)


@lru_cache(maxsize=2)
def whole_fit(data: Comparisons, belief: Belief) -> Gaussian:
    """Quickly fit all decided answers; cached, because judges and halves are both compared with it."""
    return quick_fit(data.counts_of(data.decided), belief)


def check_areas(fit: "Fit", data: Comparisons) -> None:
    """Raise a `StudyError` unless a fit and comparisons have the same areas."""
    if fit.map.ids != data.ids:
        raise StudyError("the fit and the comparisons are of different areas; read the comparisons with the fit's map")
