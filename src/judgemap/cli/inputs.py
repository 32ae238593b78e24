"""The options that several commands share: where the areas come from, the settings of a fit, and the seed."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from judgemap.errors import StudyError
from judgemap.geo.adjacency import Contiguity
from judgemap.geo.maps import Areas, read_areas, read_edges, read_names
from judgemap.study.fit.settings import DEFAULTS, EFFECTS, SETTINGS, FitSettings, Setting, draw_seed, option_of

Options = dict[str, tuple[Any, Any]]
"""A command's options: the annotation and the default of each, by name."""

Seed = Annotated[
    int | None, typer.Option(min=0, help="The same seed gives the same numbers; if left out, one is drawn and shown.")
]

WinnerIs = Annotated[str, typer.Option(help="Whether the chosen area has the 'lower' or the 'higher' rate.")]
Answers = Annotated[Path, typer.Argument(help="comparisons.csv: judge,left,right,outcome or winner,loser.")]
Processes = Annotated[int | None, typer.Option(min=1, help="Number of processes; results do not depend on it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
MapView = Annotated[
    str | None,
    typer.Option(help="When judges differ: the map of the 'population' or of the 'panel'. [default: the fit's own]"),
]

AREA_OPTIONS: dict[str, tuple[type, str, str]] = {
    "areas": (Path, "--areas", "Boundary file: GeoJSON, GeoPackage, Shapefile or zip."),
    "id_column": (str, "--id", "The map's id column; guessed if left out."),
    "name_column": (str, "--name", "The map's name column; guessed if left out."),
    "crs": (str, "--crs", "The map's coordinate system, if the file does not state it."),
    "contiguity": (str, "--contiguity", "queen (default): neighbours touch; rook: they share a stretch of border."),
    "edges": (Path, "--edges", "CSV of neighbours, with area_a,area_b: use without a map, or instead of its borders."),
    "area_names": (Path, "--area-names", "Without a map: areas.csv with id,name; neighbours are optional."),
    "extra_edges": (Path, "--extra-edges", "CSV of extra neighbours, such as across a bridge, with area_a,area_b."),
}
PANELS = {
    "The model": ("covariates", "as_in_paper", "prior", "length", "alpha", "alpha_scale", "chi", "omega", "smoothness"),
    "Judges and ties": ("ties", "disagreement", *EFFECTS),
    "Clusters": ("affinity", "beta", "mu0", "kappa0", "a0", "b0", "clusters", "loss"),
    "Sampling": ("sampler", "chains", "warmup", "draws", "thin"),
}
"""The groups of a fit's settings in help; those that most people need first are in none."""
SAMPLING, RESULTS = "Sampling", "Results"
JUDGES = {True: "differ", False: "alike", None: None}
"""``--judges-differ`` and ``--judges-alike``, as a setting."""


def with_areas(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options above instead of its parameter ``areas``, which receives the areas they name."""
    options: Options = {}
    for name, (kind, option, text) in AREA_OPTIONS.items():
        panel = None if name == "areas" else "The map"
        options[name] = (Annotated[kind | None, typer.Option(option, help=text, rich_help_panel=panel)], None)
    return with_options(command, "areas", options, load_areas)


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each setting of a fit instead of its parameter ``settings``."""
    panels = {name: panel for panel, names in PANELS.items() for name in names}
    options: Options = {}
    for name, each in SETTINGS.items():
        kind, option, text = each.kind, option_of(name), _help(each)
        if name == "judges":
            kind, option, text = bool, "--judges-differ/--judges-alike", each.help
        given = typer.Option(option, help=text, rich_help_panel=panels.get(name))
        options[name] = (Annotated[kind | None, given], DEFAULTS.get(name))
    return with_options(command, "settings", options, _settings)


def _help(setting: Setting) -> str:
    """Write the help of a setting: what it means, its choices and, if it is only for clusters, its model."""
    text = setting.help if not setting.choices else f"{setting.help[:-1]}: {', '.join(setting.choices)}."
    return f"Cluster model: {text[0].lower()}{text[1:]}" if setting.models == ("clusters",) else text


def _settings(*, model: str, clusters: int | None, judges: bool | None, **others: object) -> FitSettings:
    if model != "clusters" and clusters is not None:
        raise StudyError("--clusters needs --model clusters; add that, or leave --clusters out")
    chosen = {"model": model, "clusters": clusters, "judges": JUDGES[judges], **others}
    return FitSettings.from_dict({name: value for name, value in chosen.items() if value is not None})


def with_options(
    command: Callable[..., None], parameter: str, options: Options, build: Callable[..., object]
) -> Callable[..., None]:
    """Replace a command's parameter with options, from which ``build`` makes its value; typer reads the signature."""
    signature = inspect.signature(command)
    others = [each for each in signature.parameters.values() if each.name != parameter]
    first = [each for each in others if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]

    @functools.wraps(command)
    def wrapped(*args: Any, **given: Any) -> None:  # noqa: ANN401 - typer passes what the signature says
        chosen = {name: given.pop(name) for name in options}
        command(*args, **{parameter: build(**chosen)}, **given)

    every = [*first, *added, *others[len(first) :]]
    wrapped.__signature__ = signature.replace(parameters=every)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {each.name: each.annotation for each in every}
    return wrapped


def load_areas(
    *,
    areas: Path | None,
    id_column: str | None,
    name_column: str | None,
    crs: str | None,
    contiguity: Contiguity | None,
    edges: Path | None,
    area_names: Path | None,
    extra_edges: Path | None,
) -> Areas:
    """Read the map, or the lists if there is none."""
    if areas is not None:
        if area_names is not None:
            raise StudyError("--area-names is for use without a map; with a map, choose its column with --name")
        return read_areas(
            areas,
            id=id_column,
            name=name_column,
            crs=crs,
            contiguity=contiguity or "queen",
            extra_edges=extra_edges,
            edges=edges,
        )
    if edges is not None:
        return read_edges(edges, area_names, extra_edges)
    if area_names is not None:
        return read_names(area_names)
    raise StudyError("no areas were given; add --areas MAP, or --edges edges.csv --area-names areas.csv")


def choose_seed(seed: int | None) -> int:
    """Return the seed given, or a fresh one that will be written into the results."""
    return draw_seed() if seed is None else seed
