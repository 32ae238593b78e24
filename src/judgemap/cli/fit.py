"""`judgemap fit`: comparisons and areas in, a folder of results out; `compare` for models of judges; `prior`, drawn."""

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
from judgemap.study.data.comparisons import Comparisons, Direction, read_comparisons
from judgemap.study.fit.folder import check_file, check_folder, check_new, write_whole
from judgemap.study.fit.priors import PLAIN, PRIORS, prior_covariance
from judgemap.study.fit.record import json_value
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import FitSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from judgemap.study.assess.comparing import Variation


@inputs.with_areas
@inputs.with_settings
def fit(
    comparisons: inputs.Answers,
    *,
    areas: Areas,
    settings: FitSettings,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the results.")],
    winner_is: inputs.WinnerIs = "lower",
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
        bool, typer.Option("--json", help="Print fit.json instead of the table.", rich_help_panel=inputs.RESULTS)
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite an earlier fit in the folder.", rich_help_panel=inputs.RESULTS)
    ] = False,
) -> None:
    """Fit a model to comparisons: writes areas.csv, areas.geojson, posterior.nc, fit.json, and clusters.csv.

    Example: judgemap fit comparisons.csv --areas wards.gpkg -o results --seed 1
    """
    if vary and settings.alpha is not None:
        raise StudyError("--sensitivity varies the prior of α, which --alpha fixes; leave one of them out")
    variations = _variations(settings, vary) if vary else []
    (check_folder if force else check_new)(output)
    areas = reduce(Areas.with_figures, figures or [], areas)
    data = read_comparisons(comparisons, areas, cast("Direction", winner_is))
    threads = cores or available_cores()
    with stoppable(), sampling_progress() as watch:
        result = settings.run(data, areas, cores=threads, memory=memory, watch=watch)
    result = _save_and_judge(result, data, output)
    if as_json:
        typer.echo(json.dumps(result.record.to_dict(), indent=2, ensure_ascii=False))
    else:
        from judgemap.report.words.tables import summary

        typer.echo(f"{summary(result)}\n\nResults are in {output}/")
    if not result.record.complete:
        typer.echo(f"judgemap: the fit was stopped; the draws made until then are in {output}/", err=True)
        raise typer.Exit(130)
    if variations:
        kept = f"the fit is in {output}/, and there is no sensitivity.csv"
        with stoppable(kept), sampling_progress() as watch:
            again = partial(FitSettings.run, data=data, areas=areas, cores=threads, memory=memory, watch=watch)
            table = _vary(result, settings, variations, again)
        write_whole(output / "sensitivity.csv", table.to_csv(index=False).encode())
        if not as_json:
            typer.echo("\n" + table.round(3).to_string(index=False) + f"\nThe table is in {output}/sensitivity.csv")


def _save_and_judge(result: Fit, data: Comparisons, folder: Path) -> Fit:
    """Save a fit and then assess it; Ctrl-C stops only the latter."""
    with without_ctrl_c():
        result.save(folder)
    with stoppable(f"the fit is in {folder}/, but was not assessed"):
        from judgemap.study.assess.explain import judge

        result = judge(result, data)
    result.save_verdict(folder)
    return result


def _variations(settings: FitSettings, vary: list[str]) -> "list[Variation]":
    from judgemap.study.assess.comparing import NUMBERS, VARIANCE_NUMBERS, read_variation

    names = NUMBERS if settings.model == "clusters" else VARIANCE_NUMBERS
    return [read_variation(text, names) for text in vary]


def _vary(
    result: Fit, settings: FitSettings, variations: "list[Variation]", again: "Callable[[FitSettings], Fit]"
) -> "pd.DataFrame":
    """Fit again with other values, and compare every fit with the first."""
    from judgemap.study.assess.comparing import cluster_sensitivity, variance_sensitivity
    from judgemap.study.fit.clusters import ClusterFit

    if isinstance(result, ClusterFit):
        plain = replace(settings, clusters=None, loss="vi")
        return cluster_sensitivity(result, lambda **changed: again(replace(plain, **changed)), variations)
    return variance_sensitivity(result, lambda **changed: again(replace(settings, **changed)), variations)


@inputs.with_areas
def compare(
    comparisons: inputs.Answers,
    *,
    areas: Areas,
    models: Annotated[
        str | None,
        typer.Option(
            help="Any of alike, differ, independent, side, attention, lapses, smoothness, davidson, separated by "
            "commas. [default: every one the answers allow]"
        ),
    ] = None,
    winner_is: inputs.WinnerIs = "lower",
    model: Annotated[str, typer.Option(help="What is assumed about the areas: spatial or standard.")] = "spatial",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="CSV file for the table.")] = None,
    seed: inputs.Seed = None,
    cores: Annotated[int | None, typer.Option(min=1, help="Number of threads; results do not depend on it.")] = None,
    as_json: inputs.AsJson = False,
) -> None:
    """Compare models of the judges: how well each predicts the answers of a judge it has not seen.

    Example: judgemap compare comparisons.csv --areas wards.gpkg --models alike,differ --seed 1
    """
    from judgemap.study.assess.comparing import compare_models

    if output is not None:
        check_file(output)
    data = read_comparisons(comparisons, areas, cast("Direction", winner_is))
    judged = compare_models(
        data,
        areas,
        seed=inputs.choose_seed(seed),
        models=None if models is None else [name.strip() for name in models.split(",")],
        cores=cores or available_cores(),
        model=model,
    )
    if output is not None:
        write_whole(output, judged.table.to_csv(index=False).encode())
    if as_json:
        told = json_value({"models": judged.table.to_dict("records"), "words": judged.words})
        typer.echo(json.dumps(told, ensure_ascii=False))
    else:
        typer.echo(f"{judged.table.round(1).to_string(index=False)}\n\n{judged.words}")


@inputs.with_areas
def prior(
    *,
    areas: Areas,
    of: Annotated[str, typer.Option("--of", help="The area whose correlations to draw: id or name.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Picture to write: .svg, .png or .pdf.")],
    kind: Annotated[str, typer.Option("--prior", help=f"One of {', '.join(PRIORS)}.")] = PLAIN,
    length: Annotated[
        float | None, typer.Option(help="Length scale, in km (graph-exponential: in borders crossed).")
    ] = None,
) -> None:
    """Draw the prior correlation of one area with every other.

    Example: judgemap prior --areas wards.gpkg --of "St Ann's" -o prior.svg
    """
    from judgemap.report.figures.maps import prior_correlation_map

    prior_correlation_map(areas, prior_covariance(areas, kind, length), of).save(output)
    for note in areas.notes:
        typer.echo(f"Note: {note}")
    typer.echo(f"The picture is in {output}")
