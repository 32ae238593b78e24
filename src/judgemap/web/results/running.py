"""Making a fit: read the answers, sample, store the results, and then explain them."""

import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from django.db import connection, transaction
from django.db.models import Max, Min, Q
from django.utils import timezone

from judgemap.core.design.adaptive import Known
from judgemap.core.samplers.diagnostics import worst_so_far
from judgemap.core.samplers.run import Draws
from judgemap.core.threads import available_cores
from judgemap.errors import StudyError
from judgemap.geo.drawing import UNITS
from judgemap.report.figures.picture import Picture
from judgemap.report.pages.briefing import About, Gallery, briefing
from judgemap.study.assess.explain import FIGURES, Explanation, of_clusters, parameters
from judgemap.study.assess.explain import LARGE as EXPLAINED
from judgemap.study.assess.findings import RiskRow
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.large import GIGABYTE, check_memory, free_memory, needed_memory
from judgemap.study.fit.record import json_value
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import FitSettings, View
from judgemap.web.judge.comparisons import History, area_ids, direction
from judgemap.web.judge.models import Answer, PopulationMap
from judgemap.web.judge.pairs import pack_population
from judgemap.web.results.actions import answered, hold_against_figures
from judgemap.web.results.files import open_fit, pack
from judgemap.web.results.forgetting import forget_withdrawn
from judgemap.web.results.models import FitArea, FitFiles, FitPicture, FitRun, FitView, whole_fits
from judgemap.web.results.resuming import FitKeeper
from judgemap.web.server.database import delete_in_turns, insert_in_turns
from judgemap.web.server.jobs import STOPPING, log_line, outlast
from judgemap.web.studies.areas import load_areas, part_size
from judgemap.web.studies.models import StudyVersion, imprint_of

if TYPE_CHECKING:
    from judgemap.study.data.comparisons import Comparisons

logger = logging.getLogger(__name__)
Step = Callable[["Subject"], None]
SAMPLED = 0.97
"""The share of the work that is sampling; the rest is what follows it."""
WARMING_UP = "The chains are warming up."
SHOWN = {"traces": "traces", "ranks": "ranks", "predictive": "win-rates", "variance": "variance-against-median"}
OF_CLUSTERS = {"cluster-number": "number-of-clusters", "cluster-violins": "violins", "co-clustering": "together"}
"""What the pages call each figure of the gallery."""
MET_BYTES = 15
"""What one entry of `FitArea.met` takes, about."""
COMMITTED = 1.0
"""Seconds after which an answer has been committed."""
EDGE = 50
"""The margin around a network's drawing, in units of the map."""


def make_fit(run: FitRun) -> Iterator[None]:
    """Make a fit that this worker has claimed.

    Returns the steps that explain it, see `explain`: the map is ready before they are taken.
    """
    run.version = StudyVersion.objects.defer("packed_design").get(pk=run.version_id)
    keeper = outlast(partial(FitKeeper, run))
    data = read_answers(run, keeper.read_at)
    run.said = WARMING_UP
    run.write_line(f"read {len(data):,} pairs shown to {len(data.per_judge()):,} judges")
    areas = load_areas(run.version)
    settings = FitSettings.from_dict(run.settings)
    state_memory(run, settings, len(areas), len(data))
    watcher = outlast(partial(keeper.begin, data.digest(), partial(watch, run)))
    fit = settings.run(data, areas, cores=available_cores(), watch=watcher)
    keep(run, fit)
    return explain(run, fit, data)


def state_memory(run: FitRun, settings: FitSettings, n_areas: int, n_answers: int) -> None:
    """Say how much memory a fit of a large map will take, before it starts; raise if there is too little."""
    if settings.model == "clusters" or not settings.takes_sparse(n_areas):
        return
    plan = settings.plan_for(n_areas)
    check_memory(n_areas, n_answers, plan)
    needed, free = needed_memory(n_areas, n_answers, plan), free_memory()
    run.said = f"The fit needs about {needed / GIGABYTE:.1f} GB of memory; {free / GIGABYTE:.1f} GB is free."
    run.write_line(run.said.removesuffix("."))


def read_answers(run: FitRun, at: datetime | None = None) -> "Comparisons":
    """Read what the judges of this fit have answered by now, or had answered ``at`` an earlier moment."""
    run.study.current = run.version
    if at is None:
        run.answers, run.read_at = answered(run.study), timezone.now()
        FitRun.objects.filter(pk=run.pk).update(answers=run.answers, read_at=run.read_at)
    if at is None and connection.vendor == "postgresql":  # an answer given by now may be committed a moment later
        time.sleep(COMMITTED)
    history = History.read(run.study).last(run.read_at)
    data = history.comparisons(area_ids(run.study), direction(run.version.direction))
    if run.only:
        data = data.only(set(data.judges) & set(run.only))
    data = data.without(set(data.judges) & set(run.left_out))
    if not len(data):
        raise StudyError(
            "this fit has no answers to use: its judges have given none, or are left out; choose other judges"
        )
    return data


def keep(run: FitRun, fit: Fit) -> None:
    """Store the results, all or nothing; from here on, people can see the map."""
    run.progress, run.said = SAMPLED, "The draws are done; the results are being prepared."
    run.write()
    run.info = json_value(fit.record.to_dict())
    run.rows = table_of(fit)
    known = {"warnings": fit.warnings, "parameters": json_value([asdict(each) for each in parameters(fit)])}
    run.findings = known | of_clusters(fit)  # no partition is shown without its probability
    run.data_sha256 = fit.record.data.sha256
    run.said = fit.sampled[:400]
    run.log += log_line(f"drew {fit.record.plan.chains} chains in {fit.record.seconds:.1f} s")
    run.log += "".join(log_line(f"note: {note.text}") for note in fit.record.notes)
    run.log += "".join(log_line(f"warning: {warning}") for warning in fit.warnings)
    archive = pack(fit)  # before the transaction: on SQLite, judges wait for that
    adapts = run.version.design == "adaptive" and part_size("adaptive", len(run.rows)) is None
    population = population_of(fit) if adapts else None

    def store() -> None:
        with transaction.atomic():
            if whole_fits(run.study).filter(pk=run.pk).exists():
                keep_population(run, population)
            FitFiles.objects.update_or_create(fit=run, defaults={"archive": archive})
            run.finish("info", "rows", "findings", "data_sha256")

    outlast(store)


def population_of(fit: Fit) -> Known | None:
    """Return what the adaptive design needs from a fit in which judges differ; None for any other."""
    if "panel_risk" not in fit.posterior:  # judges are alike, or the map is too large
        return None
    strengths, sigma = fit.strengths, float(np.median(fit.sigma))
    return Known(strengths.mean(axis=0), np.cov(strengths, rowvar=False), sigma**2 * fit.view_covariance.matrix)


def keep_population(run: FitRun, population: Known | None) -> None:
    """Let the adaptive design use this fit from now on or, if its judges do not differ, only the answers again."""
    if population is None:
        PopulationMap.objects.filter(study=run.study).delete()
    else:
        kept = {"fit_number": run.number, "packed": pack_population(population)}
        PopulationMap.objects.update_or_create(study=run.study, defaults=kept)


def table_of(fit: Fit) -> list[RiskRow]:
    """Return the table of areas, one dict per row; for a clustering, with each area's cluster."""
    table = fit.areas
    if isinstance(fit, ClusterFit):
        table = table.merge(fit.clusters.drop(columns="name"), on="id", validate="one_to_one")
    rows: list[RiskRow] = json_value(table.to_dict("records"))
    return rows


def explain(run: FitRun, fit: Fit, data: "Comparisons") -> Iterator[None]:
    """Explain a finished fit, one step at a time. A failure here is logged, and spoils nothing."""
    subject = Subject(run, fit, data)
    for what, step in steps(fit):
        run.log += log_line(_try(what, step, subject))
        row = FitRun.objects.filter(pk=run.pk)
        outlast(partial(row.update, log=run.log, heard_at=timezone.now()))
        outlast(partial(forget_withdrawn, run, set(data.judges)))
        yield
    outlast(partial(hold_against_figures, run))
    outlast(partial(FitRun.objects.filter(pk=run.pk).update, explained_at=timezone.now()))


def steps(fit: Fit) -> list[tuple[str, Step]]:
    """Return the steps that explain a fit, in the order in which people look for the results."""
    # On a large map judges know different parts, so there is no map of the panel.
    views = [("views", _view)] if fit.record.view is not View.POOLED and len(fit.map) <= EXPLAINED else []
    return [*views, ("figures", _find), ("pictures", _draw), ("briefing", _brief)]


@dataclass(frozen=True)
class Subject:
    """A fit to explain. Its explanation is worked out once, for both the pages and the pictures."""

    run: FitRun
    fit: Fit
    data: "Comparisons"

    @cached_property
    def explanation(self) -> Explanation:
        """The explanation of the fit."""
        return Explanation(self.fit, self.data, len(self.run.left_out))

    @cached_property
    def gallery(self) -> Gallery:
        """The figures of the pages and of the briefing, each drawn once."""
        run, data = self.run, self.data
        times = Answer.objects.filter(pair__judge__study=run.study, pair__judge__in=data.judges, pair__practice=False)
        days = times.aggregate(first=Min("answered_at"), last=Max("answered_at"))
        about = About(
            title=run.version.title,
            question=run.version.question,
            data=data,
            first=days["first"] and days["first"].date(),
            last=days["last"] and days["last"].date(),
            left_out=len(run.left_out),
            explanation=self.explanation,
            words=imprint_of(run.study).words,
            made=timezone.localdate(),
        )
        return Gallery(self.fit, about, _beside(run))


def _try(what: str, step: Step, subject: Subject) -> str:
    """Take a step, and return the line about it for the log."""
    if STOPPING.is_set():
        return f"no {what}: the worker was stopped before; fit again to get this"
    try:
        outlast(partial(step, subject))
    except Exception:  # a picture that cannot be drawn must not cost the map
        run = subject.run
        logger.exception("%s of fit %s of %s failed", what, run.number, run.study.slug)
        return f"no {what}: making this failed; the server's log has the details"
    return f"{what} made"


def _find(subject: Subject) -> None:
    keep_findings(subject.run, findings_of(subject.fit, subject.explanation))


def keep_findings(run: FitRun, found: dict[str, Any]) -> None:
    """Store the findings; for a large map, the largest part, whom each area met, goes into separate rows."""
    if len(found["met"]) > EXPLAINED:
        delete_in_turns(FitArea.objects.filter(fit=run))
        met = enumerate(found.pop("met"))
        rows = (FitArea(fit=run, position=position, met=each) for position, each in met)
        insert_in_turns(rows, lambda area: MET_BYTES * len(area.met))
    run.findings |= found
    FitRun.objects.filter(pk=run.pk).update(findings=run.findings)


def _view(subject: Subject) -> None:
    FitView.objects.filter(fit=subject.run).delete()
    FitView.objects.bulk_create(views_of(subject.run, subject.fit, subject.data), batch_size=50)


def views_of(run: FitRun, fit: Fit, data: "Comparisons") -> Iterator[FitView]:
    """Make the panel's map and, if the fit has them, each judge's."""
    if not fit.settings.differ:
        return
    seen = Explanation(fit.seen_by(View.PANEL), data)
    findings = json_value({"top": seen.top, "density": seen.density, "risk_edges": seen.risk_edges}, FIGURES)
    yield FitView(fit=run, judge="", rows=table_of(seen.fit), findings=findings)
    for judge in fit.judges if fit.has_judge_maps else ():
        yield FitView(fit=run, judge=judge, rows=json_value(fit.judge_map(judge).to_dict("records"), FIGURES))


def _draw(subject: Subject) -> None:
    run, drawn = subject.run, draw(subject.gallery)
    rows = [
        FitPicture(fit=run, name=name, svg=each.svg(), alt=each.alt, caption=each.caption)
        for name, each in drawn.items()
    ]
    FitPicture.objects.filter(fit=run, name__in=drawn).delete()
    FitPicture.objects.bulk_create(rows)


def _brief(subject: Subject) -> None:
    gallery = subject.gallery
    page = briefing(subject.fit, gallery.about, gallery.other, gallery)
    FitFiles.objects.filter(fit=subject.run).update(briefing=page)


def _beside(run: FitRun) -> Fit | None:
    """Find the last fit of the same answers with the other kind of model, so that a briefing covers both."""
    same = FitRun.objects.filter(study=run.study, data_sha256=run.data_sha256, status=FitRun.Status.DONE)
    clusters = Q(settings__model="clusters")
    kind = ~clusters if run.settings["model"] == "clusters" else clusters
    other = same.filter(kind).order_by("-number").first()
    return open_fit(other) if other is not None else None


def watch(run: FitRun, draws: Draws, wanted: int) -> None:
    """Report on the draws so far, now and then."""
    run.tell(SAMPLED * draws.n_draws / wanted, partial(describe, draws, wanted))


def describe(draws: Draws, wanted: int) -> str:
    """Say how far the sampling is, and how good the draws are."""
    done = draws.n_draws
    if done < 8:
        return WARMING_UP
    size, largest = worst_so_far(draws.watched())
    worth = f"effective sample size at least {size:,.0f}; largest R-hat {largest:.3f}"
    return f"{done:,} of {wanted:,} draws per chain; {worth}."


def findings_of(fit: Fit, explanation: Explanation) -> dict[str, object]:
    """Return what is stored: the explanation and, if there is no map, ``layout``: [x, y] of each area."""
    return explanation.to_dict() | ({"layout": _layout(fit)} if fit.map.geometry is None else {})


def _layout(fit: Fit) -> list[list[float]]:
    from judgemap.report.figures.layout import layout

    points = layout(fit.map.graph) * [1, -1]
    points -= (points.min(axis=0) + points.max(axis=0)) / 2
    widest = max(float(np.ptp(points, axis=0).max()), 1e-9)
    placed: list[list[float]] = np.round(points * (UNITS - 2 * EDGE) / widest + UNITS / 2, 1).tolist()
    return placed


def draw(gallery: Gallery) -> dict[str, Picture]:
    """Draw a fit's pictures, under the names that pages use. Those that do not apply are left out."""
    wanted = SHOWN | (OF_CLUSTERS if isinstance(gallery.fit, ClusterFit) else {"alpha": "alpha"})
    return {name: gallery[figure] for name, figure in wanted.items() if figure in gallery.names}


def warm_up() -> None:
    """Compile the samplers, load what fits need and run the smallest, so that a researcher does not wait for it."""
    import geopandas
    import shapely

    from judgemap.core.model.graph import AreaGraph
    from judgemap.core.samplers.compiled import compile_all
    from judgemap.geo.maps import Areas
    from judgemap.study.data.comparisons import Comparisons

    compile_all()
    boxes = geopandas.GeoSeries([shapely.box(i, 0, i + 1, 1) for i in range(3)], crs="EPSG:4326")
    areas = Areas(("a", "b", "c"), ("A", "B", "C"), AreaGraph(3, np.array([[0, 1], [1, 2]])), boxes)
    sides = np.array([0, 1, 0, 1]), np.array([1, 2, 2, 0])
    data = Comparisons.from_words(areas.ids, ("x",) * 4, *sides, ("left", "left", "right", "left"))
    for model in ("spatial", "clusters"):
        fit = FitSettings(model=model, chains=2, warmup=5, draws=20, thin=1, seed=1).run(data, areas)
        table_of(fit)
        with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
            fit.save(Path(folder, "results"))
