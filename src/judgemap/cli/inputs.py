"""The options that several commands share: where the areas come from, the settings of a fit, and the seed."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from judgemap.errors import StudyError
from judgemap.geo.maps import Areas, read_areas, read_edges, read_names
from judgemap.study.fit.settings import (
    DEFAULTS,
    SETTINGS,
    FitSettings,
    Setting,
    draw_seed,
    option_of,
)

Options = dict[str, tuple[Any, Any]]
"""A command's options: the annotation and the default of each, by name."""

Seed = Annotated[
    int | None, typer.Option(min=0, help="The same seed gives the same numbers; if left out, one is drawn and shown.")
]

AREA_OPTIONS: dict[str, Any] = {
    "areas": Annotated[
        Path | None, typer.Option("--areas", help="Boundary file: GeoJSON, GeoPackage, Shapefile or zip.")
    ],
    "id_column": Annotated[str | None, typer.Option("--id", help="The map's id column; guessed if left out.")],
    "name_column": Annotated[str | None, typer.Option("--name", help="The map's name column; guessed if left out.")],
    "crs": Annotated[
        str | None, typer.Option("--crs", help="The map's coordinate system, if the file does not state it.")
    ],
    "contiguity": Annotated[
        str | None, typer.Option(help="queen (default): neighbours touch; rook: they share a stretch of border.")
    ],
    "edges": Annotated[
        Path | None,
        typer.Option(
            "--edges", help="CSV of neighbours, with area_a,area_b: use without a map, or instead of its borders."
        ),
    ],
    "area_names": Annotated[
        Path | None,
        typer.Option("--area-names", help="Without a map: areas.csv with id,name; neighbours are optional."),
    ],
    "extra_edges": Annotated[
        Path | None,
        typer.Option("--extra-edges", help="CSV of extra neighbours, such as across a bridge, with area_a,area_b."),
    ],
}


def with_areas(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options above instead of its parameter ``areas``, which receives the areas they name."""
    options = {name: (kind, None) for name, kind in AREA_OPTIONS.items()}
    return with_options(command, "areas", options, load_areas)


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each setting of a fit instead of its parameter ``settings``."""
    options: Options = {
        name: (Annotated[each.kind | None, typer.Option(option_of(name), help=_help(each))], DEFAULTS.get(name))
        for name, each in SETTINGS.items()
    }
    return with_options(command, "settings", options, _settings)


def _help(setting: Setting) -> str:
    """Write the help of a setting: what it means, its choices and, if it is only for clusters, its model."""
    text = setting.help if not setting.choices else f"{setting.help[:-1]}: {', '.join(setting.choices)}."
    return f"Cluster model: {text[0].lower()}{text[1:]}" if setting.models == ("clusters",) else text


def _settings(chosen: dict[str, Any]) -> FitSettings:
    if chosen["model"] != "clusters" and chosen["clusters"] is not None:
        raise StudyError("--clusters needs --model clusters; add that, or leave --clusters out")
    return FitSettings(**{name: value for name, value in chosen.items() if value is not None})


def with_options(
    command: Callable[..., None], parameter: str, options: Options, build: Callable[[dict[str, Any]], object]
) -> Callable[..., None]:
    """Replace a command's parameter with options, from which ``build`` makes its value; typer reads the signature."""
    signature = inspect.signature(command)
    kept = [each for each in signature.parameters.values() if each.name != parameter]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]

    @functools.wraps(command)
    def wrapped(*args: Any, **given: Any) -> None:  # noqa: ANN401 - typer passes what the signature says
        chosen = {name: given.pop(name) for name in options}
        command(*args, **{parameter: build(chosen)}, **given)

    wrapped.__signature__ = signature.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {each.name: each.annotation for each in [*kept, *added]}
    return wrapped


def load_areas(chosen: dict[str, Any]) -> Areas:
    """Read the map, or the lists if there is none."""
    areas, edges, names = chosen["areas"], chosen["edges"], chosen["area_names"]
    if areas is not None:
        if names is not None:
            raise StudyError("--area-names is for use without a map; with a map, choose its column with --name")
        return read_areas(
            areas,
            id=chosen["id_column"],
            name=chosen["name_column"],
            crs=chosen["crs"],
            contiguity=chosen["contiguity"] or "queen",
            extra_edges=chosen["extra_edges"],
            edges=edges,
        )
    if edges is not None:
        return read_edges(edges, names, chosen["extra_edges"])
    if names is not None:
        return read_names(names)
    raise StudyError("no areas were given; add --areas MAP, or --edges edges.csv --area-names areas.csv")


def choose_seed(seed: int | None) -> int:
    """Return the seed given, or a fresh one that will be written into the results."""
    return draw_seed() if seed is None else seed
