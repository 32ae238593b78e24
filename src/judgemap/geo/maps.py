"""The areas of a study: their ids and names, who borders whom, and their outlines where there is a map."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from judgemap.core.graph import AreaGraph
from judgemap.core.types import FloatArray, IntArray
from judgemap.errors import StudyError
from judgemap.geo.adjacency import Bridge, Contiguity, add_edges, border_graph, hairline_pairs, in_metres, join_parts
from judgemap.geo.csvfiles import Table, did_you_mean, quoted, read_table
from judgemap.geo.labels import check_ids, choose_labels, clean_label

if TYPE_CHECKING:
    import geopandas

__all__ = ["Areas", "Bridge", "read_areas", "read_edges"]

ExtraEdges = Sequence[tuple[str, str]] | str | Path | None
"""Edges by hand: pairs of ids or names, or a CSV file with ``area_a`` and ``area_b``."""


@dataclass(frozen=True, slots=True, eq=False)
class Areas:
    """The areas of a study, in one order for ids, names, graph and geometry.

    `geometry` is in the reference system of the file, and None where there is no map. `notes` says, one sentence
    each, what was guessed, repaired, found apart and joined.

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

    def __post_init__(self) -> None:
        lengths = {len(self.ids), len(self.names), self.graph.n_areas}
        if self.geometry is not None:
            lengths.add(len(self.geometry))
        if len(lengths) != 1:
            raise ValueError(f"ids, names, graph and geometry must be of one length, received {sorted(lengths)}")
        if len(set(self.ids)) != len(self.ids):
            raise ValueError("every area needs an id of its own")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def lookup(self) -> dict[str, int]:
        """Where each id, and each name that only one area has, is in the order of the areas; an id goes before a name.

        >>> Areas(("a", "b"), ("b", "Kenwood"), AreaGraph(2, [])).lookup
        {'b': 1, 'Kenwood': 1, 'a': 0}
        """
        count = Counter(self.names)
        places = {name: place for place, name in enumerate(self.names) if count[name] == 1}
        places.update({key: place for place, key in enumerate(self.ids)})
        return places

    def index(self, labels: Sequence[str]) -> IntArray:
        """Return where areas are in the order, by id or by exact name; raise a `StudyError` for an unknown one."""
        lookup = self.lookup
        places = [lookup.get(clean_label(label), -1) for label in labels]
        if -1 in places:
            raise StudyError(self.unknown(labels[places.index(-1)]))
        return np.array(places, dtype=np.int64)

    def unknown(self, label: str) -> str:
        """Say in a sentence why a label is no area's, and which one may have been meant.

        >>> areas = Areas(("1", "2", "3"), ("Hyde Park", "Kenwood", "Kenwood"), AreaGraph(3, []))
        >>> areas.unknown("hide park")
        "area 'hide park' is not on the map (did you mean 'Hyde Park'?)"
        >>> areas.unknown("Kenwood")
        "2 areas are called 'Kenwood': use an id, one of '2', '3'"
        """
        label = clean_label(label)
        called = [key for key, name in zip(self.ids, self.names, strict=True) if name == label]
        if len(called) > 1:
            return f"{len(called)} areas are called {label!r}: use an id, one of {quoted(called)}"
        return f"area {label!r} is not on the map{did_you_mean(label, self.lookup)}"

    def centroids(self) -> FloatArray:
        """Return the centroid of each area, (x, y) in metres, one row an area."""
        middle = in_metres(self._outlines()).centroid
        return np.column_stack([middle.x, middle.y]).astype(np.float64)

    def to_frame(self) -> "geopandas.GeoDataFrame":
        """Return id, name and geometry as a table, in the reference system of the map."""
        import geopandas

        outlines = self._outlines()
        return geopandas.GeoDataFrame({"id": self.ids, "name": self.names}, geometry=outlines, crs=outlines.crs)

    def _outlines(self) -> "geopandas.GeoSeries":
        if self.geometry is None:
            raise StudyError("these areas come from an edge list and have no outlines; read a boundary file instead")
        return self.geometry


def read_areas(
    path: str | Path,
    *,
    id: str | None = None,  # noqa: A002 - what everybody calls it
    name: str | None = None,
    contiguity: Contiguity = "queen",
    extra_edges: ExtraEdges = None,
    bridge: Literal["nearest", "none"] = "nearest",
    crs: str | int | None = None,
) -> Areas:
    """Read a boundary file and find who borders whom.

    Parameters
    ----------
    path
        A GeoJSON file, a GeoPackage or a Shapefile, or a zip file with one of them.
    id, name
        The columns with the ids and the names; guessed where not given, and `Areas.notes` says which.
    contiguity
        "queen": areas that share a point are neighbours; "rook": areas that share a stretch of border.
    extra_edges
        Pairs of ids that are neighbours too (across a bridge, say), or a CSV file with ``area_a`` and ``area_b``.
    bridge
        "nearest" joins islands and parts of the map to the nearest area outside; "none" leaves them apart.
    crs
        The coordinate reference system, where the file does not say it or says it wrongly.

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
    """
    path = Path(path)
    _check_choice("contiguity", contiguity, ("queen", "rook"))
    _check_choice("bridge", bridge, ("nearest", "none"))
    try:
        labels, geometry, notes = _read_outlines(path, id, name, crs)
    except StudyError as error:
        raise StudyError(f"{path.name}: {error}") from None
    graph = border_graph(geometry, contiguity)
    if len(hairline := hairline_pairs(geometry, graph, contiguity)):
        notes.append(f"{len(hairline)} pairs of areas border each other across a hairline gap or an overlap.")
    plain = Areas(labels[0], labels[1], add_edges(graph, hairline), geometry)
    graph, more = _with_extra_edges(plain, extra_edges)
    notes += more
    bridges: tuple[Bridge, ...] = ()
    notes += _parts_notes(graph, plain.names)
    if bridge == "nearest":
        graph, bridges = join_parts(graph, geometry, plain.ids)
    names = dict(zip(plain.ids, plain.names, strict=True))
    notes += [f"{names[each.a]!r} was joined to {names[each.b]!r}, {each.km:.2f} km away." for each in bridges]
    return Areas(plain.ids, plain.names, graph, geometry, bridges, tuple(notes))


def read_edges(edges_path: str | Path, names_path: str | Path | None = None, extra_edges: ExtraEdges = None) -> Areas:
    r"""Read areas without a map: an edge list ``area_a,area_b`` and, if there is one, a table ``id,name``.

    Without a table the areas are those of the edge list. Parts that no edge joins stay apart; `Areas.notes` says so.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "edges.csv")
    ...     _ = path.write_text("area_a,area_b\n1,2\n2,10\n")
    ...     areas = read_edges(path)
    >>> areas.ids, areas.graph.edges
    (('1', '2', '10'), array([[0, 1], [1, 2]]))
    """
    edges = read_table(edges_path, required=("area_a", "area_b"))
    if names_path is None:
        found = {clean_label(row[end]) for row in edges.rows for end in ("area_a", "area_b")} - {""}
        ids = names = tuple(sorted(found, key=_number_first))
    else:
        ids, names = _read_names(read_table(names_path, required=("id", "name")))
    bare = Areas(ids, names, AreaGraph(len(ids), np.empty((0, 2), dtype=np.int64)))
    drawn = Areas(ids, names, AreaGraph(len(ids), _table_edges(bare, edges)))
    graph, notes = _with_extra_edges(drawn, extra_edges)
    return Areas(ids, names, graph, notes=(*notes, *_parts_notes(graph, names)))


def _read_outlines(
    path: Path, id_column: str | None, name_column: str | None, crs: str | int | None
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], "geopandas.GeoSeries", list[str]]:
    from judgemap.geo import boundaries

    frame, loaded = boundaries.load(path)
    labels = choose_labels(frame, id_column, name_column)
    geometry, mended = boundaries.mend(frame.geometry, labels.names)
    if len(frame) == 1:
        raise StudyError("there is only one area on the map; a comparison needs two")
    frame, placed = boundaries.place(frame.set_geometry(geometry.to_numpy(), crs=frame.crs), crs)
    notes = [*loaded, *labels.notes, *mended, *placed]
    return (labels.ids, labels.names), frame.geometry.reset_index(drop=True), notes


def _read_names(table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    ids = tuple(clean_label(row["id"]) for row in table.rows)
    check_ids(ids, table.path.name)
    if len(ids) == 1:
        raise StudyError(f"{table.path.name}: there is only one area; a comparison needs two")
    return ids, tuple(clean_label(row["name"]) or key for row, key in zip(table.rows, ids, strict=True))


def _table_edges(areas: Areas, table: Table) -> IntArray:
    edges = []
    for row, cells in enumerate(table.rows):
        try:
            edges.append(_edge(areas, cells["area_a"], cells["area_b"]))
        except StudyError as error:
            raise StudyError(f"{table.where(row)}: {error}") from None
    return np.array(edges, dtype=np.int64)


def _edge(areas: Areas, a: str, b: str) -> IntArray:
    if not clean_label(a) or not clean_label(b):
        raise StudyError("an edge needs two areas, and a cell is empty; fill it in")
    edge = areas.index([a, b])
    if edge[0] == edge[1]:
        raise StudyError(f"the edge joins area {a!r} to itself; remove it")
    return edge


def _with_extra_edges(areas: Areas, extra: ExtraEdges) -> tuple[AreaGraph, list[str]]:
    if extra is None or (not isinstance(extra, str | Path) and not extra):
        return areas.graph, []
    if isinstance(extra, str | Path):
        edges = _table_edges(areas, read_table(extra, required=("area_a", "area_b")))
    else:
        try:
            edges = np.array([_edge(areas, a, b) for a, b in extra], dtype=np.int64)
        except StudyError as error:
            raise StudyError(f"extra edges: {error}") from None
    shown = [f"{areas.names[a]} – {areas.names[b]}" for a, b in edges]
    return add_edges(areas.graph, edges), [f"Edges added by hand: {quoted(shown)}."]


def _parts_notes(graph: AreaGraph, names: Sequence[str]) -> list[str]:
    """Say which areas have no neighbour, and which parts no edge joins."""
    parts = graph.components()
    sizes = np.bincount(parts)
    if len(sizes) == 1:
        return []
    alone = [names[i] for i in np.flatnonzero(sizes[parts] == 1).tolist()]
    notes = [f"These areas border no other: {quoted(alone)}."] if alone else []
    return [*notes, f"The map is in {len(sizes)} parts that no border joins, of {_sizes(sizes)} areas."]


def _sizes(sizes: IntArray) -> str:
    return quoted([str(size) for size in sorted(sizes, reverse=True)], most=10).replace("'", "")


def _number_first(label: str) -> tuple[bool, int, str]:
    return (not label.isdecimal(), int(label) if label.isdecimal() else 0, label)


def _check_choice(what: str, chosen: str, choices: Sequence[str]) -> None:
    if chosen not in choices:
        raise StudyError(
            f"{what}={chosen!r} is not known{did_you_mean(chosen, choices)}; it is one of {quoted(choices)}"
        )
