"""Boundary files: which ones are opened, which are refused, and how outlines are repaired."""

import re
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pyogrio
import pyproj
import shapely
from numpy.typing import NDArray

from judgemap.core.types import BoolArray
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import quoted
from judgemap.geo.maps import Areas, choose_labels

BEGINNINGS = {
    ".geojson": b"{",
    ".json": b"{",
    ".topojson": b"{",
    ".gpkg": b"SQLite format 3\0",
    ".kml": b"<",
    ".shp": b"\0\0\x27\x0a",
}
"""How a file of each kind begins; anything else is refused before GDAL, which reads a hundred formats, takes a
guess."""

ZIPPED = (".kmz", ".zip")
ShapeArray = NDArray[np.object_]
UNREADABLE = (
    pyogrio.errors.DataSourceError,
    pyogrio.errors.DataLayerError,
    shapely.errors.GEOSException,
    UnicodeDecodeError,
    UnboundLocalError,  # what pyogrio raises for a .prj file that is not in UTF-8
)

FARTHEST = 1e12
"""Coordinates beyond this are not on Earth in any unit."""
REFUSED = {
    "no outline": ("have no outline", "draw or remove them"),
    "not polygons": ("are not polygons", "remove them or draw their outlines"),
    "nowhere": ("have coordinates that are not on Earth", "redraw them"),
    "no surface": ("enclose no area", "redraw or remove them"),
}
"""The faults of outlines with which no row is an area: what is said of them, and what to do."""
SPECK = 1e-9
"""Parts of a repaired outline below this share of its largest part are artefacts of the repair."""

BAD_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, UnicodeDecodeError)


def unconnected(
    frame: geopandas.GeoDataFrame, id_column: str | None, name_column: str | None, crs: str | int | None
) -> Areas:
    """Label, check, repair and georeference the areas of a table of polygons; none has neighbours yet."""
    labels = choose_labels(frame, id_column, name_column)
    geometry, mended = mend(across_date_line(frame.geometry, crs), labels.names)
    if len(geometry) == 1:
        raise StudyError("there is only one area on the map; a comparison needs two")
    geometry, placed = place(geometry, crs)
    return replace(labels, geometry=geometry, notes=(*labels.notes, *mended, *placed))


def load(path: Path, layer: str | None = None) -> tuple[geopandas.GeoDataFrame, list[str]]:
    """Read every row of a boundary file, zipped or not, with notes on what was chosen.

    If there are several layers, read the given one, or else the first with polygons.

    Raises
    ------
    StudyError
        If there is no such file, or it is not a map, or the map is empty.
    """
    try:
        source, notes = _source(path)
    except OSError as error:
        raise StudyError(
            f"the file cannot be read ({error.strerror}); check its permissions, or export it again"
        ) from None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            layer = _layer(source, layer, notes)
            try:
                frame = geopandas.read_file(source, layer=layer, on_invalid="fix")
            except UnicodeDecodeError:
                frame = geopandas.read_file(source, layer=layer, on_invalid="fix", encoding="cp1252")
                notes.append("The file's text is not in the encoding it claims, so it was read as Windows-1252.")
        except UNREADABLE as error:
            reason = str(error).replace(f"{source.rpartition('/')[0]}/", "")
            first = re.split(r"[;.]\s", reason)[0].strip().rstrip(".")
            raise StudyError(f"the file cannot be read as a map ({first}); {_advice(source)}") from None
    if any("Non closed ring" in str(warning.message) for warning in caught):
        notes.append("Some outlines did not end where they started; they were closed.")
    if len(frame) == 0:
        raise StudyError("there are no areas in the file; check that the right layer was exported")
    if not isinstance(frame, geopandas.GeoDataFrame):
        raise StudyError("the file is a table without outlines; export the map with its geometry")
    return frame, notes


def across_date_line(geometry: geopandas.GeoSeries, crs: str | int | None = None) -> geopandas.GeoSeries:
    """Let outlines in degrees that jump across the date line continue beyond it."""
    degrees = crs is None and (geometry.crs is None or geometry.crs.is_geographic)
    bounds = geometry.total_bounds
    if not degrees or not (np.abs(bounds) <= 360).all() or bounds[2] - bounds[0] <= 180:
        return geometry
    return geopandas.GeoSeries(unwrapped(geometry.to_numpy()), index=geometry.index, crs=geometry.crs)


def place(geometry: geopandas.GeoSeries, crs: str | int | None) -> tuple[geopandas.GeoSeries, list[str]]:
    """Set the reference system of the coordinates: the given one, or else the file's own."""
    stated = geometry.crs
    notes = []
    if crs is not None:
        try:
            wanted = pyproj.CRS.from_user_input(int(crs) if str(crs).isdigit() else crs)
        except pyproj.exceptions.CRSError:
            text = f"crs={crs!r} is not a coordinate reference system; give a code such as 'EPSG:27700'"
            raise StudyError(text, "crs") from None
        geometry = geometry.set_crs(wanted, allow_override=True)
        if stated is not None and not stated.equals(wanted, ignore_axis_order=True):
            notes.append(f"The coordinates were read as {wanted.to_string()}, where the file says {stated.name}.")
    elif stated is None:
        raise StudyError(
            "the file does not state its coordinate reference system (a Shapefile has it in a .prj file beside it); "
            "give it, for example crs='EPSG:27700' (--crs EPSG:27700 on the command line)",
            field="crs",
        )
    return geometry, notes + _doubts(geometry)


def _doubts(geometry: geopandas.GeoSeries) -> list[str]:
    """Check that the coordinates fit their reference system: refuse the impossible, and note anything odd."""
    crs = geometry.crs
    west, south, east, north = geometry.total_bounds
    seen = f"the coordinates (x {west:.6g} … {east:.6g}, y {south:.6g} … {north:.6g})"
    true = "give the correct reference system, for example crs='EPSG:27700'"
    degrees = west >= -360 and east <= 360 and south >= -90.001 and north <= 90.001
    if crs.is_geographic and not degrees:
        raise StudyError(f"{seen} cannot be degrees, as {crs.name} has them; {true}", field="crs")
    corners = geopandas.GeoSeries.from_xy([west, east], [south, north], crs=crs)
    if crs.is_projected and not np.isfinite(corners.to_crs("EPSG:4326").total_bounds).all():
        raise StudyError(f"{seen} are nowhere on Earth in {crs.name}; {true}", field="crs")
    if crs.is_projected and degrees:
        return [f"T{seen[1:]} look like degrees, which {crs.name} does not use; check the reference system."]
    return []


def mend(geometry: geopandas.GeoSeries, names: Sequence[str]) -> tuple[geopandas.GeoSeries, list[str]]:
    """Check that every area is a polygon, and repair outlines that cross themselves.

    >>> bow_tie = geopandas.GeoSeries([shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])])
    >>> mended, notes = mend(bow_tie, ["Bow"])
    >>> notes
    ["Outlines that crossed themselves were repaired: 'Bow'."]
    >>> float(mended.area.iloc[0])
    0.5
    """
    labels = np.array(names, dtype=object)
    shapes, faults = sound_outlines(geometry.to_numpy())
    missing, flat = faults["no outline"], faults["not polygons"]
    if missing.all():
        raise StudyError("no area has an outline; export the map with its geometry")
    if flat[~missing].all():
        kinds = sorted({shape.geom_type for shape in shapes[~missing]})
        raise StudyError(f"the file holds {' and '.join(kinds)} features, not polygons; choose a file of boundaries")
    for fault, (words, remedy) in REFUSED.items():
        if faults[fault].any():
            raise StudyError(f"these areas {words}: {quoted(labels[faults[fault]])}; {remedy}")
    broken = ~shapely.is_valid(geometry.to_numpy())
    notes = [f"Outlines that crossed themselves were repaired: {quoted(labels[broken])}."] if broken.any() else []
    return geopandas.GeoSeries(shapes, crs=geometry.crs), notes


def sound_outlines(outlines: ShapeArray) -> tuple[ShapeArray, dict[str, BoolArray]]:
    """Repair outlines that can be repaired; return them all, and which have one of the faults of `REFUSED`.

    >>> faults = sound_outlines(np.array([shapely.box(0, 0, 1, 1), None, shapely.Point(0, 0)]))[1]
    >>> {fault: rows.tolist() for fault, rows in faults.items() if rows.any()}
    {'no outline': [False, True, False], 'not polygons': [False, False, True]}
    """
    shapes = shapely.force_2d(outlines.astype(object))
    missing = shapely.is_missing(shapes) | shapely.is_empty(shapes)
    corners, of = shapely.get_coordinates(shapes, return_index=True)
    nowhere = np.zeros(len(shapes), dtype=bool)
    nowhere[of[~(np.abs(corners) < FARTHEST).all(axis=1)]] = True  # nan is nowhere too
    flat = ~missing & ~nowhere & (shapely.get_dimensions(shapes) < 2)
    usable = ~missing & ~nowhere & ~flat
    shapes[usable] = repaired(shapes[usable])
    collapsed = usable & ~(shapely.area(shapes) > 0)
    return shapes, {"no outline": missing, "not polygons": flat, "nowhere": nowhere, "no surface": collapsed}


def repaired(shapes: ShapeArray) -> ShapeArray:
    """Make outlines valid, keeping only the polygons of mixed shapes, and no specks left over by a repair.

    >>> tie = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])
    >>> mixed = shapely.GeometryCollection([shapely.box(0, 0, 1, 1), shapely.Point(5, 5)])
    >>> shapely.area(repaired(np.array([tie, mixed], dtype=object)))
    array([0.5, 1. ])
    """
    shapes = shapes.copy()
    for place in np.flatnonzero(shapely.get_type_id(shapes) == shapely.GeometryType.GEOMETRYCOLLECTION):
        shapes[place] = shapely.union_all(shapely.make_valid(_polygons_in(shapes[place])))
    broken = np.flatnonzero(~shapely.is_valid(shapes))
    shapes[broken] = shapely.make_valid(shapes[broken], method="structure", keep_collapsed=False)
    for place in broken:
        parts = _polygons_in(shapes[place])
        areas = shapely.area(parts)
        kept = parts[areas > SPECK * areas.max(initial=0.0)]
        shapes[place] = kept[0] if len(kept) == 1 else shapely.MultiPolygon(kept.tolist())
    return shapes


def simplified(shapes: ShapeArray, most: int) -> ShapeArray:
    """Leave out points of outlines until at most ``most`` are left, the same ones on both sides of a border.

    What is left out lies within about a fiftieth of the size of a middling area, or twice or four times that if need
    be. Where two sides of a border do not have the same points, few are left out, and more than ``most`` may be left.

    >>> halves = shapely.segmentize([shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)], 1 / 128)
    >>> shapely.get_num_coordinates(simplified(halves, 100)).tolist()
    [5, 5]
    """
    shapes = shapely.force_2d(shapes)
    kinds = (shapely.GeometryType.POLYGON, shapely.GeometryType.MULTIPOLYGON)
    outlined = np.isin(shapely.get_type_id(shapes), kinds) & ~shapely.is_empty(shapes)
    within = np.sqrt(np.median(shapely.area(shapes[outlined]))) / 50 if outlined.any() else 0.0
    fewer = shapes.copy()
    for times in (1, 2, 4):
        if shapely.get_num_coordinates(fewer).sum() > most:
            fewer[outlined] = shapely.coverage_simplify(shapes[outlined], times * within)
    return fewer


def _polygons_in(shape: shapely.Geometry) -> ShapeArray:
    """Return the polygons in a shape, whatever its kind and however deeply nested they are."""
    parts = shapely.get_parts(shape)
    while (shapely.get_type_id(parts) > shapely.GeometryType.POLYGON).any():
        parts = shapely.get_parts(parts)
    polygons: ShapeArray = parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON]
    return polygons


def _source(path: Path) -> tuple[str, list[str]]:
    """Find what to open: the file itself, or the first map inside a zip file."""
    if path.is_dir():
        raise StudyError("this is a folder; name a map file in it")
    if not path.is_file():
        raise StudyError("there is no such file; check its name and folder")
    suffix = path.suffix.casefold()
    if suffix not in {*BEGINNINGS, *ZIPPED}:
        raise StudyError(
            f"maps are read from {', '.join((*BEGINNINGS, ZIPPED[0]))} and {ZIPPED[1]} files; "
            "export yours as a GeoPackage, for example"
        )
    if path.stat().st_size == 0:
        raise StudyError("the file is empty; export the map again")
    if suffix not in ZIPPED:
        with path.open("rb") as file:
            _check_beginning(file.read(4096), suffix)
        return str(path), []
    try:
        with zipfile.ZipFile(path) as archive:
            inside = [name for name in archive.namelist() if _is_map(name)]
            if not inside:
                raise StudyError("there is no map in the zip file; it should hold a .shp with its .shx, .dbf and .prj")
            chosen = inside[0]
            with archive.open(chosen) as file:
                _check_beginning(file.read(4096), Path(chosen).suffix.casefold())
    except BAD_ZIP as error:
        raise StudyError(f"the zip file cannot be opened ({error}); zip the map again, without a password") from None
    notes = [f"Of the maps in the zip file, {chosen!r} was read; the others are {quoted(inside[1:])}."]
    return f"/vsizip/{path.resolve().as_posix()}/{chosen}", notes if len(inside) > 1 else []


def _is_map(name: str) -> bool:
    inner = Path(name)
    hidden = "__MACOSX" in inner.parts or inner.name.startswith(".")
    return inner.suffix.casefold() in BEGINNINGS and not hidden and ".." not in inner.parts


def _check_beginning(head: bytes, suffix: str) -> None:
    text = suffix in {".geojson", ".json", ".topojson", ".kml"}
    beginning = head.removeprefix(b"\xef\xbb\xbf").lstrip() if text else head
    if not beginning.startswith(BEGINNINGS[suffix]):
        raise StudyError(f"the file is not what its ending {suffix} says; {_advice(suffix)}")


def list_layers(path: Path) -> list[str]:
    """List the layers of a boundary file that may hold polygons, the most likely one first."""
    source, _ = _source(path)
    try:
        return _layers(source)
    except UNREADABLE:
        return []


def _layers(source: str) -> list[str]:
    layers = [(str(name), str(kind)) for name, kind in pyogrio.list_layers(source)]
    names = [name for name, kind in layers if not re.search("Point|Line|None", kind)]  # mixed layers are "Unknown"
    names = names or [name for name, _ in layers]
    # A file of districts often has a layer with just the whole country, which leaves nothing to compare.
    return sorted(names, key=lambda name: pyogrio.read_info(source, layer=name)["features"] < 2) if names[1:] else names


def _layer(source: str, wanted: str | None, notes: list[str]) -> str:
    """Choose the layer to read: the wanted one, or the first with polygons."""
    names = _layers(source)
    if not names:
        raise StudyError("there are no layers in the file; export the map again")
    if wanted and wanted not in names:
        raise StudyError(f"there is no layer {wanted!r}; the layers are {quoted(names)}", field="layer")
    chosen = wanted or names[0]
    if len(names) > 1:
        others = [name for name in names if name != chosen]
        notes.append(f"Of the file's layers, {chosen!r} was read; the others are {quoted(others)}.")
    return chosen


def _advice(source: str) -> str:
    if source.casefold().endswith(".shp"):
        return "a Shapefile needs its .shx and .dbf files beside it, all complete"
    return "export it again as GeoJSON, GeoPackage or Shapefile"


Shapes = NDArray[Any]


def unwrapped(shapes: Shapes) -> Shapes:
    """Let outlines in degrees that jump across the date line continue beyond it.

    The middle of a ring stays within 180 degrees east and west. A ring around a pole, which does not come back to where
    it began, is left alone.

    >>> fiji = shapely.Polygon([(179, -17), (-179, -17), (-179, -16), (179, -16)])
    >>> shapely.bounds(unwrapped(np.array([fiji], dtype=object)))[0].tolist()
    [179.0, -17.0, 181.0, -16.0]
    """
    west, _, east, _ = np.asarray(shapely.bounds(shapes)).T
    wide = np.flatnonzero(east - west > 180)
    shapes = shapes.copy()
    for place in wide[[_jumps(shapes[each]) for each in wide]] if len(wide) else wide:
        parts = [_run_on(part) for part in shapely.get_parts(shapes[place])]
        shapes[place] = parts[0] if len(parts) == 1 else shapely.union_all(shapely.make_valid(np.array(parts)))
    return shapes


def in_one_piece(shapes: Shapes) -> Shapes:
    """Move what lies across the date line next to the rest, so that the map is cut where it is empty instead.

    >>> coasts = np.array([shapely.box(178, 0, 180, 1), shapely.box(-180, 0, -179, 1)], dtype=object)
    >>> shapely.total_bounds(in_one_piece(coasts)).tolist()
    [-182.0, 0.0, -179.0, 1.0]
    """
    parts, of = shapely.get_parts(shapes, return_index=True)
    west, _, east, _ = shapely.bounds(parts).reshape(-1, 4).T
    if not len(parts) or east.max() - west.min() <= 180:
        return shapes.copy()
    order = np.argsort(west)
    reach = np.maximum.accumulate(east[order])
    gaps = west[order][1:] - reach[:-1]
    if not len(gaps) or gaps.max() <= 360 - (east.max() - west.min()):
        return shapes.copy()
    eastern = west > reach[int(np.argmax(gaps))]
    # Move whichever side has fewer areas.
    fewer_east = np.unique(of[eastern]).size <= np.unique(of[~eastern]).size
    moved, by = (eastern, -360.0) if fewer_east else (~eastern, 360.0)
    parts[moved] = shapely.transform(parts[moved], lambda at: at + np.array([by, 0.0]))
    whole = shapes.copy()
    for place in np.unique(of[moved]):
        own = parts[of == place]
        whole[place] = shapely.union_all(own) if len(own) > 1 else own[0]
    return whole


def _jumps(shape: shapely.Geometry) -> bool:
    """Whether a ring of the shape jumps across the date line."""
    longitude, of = shapely.get_coordinates(shapely.get_rings(shapely.get_parts(shape)), return_index=True)
    far = np.abs(np.diff(longitude[:, 0])) > 180
    return bool((far & (of[1:] == of[:-1])).any())


def _run_on(polygon: shapely.Geometry) -> shapely.Geometry:
    if not isinstance(polygon, shapely.Polygon):
        return polygon
    rings = [_run_ring_on(shapely.get_coordinates(ring)) for ring in shapely.get_rings(polygon)]
    return shapely.Polygon(rings[0], rings[1:])


def _run_ring_on(points: NDArray[np.float64]) -> NDArray[np.float64]:
    longitude = np.unwrap(points[:, 0], period=360)
    if abs(longitude[-1] - longitude[0]) > 180:
        return points
    longitude -= 360 * np.round((longitude.min() + longitude.max()) / 720)
    return np.column_stack([longitude, points[:, 1]])
