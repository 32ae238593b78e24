"""`judgemap import`: data from other tools, written to a folder that `judgemap fit` reads."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from judgemap.study.data.comparisons import Direction
from judgemap.study.data.exchange import (
    Columns,
    Imported,
    ItemId,
    Side,
    all_notes,
    import_interface,
    import_table,
    save_import,
)

app = typer.Typer(
    name="import",
    help="Read data from other tools: R packages, the comparative-judgement interface, plain tables.",
    no_args_is_help=True,
)
Output = Annotated[Path, typer.Option("-o", "--output", help="Folder for the files.")]
WinnerIs = Annotated[
    Direction | None,
    typer.Option(help="Whether the chosen area has the 'lower' or the 'higher' rate; most files do not say."),
]
Ones = Annotated[Side, typer.Option(help="An outcome of 1 means that the 'first' or the 'second' area won.")]


@app.command()
def speedybbt(
    files: Annotated[list[Path], typer.Argument(help="One or more .rda or .rds files.")],
    *,
    output: Output,
    winner_is: WinnerIs = None,
    ones: Ones = "first",
) -> None:
    """Read lists from speedyBBT and BSBT: comparisons, areas, adjacency matrix and outlines.

    Example: judgemap import speedybbt forcedMarriage.rda -o wards
    """
    from judgemap.study.data.r_files import import_speedybbt

    _finish(import_speedybbt(files, ones), output, winner_is)


@app.command()
def interface(
    file: Annotated[Path, typer.Argument(help="database_export.zip.")],
    *,
    output: Output,
    winner_is: WinnerIs = None,
    item_id: Annotated[ItemId, typer.Option("--id", help="The column that becomes the areas' id.")] = "item_id",
) -> None:
    """Read the zip file that the comparative-judgement interface exports. No personal data is read.

    Example: judgemap import interface database_export.zip -o wards
    """
    _finish(import_interface(file, item_id), output, winner_is)


@app.command()
def table(
    file: Annotated[Path, typer.Argument(help="A CSV file, with one comparison per row.")],
    *,
    output: Output,
    winner: Annotated[str | None, typer.Option(help="Column with the area that won.")] = None,
    loser: Annotated[str | None, typer.Option(help="Column with the area that lost.")] = None,
    left: Annotated[str | None, typer.Option(help="Column with the first area.")] = None,
    right: Annotated[str | None, typer.Option(help="Column with the second area.")] = None,
    outcome: Annotated[str | None, typer.Option(help="Column with outcomes: left, right, tie, or 1, 0, 2.")] = None,
    chosen: Annotated[str | None, typer.Option(help="Column with the chosen area.")] = None,
    judge: Annotated[str | None, typer.Option(help="Column with judges.")] = None,
    seconds: Annotated[str | None, typer.Option(help="Column with the seconds taken.")] = None,
    winner_is: WinnerIs = None,
    ones: Ones = "first",
) -> None:
    """Read a table of comparisons with columns of any name; columns you do not name are guessed.

    Example: judgemap import table answers.csv --winner preferred --loser other --judge rater -o wards
    """
    columns = Columns(
        winner=winner, loser=loser, left=left, right=right, outcome=outcome, chosen=chosen, judge=judge, seconds=seconds
    )
    _finish(import_table(file, columns, ones), output, winner_is)


def _finish(imported: Imported, output: Path, winner_is: Direction | None) -> None:
    if winner_is is not None:
        imported = replace(imported, winner_is=winner_is)
    command = save_import(imported, output)
    typer.echo(f"{len(imported.answers):,} comparisons of {len(imported.ids):,} areas are in {output}/")
    for note in all_notes(imported):
        typer.echo(f"Note: {note}")
    typer.echo(f"Next:\n  {command}")
