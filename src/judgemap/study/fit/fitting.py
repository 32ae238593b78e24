"""From comparisons and areas to a fit: every step of an analysis, in order."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

import numpy as np

from judgemap.core.assess.posterior import risk_sign
from judgemap.core.model.covariates import carried, draw_effects, with_covariates
from judgemap.core.model.judges import PanelModel, Parts, as_one_judge
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import Covariance, Model, independent
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.run import Draws, Plan, Watcher, sample
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.geo.maps import Areas
from judgemap.study.assess.checks import differ_note
from judgemap.study.data.comparisons import Comparisons, check_map
from judgemap.study.fit.draws import (
    Named,
    Sampled,
    by_draw,
    diagnose,
    name_judges,
    name_scalars,
    name_views,
    named_draws,
    named_pairs,
    named_statistics,
)
from judgemap.study.fit.large import sample_large
from judgemap.study.fit.priors import PLAIN, covariate_matrix, prior_covariance
from judgemap.study.fit.record import Correlation, Note, NoteKind, begin_record, data_notes
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import FitSettings, Run, with_answers

if TYPE_CHECKING:
    from judgemap.study.fit.clusters import ClusterFit

P = ParamSpec("P")
R = TypeVar("R")


def _listing_options(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function answer an option that it does not have with those that it has."""
    known = list(signature(function).parameters)

    @wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        for name in options:
            if name not in known:
                hint = did_you_mean(name, known)
                raise StudyError(f"there is no option {name!r}{hint}; the options are {', '.join(known[2:])}")
        return function(*args, **options)

    return checked


@_listing_options
def fit_spatial(  # noqa: PLR0913 - all that can be asked for, so that `help` shows it
    data: Comparisons,
    areas: Areas,
    *,
    seed: int | None = None,
    as_in_paper: bool = False,
    prior: str | None = None,
    length: float | None = None,
    covariance: Covariance | None = None,
    covariates: str | None = None,
    alpha: float | None = None,
    alpha_scale: float = 5.0,
    chi: float | None = None,
    omega: float | None = None,
    ties: str = "model",
    judges: str | None = None,
    disagreement: str = "map",
    side: bool = False,
    attention: bool = False,
    lapses: bool = False,
    reach: bool = False,
    smoothness: str = "paper",
    sampler: str = "hmc",
    chains: int | None = None,
    warmup: int | None = None,
    draws: int | None = None,
    thin: int | None = None,
    cores: int = 1,
    memory: float | None = None,
    watch: Watcher | None = None,
) -> Fit:
    """Fit the spatial Bradley-Terry model, λ ~ N(0, α² C), where C is the correlation that the map suggests.

    Parameters
    ----------
    data, areas
        The comparisons, and the areas they were read with.
    seed
        The same seed gives the same numbers; by default one is drawn, and `Fit.record` says which.
    as_in_paper
        The paper's model: prior "communicability", judges alike, and χ = ω = 0.1, unless you say otherwise.
    prior, length
        The correlation of areas by name, one of `jm.prior_covariance`, with its length scale if it has one; by default
        "car".
    covariance
        A correlation built in Python, in place of ``prior``.
    covariates
        Columns of the areas' figures, separated by commas: λ = Zβ + a spatial rest; see `Fit.effects`.
    alpha
        α, if it is fixed; otherwise it is inferred.
    alpha_scale
        The prior of α is half-normal with this scale, unless ``chi`` or ``omega`` is given.
    chi, omega
        Shape and scale of the paper's prior, α² ~ InvGamma(χ, ω).
    ties
        "model" (Rao and Kupper's rule, if there are ties), "davidson" or "leave-out".
    judges
        "alike", or "differ": each judge has their own view, and the map is the population's; see `Fit`. By default they
        differ if at least three are named.
    disagreement
        When judges differ, their views follow the "map" or are "independent" from area to area.
    side, attention, lapses, reach
        Whether each judge may favour a side, follow the map more or less closely or the other way round, give a share
        of the answers without looking, and know only one part of the map.
    smoothness
        "paper": as smooth as the prior; "infer": the answers say how smooth the map is.
    sampler
        "hmc" or "gibbs".
    chains, warmup, draws, thin
        How many chains, steps to discard, draws to keep from each, and one draw in how many; a given number of draws
        is final, while by default the chains go on until they agree.
    cores
        Threads to use; the draws do not depend on it.
    memory
        Gigabytes that a fit of a large map may use; by default whatever is free.
    watch
        Called repeatedly with the draws so far.

    Returns
    -------
    Fit
        The draws, the table of areas, and how they were made.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> list(fit.areas.columns[:4])
    ['id', 'name', 'risk_median', 'risk_mean']
    """
    return _fit_as("spatial", **locals())


@_listing_options
def fit_standard(  # noqa: PLR0913 - all that can be asked for, so that `help` shows it
    data: Comparisons,
    areas: Areas,
    *,
    seed: int | None = None,
    as_in_paper: bool = False,
    covariates: str | None = None,
    alpha: float | None = None,
    alpha_scale: float = 5.0,
    chi: float | None = None,
    omega: float | None = None,
    ties: str = "model",
    judges: str | None = None,
    disagreement: str = "map",
    side: bool = False,
    attention: bool = False,
    lapses: bool = False,
    reach: bool = False,
    sampler: str = "hmc",
    chains: int | None = None,
    warmup: int | None = None,
    draws: int | None = None,
    thin: int | None = None,
    cores: int = 1,
    memory: float | None = None,
    watch: Watcher | None = None,
) -> Fit:
    """Fit the standard Bradley-Terry model, λ ~ N(0, α² I): an area tells us nothing about its neighbours.

    Parameters
    ----------
    data, areas, seed, as_in_paper, covariates, alpha, alpha_scale, chi, omega, ties, judges, disagreement
        As for `fit_spatial`; a judge's own view is independent from area to area, too.
    side, attention, lapses, reach, sampler, chains, warmup, draws, thin, cores, memory, watch
        As for `fit_spatial`.

    Returns
    -------
    Fit
        As from `fit_spatial`.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_standard(data, areas, seed=1, as_in_paper=True, chains=2, draws=100)
    >>> fit.record.model
    'standard'
    """
    return _fit_as("standard", **locals())


@_listing_options
def fit_clusters(  # noqa: PLR0913 - all that can be asked for, so that `help` shows it
    data: Comparisons,
    areas: Areas,
    *,
    seed: int | None = None,
    affinity: str = "communicability",
    length: float | None = None,
    beta: float = 1e-8,
    mu0: float = 0.0,
    kappa0: float = 1.0,
    a0: float = 1.0,
    b0: float = 1.0,
    clusters: int | None = None,
    loss: str = "vi",
    ties: str = "model",
    sampler: str = "hmc",
    chains: int | None = None,
    warmup: int | None = None,
    draws: int | None = None,
    thin: int | None = None,
    cores: int = 1,
    watch: Watcher | None = None,
) -> "ClusterFit":
    """Fit the spatial clustering Bradley-Terry model; chains start from different partitions.

    Parameters
    ----------
    data, areas, seed, sampler, chains, warmup, draws, thin, cores, watch
        As for `fit_spatial`.
    affinity, length
        How strongly nearby areas attract each other into a cluster: "communicability", "window" (1 up to ``length``
        borders away) or "decay" (exponential in borders crossed, over ``length``); the length is 1 by default.
    beta
        Weight of an area's link to itself; a larger one makes more clusters.
    mu0, kappa0, a0, b0
        The prior of a cluster's strength: its mean and that mean's weight, and shape and scale of its variance.
    clusters, loss
        The partition to show: the one that minimises the variation of information ("vi") or Binder's loss ("binder"),
        with this many clusters or any.
    ties
        "model" (Rao and Kupper's rule, if there are ties) or "leave-out".

    Returns
    -------
    ClusterFit
        The draws of partitions, and the one to show.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_clusters(data, areas, seed=1, chains=2, warmup=100, draws=100, thin=2)
    >>> list(fit.clusters.columns)
    ['id', 'name', 'cluster', 'probability']
    """
    return cast("ClusterFit", _fit_as("clusters", **locals()))


def _fit_as(model: str, data: Comparisons, areas: Areas, **given: Any) -> Fit:  # noqa: ANN401 - `FitSettings` checks them
    how = {name: given.pop(name) for name in ("covariance", "cores", "memory", "watch") if name in given}
    if given["seed"] is None:
        del given["seed"]
    return FitSettings(model=model, **given).run(data, areas, **how)


def fit(run: Run, data: Comparisons, areas: Areas, given: Covariance | None = None) -> Fit:
    """Count, build the model, sample, assess, record. ``given`` is a correlation of areas in place of the prior's."""
    settings = run.settings
    check_map(data, areas)
    counts = data.counts().decided()
    Z = covariate_matrix(areas, settings.covariate_names) if settings.covariates else None
    if settings.model == "clusters":
        from judgemap.study.fit.clusters import run_clusters  # compiles its sampler, which other models do not need

        return run_clusters(data, counts, areas, run)
    if given is None and settings.takes_sparse(len(areas)):
        return finish(sample_large(data, areas, run), data, areas)
    if settings.needs_panel(data):
        settings.check_size(len(areas))
    if settings.model == "standard":
        rest = independent(len(areas))
    else:
        rest = prior_covariance(areas, settings.prior or PLAIN, settings.length) if given is None else given
    covariance = rest if Z is None else with_covariates(rest, Z)
    made = finish(_sampled(data, areas, covariance, run), data, areas).remembering(covariance=covariance)
    return made if Z is None else with_effects(made, rest, Z)


def _sampled(data: Comparisons, areas: Areas, covariance: Covariance, run: Run) -> Sampled:
    """Sample a model whose prior is a matrix."""
    settings = run.settings
    if settings.needs_panel(data) and settings.sampler != "hmc":
        text = f"--sampler {settings.sampler} is for one shared view without ties; leave it out"
        raise StudyError(text, field="sampler")
    parts, used = settings.parts(data, covariance, areas.graph), with_answers(data)[0] if settings.by_judge else data
    how = (run.plan, run.cores, run.watch)
    draws, seconds = run.timed(lambda rng: draw_posterior(rng, settings, used, covariance, parts, *how))
    return Sampled(run, draws, seconds, covariance)


def draw_posterior(
    rng: np.random.Generator,
    settings: FitSettings,
    data: Comparisons,
    covariance: Covariance,
    parts: Parts,
    plan: Plan,
    cores: int = 1,
    watch: Watcher | None = None,
) -> Draws:
    """Sample the posterior of the strengths, with the sampler that suits the model."""
    pairs = data.counts() if parts.ties else data.counts().decided()
    if not settings.needs_panel(data):
        return sample(rng, Model(pairs, covariance, settings.variance), settings.sampler, plan, cores, watch)
    judged = data.by_judge() if settings.by_judge else as_one_judge(pairs)
    return sample_panel(rng, PanelModel(judged, covariance, settings.variance, parts), plan, cores, watch)


def finish(sampled: Sampled, data: Comparisons, areas: Areas) -> Fit:
    """Assess the draws, name and record them."""
    run, draws, seconds, prior, notes = sampled
    settings, rule, sign = run.settings, run.settings.rule(data), risk_sign(data.winner_is)
    used, silent = with_answers(data) if settings.by_judge else (data, ())
    pairs = data.counts() if rule else data.counts().decided()
    views = name_views(areas, draws, used.judges, sign) if "views" in draws.arrays else Named()
    sampling = draws.sampling
    samples = named_draws(areas, draws, data.winner_is)  # in place: from here on, the draws are of risk
    samples, scalars = name_scalars(samples, draws, rule, settings.variance)
    samples = name_judges(samples, draws, used.judges, sign)
    if not settings.by_judge:
        C = prior.matrix if isinstance(prior, Covariance) else None
        tie_chance = np.median(draws["tie_chance"]) if rule is TieRule.RAO_KUPPER else np.zeros(())
        risk = samples["risk"].reshape(-1, len(areas))
        notes += tuple(differ_note(data, risk, C, settings.seed, tie_chance))
    if silent:
        text = f"The fit says nothing about judges who never answered left, right or tie: {quoted(silent, most=5)}."
        notes = (Note(NoteKind.SILENT_JUDGES, text), *notes)
    record = begin_record(data, pairs, areas, run, (draws, seconds))(
        correlation=Correlation(prior.name, prior.length),
        notes=(*data_notes(data, pairs, areas, settings.model), *notes),
        diagnostics=diagnose(areas.names, sampling, scalars, seconds),
        view=settings.view,
    )
    made = Fit(areas, samples, named_statistics(draws), named_pairs(areas, pairs), record, views)
    return made.remembering(sampling=sampling)


def with_effects(fit: Fit, rest: Covariance, Z: FloatArray) -> Fit:
    """Draw the effects of covariates given a fit's strengths, and add them to it: see `core.model.covariates`.

    ``rest`` is the correlation of the spatial rest. On the scale of risk, like the map: a positive effect raises it.
    """
    names = fit.settings.covariate_names
    rng = np.random.default_rng([fit.settings.seed, len(names)])
    sizes = fit.posterior.sizes
    effects = draw_effects(rng, rest, Z, fit.strengths, fit.posterior["alpha2"].ravel())
    share = carried(Z, effects, fit.strengths).reshape(sizes["chain"], sizes["draw"])
    effects = fit.record.sign * effects.reshape(sizes["chain"], sizes["draw"], len(names))
    samples = fit.posterior.assign(effect=by_draw(effects, "covariate"), carried=by_draw(share)).label(covariate=names)
    record = replace(fit.record, notes=(*fit.record.notes, Note(NoteKind.COVARIATES, CONFOUNDED)))
    return replace(fit, posterior=samples, record=record).remembering(sampling=fit.sampling, covariance=fit.covariance)


CONFOUNDED = (
    "Effects of covariates describe and do not explain: what a covariate shares with the smoothness of the map "
    "(spatial confounding) is divided between the two by the prior, so a small effect is not evidence of none."
)
