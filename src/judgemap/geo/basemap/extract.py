"""Reading an extract: the lines, areas and points that a base map draws around the areas of a study.

GDAL reads OpenStreetMap's own formats (``.osm.pbf`` and ``.osm``) and GeoPackage. In a GeoPackage, columns named like
OpenStreetMap keys say what a feature is: highway, railway, waterway, natural, landuse, leisure, place.
"""

import math
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pyogrio
import shapely
from numpy.typing import NDArray

from judgemap.errors import StudyError
from judgemap.geo.basemap.kinds import classify, classify_points, tagged

Shapes = NDArray[Any]
NOTHING: tuple[Shapes, Shapes] = (np.array([], dtype=object), np.array([], dtype=object))
Tell = Callable[[float, str], None]
NORTHERNMOST = 85.0
OWN_LINE, OWN_POINT = "secondary", "suburb"
"""What lines and named points are taken for in a GeoPackage that does not say."""
CONFIGURATION = """\
closed_ways_are_polygons=landuse,leisure,natural,waterway,place
attribute_name_laundering=no
[points]
osm_id=no
attributes=name,place,railway
[lines]
osm_id=no
attributes=name,ref,highway,railway,service,waterway,natural,tunnel
[multipolygons]
osm_id=no
attributes=name,landuse,leisure,natural,waterway
"""
KEPT = {
    # Only the kinds that are drawn: in a city most lines are footpaths, which would take most of the memory.
    "lines": f"{tagged('line')} OR natural = 'coastline'",
    "multipolygons": "landuse IS NOT NULL OR leisure IS NOT NULL OR natural IS NOT NULL OR waterway IS NOT NULL",
    "points": "name IS NOT NULL AND (place IS NOT NULL OR railway IS NOT NULL)",
}
NOT_AN_EXTRACT = (
    "the file is neither an OpenStreetMap extract (.osm.pbf or .osm) nor a GeoPackage (.gpkg); download one for the "
    "study's region, for example from download.geofabrik.de, and unzip it"
)
LONGEST_NAME = 60
IN_MEMORY = 100
"""Megabytes of scratch data that GDAL keeps in memory; the rest goes to a file, which takes hardly any longer."""
MAY_NOT_FIT = 30_000_000
"""Above this many bytes an extract may need more memory than there is, which GDAL reports like a damaged file."""


@dataclass(frozen=True, slots=True)
class Extract:
    """What was found: shapes in Web Mercator by kind, with their names, empty if a shape has none."""

    found: dict[str, tuple[Shapes, Shapes]] = field(default_factory=dict)

    def add(self, kind: str, shapes: Shapes, names: Shapes) -> None:
        """Add shapes of a kind."""
        there, named = self.found.get(kind, NOTHING)
        self.found[kind] = np.concatenate([there, shapes]), np.concatenate([named, names])

    def of(self, kind: str) -> Shapes:
        """Return the shapes of a kind."""
        return self.found.get(kind, NOTHING)[0]

    def names_of(self, kind: str) -> Shapes:
        """Return the names of the shapes of a kind."""
        return self.found.get(kind, NOTHING)[1]

    def count(self, *kinds: str) -> int:
        """Count the features of some kinds."""
        return sum(len(self.of(kind)) for kind in kinds)


def read_extract(path: Path, box: tuple[float, float, float, float], folder: Path, tell: Tell) -> Extract:
    """Read what lies in a box of longitude and latitude; GDAL's scratch files go to ``folder``."""
    is_osm = check_beginning(path)
    options: dict[str, str] = {}
    if is_osm:
        configuration = folder / "osmconf.ini"
        configuration.write_text(CONFIGURATION)
        options = {"CONFIG_FILE": str(configuration), "MAX_TMPFILE_SIZE": str(IN_MEMORY)}
    extract = Extract()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about rings that GDAL closes, and relations that it cannot assemble
            layers = list(KEPT) if is_osm else [str(name) for name, shape in pyogrio.list_layers(path) if shape]
            for number, layer in enumerate(layers):
                tell(number / len(layers), f"Reading the {layer}." if is_osm else f"Reading the layer {layer}.")
                more = {"bbox": box, "where": KEPT[layer]} if is_osm else {}
                table = pyogrio.read_dataframe(path, layer=layer, on_invalid="ignore", **more, **options)
                _take(extract, table, box, own=not is_osm)
            if not extract.found:
                raise StudyError(_elsewhere(path, box, layers[-1], options))
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError, UnicodeDecodeError) as error:
        reason = re.split(r"[;.]\s", str(error).replace(f"{path.parent}/", ""))[0].strip().rstrip(".")
        if path.stat().st_size < MAY_NOT_FIT:
            raise StudyError(f"the extract is damaged or cut short ({reason[:120]}); download it again") from None
        raise StudyError(
            f"the extract is damaged, cut short, or too large to read here ({reason[:120]}); choose a smaller "
            "region, or download it again"
        ) from None
    return extract


def check_beginning(path: Path) -> bool:
    """Refuse a file that is not what its name says; return whether it is in an OpenStreetMap format."""
    with path.open("rb") as file:
        beginning = file.read(64)
    name = path.name.lower()
    if name.endswith(".pbf") and beginning[4:15] == b"\x0a\x09OSMHeader":
        return True
    if name.endswith(".osm") and re.match(rb"(\xef\xbb\xbf)?\s*<(\?xml|osm)", beginning):
        return True
    if name.endswith(".gpkg") and beginning.startswith(b"SQLite format 3\0"):
        return False
    raise StudyError(NOT_AN_EXTRACT)


def _take(extract: Extract, table: Any, box: tuple[float, float, float, float], *, own: bool) -> None:  # noqa: ANN401
    """Sort the rows of a layer by kind, and project them to Web Mercator."""
    if not isinstance(table, geopandas.GeoDataFrame) or not len(table):
        return
    geometry = table.geometry
    if own and geometry.crs is not None:
        geometry = geometry.to_crs("EPSG:4326")
    shapes = geometry.to_numpy()
    there = ~(shapely.is_missing(shapes) | shapely.is_empty(shapes))
    if own:
        there[there] = shapely.intersects(shapes[there], shapely.box(*box))
    table, shapes = table[there], shapes[there]
    names, dimension = _names(table), shapely.get_dimensions(shapes)
    points, lines, areas = dimension == 0, dimension == 1, dimension == 2
    kinds = np.full(len(table), "", dtype=object)
    kinds[points], kinds[lines] = classify_points(table[points]), classify(table[lines], "line")
    kinds[areas] = classify(table[areas], "area")
    if own:
        kinds[points & (kinds == "")] = OWN_POINT
        if not any(key in table for key in ("highway", "railway", "waterway")):
            kinds[lines] = OWN_LINE
    kinds[points & (names == "")] = ""
    if "natural" in table and (coast := lines & table["natural"].eq("coastline").to_numpy()).any():
        kinds[coast] = ""
        waters = sea(shapes[coast], box)
        extract.add("water", project(waters), np.full(len(waters), "", dtype=object))
    broken = areas & ~shapely.is_valid(shapes)
    shapes[broken] = shapely.make_valid(shapes[broken])
    for kind in sorted(set(kinds.tolist()) - {""}):
        extract.add(kind, project(shapes[kinds == kind]), names[kinds == kind])


def _names(table: Any) -> Shapes:  # noqa: ANN401
    names = np.full(len(table), "", dtype=object)
    for column in ("ref", "name"):
        if column in table:
            texts = [_tidy(each) for each in table[column]]
            names = np.array([text or before for text, before in zip(texts, names, strict=True)], dtype=object)
    return names


def _tidy(text: object) -> str:
    if not isinstance(text, str):
        return ""
    return "".join(each for each in text if each.isprintable())[:LONGEST_NAME].strip()


def project(shapes: Shapes) -> Shapes:
    """Project shapes from degrees to Web Mercator, in units of the Earth's circumference: 0 to 1 east and south."""
    return shapely.transform(shapes, _to_world)


def _to_world(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    latitude = np.radians(np.clip(degrees[:, 1], -NORTHERNMOST, NORTHERNMOST))
    return np.column_stack([degrees[:, 0] / 360 + 0.5, 0.5 - np.arctanh(np.sin(latitude)) / (2 * np.pi)])


def _elsewhere(path: Path, box: tuple[float, float, float, float], layer: str, options: dict[str, str]) -> str:
    """Say that an extract has nothing around the study, and where the extract is instead."""
    study = f"the study is around {_spot((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)}"
    some = pyogrio.read_dataframe(path, layer=layer, max_features=100, on_invalid="ignore", **options)
    bounds = some.to_crs("EPSG:4326").total_bounds if len(some) and some.crs is not None else np.array([np.nan])
    if not np.isfinite(bounds).all():
        return f"the extract has nothing to draw: {study}; choose an extract of its region"
    there = _spot((bounds[0] + bounds[2]) / 2, (bounds[1] + bounds[3]) / 2)
    return f"the extract has nothing to draw around the study: it is around {there}, {study}; choose another extract"


def _spot(longitude: float, latitude: float) -> str:
    north = f"{abs(latitude):.1f}° {'north' if latitude >= 0 else 'south'}"
    return f"{north}, {abs(longitude):.1f}° {'east' if longitude >= 0 else 'west'}"


Box = tuple[float, float, float, float]
Step = tuple[float, float, float, float]


def sea(coast: Shapes, box: Box) -> Shapes:
    """Return the water in a box, as polygons: OpenStreetMap draws only the coast, lines with land on their left.

    A coastline that ends in the middle of the box, as at the edge of an extract, bounds nothing there, so the box is
    first cut down to the reach of the coastline.

    >>> water = sea(np.array([shapely.LineString([(2, -1), (2, 5)])]), (0, 0, 4, 4))
    >>> [shapely.bounds(each).tolist() for each in water]
    [[2.0, 0.0, 4.0, 4.0]]
    """
    lines = shapely.line_merge(shapely.multilinestrings(_lines(coast)), directed=True)
    lines = shapely.get_parts(lines)
    frame = _cut_down(box, lines)
    cut = shapely.get_parts(shapely.clip_by_rect(lines, *frame))
    cut = cut[shapely.length(cut) > 0]
    if not len(cut):
        return np.array([], dtype=object)
    edges = shapely.union_all([*cut, shapely.box(*frame).boundary])
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(edges)))
    steps = {step for line in cut for step in _steps(line)}
    return faces[[_is_water(face, steps) for face in faces]]


def _lines(coast: Shapes) -> Shapes:
    parts = shapely.get_parts(coast)
    rings = shapely.get_type_id(parts) == shapely.GeometryType.POLYGON
    return np.concatenate([parts[~rings], shapely.boundary(parts[rings])])


def _cut_down(box: Box, lines: Shapes) -> Box:
    """Shrink a box until no loose end of the coastline is inside; each end moves the side it was heading for."""
    for line in lines[~shapely.is_closed(lines)]:
        points = shapely.get_coordinates(line).tolist()
        for (u, v), (x, y) in ((points[1], points[0]), (points[-2], points[-1])):
            west, south, east, north = box
            if not (west < x < east and south < y < north):
                continue
            right, up = x - u, y - v
            # How far it is to each side if the coastline continues as it ends; the first side it would reach moves in.
            until_x = (east - x if right > 0 else west - x) / right if right else math.inf
            until_y = (north - y if up > 0 else south - y) / up if up else math.inf
            if until_x <= until_y:
                box = (west, south, x, north) if right > 0 else (x, south, east, north)
            else:
                box = (west, south, east, y) if up > 0 else (west, y, east, north)
    return box


def _is_water(face: shapely.Geometry, coast: set[Step]) -> bool:
    """Decide which side of the coastline a face is on, by the direction of most of the coastline along its rim.

    The rim runs anticlockwise, with the face on its left, so a coastline running the same way makes the face land.
    """
    land = 0.0
    for ring in shapely.get_rings(shapely.orient_polygons(face)):
        for step in _steps(ring):
            x, y, u, v = step
            if step in coast:
                land += math.hypot(u - x, v - y)
            elif (u, v, x, y) in coast:
                land -= math.hypot(u - x, v - y)
    return land < 0


def _steps(line: shapely.Geometry) -> Iterator[Step]:
    points = shapely.get_coordinates(line).tolist()
    return ((x, y, u, v) for (x, y), (u, v) in pairwise(points))
