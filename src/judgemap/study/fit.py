"""From comparisons and areas to a fit: every step of an analysis, in order."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np

from judgemap.core.comparisons import PairCounts
from judgemap.core.diagnostics import judge_sampling
from judgemap.core.prior import Covariance, InverseGamma, Model, VariancePrior, independent
from judgemap.core.samplers.run import SAMPLERS, Plan, Watcher, sample
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.comparisons import Comparisons
from judgemap.study.provenance import data_facts, data_notes, versions
from judgemap.study.record import Correlation, FitRecord
from judgemap.study.result import Fit, diagnose, named_draws, named_pairs, named_statistics
from judgemap.study.settings import FitSettings, prior_covariance

T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class Run:
    """How to sample, with nothing left out."""

    seed: int
    plan: Plan
    sampler: str = "hmc"
    cores: int = 1
    watch: Watcher | None = None

    def timed(self, sampling: Callable[[np.random.Generator], T]) -> tuple[T, float]:
        """Sample, and return the draws and the seconds taken; where it breaks down, say so in a sentence."""
        began = time.perf_counter()
        try:
            draws = sampling(np.random.default_rng(self.seed))
        except FloatingPointError as error:
            raise StudyError(f"the fit broke down ({error}); try the other sampler, or check the map's edges") from None
        return draws, round(time.perf_counter() - began, 3)


def fit_standard(
    data: Comparisons,
    areas: Areas,
    *,
    seed: int,
    variance: VariancePrior | None = None,
    **options: Unpack[RunOptions],
) -> Fit:
    """Fit the standard Bradley-Terry model, λ ~ N(0, α² I): areas tell nothing of their neighbours.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_standard(data, areas, seed=1, chains=2, draws=200)
    >>> fit.record.model
    'standard'
    """
    prior = independent(len(areas)), variance or InverseGamma()
    return _run("standard", data, areas, prior, settle(seed, options, Plan()))


def fit_spatial(
    data: Comparisons,
    areas: Areas,
    *,
    seed: int,
    covariance: Covariance | None = None,
    variance: VariancePrior | None = None,
    **options: Unpack[RunOptions],
) -> Fit:
    """Fit the spatial Bradley-Terry model, λ ~ N(0, α² C), C the communicability of the map unless another is given.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=200)
    >>> list(fit.areas.columns[:4])
    ['id', 'name', 'risk_median', 'risk_mean']
    """
    prior = covariance or prior_covariance(areas), variance or InverseGamma()
    return _run("spatial", data, areas, prior, settle(seed, options, Plan()))


def run_settings(settings: FitSettings, data: Comparisons, areas: Areas, cores: int, watch: Watcher | None) -> Fit:
    """Fit the model that the settings ask for."""
    run = Run(settings.seed, settings.plan, settings.sampler, cores, watch)
    if settings.model == "clusters":
        from judgemap.study.clusters import run_clusters  # compiles its sampler; the other models do without

        return run_clusters(data, areas, settings.of_clusters, run).with_partition(settings.clusters, settings.loss)
    if settings.model == "standard":
        covariance = independent(len(areas))
    else:
        covariance = prior_covariance(areas, settings.prior, settings.length)
    return _run(settings.model, data, areas, (covariance, settings.variance), run)


def _run(name: str, data: Comparisons, areas: Areas, prior: tuple[Covariance, VariancePrior], run: Run) -> Fit:
    """Count, build the model, sample, assess, record: the same for both models."""
    covariance, variance = prior
    counts = checked_counts(data, areas)
    model = Model(counts, covariance, variance)
    draws, seconds = run.timed(lambda rng: sample(rng, model, run.sampler, run.plan, run.cores, run.watch))
    samples = named_draws(areas, draws.centred, draws.strengths, data.winner_is)
    log_variance = draws["log_variance"]
    samples["alpha2"] = (("chain", "draw"), np.exp(log_variance))
    moving = {} if np.ptp(log_variance) == 0 else {"α²": log_variance}
    sampling = judge_sampling(samples["risk"].to_numpy())
    record = FitRecord(
        model=name,
        correlation=Correlation(covariance.name, covariance.length),
        hyperparameters=variance,
        sampler=run.sampler,
        seed=run.seed,
        plan=run.plan,
        complete=draws.complete,
        seconds=seconds,
        winner_is=data.winner_is,
        data=data_facts(data, counts, areas),
        versions=versions(),
        bridges=areas.bridges,
        notes=data_notes(data, counts, areas, name),
        diagnostics=diagnose(areas.names, sampling, moving, seconds),
    )
    made = Fit(areas, samples, named_statistics(draws), named_pairs(areas, counts), record)
    return made.remembering(sampling=sampling, covariance=covariance)


def checked_counts(data: Comparisons, areas: Areas) -> PairCounts:
    """Count the pairs, if the comparisons are of these areas."""
    if data.ids != areas.ids:
        raise StudyError("the comparisons were read with another map; read them again with this one")
    return data.counts().decided()


def settle(seed: int, options: RunOptions, usual: Plan) -> Run:
    """Fill in what was left out of the options."""
    given: dict[str, Any] = dict(options)
    how = {name: given.pop(name) for name in ("sampler", "cores", "watch") if name in given}
    if how.get("sampler", "hmc") not in SAMPLERS:
        raise StudyError(f"there is no sampler {how['sampler']!r}; choose one of {', '.join(SAMPLERS)}")
    try:
        return Run(seed, replace(usual, **given), **how)
    except ValueError as error:
        raise StudyError(str(error)) from None
    except TypeError:
        known = RunOptions.__annotations__
        unknown = sorted(set(given) - set(known))
        raise StudyError(f"there is no option {unknown[0]!r}; the options are {', '.join(known)}") from None
