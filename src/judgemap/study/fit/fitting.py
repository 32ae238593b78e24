"""From comparisons and areas to a fit: every step of an analysis, in order."""

from typing import Unpack

import numpy as np

from judgemap.core.model.counts import PairCounts
from judgemap.core.model.prior import (
    Covariance,
    InverseGamma,
    Model,
    VariancePrior,
    independent,
)
from judgemap.core.samplers.run import Watcher, sample
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.assess.checks import differ_note
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.draws import (
    diagnose,
    named_draws,
    named_pairs,
    named_statistics,
)
from judgemap.study.fit.judges import run_panel
from judgemap.study.fit.large import run_large
from judgemap.study.fit.priors import Prior
from judgemap.study.fit.record import Correlation, begin_record, data_notes
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import (
    LARGE,
    FitOptions,
    FitSettings,
    PanelSettings,
    Run,
    settle_panel,
)


def fit_standard(
    data: Comparisons,
    areas: Areas,
    *,
    seed: int,
    variance: VariancePrior | None = None,
    **options: Unpack[FitOptions],
) -> Fit:
    """Fit the standard Bradley-Terry model, λ ~ N(0, α² I): an area tells us nothing about its neighbours.

    ``options`` say how to sample, and what to assume about judges and ties: see `FitOptions`.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_standard(data, areas, seed=1, chains=2, draws=200)
    >>> fit.record.model
    'standard'
    """
    panel, run = settle_panel(seed, options, len(areas))
    return _run("standard", data, areas, (None, variance or InverseGamma()), panel, run)


def fit_spatial(
    data: Comparisons,
    areas: Areas,
    *,
    seed: int,
    covariance: Covariance | None = None,
    variance: VariancePrior | None = None,
    **options: Unpack[FitOptions],
) -> Fit:
    """Fit the spatial Bradley-Terry model, λ ~ N(0, α² C), where C is the communicability of the map unless given.

    ``options`` say how to sample, and what to assume about judges and ties: see `FitOptions`. With ``judges="differ"``
    each judge has their own view, and the map is the population's; see `PanelFit`.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=200)
    >>> list(fit.areas.columns[:4])
    ['id', 'name', 'risk_median', 'risk_mean']
    """
    panel, run = settle_panel(seed, options, len(areas))
    return _run("spatial", data, areas, (Prior(given=covariance), variance or InverseGamma()), panel, run)


def run_settings(
    settings: FitSettings, data: Comparisons, areas: Areas, cores: int, memory: float | None, watch: Watcher | None
) -> Fit:
    """Fit the model that the settings ask for."""
    run = Run(settings.seed, settings.plan_for(len(areas)), settings.sampler, cores, memory, watch)
    if settings.model == "clusters":
        from judgemap.study.fit.clusters import (
            run_clusters,  # compiles its sampler, which the other models do not need
        )

        fit = run_clusters(data, areas, settings.of_clusters, run, settings.panel)
        return fit.with_partition(settings.clusters, settings.loss)
    prior = Prior(settings.prior, settings.length) if settings.model == "spatial" else None
    return _run(settings.model, data, areas, (prior, settings.variance), settings.panel, run)


def _run(
    name: str,
    data: Comparisons,
    areas: Areas,
    assumed: tuple[Prior | None, VariancePrior],
    panel: PanelSettings,
    run: Run,
) -> Fit:
    """Count, build the model, sample, assess, record, for either model. The standard model has no spatial prior."""
    prior, variance = assumed
    counts = checked_counts(data, areas)
    if panel.needs_panel(data):
        panel.check_size(len(areas))
    elif len(areas) > LARGE and (prior is None or prior.suits_large_maps()):
        return run_large(name, data, counts, areas, (prior, variance), run)
    covariance = independent(len(areas)) if prior is None else prior.covariance(areas)
    if panel.needs_panel(data):
        return run_panel(name, data, areas, (covariance, variance), panel, run)
    model = Model(counts, covariance, variance)
    draws, seconds = run.timed(lambda rng: sample(rng, model, run.sampler, run.plan, run.cores, run.watch))
    samples = named_draws(areas, draws.centred, draws.strengths, data.winner_is)
    log_variance = draws["log_variance"]
    samples["alpha2"] = (("chain", "draw"), np.exp(log_variance))
    moving = {} if np.ptp(log_variance) == 0 else {"α²": log_variance}
    sampling = draws.sampling
    record = begin_record(data, counts, areas, run, (draws, seconds))(
        model=name,
        correlation=Correlation(covariance.name, covariance.length),
        hyperparameters=variance,
        notes=(
            *data_notes(data, counts, areas, name),
            *differ_note(data, draws.strengths.reshape(-1, len(areas)), covariance.matrix, run.seed),
        ),
        diagnostics=diagnose(areas.names, sampling, moving, seconds),
        panel=panel if data.tied.any() else None,
    )
    made = Fit(areas, samples, named_statistics(draws), named_pairs(areas, counts), record)
    return made.remembering(sampling=sampling, covariance=covariance)


def checked_counts(data: Comparisons, areas: Areas) -> PairCounts:
    """Count the decided answers by pair, after checking that the comparisons have these areas."""
    if data.ids != areas.ids:
        raise StudyError("the comparisons were read with another map; read them again with this one")
    return data.counts().decided()
