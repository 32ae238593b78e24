"""Reads an uploaded boundary file in a separate process, confined by `judgemap.web.server.sandbox`.

Run as ``python -m judgemap.web.studies.upload.reading inspect FILE OPTIONS``, ``… read FILE OPTIONS`` or
``… figures FILE AREAS``; writes JSON.
Whatever the file makes this process do happens here and not in the server.
"""

import sys
import traceback
import zipfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from judgemap.errors import StudyError
from judgemap.web.server.sandbox import Limits, confine, out_of_memory, tell
from judgemap.web.studies.upload.records import (
    REMEDIES,
    Answer,
    Chosen,
    Column,
    FaultyRows,
    Guess,
    Inspection,
    KnownAreas,
    ReadFigures,
    ReadMap,
)  # fmt: skip
from judgemap.web.studies.upload.records import gettext_noop as _

if TYPE_CHECKING:
    import geopandas

    from judgemap.geo.maps import Areas

MOST_AREAS = 50_000
MOST_POINTS = 3_000_000
"""Outlines with more points are simplified."""
LARGE, LARGEST = 25_000_000, 100_000_000
"""From a file of this size on, a reader may take more time and memory, up to that of a file of the second size. What
is kept of a larger file is a GeoPackage with the layer that was read."""
KEPT = "kept.gpkg"
MOST_COLUMNS = 300
LONGEST_LABEL = 200
MOST_FIGURES, LONGEST_FIGURE = 60, 100
"""Columns of figures, and characters in the name of one."""
EXAMPLES = 4
MOST_LISTED = 10
NUMBERED, NAMES = "judgemap id", "judgemap name"
"""Columns that are added here: the ids after faults are settled, and the names."""
UNREADABLE = _("this map cannot be read; run “Fix geometries” on it in QGIS, export it as a GeoPackage, and try again")
NO_MEMORY = _("%(file)s: the file needs too much memory; simplify its boundaries")
TOO_FEW = _(
    "%(file)s has %(rows)s rows, of which %(areas)s are areas; a comparison needs two areas, so choose a file that has "
    "them as polygons"
)


def main(arguments: list[str]) -> int:
    """Do what the arguments say, and write the result, or a sentence that says why that failed."""
    action, path = arguments[0], Path(arguments[1])
    confine(path.parent, limits_for(path))
    try:
        if action == "figures":
            answer = Answer(figures=match(path, Path(arguments[2])))
        else:
            chosen = msgspec.json.decode(arguments[2], type=Chosen)
            answer = Answer(inspect(path, chosen.layer)) if action == "inspect" else Answer(map=read(path, chosen))
    except StudyError as error:  # in English, which the server translates
        answer = Answer(error=error.text, values=error.values, field=error.field)
    except Exception as error:  # whatever a file provokes, its owner gets a sentence and the log a traceback
        if out_of_memory(error):
            answer = Answer(error=NO_MEMORY, values={"file": path.name})
        else:
            answer = Answer(error=UNREADABLE, traceback=traceback.format_exc())
    sys.stdout.write(msgspec.json.encode(answer).decode())
    return 0


def limits_for(path: Path) -> Limits:
    """Return what a reader may use up for a file, by its size when unpacked."""
    size = path.stat().st_size
    with suppress(zipfile.BadZipFile, ValueError, NotImplementedError, OSError), zipfile.ZipFile(path) as archive:
        size = max(size, sum(each.file_size for each in archive.infolist()))
    more = min(size, LARGEST) - LARGE
    if more <= 0:
        return Limits()
    return Limits((1 << 30) + 40 * more, (4 << 30) + 40 * more, 60 + 2 * more // 1_000_000, longest_file=1 << 27)


def inspect(path: Path, layer: str) -> Inspection:
    """Say what is in a file: a picture, its columns, where it may be, and which rows cannot be areas as they are."""
    from judgemap.geo.boundaries import list_layers
    from judgemap.geo.drawing import sketch
    from judgemap.geo.maps import choose_labels, column_texts
    from judgemap.web.studies.upload.faults import find_faults

    frame, points = load(path, layer)
    layers = list_layers(path)[:MOST_COLUMNS]
    if points or path.stat().st_size > LARGE:
        if len(layers) > 1 and not layer:
            text = _("this is a large file with %(layers)s layers; export the one that you need into a file of its own")
            raise StudyError(text, layers=len(layers))
        frame = frame.iloc[:, [*range(min(MOST_COLUMNS, frame.shape[1] - 1)), frame.shape[1] - 1]]
        frame.to_file(path.with_name(KEPT), driver="GPKG", layer="map", FID="judgemap row", SPATIAL_INDEX="NO")
        layers = ["map"]
    faults = find_faults(frame.geometry)
    lost = {row for kind, rows in faults.items() if kind not in REMEDIES for row in rows}
    if len(frame) - len(lost) < 2:
        raise StudyError(TOO_FEW, file=path.name, areas=len(frame) - len(lost), rows=len(frame))
    names = [each for each in frame.columns if each != frame.geometry.name][:MOST_COLUMNS]
    columns = {str(column): [tidy(each) for each in column_texts(frame, column)] for column in names}
    unique = [name for name, texts in columns.items() if all(texts) and len(set(texts)) == len(texts)]
    bad_id = next((name for name in columns if name.casefold() == "id" and name not in unique), None)
    numbered = frame.assign(**{NUMBERED: range(1, len(frame) + 1)}) if bad_id else frame
    labels = choose_labels(numbered, [*unique, NUMBERED][0] if bad_id else None, None)
    name = _column_of([tidy(each) for each in labels.names], columns)
    stated, guesses = whereabouts(frame)
    degrees = frame.crs.is_geographic if stated else bool(guesses) and guesses[0].crs == "EPSG:4326"
    shown = columns.get(name) or [f"row {row + 1}" for row in range(len(frame))]
    return Inspection(
        areas=len(frame),
        columns=[described(key, texts) for key, texts in columns.items()],
        id=next((key for key, texts in columns.items() if tuple(texts) == labels.ids), ""),
        name=name,
        layers=layers,
        layer=layer,
        faults=[
            FaultyRows(kind, len(rows), [shown[row] or f"row {row + 1}" for row in rows[:MOST_LISTED]])
            for kind, rows in faults.items()
        ],
        picture=sketch(frame.geometry, degrees=degrees),
        stated=stated,
        guesses=guesses,
        points=(points, int(frame.geometry.count_coordinates().sum()) if points else 0),
    )


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


def described(name: str, texts: list[str]) -> Column:
    """Describe a column by its values."""
    empty = [row + 1 for row, text in enumerate(texts) if not text]
    repeated = [text for text, count in Counter(texts).items() if text and count > 1]
    return Column(
        name=name,
        examples=[each[:60] for each in texts[:EXAMPLES]],
        empty=len(empty),
        empty_rows=empty[:MOST_LISTED],
        repeated=len(repeated),
        repeated_values=[each[:60] for each in repeated[:MOST_LISTED]],
    )


def whereabouts(frame: "geopandas.GeoDataFrame") -> tuple[Guess | None, list[Guess]]:
    """Return the reference system that the file states, and where that puts the map; or else those it may be in."""
    import geopandas
    import numpy as np
    from pyproj import Geod

    from judgemap.geo.boundaries import place
    from judgemap.web.studies.upload.guessing import Extent, guess_systems

    bounds = frame.geometry.total_bounds
    if not np.isfinite(bounds).all():
        return None, []
    west, south, east, north = bounds.tolist()
    extent = Extent(west, south, east, north)
    try:
        doubts = place(frame.geometry, None)[1]
    except StudyError:
        return None, guess_systems(extent)
    corners = geopandas.GeoSeries.from_xy([west, east], [south, north], crs=frame.crs).to_crs("EPSG:4326")
    (left, right), (low, high) = corners.x, corners.y
    x, y = (left + right) / 2, (low + high) / 2
    earth = Geod(ellps="WGS84")
    metres = max(earth.inv(left, y, right, y)[2], earth.inv(x, low, x, high)[2])
    at = (round(x, 4), round(y, 4), round(metres / 1000, 3))
    stated = Guess(frame.crs.to_string(), frame.crs.name, "As the file says", *at)
    return (None, [*guess_systems(extent), stated]) if doubts and extent.degrees else (stated, [])


def read(path: Path, chosen: Chosen) -> ReadMap:
    """Read the areas with their edges."""
    import shapely

    from judgemap.geo.boundaries import across_date_line, place
    from judgemap.geo.maps import column_texts, read_areas
    from judgemap.web.studies.upload.faults import settle

    frame, _points = load(path, chosen.layer)
    tell(0.2, "Checking the outlines.")
    for field in ("id", "region"):
        if (column := getattr(chosen, field)) not in ("", *frame.columns):
            raise StudyError(_("there is no column %(column)s; choose another"), field, column=repr(column))
    ids = column_texts(frame, chosen.id) if chosen.id else [str(row + 1) for row in range(len(frame))]
    placed = across_date_line(place(frame.geometry, chosen.crs or None)[0])
    frame, ids, settled = settle(frame.set_geometry(placed), ids, chosen.remedies)
    if len(frame) < 2:
        raise StudyError(_("fewer than two areas are left on the map; a comparison needs at least two"))
    # Names keep the rows' own values if ids and names share a column.
    names = column_texts(frame, chosen.name) if chosen.name else ids
    named = frame.assign(**{NAMES: names}).assign(**{NUMBERED: ids})
    tell(0.4, "Finding out which areas are neighbours.")
    extra = chosen.extra_edges or None
    areas = read_areas(named, id=NUMBERED, name=NAMES, contiguity=chosen.contiguity, extra_edges=extra)
    _check_labels(areas)
    tell(0.9, "Copying the outlines.")
    outlines = areas.to_frame().geometry.to_crs("EPSG:4326")
    return ReadMap(
        ids=list(areas.ids),
        names=[tidy(name) for name in areas.names],
        regions=[tidy(each)[:LONGEST_LABEL] for each in column_texts(frame, chosen.region)] if chosen.region else [],
        edges=areas.graph.edges.tolist(),
        bridges=[(each.a, each.b, each.km) for each in areas.bridges],
        notes=[tidy(note) for note in (*[f"{each}." for each in settled], *areas.notes)],
        outlines=shapely.to_wkb(outlines.to_numpy(), hex=True).tolist(),
    )


def match(path: Path, known: Path) -> ReadFigures:
    """Match a table of figures, or a boundary file of larger places, to the areas of a study."""
    import geopandas
    import shapely

    from judgemap.core.model.graph import AreaGraph
    from judgemap.geo.figures import read_figures
    from judgemap.geo.maps import NO_EDGES, Areas

    there = msgspec.json.decode(known.read_bytes(), type=KnownAreas)
    geometry = geopandas.GeoSeries(shapely.from_wkb(there.outlines), crs="EPSG:4326") if there.outlines else None
    areas = Areas(tuple(there.ids), tuple(there.names), AreaGraph(len(there.ids), NO_EDGES), geometry)
    read = read_figures(path, areas)
    if len(read.cells) > MOST_FIGURES:
        text = _("the table has %(columns)s columns; keep the %(most)s that you need")
        raise StudyError(text, columns=len(read.cells), most=MOST_FIGURES)
    cells = {
        tidy(name)[:LONGEST_FIGURE]: [tidy(cell)[:LONGEST_LABEL] for cell in cells]
        for name, cells in read.cells.items()
    }
    return ReadFigures(cells, [tidy(note) for note in read.notes])


def load(path: Path, layer: str) -> tuple["geopandas.GeoDataFrame", int]:
    """Open a file, if it has not too many areas; if its outlines are simplified, say how many points they had."""
    import shapely

    from judgemap.geo import boundaries

    frame = boundaries.load(path, layer or None)[0]
    if len(frame) > MOST_AREAS:
        text = _("the file has %(areas)s areas; up to %(most)s can be judged, so use larger areas or part of the map")
        raise StudyError(text, areas=len(frame), most=MOST_AREAS)
    points = int(shapely.get_num_coordinates(frame.geometry.to_numpy()).sum())
    if points <= MOST_POINTS:
        return frame, 0
    simpler = boundaries.simplified(frame.geometry.to_numpy(), MOST_POINTS)
    if (left := int(shapely.get_num_coordinates(simpler).sum())) > MOST_POINTS:
        text = _("the outlines have %(points)s points; simplify them to at most %(most)s")
        raise StudyError(text, points=left, most=MOST_POINTS)
    return frame.set_geometry(simpler, crs=frame.crs), points


def _check_labels(areas: "Areas") -> None:
    """Refuse ids and names that no page could show."""
    for key, name in zip(areas.ids, areas.names, strict=True):
        if len(key) > LONGEST_LABEL or len(name) > LONGEST_LABEL:
            text = _("the area %(name)s has an id or a name of over %(most)s characters; shorten it")
            raise StudyError(text, name=repr(name[:40]), most=LONGEST_LABEL)
        if tidy(key) != key:
            raise StudyError(
                _("the id %(id)s has characters that cannot be shown; choose another column"), id=repr(key)
            )


def tidy(text: str) -> str:
    """Leave out what cannot be shown, such as control characters."""
    return "".join(each for each in text if each.isprintable())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
