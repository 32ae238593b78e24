"""`judgemap compare`: which model of the judges to use, by leaving out one judge at a time."""

import json
from pathlib import Path
from typing import Annotated, cast

import typer

from judgemap.cli import inputs
from judgemap.core.threads import available_cores
from judgemap.geo.maps import Areas
from judgemap.study.data.comparisons import Direction, read_comparisons


@inputs.with_areas
def compare(
    comparisons: Annotated[Path, typer.Argument(help="comparisons.csv: judge,left,right,outcome or winner,loser.")],
    *,
    areas: Areas,
    models: Annotated[
        str | None,
        typer.Option(
            help="Any of alike, differ, independent, side, attention, lapses, smoothness, davidson, separated by "
            "commas. [default: every one the answers allow]"
        ),
    ] = None,
    winner_is: Annotated[
        str, typer.Option(help="Whether the chosen area has the 'lower' or the 'higher' rate.")
    ] = "lower",
    model: Annotated[str, typer.Option(help="What is assumed about the areas: spatial or standard.")] = "spatial",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="CSV file for the table.")] = None,
    seed: inputs.Seed = None,
    cores: Annotated[int | None, typer.Option(min=1, help="Number of threads; results do not depend on it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the table.")] = False,
) -> None:
    """Compare models of the judges: how well each predicts the answers of a judge it has not seen.

    Example: judgemap compare comparisons.csv --areas wards.gpkg --models alike,differ --seed 1
    """
    from judgemap.study.assess.comparing import compare_models
    from judgemap.study.fit.folder import check_file, write_whole

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
        typer.echo(json.dumps({"models": judged.table.to_dict("records"), "words": judged.words}, ensure_ascii=False))
    else:
        typer.echo(f"{judged.table.round(1).to_string(index=False)}\n\n{judged.words}")
