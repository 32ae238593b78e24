"""`judgemap fit`: comparisons and areas in, a folder of results out."""

import json
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from judgemap.cli import inputs
from judgemap.cli.progress import sampling_progress, stoppable, without_ctrl_c
from judgemap.core.threads import available_cores
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.assess.beside import NOT_CAUSE, beside
from judgemap.study.assess.comparing import (
    NUMBERS,
    VARIANCE_NUMBERS,
    Variation,
    cluster_sensitivity,
    read_variation,
    variance_sensitivity,
)
from judgemap.study.assess.explain import judge
from judgemap.study.data.comparisons import Direction, read_comparisons
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.folder import check_folder, check_new, write_whole
from judgemap.study.fit.judges import PanelFit
from judgemap.study.fit.record import NoteKind
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import FitSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from judgemap.study.assess.verdict import Verdict


@inputs.with_areas
@inputs.with_settings
def fit(
    comparisons: Annotated[Path, typer.Argument(help="comparisons.csv: judge,left,right,outcome or winner,loser.")],
    *,
    areas: Areas,
    settings: FitSettings,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the results.")],
    winner_is: Annotated[
        str, typer.Option(help="Whether the chosen area has the 'lower' or the 'higher' rate.")
    ] = "lower",
    figures: Annotated[
        list[Path] | None,
        typer.Option(
            help="CSV or XLSX with figures of the areas, such as deprivation or population, by id or name; or a "
            "boundary file of districts. Repeatable.",
            rich_help_panel="The map",
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--sensitivity",
            help="Refit with other values of chi, omega or both, or of the cluster model's parameters, as in "
            "both=0.01,1 or beta=1e-10,1e-8. Repeatable.",
            rich_help_panel=inputs.RESULTS,
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(min=1, help="Number of threads; results do not depend on it.", rich_help_panel=inputs.SAMPLING),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="Gigabytes that a fit of a large map may use. [default: what is free]",
            rich_help_panel=inputs.SAMPLING,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print fit.json instead of the table.", rich_help_panel=inputs.RESULTS),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite an earlier fit in the folder.", rich_help_panel=inputs.RESULTS),
    ] = False,
) -> None:
    """Fit a model to comparisons: writes areas.csv, areas.geojson, posterior.nc, fit.json, and clusters.csv.

    Example: judgemap fit comparisons.csv --areas wards.gpkg -o results --seed 1
    """
    if vary and settings.alpha is not None:
        raise StudyError("--sensitivity varies the prior of α, which --alpha fixes; leave one of them out")
    names = NUMBERS if settings.model == "clusters" else VARIANCE_NUMBERS
    variations = [read_variation(text, names) for text in vary or []]
    (check_folder if force else check_new)(output)
    areas = reduce(Areas.with_figures, figures or [], areas)
    data = read_comparisons(comparisons, areas, cast("Direction", winner_is))
    threads = cores or available_cores()
    with stoppable(), sampling_progress() as watch:
        result = settings.run(data, areas, cores=threads, memory=memory, watch=watch)
    with without_ctrl_c():
        folder = result.save(output)
    with stoppable(f"the fit is in {folder}/, but was not assessed"):
        result = judge(result, data)
        result.save_verdict(folder)
    typer.echo(
        json.dumps(result.record.to_dict(), indent=2, ensure_ascii=False) if as_json else describe(result, folder)
    )
    if not result.record.complete:
        typer.echo(f"judgemap: the fit was stopped; the draws made until then are in {folder}/", err=True)
        raise typer.Exit(130)
    if variations:
        kept = f"the fit is in {folder}/, and there is no sensitivity.csv"
        with stoppable(kept), sampling_progress() as watch:
            again = partial(FitSettings.run, data=data, areas=areas, cores=threads, memory=memory, watch=watch)
            table = _vary(result, settings, variations, again)
        write_whole(folder / "sensitivity.csv", table.to_csv(index=False).encode())
        if not as_json:
            typer.echo("\n" + table.round(3).to_string(index=False) + f"\nThe table is in {folder}/sensitivity.csv")


def _vary(
    result: Fit, settings: FitSettings, variations: list[Variation], again: "Callable[[FitSettings], Fit]"
) -> "pd.DataFrame":
    """Fit again with other values, and compare every fit with the first."""
    if isinstance(result, ClusterFit):
        plain = replace(settings, clusters=None, loss="vi")
        return cluster_sensitivity(result, lambda **changed: again(replace(plain, **changed)), variations)
    return variance_sensitivity(result, lambda **changed: again(replace(settings, **changed)), variations)


def describe(fit: Fit, folder: Path) -> str:
    """Say in a few lines what came out: the ten highest risks, clusters, how it was sampled, and the verdict."""
    from judgemap.report.words.tables import cluster_table, highest_risk

    record, data = fit.record, fit.record.data
    judges = {0: "", 1: " by 1 judge"}.get(data.judges, f" by {data.judges:,} judges")
    asked = f"{data.used:,} comparisons of {data.areas:,} areas{judges}"
    drawn = f"{fit.posterior.sizes['chain']} × {fit.posterior.sizes['draw']:,} draws in {record.seconds:.1f} s"
    judged = f"effective sample size at least {record.diagnostics.ess_bulk_min:,.0f}"
    lines = [f"{asked}, seed {record.seed}.", record.made_by, *panel_lines(fit), "", highest_risk(fit).text(), ""]
    if isinstance(fit, ClusterFit):
        table = cluster_table(fit)
        lines += [table.caption, table.text(), "", *between_lines(fit)]
    lines += [
        f"{drawn}; {judged}, largest R-hat {record.diagnostics.rhat_max:.3f}.",
        *(f"{'Warning' if note.kind is NoteKind.JUDGES_DIFFER else 'Note'}: {note.text}" for note in record.notes),
        *figure_lines(fit),
        "",
        *verdict_lines(fit.verdict),
        f"Results are in {folder}/",
    ]
    return "\n".join(lines)


def figure_lines(fit: Fit) -> list[str]:
    """Say how far the map follows each figure, what stands out from the one it follows most, and what that is not."""
    if fit.map.figures is None:
        return []
    told = beside(fit, fit.map.figures)
    lines = [f"Note: {note}" for note in told.notes]
    for each in told.follows.values():
        lines += [each.sentence, *(f"- {area.words(each.column)}" for area in each.out[:3])]
    return [*lines, *([NOT_CAUSE] if told.follows else [])]


def verdict_lines(verdict: "Verdict") -> list[str]:
    """Write the verdict, a line for each reason, and an empty line."""
    headline, *reasons = verdict.lines
    return [f"Verdict: {headline}", *(f"- {reason}" for reason in reasons), ""]


def panel_lines(fit: Fit) -> list[str]:
    """Say what was found out about judges, ties and smoothness."""
    return [fit.words] if isinstance(fit, ClusterFit | PanelFit) and fit.words else []


def between_lines(fit: ClusterFit) -> list[str]:
    """Name up to five areas that could belong to either of two clusters."""
    doubtful = fit.best.between
    if not doubtful:
        return []
    shown = [f"{fit.map.names[each.area]} ({each.cluster} or {each.other})" for each in doubtful[:5]]
    more = f" and {len(doubtful) - 5:,} more" if len(doubtful) > 5 else ""
    return [f"Between two clusters: {', '.join(shown)}{more}.", ""]
