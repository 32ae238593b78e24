"""What was made of an extract, in a sentence or two for whoever uploaded it."""

from collections.abc import Iterable, Sequence

import numpy as np
import shapely

from judgemap.errors import StudyError
from judgemap.geo.basemap.extract import Extract, Shapes
from judgemap.geo.basemap.kinds import PLACES, ROADS
from judgemap.geo.basemap.tiles import AROUND, WORLD, Tiles

LEFT_OUT = {
    "other lines": "other lines",
    "other land": "other uses of land",
    "other points": "other points",
    "broken": "broken shapes",
}
NOTHING = "the extract has no roads around the study's areas; choose another that covers them"


def describe(extract: Extract, tiles: Tiles, boxes: Sequence[tuple[float, float, float]]) -> str:
    """Say what was found around the areas and what was left out; refuse an extract without roads."""
    roads = np.concatenate([extract.of(kind) for kind in ROADS])
    if not len(roads):
        raise StudyError(NOTHING)
    found = [
        _counted(len(roads), "road"),
        _counted(extract.count("rail"), "railway line"),
        _counted(extract.count("river", "stream", "water"), "water"),
        _counted(extract.count("green"), "park and wood", "parks and woods"),
        _counted(extract.count(*(kind.name for kind in PLACES)), "named place"),
    ]
    sentences = [f"Found {_listed(filter(None, found))}.", "Footpaths, service roads and buildings are never drawn."]
    if left := [f"{number:,} {LEFT_OUT[what]}" for what, number in extract.left_out.most_common() if number]:
        sentences.append(f"Left out: {_listed(left)}.")
    if bare := _without_roads(roads, boxes):
        sentences.append(
            f"The extract has no roads in {bare:,} of the {len(boxes):,} areas: check that it covers them all."
        )
    if tiles.lightened:
        sentences.append(f"Small streets were left out where streets are dense ({_counted(tiles.lightened, 'tile')}).")
    if tiles.dropped:
        sentences.append("The most detailed zoom levels were left out, because the map would have been too large.")
    return " ".join(sentences)


def _without_roads(roads: Shapes, boxes: Sequence[tuple[float, float, float]]) -> int:
    """Count the areas that have no road nearby."""
    world = np.array(boxes) / WORLD
    inner = world[:, 2] / AROUND
    west, north = world[:, 0] + 0.5 + (world[:, 2] - inner) / 2, 0.5 - world[:, 1] + (world[:, 2] - inner) / 2
    squares = shapely.box(west, north, west + inner, north + inner)
    near = np.unique(shapely.STRtree(roads).query(squares, predicate="intersects")[0])
    return len(boxes) - len(near)


def _counted(number: int, one: str, many: str = "") -> str:
    if not number:
        return ""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _listed(parts: Iterable[str]) -> str:
    """List with commas and an "and".

    >>> _listed(["1 road", "2 waters", "3 named places"])
    '1 road, 2 waters and 3 named places'
    """
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
