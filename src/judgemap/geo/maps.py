"""The areas of a study: their ids and names, which are neighbours, and their outlines if there is a map."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from judgemap.core.model.graph import AreaGraph
from judgemap.core.types import FloatArray, IntArray
from judgemap.display import Displayed
from judgemap.errors import StudyError
from judgemap.geo.adjacency import (
    Bridge,
    Contiguity,
    Neighbours,
    add_edges,
    border_graph,
    bridge_notes,
    hairline_notes,
    hairline_pairs,
    in_metres,
    join_parts,
    neighbours_of,
    overlapping,
    pair_words,
    parts_notes,
)
from judgemap.geo.csvfiles import Table, did_you_mean, quoted, read_table

if TYPE_CHECKING:
    import geopandas
    import pandas

    from judgemap.geo.figures import Figures

__all__ = ["Areas", "Bridge", "read_areas", "read_edges", "read_names"]

ExtraEdges = Sequence[Sequence[str]] | str | Path | None
"""Edges added by hand: pairs of ids or names, or a CSV file with ``area_a`` and ``area_b``."""
NO_EDGES = np.empty((0, 2), dtype=np.int64)
Joining = Literal["nearest", "none"]
"""What to do with islands and separate parts of a map: join them to the nearest area outside, or leave them apart."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Areas(Displayed):
    """The areas of a study; ids, names, graph and geometry are in the same order.

    `geometry` is in the file's reference system, and None if there is no map. `notes` says, in one sentence each, what
    was guessed, repaired, found to be separate, or joined.

    >>> areas = Areas(("1", "2"), ("Hyde Park", "Kenwood"), AreaGraph(2, [[0, 1]]))
    >>> areas.index(["Kenwood", "1"])
    array([1, 0])
    """

    ids: tuple[str, ...]
    names: tuple[str, ...]
    graph: AreaGraph
    geometry: "geopandas.GeoSeries | None" = None
    bridges: tuple[Bridge, ...] = ()
    notes: tuple[str, ...] = ()
    figures: "Figures | None" = None
    """Figures from elsewhere, such as deprivation or the district of each area; see `with_figures`."""

    def __post_init__(self) -> None:
        lengths = {len(self.ids), len(self.names), self.graph.n_areas}
        if self.geometry is not None:
            lengths.add(len(self.geometry))
            object.__setattr__(self, "geometry", self.geometry.reset_index(drop=True))
        if len(lengths) != 1:
            raise ValueError(f"ids, names, graph and geometry must have the same length, received {sorted(lengths)}")
        if len(set(self.ids)) != len(self.ids):
            raise ValueError("every area needs its own id")

    def __repr__(self) -> str:
        place = "no map" if self.geometry is None else "a map"
        return f"Areas({len(self.ids)} areas, {len(self.graph.edges)} pairs of neighbours, {place})"

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lookup(self) -> dict[str, int]:
        """The position of each id, and of each name that only one area has; an id takes precedence over a name.

        >>> Areas(("a", "b"), ("b", "Kenwood"), AreaGraph(2, [])).lookup
        {'b': 1, 'Kenwood': 1, 'a': 0}
        """
        count = Counter(self.names)
        places = {name: place for place, name in enumerate(self.names) if count[name] == 1}
        places.update({key: place for place, key in enumerate(self.ids)})
        return places

    def index(self, labels: Sequence[str]) -> IntArray:
        """Return the positions of areas, by id or exact name; raise a `StudyError` for an unknown one.

        Parameters
        ----------
        labels
            Ids or exact names.
        """
        if isinstance(labels, str):
            raise TypeError(f"give a list of labels, [{labels!r}], not one")
        lookup = self.lookup
        places = [lookup.get(clean_label(label), -1) for label in labels]
        if -1 in places:
            raise StudyError(self.unknown(labels[places.index(-1)]))
        return np.array(places, dtype=np.int64)

    def unknown(self, label: str) -> str:
        """Say in a sentence why a label matches no area, and which one may have been meant.

        Parameters
        ----------
        label
            An id or a name that is on no area.

        >>> areas = Areas(("1", "2", "3"), ("Hyde Park", "Kenwood", "Kenwood"), AreaGraph(3, []))
        >>> areas.unknown("hide park")
        "area 'hide park' is not in the list of areas (did you mean 'Hyde Park'?)"
        >>> areas.unknown("9")
        "area '9' is not in the list of areas; correct it, or add the area to the list of areas"
        >>> areas.unknown("Kenwood")
        "2 areas are called 'Kenwood': use an id, one of '2', '3'"
        """
        label = clean_label(label)
        # Areas that share a name have been distinguished by what follows the comma.
        namesakes = (name == label or name.startswith(f"{label}, ") for name in self.names)
        called = [key for key, shares in zip(self.ids, namesakes, strict=True) if shares and label]
        if len(called) > 1:
            return f"{len(called)} areas are called {label!r}: use an id, one of {quoted(called)}"
        place, where = ("on", "map") if self.geometry is not None else ("in", "list of areas")
        next_step = did_you_mean(label, self.lookup) or f"; correct it, or add the area to the {where}"
        return f"area {label!r} is not {place} the {where}{next_step}"

    def centroids(self) -> FloatArray:
        """Return the centroid of each area, (x, y) in metres, one row per area."""
        middle = in_metres(self.outlines()).centroid
        return np.column_stack([middle.x, middle.y]).astype(np.float64)

    def to_frame(self) -> "geopandas.GeoDataFrame":
        """Return id, name and geometry as a table, in the reference system of the map."""
        import geopandas

        outlines = self.outlines()
        return geopandas.GeoDataFrame({"id": self.ids, "name": self.names}, geometry=outlines, crs=outlines.crs)

    def with_figures(self, source: "str | Path | pandas.DataFrame | Figures") -> "Areas":
        """Return the same areas with the columns of a table of figures, beside those they have; see `jm.read_figures`.

        Parameters
        ----------
        source
            A table, as a file or a data frame, or figures read before.

        >>> import pandas
        >>> areas = Areas(("1", "2"), ("Hyde Park", "Kenwood"), AreaGraph(2, [[0, 1]]))
        >>> table = pandas.DataFrame({"name": ["Kenwood", "Hyde Park"], "people": [18_000, 26_000]})
        >>> areas.with_figures(table).figures.numbers("people")
        array([26000., 18000.])
        """
        from judgemap.geo.figures import Figures, read_figures

        read = source if isinstance(source, Figures) else read_figures(source, self)
        if (had := self.figures) is not None:
            read = replace(read, cells={**had.cells, **read.cells}, notes=(*had.notes, *read.notes))
        return replace(self, figures=read)

    def outlines(self) -> "geopandas.GeoSeries":
        """Return the outlines; raise a `StudyError` if there are none."""
        if self.geometry is None:
            raise StudyError("these areas come from an edge list and have no outlines; read a boundary file instead")
        return self.geometry


UNIT = "(area|ward|subward|zone|district|region|community|county|tract|parish|feature|lsoa|msoa)"
ID_COLUMNS = (
    rf"{UNIT}?_?(id|code|no|nr|number)",
    r"gid|geoid|geocode|gss_?code|uid|codigo|insee|ags|ars",
    r"[a-z]+\d{2}cd|.*_(cd|code|id)|.*code|gid_\d",
    r"objectid|fid|ogc_fid",
)
"""What id columns are called, the best first, ignoring case."""

NAME_COLUMNS = (
    rf"{UNIT}?_?name",
    r"[a-z]+\d{2}nm|.*_(nm|name)|name_\d|.*name",
    rf"{UNIT}|neighbou?rhood|label|title|nom|nombre|naam|nome",
)
"""What name columns are called, the best first, ignoring case."""


def clean_label(value: object) -> str:
    """Bring a label into the one spelling in which labels are compared; a missing value becomes the empty string.

    >>> clean_label(" E01 "), clean_label(1.0), clean_label("1.0"), clean_label(None)
    ('E01', '1', '1', '')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = unicodedata.normalize("NFC", str(value).strip())
    return text.split(".")[0] if "." in text and re.fullmatch(r"-?\d+\.0+", text) else text


def choose_labels(frame: "geopandas.GeoDataFrame", id_column: str | None, name_column: str | None) -> Areas:
    """Take ids and names from the given columns, or from those that look most like them, and note which.

    The areas have no outlines and no neighbours yet.

    Raises
    ------
    StudyError
        If a given column does not exist, or the ids are not unique.
    """
    columns = _columns(frame)
    for column in (id_column, name_column):
        if column is not None and column not in columns:
            known = f"the columns are {quoted(columns)}" if columns else "the map has no columns at all"
            raise StudyError(f"there is no column {column!r}{did_you_mean(column, columns)}; {known}")
    notes: list[str] = []
    if id_column is None:
        id_column, note = _guess_id(columns)
        notes.append(note)
    ids = columns[id_column] if id_column else [str(row + 1) for row in range(len(frame))]
    check_ids(ids, f"the column {id_column!r}")
    if name_column is None:
        name_column, note = _guess_name(columns, id_column)
        notes.append(note)
    return complete_names(ids, columns[name_column] if name_column else ids, notes)


def complete_names(ids: Sequence[str], names: Sequence[str], notes: Sequence[str] = ()) -> Areas:
    """Make areas without neighbours; one without a name is called by its id, and names of several areas are noted.

    >>> complete_names(["1", "2"], ["Kenwood", ""]).notes
    ("These areas have no name, so their ids are used: '2'.",)
    """
    notes = list(notes)
    if nameless := [key for key, name in zip(ids, names, strict=True) if not name]:
        notes.append(f"These areas have no name, so their ids are used: {quoted(nameless)}.")
    names = [name or key for key, name in zip(ids, names, strict=True)]
    if shared := [name for name, count in Counter(names).items() if count > 1]:
        notes.append(f"More than one area is called {quoted(shared)}; use their ids in files.")
    return Areas(tuple(ids), tuple(names), AreaGraph(len(ids), NO_EDGES), notes=tuple(notes))


def check_ids(ids: Sequence[str], where: str) -> None:
    """Raise a `StudyError` that names the rows without an id, or the ids that appear more than once."""
    if missing := [str(row) for row, key in enumerate(ids, start=1) if not key]:
        shown = f"{', '.join(missing[:10])} and {len(missing) - 10:,} more" if len(missing) > 10 else ", ".join(missing)
        raise StudyError(f"{where} has no id in row {shown}; fill it in, or choose another column", field="id")
    if repeated := [key for key, count in Counter(ids).items() if count > 1]:
        raise StudyError(
            f"{where} has the same id more than once: {quoted(repeated)}; "
            "every area needs its own id, and one row with all its parts",
            field="id",
        )


def column_texts(frame: "geopandas.GeoDataFrame", column: object) -> list[str]:
    """Return the values of a column as labels."""
    values = frame[column]
    return [clean_label(value) for value in values.astype(object).where(values.notna(), None)]


def has_ids(frame: "geopandas.GeoDataFrame") -> bool:
    """Whether a column looks like an id."""
    return _guess_id(_columns(frame))[0] is not None


def _columns(frame: "geopandas.GeoDataFrame") -> dict[str, list[str]]:
    return {str(column): column_texts(frame, column) for column in frame.columns if column != frame.geometry.name}


def _guess_id(columns: dict[str, list[str]]) -> tuple[str | None, str]:
    """Choose the column with the best name whose values are all present and all different."""
    for column in _called(columns, ID_COLUMNS):
        texts = columns[column]
        if column.casefold() == "id" and any(texts):
            check_ids(texts, f"the column {column!r}")
        if all(texts) and len(set(texts)) == len(texts):
            return column, f"The ids appear to be in the column {column!r}."
    return None, "No column looks like an id, so the areas are numbered from 1 in file order."


def _guess_name(columns: dict[str, list[str]], id_column: str | None) -> tuple[str | None, str]:
    """Choose the column of words with the best name, and among equals the one that distinguishes most areas."""
    wordy = {
        column: texts
        for column, texts in columns.items()
        if column != id_column and any(any(map(str.isalpha, text)) for text in texts)
    }
    for pattern in NAME_COLUMNS:
        if called := _called(wordy, [pattern]):
            best = max(called, key=lambda column: len(set(wordy[column])))
            return best, f"The names appear to be in the column {best!r}."
    return None, "No column looks like a name, so ids are used as names."


def _called(columns: dict[str, list[str]], patterns: Sequence[str]) -> list[str]:
    return [column for pattern in patterns for column in columns if re.fullmatch(pattern, column.casefold())]


COMPASS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")
MOST_NOTED = 6


def told_apart(areas: Areas, columns: Mapping[str, Sequence[str]]) -> Areas:
    """Give areas that share a name different names.

    A column that says what an area belongs to is tried first ("Monroe, Indiana"), then a neighbour that only one of
    them has ("Monroe, near Brown"), then their direction from one another ("Monroe, north"), then the id.
    """
    count = Counter(areas.names)
    shared = [name for name, number in count.items() if number > 1]
    if not shared:
        return areas
    names = list(areas.names)
    parents = _parents(areas.names, shared, columns)
    for name in shared:
        rows = [row for row, each in enumerate(areas.names) if each == name]
        ways = (
            [parents[row] for row in rows if parents],
            _by_neighbour(rows, areas, count),
            _by_direction(rows, areas),
        )
        taken = set(names) - {name}
        for words in (*ways, [areas.ids[row] for row in rows]):
            called = [f"{name}, {word}" for word in words]
            if words and len(set(called)) == len(rows) and not taken & set(called):
                for row, each in zip(rows, called, strict=True):
                    names[row] = each
                break
    new = [each for row, each in enumerate(names) if each != areas.names[row]]
    note = f"Areas with the same name are distinguished: {quoted(new[:MOST_NOTED])}"
    more = f" and {len(new) - MOST_NOTED:,} more" if len(new) > MOST_NOTED else ""
    return replace(areas, names=tuple(names), notes=(*areas.notes, f"{note}{more}."))


def _parents(names: Sequence[str], shared: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Choose a column that says what areas belong to: words that several areas share but namesakes do not."""
    namesakes = [[row for row, each in enumerate(names) if each == name] for name in shared]

    def fits(texts: Sequence[str]) -> bool:
        wordy = all(any(map(str.isalpha, text)) for rows in namesakes for text in (texts[row] for row in rows))
        return wordy and all(len({texts[row] for row in rows}) == len(rows) for rows in namesakes)

    def rank(texts: Sequence[str]) -> tuple[bool, int]:
        # Prefer names to codes such as IN for Indiana, and then the widest division, which most people know.
        return all(text.upper() == text or len(text) <= 3 for text in texts), len(set(texts))

    return min(
        (texts for texts in columns.values() if len(set(texts)) < len(texts) and fits(texts)), key=rank, default=[]
    )


def _by_neighbour(rows: Sequence[int], areas: Areas, count: Counter[str]) -> list[str]:
    """For each area, name a neighbour that no namesake borders and whose own name is unique."""
    edges = areas.graph.edges
    near = [{*edges[edges[:, 0] == row, 1].tolist(), *edges[edges[:, 1] == row, 0].tolist()} for row in rows]
    words = []
    for own in near:
        others = set().union(*(each for each in near if each is not own))
        fit = sorted(areas.names[place] for place in own - others if count[areas.names[place]] == 1)
        if not fit:
            return []
        words.append(f"near {fit[0]}")
    return words


def _by_direction(rows: Sequence[int], areas: Areas) -> list[str]:
    """Say in which direction each area lies from the middle of all of them."""
    import shapely

    if areas.geometry is None:
        return []
    points = shapely.get_coordinates(shapely.centroid(areas.geometry.to_numpy()[list(rows)]))
    east, north = (points - points.mean(axis=0)).T
    eighths = np.rint(np.arctan2(north, east) / (np.pi / 4)).astype(int) % 8
    return [COMPASS[each] for each in eighths.tolist()]


def read_areas(
    source: "str | Path | geopandas.GeoDataFrame",
    *,
    id: str | None = None,  # noqa: A002 - everybody calls it that
    name: str | None = None,
    contiguity: Contiguity = "queen",
    extra_edges: ExtraEdges = None,
    bridge: Joining = "nearest",
    crs: str | int | None = None,
    edges: "str | Path | object | None" = None,
) -> Areas:
    """Read boundaries and find which areas are neighbours.

    Parameters
    ----------
    source
        A GeoJSON file, a GeoPackage or a Shapefile, or a zip file with one of them; or a GeoDataFrame.
    id, name
        The columns with the ids and the names; guessed if not given, and `Areas.notes` says which. The index of a
        GeoDataFrame holds the ids if it has a name or its labels are not numbers, or if no column looks like ids.
    contiguity
        "queen": areas that share a point are neighbours; "rook": areas that share a stretch of border.
    extra_edges
        Pairs of ids that are also neighbours (across a bridge, for example), or a CSV file with ``area_a`` and
        ``area_b``.
    bridge
        "nearest" joins islands and separate parts of the map to the nearest area outside; "none" leaves them separate.
    crs
        The coordinate reference system, if the file does not state it or states it wrongly.
    edges
        Neighbours to use instead of the borders on the map: a CSV file with ``area_a`` and ``area_b``; a matrix, dense
        or sparse, in the order of the areas; or a graph of libpysal or networkx, by id or by the table's index.

    Returns
    -------
    Areas
        The areas in file order, their neighbours, and notes on what was guessed, repaired or joined.

    Examples
    --------
    >>> import tempfile, geopandas, shapely
    >>> wards = geopandas.GeoDataFrame({"code": ["W1", "W2"], "name": ["Castle", "Trent"]}, crs="EPSG:27700",
    ...                                geometry=[shapely.box(0, 0, 100, 100), shapely.box(100, 0, 200, 100)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     wards.to_file(Path(folder, "wards.gpkg"))
    ...     areas = read_areas(Path(folder, "wards.gpkg"), id="code", name="name")
    >>> areas.ids, areas.graph.edges
    (('W1', 'W2'), array([[0, 1]]))
    >>> read_areas(wards, id="code").ids
    ('W1', 'W2')
    """
    from judgemap.geo import boundaries

    notes: list[str] = []
    if not isinstance(source, (str, Path)):
        if not hasattr(source, "geometry"):
            raise StudyError(f"areas: give a boundary file or a GeoDataFrame, not {type(source).__name__}")
        frame, id = _indexed(source, id)  # noqa: A001
        areas = boundaries.unconnected(frame, id, name, crs)
    else:
        path = Path(source)
        try:
            frame, notes = boundaries.load(path)
            areas = boundaries.unconnected(frame, id, name, crs)
        except StudyError as error:
            raise StudyError(f"{path.name or path}: {error}", error.field) from None
    areas = replace(areas, notes=(*notes, *areas.notes))
    if edges is None:
        connected = _connect(areas, contiguity, extra_edges, bridge)
    else:
        index = [] if isinstance(source, (str, Path)) else source.index.tolist()
        found = edges if isinstance(edges, (str, Path)) else neighbours_of(edges)
        connected = _by_list(areas, found, extra_edges, index)
    if len(set(areas.names)) == len(areas):
        return connected
    return told_apart(connected, _columns(frame) if len(frame) == len(areas) else {})


def _indexed(frame: "geopandas.GeoDataFrame", id_column: str | None) -> "tuple[geopandas.GeoDataFrame, str | None]":
    """Make a column of an index that holds the ids; return it with the name of the id column."""
    index = frame.index
    if id_column is None:
        told = index.name is not None or index.inferred_type != "integer"
        holds = index.nlevels == 1 and (told or not has_ids(frame))
    else:
        holds = id_column == index.name and id_column not in frame.columns
    if not holds:
        return frame, id_column
    name = str(index.name or "id")
    if name in frame.columns:
        return (frame, name) if index.name else (frame.assign(index=index.astype(str)), "index")
    return frame.assign(**{name: index.astype(str)}), name


def read_edges(
    edges: "str | Path | object", names: "str | Path | Sequence[str] | None" = None, extra_edges: ExtraEdges = None
) -> Areas:
    r"""Read areas without a map: an edge list ``area_a,area_b`` and, if you have one, a table ``id,name``.

    Parameters
    ----------
    edges
        A CSV file of neighbours, with the columns ``area_a`` and ``area_b``; a matrix, dense or sparse; or a graph of
        libpysal or networkx.
    names
        A CSV file with the columns ``id`` and ``name``; without it, the areas are those in the edge list. With a matrix
        or a graph: the names, in the same order.
    extra_edges
        More pairs of neighbours, or a CSV file of them, as in `read_areas`.

    Returns
    -------
    Areas
        Areas without outlines. Unconnected parts stay separate; `Areas.notes` says so.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "edges.csv")
    ...     _ = path.write_text("area_a,area_b\n1,2\n2,10\n")
    ...     areas = read_edges(path)
    >>> areas.ids, areas.graph.edges
    (('1', '2', '10'), array([[0, 1], [1, 2]]))
    >>> read_edges([[0, 1], [1, 0]], ["Ash", "Beech"]).names
    ('Ash', 'Beech')
    """
    if not isinstance(edges, (str, Path)):
        found = neighbours_of(edges)
        return _by_list(_given_labels(found, names), found, extra_edges)
    if names is None:
        rows = read_table(edges, required=("area_a", "area_b")).rows
        ids = {clean_label(row[end]) for row in rows for end in ("area_a", "area_b")} - {""}
        return _by_list(complete_names(*[sorted(ids, key=numbers_first)] * 2), edges, extra_edges)
    if not isinstance(names, (str, Path)):
        raise StudyError("names: give the CSV file with id and name that belongs to the file of neighbours")
    return _by_list(_read_names(read_table(names, required=("id", "name"))), edges, extra_edges)


def _given_labels(neighbours: Neighbours, names: "str | Path | Sequence[str] | None") -> Areas:
    if isinstance(names, (str, Path)):
        return _read_names(read_table(names, required=("id", "name")))
    ids = [str(each) for each in neighbours.labels or range(1, neighbours.size + 1)]
    if names is not None and len(names) != len(ids):
        raise StudyError(f"there are {len(names):,} names for {len(ids):,} areas; give one for each")
    return complete_names(ids, ids if names is None else [str(each) for each in names])


def read_names(path: str | Path) -> Areas:
    r"""Read areas with neither a map nor neighbours from a table ``id,name``: areas are independent.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "areas.csv")
    ...     _ = path.write_text("id,name\n1,Ash\n2,Beech\n")
    ...     areas = read_names(path)
    >>> areas.names, areas.graph.edges.shape
    (('Ash', 'Beech'), (0, 2))
    """
    areas = _read_names(read_table(path, required=("id", "name")))
    return replace(areas, notes=(*areas.notes, "No area has neighbours."))


def _by_list(
    areas: Areas, edges: str | Path | Neighbours, extra_edges: ExtraEdges, index: Sequence[Hashable] = ()
) -> Areas:
    """Take the neighbours from a file, a matrix or a graph."""
    if isinstance(edges, (str, Path)):
        pairs = _table_edges(areas, read_table(edges, required=("area_a", "area_b")))
    else:
        pairs = edges.placed(areas.ids, index)
    graph, added = _with_extra_edges(areas, AreaGraph(len(areas), pairs), extra_edges)
    return replace(areas, graph=graph, notes=(*areas.notes, *added, *parts_notes(graph, areas.names)))


def _connect(areas: Areas, contiguity: Contiguity, extra_edges: ExtraEdges, bridge: Joining) -> Areas:
    """Find the edges between outlines: borders, hairlines, edges added by hand, and bridges."""
    _check_choice("contiguity", contiguity, ("queen", "rook"))
    _check_choice("bridge", bridge, ("nearest", "none"))
    ids, names, geometry = areas.ids, areas.names, areas.outlines()
    graph = border_graph(geometry, contiguity)
    hairline = hairline_pairs(geometry, graph, contiguity)
    notes = [*areas.notes, *hairline_notes(hairline, overlapping(geometry, hairline), names)]
    graph, added = _with_extra_edges(areas, add_edges(graph, hairline), extra_edges)
    if bridge == "none":
        return replace(areas, graph=graph, notes=(*notes, *added, *parts_notes(graph, names)))
    graph, bridges = join_parts(graph, geometry, ids)
    joined = bridge_notes(bridges, dict(zip(ids, names, strict=True)))
    return replace(areas, graph=graph, bridges=bridges, notes=(*notes, *added, *joined))


def _read_names(table: Table) -> Areas:
    lines: dict[str, int] = {}
    for row, cells in enumerate(table.rows):
        key = clean_label(cells["id"])
        if not key:
            raise StudyError(f"{table.where(row)}: the id is missing; fill it in")
        if key in lines:
            raise StudyError(
                f"{table.where(row)}: the id {key!r} is already on line {lines[key]}; give each area its own"
            )
        lines[key] = table.lines[row]
    if len(lines) == 1:
        raise StudyError(f"{table.path.name}: there is only one area; a comparison needs two")
    return complete_names(list(lines), [clean_label(cells["name"]) for cells in table.rows])


def _table_edges(areas: Areas, table: Table) -> IntArray:
    lookup = areas.lookup
    edges = []
    for row, cells in enumerate(table.rows):
        try:
            edges.append(_edge(areas, lookup, (cells["area_a"], cells["area_b"])))
        except StudyError as error:
            raise StudyError(f"{table.where(row)}: {error}") from None
    return np.array(edges, dtype=np.int64)


def _edge(areas: Areas, lookup: dict[str, int], pair: Sequence[str]) -> tuple[int, int]:
    ends = [clean_label(end) for end in pair]
    if len(ends) != 2 or not all(ends):
        raise StudyError(f"an edge joins two areas, but this one reads {quoted(ends)}; name both")
    for end in ends:
        if end not in lookup:
            raise StudyError(areas.unknown(end))
    a, b = (lookup[end] for end in ends)
    if a == b:
        raise StudyError(f"the edge joins area {ends[0]!r} to itself; remove it")
    return a, b


def _with_extra_edges(areas: Areas, graph: AreaGraph, extra: ExtraEdges) -> tuple[AreaGraph, list[str]]:
    if extra is None or not extra:
        return graph, []
    if isinstance(extra, str | Path):
        edges = _table_edges(areas, read_table(extra, required=("area_a", "area_b")))
    else:
        lookup = areas.lookup
        try:
            edges = np.array([_edge(areas, lookup, pair) for pair in extra], dtype=np.int64)
        except StudyError as error:
            raise StudyError(f"extra edges: {error}") from None
    return add_edges(graph, edges), [f"Edges were added by hand: {pair_words(edges, areas.names)}."]


def numbers_first(label: str) -> tuple[bool, int, str]:
    """Sort key that puts numbers before words, in order of size.

    >>> sorted(["10", "b", "9"], key=numbers_first)
    ['9', '10', 'b']
    """
    number = label.isascii() and label.isdecimal()
    return (not number, int(label) if number else 0, label)


def _check_choice(what: str, chosen: str, choices: Sequence[str]) -> None:
    if chosen not in choices:
        raise StudyError(
            f"{what}={chosen!r} is not recognised{did_you_mean(chosen, choices)}; it is one of {quoted(choices)}"
        )
