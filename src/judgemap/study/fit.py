"""From comparisons and areas to a fit: every step of an analysis, in order."""

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from judgemap.core.comparisons import PairCounts
from judgemap.core.model import Model
from judgemap.core.prior import Covariance, FixedVariance, InverseGamma, VariancePrior, communicability, independent
from judgemap.core.samplers.run import SAMPLERS, Plan, Watcher, sample
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.comparisons import Comparisons
from judgemap.study.provenance import record

if TYPE_CHECKING:
    from judgemap.study.result import Fit


class RunOptions(TypedDict, total=False):
    """How to sample; every entry has a default."""

    sampler: str
    """'hmc' (default) or 'gibbs'."""
    chains: int
    warmup: int
    draws: int
    thin: int
    cores: int
    """Threads to use; the draws do not depend on it."""
    watch: Watcher | None
    """Called with the draws so far, again and again."""


def fit_standard(
    data: Comparisons,
    areas: Areas,
    *,
    seed: int,
    variance: VariancePrior | None = None,
    **options: Unpack[RunOptions],
) -> "Fit":
    """Fit the standard Bradley-Terry model, λ ~ N(0, α² I): areas tell nothing of their neighbours.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_standard(data, areas, seed=1, chains=2, draws=200)
    >>> fit.info["model"]
    'standard'
    """
    covariance = independent(len(areas))
    return _fit("standard", data, areas, covariance, seed, variance or InverseGamma(), options)


def fit_spatial(
    data: Comparisons,
    areas: Areas,
    *,
    seed: int,
    covariance: Covariance | None = None,
    variance: VariancePrior | None = None,
    **options: Unpack[RunOptions],
) -> "Fit":
    """Fit the spatial Bradley-Terry model, λ ~ N(0, α² C), C the communicability of the map unless another is given.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=200)
    >>> list(fit.areas.columns[:4])
    ['id', 'name', 'risk_median', 'risk_mean']
    """
    try:
        covariance = covariance or communicability(areas.graph)
    except ValueError as error:
        raise StudyError(f"the map's prior cannot be built: {error}") from None
    return _fit("spatial", data, areas, covariance, seed, variance or InverseGamma(), options)


def _fit(
    name: str,
    data: Comparisons,
    areas: Areas,
    covariance: Covariance,
    seed: int,
    variance: VariancePrior,
    options: RunOptions,
) -> "Fit":
    """Count, build the model, sample, record, assess: the same for both models."""
    from judgemap.study.result import Fit

    plan, sampler, cores, watch = settle(options, Plan())
    counts = checked_counts(data, areas)
    began = time.perf_counter()
    try:
        draws = sample(np.random.default_rng(seed), Model(counts, covariance, variance), sampler, plan, cores, watch)
    except FloatingPointError as error:
        raise StudyError(f"the fit broke down ({error}); try the other sampler, or check the map's edges") from None
    facts = {
        "model": name,
        "prior": covariance.name,
        "hyperparameters": hyperparameters(variance),
        "sampler": sampler,
        "seed": seed,
        "plan": asdict(plan),
        "complete": draws.complete,
        "seconds": round(time.perf_counter() - began, 3),
    }
    return Fit.from_draws(areas, counts, draws, record(facts, data, counts, areas))


def checked_counts(data: Comparisons, areas: Areas) -> PairCounts:
    """Count the pairs, if the comparisons are of these areas."""
    if data.ids != areas.ids:
        raise StudyError("the comparisons were read with another map; read them again with this one")
    return data.counts().decided()


def settle(options: RunOptions, usual: Plan) -> tuple[Plan, str, int, Watcher | None]:
    """Fill in what was left out of the options."""
    given: dict[str, Any] = dict(options)
    sampler, cores, watch = given.pop("sampler", "hmc"), given.pop("cores", 1), given.pop("watch", None)
    if sampler not in SAMPLERS:
        raise StudyError(f"there is no sampler {sampler!r}; choose one of {', '.join(SAMPLERS)}")
    try:
        plan = replace(usual, **given)
    except ValueError as error:
        raise StudyError(str(error)) from None
    except TypeError:
        known = RunOptions.__annotations__
        unknown = sorted(set(given) - set(known))
        raise StudyError(f"there is no option {unknown[0]!r}; the options are {', '.join(known)}") from None
    return plan, sampler, cores, watch


def hyperparameters(variance: VariancePrior) -> dict[str, float]:
    """State what was assumed of α², for the record."""
    if isinstance(variance, FixedVariance):
        return {"alpha2": variance.value}
    return {"chi": variance.shape, "omega": variance.scale}
