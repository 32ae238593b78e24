"""What a base map shows: the kinds of features, the level from which each is drawn, and the colours.

Levels are those of `judgemap.geo.basemap.tiles`: a tile is drawn 512 to 1024 pixels wide at its level.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # the server only draws tiles, and does not need what reading files needs
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of feature on a base map; kinds are listed in drawing order."""

    name: str
    shape: str
    """``area`` or ``line``."""
    level: int
    """The first level at which it is drawn."""
    colour: str
    width: float
    """The width of a line, in pixels at level `MIDDLE`; it grows by `GROWTH` with each level."""
    tags: Mapping[str, str]
    """OpenStreetMap keys, with the values, separated by spaces, that make a feature one of this kind."""


@dataclass(frozen=True, slots=True)
class PlaceKind:
    """A kind of place that is named; kinds are listed with the most important first."""

    name: str
    level: int
    size: int
    """The size of its letters, in pixels."""


ENDINGS = (".osm.pbf", ".pbf", ".osm", ".gpkg")
"""File name endings that can be read."""
MIDDLE = 12
"""The level at which lines have the width that their kind states."""
GROWTH = 1.35
"""How many times as wide lines are at the next level."""

GROUND = "#f6f5f1"
NAMES = "#3d4650"
"""The colour of names: a contrast of 8 to 1 with the ground, and over 5 to 1 with every fill below."""
GREEN = {
    "leisure": "park nature_reserve golf_course garden pitch recreation_ground",
    "landuse": "forest grass meadow cemetery recreation_ground allotments village_green orchard",
    "natural": "wood scrub heath grassland wetland",
}
WATER = {"natural": "water bay", "landuse": "reservoir basin", "waterway": "riverbank dock"}
STREET = {"highway": "residential unclassified living_street road pedestrian"}
KINDS = (
    Kind("built", "area", 6, "#ebe8e2", 0.0, {"landuse": "residential commercial retail industrial"}),
    Kind("green", "area", 7, "#d9e8d2", 0.0, GREEN),
    Kind("water", "area", 4, "#c3dcec", 0.0, WATER),
    Kind("stream", "line", 12, "#b4d3e6", 0.9, {"waterway": "stream"}),
    Kind("river", "line", 6, "#b4d3e6", 2.0, {"waterway": "river canal"}),
    Kind("street", "line", 12, "#d3cec4", 1.3, STREET),
    Kind("tertiary", "line", 11, "#c9c3b7", 1.9, {"highway": "tertiary tertiary_link"}),
    Kind("secondary", "line", 9, "#c2bbae", 2.3, {"highway": "secondary secondary_link"}),
    Kind("primary", "line", 7, "#b3a996", 2.8, {"highway": "primary primary_link"}),
    Kind("motorway", "line", 4, "#a39780", 3.4, {"highway": "motorway trunk motorway_link trunk_link"}),
    Kind("rail", "line", 8, "#b7b3bf", 1.0, {"railway": "rail light_rail subway narrow_gauge"}),
)
BY_NAME = {kind.name: kind for kind in KINDS}
ROADS = ("motorway", "primary", "secondary", "tertiary", "street")
NAMED_FROM = {"motorway": 10, "primary": 11, "secondary": 12, "tertiary": 13, "street": 14, "river": 11}
"""The first level at which lines of a kind are named."""
PLACES = (
    PlaceKind("city", 4, 15),
    PlaceKind("town", 7, 14),
    PlaceKind("village", 10, 12),
    PlaceKind("suburb", 10, 12),
    PlaceKind("station", 12, 11),
    PlaceKind("quarter", 12, 11),
    PlaceKind("hamlet", 12, 11),
    PlaceKind("neighbourhood", 13, 11),
)
STATIONS = ("station", "halt")
LEAST_TO_GIVE_UP = ("street", "stream", "built", "green", "tertiary", "rail", "secondary")
"""What is dropped from a tile that would be too heavy, in this order."""


def tagged(shape: str) -> str:
    """Write the SQL condition for a line or an area to be of a kind that is drawn.

    >>> tagged("line")[:31], tagged("area")[-35:]
    ("waterway IN ('stream') OR water", "OR waterway IN ('riverbank','dock')")
    """
    tags = [tag for kind in KINDS if kind.shape == shape for tag in kind.tags.items()]
    return " OR ".join(f"{key} IN ({','.join(map(repr, values.split()))})" for key, values in tags)


def classify(table: "pd.DataFrame", shape: str) -> NDArray[np.object_]:
    """Return the kind of each row in a table of lines or areas, from its tag columns; empty if there is none.

    >>> import pandas as pd
    >>> classify(pd.DataFrame({"highway": ["primary", "footway"], "railway": [None, None]}), "line").tolist()
    ['primary', '']
    """
    kinds = np.full(len(table), "", dtype=object)
    for kind in KINDS:
        if kind.shape != shape:
            continue
        for key, values in kind.tags.items():
            if key in table.columns:
                kinds[table[key].isin(values.split()).to_numpy() & (kinds == "")] = kind.name
    if "tunnel" in table.columns:
        hidden = table["tunnel"].fillna("").isin(["yes", "culvert"]).to_numpy()
        kinds[hidden & np.isin(kinds, ["rail", "stream", "river"])] = ""
    if "service" in table.columns:
        kinds[table["service"].notna().to_numpy() & (kinds == "rail")] = ""  # sidings and yards have too many tracks
    return kinds


def classify_points(table: "pd.DataFrame") -> NDArray[np.object_]:
    """Return the kind of place for each row in a table of points; empty if it is not a kind that is named.

    >>> import pandas as pd
    >>> classify_points(pd.DataFrame({"place": ["town", None], "railway": [None, "halt"]})).tolist()
    ['town', 'station']
    """
    known = {kind.name for kind in PLACES}
    kinds = np.full(len(table), "", dtype=object)
    if "place" in table.columns:
        places = table["place"].fillna("").to_numpy(dtype=object)
        kinds = np.where(np.isin(places.astype(str), sorted(known)), places, "")
    if "railway" in table.columns:
        kinds[table["railway"].isin(STATIONS).to_numpy()] = "station"
    return kinds.astype(object)


def style() -> dict[str, object]:
    """Return how a base map is drawn, for the page's script or for a picture without one."""
    return {
        "ground": GROUND,
        "names": NAMES,
        "middle": MIDDLE,
        "growth": GROWTH,
        "kinds": [[kind.name, kind.colour, kind.width] for kind in KINDS],
        "places": {kind.name: kind.size for kind in PLACES},
    }
