"""What an upload's reader, its pages and its draft tell each other, as JSON between processes and in the database."""

from datetime import date
from enum import StrEnum

import msgspec

from judgemap.geo.adjacency import Contiguity


def gettext_noop(text: str) -> str:
    """Mark a text for translators, as Django's function does, which needs settings that the reader does not have."""
    return text


class Remedy(StrEnum):
    """What can be done about a row."""

    LEAVE_OUT = "leave out"
    REPAIR = "repair"
    KEEP = "keep"


class FaultKind(StrEnum):
    """What can be wrong with a row."""

    NO_OUTLINE = "no outline"
    NOT_POLYGONS = "not polygons"
    NOWHERE = "nowhere"
    NO_SURFACE = "no surface"
    NO_ID = "no id"
    SAME_ID = "same id"
    SAME_OUTLINE = "same outline"
    SLIVER = "sliver"


REMEDIES: dict[FaultKind, tuple[Remedy, ...]] = {
    FaultKind.NO_ID: (Remedy.REPAIR, Remedy.LEAVE_OUT),
    FaultKind.SAME_ID: (Remedy.REPAIR, Remedy.LEAVE_OUT),
    FaultKind.SAME_OUTLINE: (Remedy.LEAVE_OUT, Remedy.KEEP),
    FaultKind.SLIVER: (Remedy.REPAIR, Remedy.LEAVE_OUT, Remedy.KEEP),
}
"""What can be done about a kind of fault, the default first; rows with a fault of any other kind are left out."""


class FaultyRows(msgspec.Struct, frozen=True):
    """How many rows have a kind of fault, and the names of the first of them."""

    kind: FaultKind
    count: int
    labels: list[str]


class Column(msgspec.Struct, frozen=True):
    """A column of a file: examples, the rows without a value, and the values that several rows share."""

    name: str
    examples: list[str]
    empty: int
    empty_rows: list[int]
    repeated: int
    repeated_values: list[str]


class Guess(msgspec.Struct, frozen=True):
    """A coordinate reference system that a map may be in, and where on Earth that would put the middle of the map."""

    crs: str
    name: str
    place: str
    """The part of the Earth that the system is designed for."""
    longitude: float
    latitude: float
    km: float = 0.0
    """How many kilometres the map is across, in the system that the file states."""


class Inspection(msgspec.Struct, frozen=True):
    """What is in a boundary file, as `reading.inspect` finds it."""

    areas: int
    columns: list[Column]
    id: str
    name: str
    layers: list[str]
    layer: str
    """The layer that was asked for; empty for the first."""
    faults: list[FaultyRows]
    picture: dict[str, str | int]
    stated: Guess | None = None
    """The reference system that the file states, and where that puts the map; None if it states none that can be."""
    guesses: list[Guess] = []
    """The systems that the map may be in otherwise."""
    points: tuple[int, int] = (0, 0)
    """How many points the outlines had, and how many are left of a file that was simplified."""


class Chosen(msgspec.Struct, frozen=True):
    """What was filled in about an upload: layer, columns, reference system, remedies, and what is asked."""

    title: str = ""
    question: str = ""
    direction: str = ""
    answers_until: date | None = None
    layer: str = ""
    id: str = ""
    name: str = ""
    region: str = ""
    crs: str = ""
    contiguity: Contiguity = "queen"
    remedies: dict[FaultKind, Remedy] = {}
    extra_edges: list[tuple[str, str]] = []
    """Neighbours that a study.toml or an earlier draft added by hand."""


class ReadMap(msgspec.Struct, frozen=True):
    """The areas of a file with their edges; outlines in longitude and latitude, as hexadecimal WKB."""

    ids: list[str]
    names: list[str]
    regions: list[str]
    edges: list[tuple[int, int]]
    bridges: list[tuple[str, str, float]]
    notes: list[str]
    outlines: list[str]


class KnownAreas(msgspec.Struct, frozen=True):
    """The areas that a table of figures is matched to; outlines as in `ReadMap`, empty if there is no map."""

    ids: list[str]
    names: list[str]
    outlines: list[str]


class ReadFigures(msgspec.Struct, frozen=True):
    """The columns of a table of figures, in the order of the areas, and what did not match."""

    cells: dict[str, list[str]]
    notes: list[str]


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the reader writes: a result, or a sentence that says why there is none."""

    inspection: Inspection | None = None
    map: ReadMap | None = None
    figures: ReadFigures | None = None
    error: str = ""
    values: dict[str, str] = {}
    """What stands in the sentence for its named places."""
    field: str | None = None
    traceback: str = ""
