"""`judgemap schedule`: which pairs to ask."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judgemap.cli import inputs
from judgemap.core.design.schedule import ListOptions
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.fit.folder import check_file
from judgemap.study.plan.schedules import ALPHA, DESIGNS, DIFFER, known_around, read_known, read_weights
from judgemap.study.plan.schedules import schedule as draw

if TYPE_CHECKING:
    from judgemap.study.plan.schedules import Schedule


@inputs.with_areas
def schedule(
    *,
    areas: Areas,
    output: Annotated[Path, typer.Option("-o", "--output", help="The list to write, as CSV.")],
    design: Annotated[str, typer.Option(help=f"One of {', '.join(DESIGNS)}.")] = DESIGNS[0],
    weights: Annotated[Path | None, typer.Option(help="Use your own design: CSV with area_a,area_b,weight.")] = None,
    pairs: Annotated[int, typer.Option(help="How many pairs.")] = 500,
    knows: Annotated[
        Path | None,
        typer.Option(help="Ask only about areas the judge knows: CSV with a column 'area' of ids or names."),
    ] = None,
    home: Annotated[
        str | None, typer.Option(help="Instead of --knows: ask only about areas around this one, by id or name.")
    ] = None,
    around: Annotated[int, typer.Option(min=2, help="With --home: how many areas a judge knows around home.")] = 50,
    connected: Annotated[
        bool, typer.Option(help="Connect all areas with as few pairs as possible at the start.")
    ] = True,
    balanced_sides: Annotated[bool, typer.Option(help="Show each area on the left as often as on the right.")] = True,
    balanced_exposure: Annotated[
        bool, typer.Option("--balanced-exposure", help="Ask about areas equally often; counts differ by at most one.")
    ] = False,
    spacing: Annotated[int, typer.Option(help="Minimum number of other pairs before a pair is shown again.")] = 1,
    repeats: Annotated[float, typer.Option(help="Share of pairs shown again with sides swapped.")] = 0.0,
    alpha: Annotated[float, typer.Option(help="The guess at α used by the optimal design.")] = ALPHA,
    judges: Annotated[
        int | None,
        typer.Option(
            "--judges",
            min=1,
            help="How many judges, who differ from one another, share the list; only for the optimal design.",
        ),
    ] = None,
    judge_spread: Annotated[
        float, typer.Option("--judge-spread", help="With --judges: how far judges differ, relative to areas.")
    ] = DIFFER,
    picture: Annotated[
        Path | None, typer.Option(help="Map to write, of how often each area is asked about: .svg, .png or .pdf.")
    ] = None,
    seed: inputs.Seed = None,
    as_json: inputs.AsJson = False,
) -> None:
    """Draw a list of pairs to ask, following a design.

    Example: judgemap schedule --areas wards.gpkg --design principal --pairs 500 -o schedule.csv --seed 1
    """
    for path in (output, picture):
        if path is not None:
            check_file(path)
    try:
        options = ListOptions(
            connected=connected,
            balanced_sides=balanced_sides,
            balanced_exposure=balanced_exposure,
            spacing=spacing,
            repeats=repeats,
        )
    except ValueError as error:
        raise StudyError(str(error)) from None
    drawn = draw(
        areas,
        design if weights is None else read_weights(weights, areas),
        pairs,
        seed=inputs.choose_seed(seed),
        knows=_known(areas, knows, home, around),
        options=options,
        alpha=alpha,
        panel=None if judges is None else (judges, judge_spread),
    )
    if picture is not None:
        from judgemap.report.figures.schedules import exposure_map

        exposure_map(drawn).save(picture)
    drawn.save(output)
    typer.echo(json.dumps(to_dict(drawn), indent=2, ensure_ascii=False) if as_json else describe(drawn))
    if not as_json:
        typer.echo(f"The list is in {output}" + (f", the map in {picture}" if picture else ""))


def _known(areas: Areas, knows: Path | None, home: str | None, around: int) -> list[str] | None:
    if knows is not None and home is not None:
        raise StudyError("--knows lists what a judge knows, and --home takes it from the map; give only one")
    if home is not None:
        return known_around(areas, home, around)
    return None if knows is None else read_known(knows, areas)


def describe(drawn: "Schedule") -> str:
    """Say how alike pairs are, and how often areas are asked about."""
    from judgemap.report.figures.schedules import how_alike, how_often
    from judgemap.report.words import text

    size = len(drawn.design.areas)
    repeats = int((drawn.repeat_of > 0).sum())
    planned = f", {repeats} of them planned repeats" if repeats else ""
    lines = [f"{len(drawn):,} pairs of {size:,} areas by the {text.DESIGNS[drawn.name]}{planned}, seed {drawn.seed}."]
    return "\n".join([*lines, how_alike(drawn), how_often(drawn), *(f"Note: {note}" for note in drawn.areas.notes)])


def to_dict(drawn: "Schedule") -> dict[str, object]:
    """Return the same as data for programs: how often each area is asked about."""
    ids = drawn.areas.ids
    areas = zip(ids, drawn.expected().tolist(), drawn.asked().tolist(), strict=True)
    return {
        "design": drawn.name,
        "seed": drawn.seed,
        "pairs": len(drawn),
        "repeats": int((drawn.repeat_of > 0).sum()),
        "known": [ids[place] for place in drawn.design.areas],
        "areas": [{"id": key, "expected": round(mean, 4), "asked": times} for key, mean, times in areas],
        "notes": list(drawn.areas.notes),
    }
