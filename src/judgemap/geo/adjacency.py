"""Which areas border each other: by shared borders, with hairline gaps closed and islands joined, or as people have it.

A matrix, a graph of libpysal or networkx, and pairs are taken as they are.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from judgemap.core.model.graph import AreaGraph
from judgemap.core.types import BoolArray, FloatArray, IntArray
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import quoted

if TYPE_CHECKING:
    import geopandas

Contiguity = Literal["queen", "rook"]
HAIRLINE = 1e-4
"""Borders that miss each other by less than this share of a typical area's width count as meeting."""


@dataclass(frozen=True, slots=True)
class Bridge:
    """An edge that is not a border: it joins an island, or a part of the map, to the nearest area.

    >>> Bridge("island", "harbour", km=3.2).km
    3.2
    """

    a: str
    b: str
    km: float


def border_graph(geometry: "geopandas.GeoSeries", contiguity: Contiguity) -> AreaGraph:
    """Join the areas whose borders meet, by their exact geometric relation, which libpysal calls strict contiguity.

    Queen: a common point is enough. Rook: it takes a stretch of border.

    >>> import geopandas, shapely
    >>> squares = geopandas.GeoSeries([shapely.box(x, y, x + 1, y + 1) for y in range(2) for x in range(2)])
    >>> len(border_graph(squares, "queen").edges), len(border_graph(squares, "rook").edges)
    (6, 4)
    """
    import shapely

    polygons = geometry.to_numpy()
    pairs = shapely.STRtree(polygons).query(polygons, predicate="intersects").T
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]  # each pair once, because the exact relation is slow
    one, other = polygons[pairs[:, 0]], polygons[pairs[:, 1]]
    if contiguity == "rook":
        pairs = pairs[shapely.relate_pattern(one, other, "F***1****")]  # interiors apart, borders with a line in common
    else:
        pairs = pairs[shapely.touches(one, other)]
    return AreaGraph(len(polygons), pairs)


def hairline_pairs(geometry: "geopandas.GeoSeries", graph: AreaGraph, contiguity: Contiguity) -> IntArray:
    """Find the pairs without an edge that overlap, or whose borders miss each other by a hair's breadth.

    A hair's breadth is `HAIRLINE` √m, with m the median size of the areas, in the map's own units: digitised borders
    and rounded coordinates leave such gaps. For rook they must run alongside each other for at least ten times that.

    >>> import geopandas, shapely
    >>> gap = geopandas.GeoSeries([shapely.box(0, 0, 1, 1), shapely.box(1.00001, 0, 2, 1)])
    >>> hairline_pairs(gap, AreaGraph(2, []), "rook")
    array([[0, 1]])
    """
    import shapely

    polygons = geometry.to_numpy()
    hair = HAIRLINE * float(np.sqrt(np.median(shapely.area(polygons))))
    near = shapely.STRtree(polygons).query(polygons, predicate="dwithin", distance=hair).T
    near = near[near[:, 0] < near[:, 1]].astype(np.int64)
    keys = near @ [graph.n_areas, 1]
    near = near[~np.isin(keys, graph.edges @ [graph.n_areas, 1])]
    if contiguity == "rook":
        one, other = polygons[near[:, 0]], polygons[near[:, 1]]
        near = near[np.maximum(_runs_along(one, other, hair), _runs_along(other, one, hair)) > 10 * hair]
    return near


def _runs_along(one: np.ndarray, other: np.ndarray, hair: float) -> FloatArray:
    """Measure how much of one area's border lies inside the other or within a hair's breadth of it."""
    import shapely

    length: FloatArray = shapely.length(shapely.intersection(shapely.boundary(one), shapely.buffer(other, hair)))
    return length


def add_edges(graph: AreaGraph, extra: IntArray) -> AreaGraph:
    """Return the graph with more edges.

    >>> add_edges(AreaGraph(3, [[0, 1]]), [[1, 2]]).edges
    array([[0, 1], [1, 2]])
    """
    more = np.asarray(extra, dtype=np.int64).reshape(-1, 2)
    return AreaGraph(graph.n_areas, np.concatenate([graph.edges, more]))


def join_parts(
    graph: AreaGraph, geometry: "geopandas.GeoSeries", ids: Sequence[str]
) -> tuple[AreaGraph, tuple[Bridge, ...]]:
    """Join the parts of a map until there is only one: repeatedly join the smallest part to the area nearest to it.

    Distances are between geometries, in metres. Ties in size or distance are broken by the ids, so that the order of
    the rows does not matter.

    >>> import geopandas, shapely
    >>> row = geopandas.GeoSeries([shapely.box(x, 0, x + 1000, 1000) for x in (0, 1000, 5000)])
    >>> joined, bridges = join_parts(AreaGraph(3, [[0, 1]]), row, ids=["a", "b", "c"])
    >>> bridges
    (Bridge(a='c', b='b', km=3.0),)
    """
    import shapely

    polygons = in_metres(geometry).to_numpy()
    rank = np.argsort(np.argsort(np.array(ids)))
    bridges: list[Bridge] = []
    # Parts are numbered from 0, so any other number means that there is more than one.
    while (parts := graph.components()).any():
        first = np.full(parts.max() + 1, len(ids))
        np.minimum.at(first, parts, rank)
        smallest = np.lexsort([first, np.bincount(parts)])[0]
        inside, outside = np.flatnonzero(parts == smallest), np.flatnonzero(parts != smallest)
        nearest = shapely.STRtree(polygons[outside]).query_nearest(polygons[inside], return_distance=True)
        (i, j), metres = (inside[nearest[0][0]], outside[nearest[0][1]]), nearest[1]
        best = np.lexsort([rank[j], rank[i], metres])[0]
        bridges.append(Bridge(ids[i[best]], ids[j[best]], float(metres[best]) / 1000))
        graph = add_edges(graph, np.array([[i[best], j[best]]]))
    return graph, tuple(bridges)


def overlapping(geometry: "geopandas.GeoSeries", pairs: IntArray) -> IntArray:
    """Keep the pairs that overlap by more than a hundredth of the smaller area.

    >>> import geopandas, shapely
    >>> three = geopandas.GeoSeries([shapely.box(x, 0, x + 1, 1) for x in (0, 0.5, 1.499)])
    >>> overlapping(three, np.array([[0, 1], [1, 2]]))
    array([[0, 1]])
    """
    import shapely

    one, other = (geometry.to_numpy()[end] for end in pairs.T)
    common = shapely.area(shapely.intersection(one, other))
    much: BoolArray = common > 0.01 * np.minimum(shapely.area(one), shapely.area(other))
    return pairs[much]


def in_metres(geometry: "geopandas.GeoSeries") -> "geopandas.GeoSeries":
    """Project a map to metres, unless it is in metres already, by Lambert's azimuthal projection about its middle.

    The middle is taken on the sphere, so a map across the date line stays whole. A projection whose metres are not
    metres on the ground (Web Mercator's are 0.6 m at 52° north) is replaced as well.

    >>> import geopandas, shapely
    >>> degree = geopandas.GeoSeries([shapely.box(0, 0, 1, 1)], crs="EPSG:4326")
    >>> round(in_metres(degree).area.iloc[0] / 1e6)
    12308
    """
    import geopandas
    import pyproj
    import shapely

    crs = geometry.crs
    if crs is None or not (crs.is_geographic or crs.is_projected):
        return geometry
    corners, of = shapely.get_coordinates(geometry.to_numpy(), return_index=True)
    # One corner of each area is enough to find the middle of the map.
    one_each = corners[np.unique(of, return_index=True)[1]]
    points = geopandas.GeoSeries.from_xy(*one_each.T, crs=crs).to_crs("EPSG:4326")
    lon, lat = np.radians(points.x), np.radians(points.y)
    x, y, z = np.mean([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
    middle = float(np.degrees(np.arctan2(y, x))), float(np.degrees(np.arctan2(z, np.hypot(x, y))))
    if crs.is_projected and all(axis.unit_name == "metre" for axis in crs.axis_info[:2]):
        factors = pyproj.Proj(crs).get_factors(*middle)
        if max(abs(factors.meridional_scale - 1), abs(factors.parallel_scale - 1)) < 0.05:
            return geometry
    return geometry.to_crs(f"+proj=laea +lon_0={middle[0]:.3f} +lat_0={middle[1]:.3f} +datum=WGS84 +units=m")


MOST_LISTED = 20


def hairline_notes(hairline: IntArray, overlaps: IntArray, names: Sequence[str]) -> list[str]:
    """Say which borders nearly meet, and which areas overlap."""
    notes = []
    if len(hairline):
        notes.append(f"Borders that nearly meet, or overlap, were treated as shared: {pair_words(hairline, names)}.")
    if len(overlaps):
        notes.append(f"These areas overlap; check them on the map: {pair_words(overlaps, names)}.")
    return notes


def bridge_notes(bridges: Sequence[Bridge], names: dict[str, str]) -> list[str]:
    """Say which areas were joined to the nearest one outside their part of the map."""
    notes = [
        f"{names[each.a]!r} borders nothing outside its part of the map, so it was joined to the nearest area, "
        f"{names[each.b]!r}, {each.km:.2f} km away."
        for each in bridges[:MOST_LISTED]
    ]
    if len(bridges) > MOST_LISTED:
        notes.append(f"{len(bridges) - MOST_LISTED:,} more areas were joined to their nearest area in the same way.")
    if len(bridges) > max(5, len(names) // 10):
        notes.append("So many parts suggest that the borders in the file do not meet; check them, or repair the map.")
    return notes


def parts_notes(graph: AreaGraph, names: Sequence[str]) -> list[str]:
    """Say which areas have no neighbour, and how many parts the map is in."""
    parts = graph.components()
    sizes = np.bincount(parts)
    if len(sizes) == 1:
        return []
    alone = [names[i] for i in np.flatnonzero(sizes[parts] == 1).tolist()]
    notes = [f"These areas have no neighbour: {quoted(alone)}."] if alone else []
    shown = ", ".join(f"{size:,}" for size in sorted(sizes.tolist(), reverse=True)[:10])
    more = " …" if len(sizes) > 10 else ""
    notes.append(
        f"The map is in {len(sizes):,} separate parts, with {shown}{more} areas: one part tells us nothing about "
        "another."
    )
    return notes


def pair_words(pairs: IntArray, names: Sequence[str]) -> str:
    """List pairs of areas by name."""
    return quoted([f"{names[a]} – {names[b]}" for a, b in pairs.tolist()], most=MOST_LISTED)


class Neighbours(NamedTuple):
    """Pairs of neighbours, as positions among the labels; a matrix without labels has None."""

    edges: IntArray
    size: int
    labels: tuple[Hashable, ...] | None = None

    def placed(self, ids: Sequence[str], index: Sequence[Hashable]) -> IntArray:
        """Return the pairs as positions among some areas, named by their ids or by the index of their table.

        >>> Neighbours(np.array([[0, 1]]), 2, ("b", "a")).placed(["a", "b"], [0, 1])
        array([[1, 0]])
        """
        if self.size != len(ids):
            raise StudyError(f"the neighbours are those of {self.size:,} areas, and there are {len(ids):,}; match them")
        if self.labels is None:
            return self.edges
        known = index if set(self.labels) == set(index) else ids
        place = {label: position for position, label in enumerate(known)}
        labels = self.labels if known is index else tuple(str(each) for each in self.labels)
        missing = [label for label in labels if label not in place]
        if missing:
            raise StudyError(f"the neighbours name an area {missing[0]!r}, which is neither an id nor in the index")
        return np.array([place[label] for label in labels], dtype=np.int64)[self.edges]


def neighbours_of(source: Any) -> Neighbours:  # noqa: ANN401 - whatever a caller has
    """Read pairs of neighbours from a matrix, a libpysal ``Graph`` or ``W``, or a networkx graph.

    >>> neighbours_of([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).edges
    array([[0, 1],
           [1, 2]])
    """
    if hasattr(source, "adjacency") and hasattr(source, "unique_ids"):  # libpysal.graph.Graph
        weights = source.adjacency
        return _from_pairs([pair for pair, weight in weights.items() if weight], tuple(source.unique_ids))
    if hasattr(source, "neighbors") and hasattr(source, "id_order"):  # libpysal.weights.W
        return _from_pairs([(a, b) for a, others in source.neighbors.items() for b in others], tuple(source.id_order))
    if hasattr(source, "nodes") and hasattr(source, "edges"):  # networkx.Graph
        return _from_pairs(list(source.edges()), tuple(source.nodes))
    labels = tuple(source.index) if hasattr(source, "index") and hasattr(source, "columns") else None
    try:
        matrix: Any = source if sparse.issparse(source) else np.asarray(source, dtype=np.float64)
        matrix = sparse.coo_array(matrix)
    except (TypeError, ValueError):
        raise StudyError(
            f"neighbours: give a CSV file, a square matrix, or a graph of libpysal, not {type(source).__name__}"
        ) from None
    return _from_matrix(matrix, labels)


def _from_matrix(matrix: Any, labels: tuple[Hashable, ...] | None) -> Neighbours:  # noqa: ANN401 - sparse
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = " × ".join(f"{each:,}" for each in matrix.shape)
        raise StudyError(f"a matrix of neighbours has a row and a column for each area; this one is {shape}")
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise StudyError("a matrix of neighbours is 1 where two areas meet and 0 elsewhere; this one has other values")
    size = matrix.shape[0]
    rows, columns = (ends.astype(np.int64) for ends in matrix.nonzero())
    if not np.array_equal(np.unique(rows * size + columns), np.unique(columns * size + rows)):
        raise StudyError(
            "the matrix of neighbours is not symmetric: an area has a neighbour which does not have it; if only one "
            "triangle is filled, add the transpose"
        )
    upper = rows < columns
    return Neighbours(np.unique(np.column_stack([rows[upper], columns[upper]]), axis=0), size, labels)


def _from_pairs(pairs: Sequence[tuple[Hashable, Hashable]], labels: tuple[Hashable, ...]) -> Neighbours:
    place = {label: position for position, label in enumerate(labels)}
    ends = {(place[a], place[b]) if place[a] < place[b] else (place[b], place[a]) for a, b in pairs if a != b}
    return Neighbours(np.array(sorted(ends), dtype=np.int64).reshape(-1, 2), len(labels), labels)
