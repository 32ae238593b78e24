"""Reads an uploaded boundary file in a process of its own, confined by `judgemap.web.server.sandbox`.

Run as ``python -m judgemap.web.studies.upload.reading inspect FILE`` or ``… read FILE OPTIONS``; writes JSON.
What the file makes this process do, it does here and not in the server.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgemap.errors import StudyError
from judgemap.web.server.sandbox import confine

if TYPE_CHECKING:
    import geopandas

    from judgemap.geo.maps import Areas

MOST_AREAS = 10_000
MOST_POINTS = 3_000_000
MOST_COLUMNS = 300
LONGEST_LABEL = 200
NORTHERNMOST = 85.0
EXAMPLES = 4


def main(arguments: list[str]) -> int:
    """Do what the arguments say, and write the result, or the sentence that says why not."""
    action, path = arguments[0], Path(arguments[1])
    missing = confine(path.parent)
    try:
        result = inspect(path) if action == "inspect" else read(path, json.loads(arguments[2]))
    except StudyError as error:
        result = {"error": str(error), "field": error.field}
    except MemoryError:
        result = {"error": f"{path.name}: the file needs too much memory; simplify its boundaries"}
    sys.stdout.write(json.dumps(result | {"missing_walls": missing}))
    return 0


def inspect(path: Path) -> dict[str, Any]:
    """Say how many areas a file has, which columns with which values, and which look like ids and names."""
    from judgemap.geo.labels import choose_labels, clean_label

    frame = load(path)
    columns = {}
    for column in [each for each in frame.columns if each != frame.geometry.name][:MOST_COLUMNS]:
        values = frame[column].astype(object).where(frame[column].notna(), None)
        columns[str(column)] = [tidy(clean_label(each)) for each in values]
    labels = choose_labels(frame, _repeated_id(columns), None)
    return {
        "areas": len(frame),
        "columns": [
            {
                "name": name,
                "examples": [each[:60] for each in texts[:EXAMPLES]],
                "unique": all(texts) and len(set(texts)) == len(texts),
            }
            for name, texts in columns.items()
        ],
        "id": next((name for name, texts in columns.items() if tuple(texts) == labels.ids), ""),
        "name": next((name for name, texts in columns.items() if texts == [tidy(each) for each in labels.names]), ""),
        "crs": frame.crs.name if frame.crs is not None else "",
    }


def _repeated_id(columns: dict[str, list[str]]) -> str | None:
    """Return another column with a value of its own for every area, where the one called id has not."""
    own = [name for name, texts in columns.items() if all(texts) and len(set(texts)) == len(texts)]
    bad = [name for name in columns if name.casefold() == "id" and name not in own]
    return own[0] if bad and own else None


def read(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Read the areas with their edges; outlines in longitude and latitude, as hexadecimal WKB."""
    import shapely

    from judgemap.geo.maps import areas_from_frame

    frame = load(path)
    given: dict[str, Any] = {key: options.get(key) or None for key in ("id", "name", "extra_edges")}
    areas = areas_from_frame(placed(frame, options.get("crs", "")), contiguity=options["contiguity"], **given)
    check_labels(areas)
    outlines = areas.to_frame().geometry.to_crs("EPSG:4326")
    if not (abs(outlines.total_bounds[[1, 3]]) <= NORTHERNMOST).all():
        raise StudyError(f"the map reaches beyond {NORTHERNMOST:.0f}° north or south and cannot be drawn; cut it there")
    return {
        "ids": areas.ids,
        "names": [tidy(name) for name in areas.names],
        "edges": areas.graph.edges.tolist(),
        "bridges": [[each.a, each.b, each.km] for each in areas.bridges],
        "notes": [tidy(note) for note in areas.notes],
        "outlines": [shapely.to_wkb(each, hex=True) for each in outlines],
    }


def load(path: Path) -> "geopandas.GeoDataFrame":
    """Open a file, if it is not too much."""
    import shapely

    from judgemap.geo import boundaries

    frame, _ = boundaries.load(path)
    if len(frame) > MOST_AREAS:
        raise StudyError(f"the file has {len(frame):,} areas; up to {MOST_AREAS:,} can be judged")
    if (points := int(shapely.get_num_coordinates(frame.geometry.to_numpy()).sum())) > MOST_POINTS:
        raise StudyError(f"the outlines have {points:,} points; simplify them to at most {MOST_POINTS:,}")
    return frame


def placed(frame: "geopandas.GeoDataFrame", crs: str) -> "geopandas.GeoDataFrame":
    """Say where on Earth the areas are; the file's word counts where nothing is given."""
    from judgemap.geo.boundaries import place

    geometry, _ = place(frame.geometry, crs or None)
    return frame.set_geometry(geometry)


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
