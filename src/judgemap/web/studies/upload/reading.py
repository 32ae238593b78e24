"""Reads an uploaded boundary file in a separate process, confined by `judgemap.web.server.sandbox`.

Run as ``python -m judgemap.web.studies.upload.reading inspect FILE OPTIONS`` or ``… read FILE OPTIONS``; writes JSON.
Whatever the file makes this process do happens here and not in the server.
"""

import json
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgemap.errors import StudyError
from judgemap.web.server.sandbox import confine, out_of_memory, tell

if TYPE_CHECKING:
    import geopandas

    from judgemap.geo.maps import Areas

MOST_AREAS = 50_000
MOST_POINTS = 3_000_000
MOST_COLUMNS = 300
LONGEST_LABEL = 200
EXAMPLES = 4
MOST_LISTED = 10
NUMBERED, NAMES = "judgemap id", "judgemap name"
"""Columns that are added here: the ids after faults are settled, and the names."""
UNREADABLE = "this map cannot be read; run “Fix geometries” on it in QGIS, export it as a GeoPackage, and try again"


def main(arguments: list[str]) -> int:
    """Do what the arguments say, and write the result, or a sentence that says why that failed."""
    action, path = arguments[0], Path(arguments[1])
    missing = confine(path.parent)
    try:
        result = (inspect if action == "inspect" else read)(path, json.loads(arguments[2]))
    except StudyError as error:
        result = {"error": str(error), "field": error.field}
    except Exception as error:  # whatever a file provokes, its owner gets a sentence and the log a traceback
        if out_of_memory(error):
            result = {"error": f"{path.name}: the file needs too much memory; simplify its boundaries"}
        else:
            result = {"error": UNREADABLE, "traceback": traceback.format_exc()}
    sys.stdout.write(json.dumps(result | {"missing_walls": missing}))
    return 0


def inspect(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Say what is in a file: a picture, its columns, where it may be, and which rows cannot be areas as they are."""
    from judgemap.geo.boundaries import list_layers
    from judgemap.geo.drawing.outlines import sketch
    from judgemap.geo.labels import choose_labels, column_texts
    from judgemap.web.studies.upload.faults import WORDING, FaultKind, find_faults

    frame = load(path, options.get("layer", ""))
    faults = find_faults(frame.geometry)
    lost = {row for fault in faults if len(WORDING[fault.kind].remedies) == 1 for row in fault.rows}
    if len(frame) - len(lost) < 2:
        points = sum(len(fault.rows) for fault in faults if fault.kind is FaultKind.NOT_POLYGONS)
        raise StudyError(
            f"{path.name} has {len(frame) - len(lost) or 'no'} area"
            + (f" and {points:,} points or lines" if points else "")
            + "; a comparison needs two areas, so choose a file that has them as polygons"
        )
    names = [each for each in frame.columns if each != frame.geometry.name][:MOST_COLUMNS]
    columns = {str(column): [tidy(each) for each in column_texts(frame, column)] for column in names}
    unique = [name for name, texts in columns.items() if all(texts) and len(set(texts)) == len(texts)]
    bad_id = next((name for name in columns if name.casefold() == "id" and name not in unique), None)
    numbered = frame.assign(**{NUMBERED: range(1, len(frame) + 1)}) if bad_id else frame
    labels = choose_labels(numbered, [*unique, NUMBERED][0] if bad_id else None, None)
    name = _column_of([tidy(each) for each in labels.names], columns)
    where = whereabouts(frame, columns)
    crs, guesses = where["crs"], where["guesses"]
    shown = columns.get(name) or [f"row {row + 1}" for row in range(len(frame))]
    return {
        "areas": len(frame),
        "columns": [described(key, texts) for key, texts in columns.items()],
        "id": next((key for key, texts in columns.items() if tuple(texts) == labels.ids), ""),
        "name": name,
        **where,
        "layers": list_layers(path)[:MOST_COLUMNS],
        "layer": options.get("layer", ""),
        "faults": [
            {
                "kind": fault.kind.value,
                "count": len(fault.rows),
                "labels": [shown[row] or f"row {row + 1}" for row in fault.rows[:MOST_LISTED]],
            }
            for fault in faults
        ],
        "picture": sketch(frame.geometry, degrees=_in_degrees(crs, guesses, frame)),
    }


def _column_of(names: list[str], columns: dict[str, list[str]]) -> str:
    """Find the column that names come from; where a name is missing, they are the ids."""
    for key, texts in columns.items():
        if texts == names:
            return key
    for key, texts in columns.items():
        given = [(text, name) for text, name in zip(texts, names, strict=True) if text]
        if 2 * len(given) > len(names) and all(text == name for text, name in given):
            return key
    return ""


def _in_degrees(crs: str, guesses: list[dict[str, Any]], frame: "geopandas.GeoDataFrame") -> bool:
    return bool(frame.crs.is_geographic if crs else guesses and guesses[0]["crs"] == "EPSG:4326")


def described(name: str, texts: list[str]) -> dict[str, Any]:
    """Describe a column: examples, the rows without a value, and the values that several rows share."""
    from collections import Counter

    empty = [row + 1 for row, text in enumerate(texts) if not text]
    repeated = [text for text, count in Counter(texts).items() if text and count > 1]
    return {
        "name": name,
        "examples": [each[:60] for each in texts[:EXAMPLES]],
        "unique": not empty and not repeated,
        "empty": len(empty),
        "empty_rows": empty[:MOST_LISTED],
        "repeated": len(repeated),
        "repeated_values": [each[:60] for each in repeated[:MOST_LISTED]],
    }


LATITUDE, LONGITUDE = r"(.*_)?lat(itude?)?", r"(.*_)?(lon|lng|long|longitude?)"
"""What columns with the place of each area are called; Shapefiles cut names after ten letters."""


def whereabouts(frame: "geopandas.GeoDataFrame", columns: dict[str, list[str]]) -> dict[str, Any]:
    """Name the reference system that the file states, and where that puts the map; or else those it may be in."""
    from dataclasses import asdict

    import numpy as np

    from judgemap.geo.boundaries import place
    from judgemap.web.studies.upload.guessing import WGS84, Extent, Guess, guess_systems

    bounds = frame.geometry.total_bounds
    if not np.isfinite(bounds).all():
        return {"crs": "", "guesses": [], "where": {}, "located_by": []}
    extent = Extent(*bounds.tolist())
    try:
        _, doubts = place(frame.geometry, None)
    except StudyError:
        located = located_by(columns)
        near = located["middle"] if located else None
        by = located["columns"] if located and not extent.degrees else []
        return {
            "crs": "",
            "guesses": [asdict(each) for each in guess_systems(extent, near)],
            "where": {},
            "located_by": by,
        }
    where = _extent_on_earth(frame)
    if doubts and extent.degrees:
        stated = Guess(frame.crs.to_string(), frame.crs.name, "As the file says", where["longitude"], where["latitude"])
        degrees = [each for each in guess_systems(extent) if each.crs == WGS84]
        return {"crs": "", "guesses": [asdict(each) for each in (*degrees, stated)], "where": {}, "located_by": []}
    return {"crs": frame.crs.name, "guesses": [], "where": where, "located_by": []}


def located_by(columns: dict[str, list[str]]) -> dict[str, Any] | None:
    """Find columns that give the latitude and longitude of each area: their names, and the middle they give."""
    import re
    from statistics import median

    def numbers(pattern: str, most: float) -> tuple[str, float] | None:
        for name, texts in columns.items():
            if re.fullmatch(pattern, name.casefold()):
                try:
                    values = [float(text) for text in texts if text]
                except ValueError:
                    continue
                if values and all(abs(value) <= most for value in values) and any(values):
                    return name, median(values)
        return None

    north, east = numbers(LATITUDE, 90), numbers(LONGITUDE, 360)
    if north is None or east is None:
        return None
    return {"columns": [north[0], east[0]], "middle": (east[1], north[1])}


def _extent_on_earth(frame: "geopandas.GeoDataFrame") -> dict[str, float]:
    """Return the middle of a map in degrees, and how many kilometres it is across."""
    import geopandas
    from pyproj import Geod

    west, south, east, north = frame.geometry.total_bounds
    corners = geopandas.GeoSeries.from_xy([west, east], [south, north], crs=frame.crs).to_crs("EPSG:4326")
    (left, right), (low, high) = corners.x, corners.y
    x, y = (left + right) / 2, (low + high) / 2
    earth = Geod(ellps="WGS84")
    metres = max(earth.inv(left, y, right, y)[2], earth.inv(x, low, x, high)[2])
    return {"longitude": round(x, 4), "latitude": round(y, 4), "km": round(metres / 1000, 3)}


def read(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Read the areas with their edges; outlines in longitude and latitude, as hexadecimal WKB."""
    import shapely

    from judgemap.geo.labels import column_texts
    from judgemap.geo.maps import areas_from_frame
    from judgemap.web.studies.upload.faults import FaultKind, Remedy, settle

    frame = load(path, options.get("layer", ""))
    tell(0.2, "Checking the outlines.")
    key = options.get("id") or NUMBERED
    if key not in frame.columns and key != NUMBERED:
        raise StudyError(f"there is no column {key!r}; choose another", field="id")
    if options.get("region", "") not in ("", *frame.columns):
        raise StudyError(f"there is no column {options['region']!r}; choose another", field="region")
    ids = [str(row + 1) for row in range(len(frame))] if key == NUMBERED else column_texts(frame, key)
    remedies = {FaultKind(kind): Remedy(remedy) for kind, remedy in options.get("remedies", {}).items()}
    frame, ids, settled = settle(placed(frame, options.get("crs", "")), ids, remedies)
    if len(frame) < 2:
        raise StudyError("fewer than two areas are left on the map; a comparison needs at least two")
    # Names keep the rows' own values if ids and names share a column.
    name = options.get("name")
    named = frame.assign(**{NAMES: column_texts(frame, name) if name else ids}).assign(**{NUMBERED: ids})
    joined = {"contiguity": options["contiguity"], "extra_edges": options.get("extra_edges") or None}
    tell(0.4, "Finding out which areas are neighbours.")
    areas = areas_from_frame(named, id=NUMBERED, name=NAMES, **joined)
    check_labels(areas)
    region = options.get("region")
    regions = [tidy(each)[:LONGEST_LABEL] for each in column_texts(frame, region)] if region else []
    tell(0.9, "Copying the outlines.")
    outlines = areas.to_frame().geometry.to_crs("EPSG:4326")
    return {
        "ids": areas.ids,
        "names": [tidy(name) for name in areas.names],
        "regions": regions,
        "edges": areas.graph.edges.tolist(),
        "bridges": [[each.a, each.b, each.km] for each in areas.bridges],
        "notes": [tidy(note) for note in (*[f"{each}." for each in settled], *areas.notes)],
        "outlines": shapely.to_wkb(outlines.to_numpy(), hex=True).tolist(),
    }


def load(path: Path, layer: str) -> "geopandas.GeoDataFrame":
    """Open a file, if it is not too large."""
    import shapely

    from judgemap.geo import boundaries

    frame, _ = boundaries.load(path, layer or None)
    if len(frame) > MOST_AREAS:
        raise StudyError(
            f"the file has {len(frame):,} areas; up to {MOST_AREAS:,} can be judged, so use larger areas "
            f"or part of the map"
        )
    if (points := int(shapely.get_num_coordinates(frame.geometry.to_numpy()).sum())) > MOST_POINTS:
        raise StudyError(f"the outlines have {points:,} points; simplify them to at most {MOST_POINTS:,}")
    return frame


def placed(frame: "geopandas.GeoDataFrame", crs: str) -> "geopandas.GeoDataFrame":
    """Place the areas on Earth, by the reference system given or else by the file's own."""
    from judgemap.geo.boundaries import across_date_line, place

    geometry, _ = place(frame.geometry, crs or None)
    return frame.set_geometry(across_date_line(geometry))


def check_labels(areas: "Areas") -> None:
    """Refuse ids and names that no page could show."""
    for key, name in zip(areas.ids, areas.names, strict=True):
        if len(key) > LONGEST_LABEL or len(name) > LONGEST_LABEL:
            raise StudyError(
                f"the area {name[:40]!r} has an id or a name of over {LONGEST_LABEL} characters; shorten it"
            )
        if tidy(key) != key:
            raise StudyError(f"the id {key!r} has characters that cannot be shown; choose another column")


def tidy(text: str) -> str:
    """Leave out what cannot be shown, such as control characters.

    >>> tidy("Kenwood" + chr(0))
    'Kenwood'
    """
    return "".join(each for each in text if each.isprintable())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
