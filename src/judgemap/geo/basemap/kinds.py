"""What a base map shows: the kinds of things, from which level on each is drawn, and in which colours.

Levels are those of `judgemap.geo.basemap.tiles`: a tile of level n is drawn 512 to 1024 pixels wide.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # the server draws tiles, and does without what only a reader of files needs
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of thing on a base map, in the order in which they are drawn."""

    name: str
    shape: str
    """``area`` or ``line``."""
    level: int
    """The first level that shows it."""
    colour: str
    width: float = 0.0
    """Of a line, in pixels at `MIDDLE`; it grows by half with each level."""
    tags: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Keys of OpenStreetMap with the values that make a thing one of this kind."""


@dataclass(frozen=True, slots=True)
class PlaceKind:
    """A kind of place that is named, the most important first."""

    name: str
    level: int
    size: int
    """Of its letters, in pixels."""


ENDINGS = (".osm.pbf", ".pbf", ".osm", ".gpkg")
"""Of the files that are read."""
MIDDLE = 12
"""The level at which lines are as wide as their kind says."""
GROWTH = 1.35
"""How much wider lines are on the next level."""

GROUND = "#f6f5f1"
NAMES = "#3d4650"
"""The colour of names: 8 to 1 against the ground, and over 5 to 1 against every fill below."""
KINDS = (
    Kind("built", "area", 6, "#ebe8e2", tags=(("landuse", ("residential", "commercial", "retail", "industrial")),)),
    Kind(
        "green",
        "area",
        7,
        "#d9e8d2",
        tags=(
            ("leisure", ("park", "nature_reserve", "golf_course", "garden", "pitch", "recreation_ground")),
            (
                "landuse",
                (
                    "forest",
                    "grass",
                    "meadow",
                    "cemetery",
                    "recreation_ground",
                    "allotments",
                    "village_green",
                    "orchard",
                ),
            ),
            ("natural", ("wood", "scrub", "heath", "grassland", "wetland")),
        ),
    ),
    Kind(
        "water",
        "area",
        4,
        "#c3dcec",
        tags=(("natural", ("water", "bay")), ("landuse", ("reservoir", "basin")), ("waterway", ("riverbank", "dock"))),
    ),
    Kind("stream", "line", 12, "#b4d3e6", 0.9, (("waterway", ("stream",)),)),
    Kind("river", "line", 6, "#b4d3e6", 2.0, (("waterway", ("river", "canal")),)),
    Kind(
        "street",
        "line",
        12,
        "#d3cec4",
        1.3,
        (("highway", ("residential", "unclassified", "living_street", "road", "pedestrian")),),
    ),
    Kind("tertiary", "line", 11, "#c9c3b7", 1.9, (("highway", ("tertiary", "tertiary_link")),)),
    Kind("secondary", "line", 9, "#c2bbae", 2.3, (("highway", ("secondary", "secondary_link")),)),
    Kind("primary", "line", 7, "#b3a996", 2.8, (("highway", ("primary", "primary_link")),)),
    Kind(
        "motorway",
        "line",
        4,
        "#a39780",
        3.4,
        (("highway", ("motorway", "trunk", "motorway_link", "trunk_link")),),
    ),
    Kind("rail", "line", 8, "#b7b3bf", 1.0, (("railway", ("rail", "light_rail", "subway", "narrow_gauge")),)),
)
BY_NAME = {kind.name: kind for kind in KINDS}
ROADS = ("motorway", "primary", "secondary", "tertiary", "street")
NAMED_FROM = {"motorway": 10, "primary": 11, "secondary": 12, "tertiary": 13, "street": 14, "river": 11}
"""The first level on which a line of a kind is named."""
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
"""What a tile that would be too heavy does without, the first first."""


def tagged(shape: str) -> str:
    """Write the condition, in SQL, that a line or an area is of a kind that is drawn.

    >>> tagged("line")[:31], tagged("area")[-35:]
    ("waterway IN ('stream') OR water", "OR waterway IN ('riverbank','dock')")
    """
    tags = [tag for kind in KINDS if kind.shape == shape for tag in kind.tags]
    return " OR ".join(f"{key} IN ({','.join(map(repr, values))})" for key, values in tags)


def classify(table: "pd.DataFrame", shape: str) -> NDArray[np.object_]:
    """Name the kind of each row of a table of lines or areas, by its columns of tags; empty if there is none.

    >>> import pandas as pd
    >>> classify(pd.DataFrame({"highway": ["primary", "footway"], "railway": [None, None]}), "line").tolist()
    ['primary', '']
    """
    kinds = np.full(len(table), "", dtype=object)
    for kind in KINDS:
        if kind.shape != shape:
            continue
        for key, values in kind.tags:
            if key in table.columns:
                kinds[table[key].isin(values).to_numpy() & (kinds == "")] = kind.name
    if "tunnel" in table.columns:
        hidden = table["tunnel"].fillna("").isin(["yes", "culvert"]).to_numpy()
        kinds[hidden & np.isin(kinds, ["rail", "stream", "river"])] = ""
    if "service" in table.columns:
        kinds[table["service"].notna().to_numpy() & (kinds == "rail")] = ""  # the many tracks of a yard
    return kinds


def classify_points(table: "pd.DataFrame") -> NDArray[np.object_]:
    """Name the kind of place of each row of a table of points; empty where it is none that is named.

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
    """Return how a base map is drawn, for whoever draws it: the page's script, or a picture without one."""
    return {
        "ground": GROUND,
        "names": NAMES,
        "middle": MIDDLE,
        "growth": GROWTH,
        "kinds": [[kind.name, kind.colour, kind.width] for kind in KINDS],
        "places": {kind.name: kind.size for kind in PLACES},
    }
