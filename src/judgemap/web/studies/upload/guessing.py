"""Where on Earth a map may be if its file does not say: tries common reference systems against the map's extent."""

import re
from functools import cache
from typing import NamedTuple

import numpy as np
import pyproj
from pyproj.aoi import AreaOfUse
from pyproj.database import query_crs_info
from pyproj.enums import PJType

from judgemap.web.studies.upload.records import Guess

WGS84 = "EPSG:4326"
NATIONAL = (
    27700, 29902, 2157, 2154, 27572, 28992, 31370, 3812, 2056, 21781, 25832, 25833, 31467, 31468, 31287, 5514, 2180,
    2178, 3763, 25829, 25830, 25831, 3006, 25835, 3067, 3301, 3059, 3346, 3794, 3765, 23700, 31700, 7801, 2100, 6312,
    3003, 3004, 5253, 2193, 28354, 28355, 28356, 3310, 6677, 2326, 3826,
    3414, 5179, 5186, 5880, 31983, 22185, 5361, 6372, 2046, 2048, 2052,
)  # fmt: skip
"""Grids that national mapping agencies publish in, by EPSG number."""
CONTINENTAL = (3035, 5070, 3347, 3978, 3338, 3577, 3857)
"""Systems that cover so much that nearly anything fits, so they come last."""
USUAL = re.compile(r"WGS 84 / UTM zone|NAD83 / .*\(ft")
"""UTM zones, and the grids of US states in feet."""
MOST = 10
SMALLEST = 3_000.0
"""Maps smaller than this, in metres or feet, are pictures whose coordinates are pixels."""


class Extent(NamedTuple):
    """The smallest and greatest coordinates of a map."""

    west: float
    south: float
    east: float
    north: float

    @property
    def degrees(self) -> bool:
        """Whether the numbers could be degrees."""
        return self.west >= -360 and self.east <= 360 and self.south >= -90.001 and self.north <= 90.001


def guess_systems(extent: Extent) -> list[Guess]:
    """List the systems in which a map of this extent lies where the system is used, the likeliest first.

    Anything that could be degrees is taken as degrees. Otherwise national grids come first and continental systems
    last; within each group, systems whose area of use would dwarf the map come last.

    >>> [guess.crs for guess in guess_systems(Extent(-84.3, 33.9, -75.5, 36.6))]
    ['EPSG:4326']
    >>> guess_systems(Extent(445_000, 330_000, 480_000, 390_000))[0].crs
    'EPSG:27700'
    """
    if extent.degrees:
        middle = (extent.west + extent.east) / 2, (extent.south + extent.north) / 2
        return [Guess(WGS84, "longitude and latitude", "World", *middle)]
    if max(extent.east - extent.west, extent.north - extent.south) < SMALLEST:
        return []
    found = []
    for rank, (group, code, name, use) in enumerate(_systems()):
        placed = _placed(extent, code, use)
        if placed is not None:
            middle, share = placed
            lost = (share < 1e-3) + (share < 1e-5)
            home = re.split(r"[;.]| - (?:counties|onshore|offshore|mainland)| onshore", use.name or "")[0]
            found.append((group, lost, rank if group == 0 else -share, Guess(code, name, home, *middle)))
    return [guess for *_, guess in sorted(found, key=lambda each: each[:3])[:MOST]]


@cache
def _systems() -> tuple[tuple[int, str, str, AreaOfUse], ...]:
    """Return the systems to try, each with its group: 0 national, 1 for a state or a zone, 2 continental."""
    listed = {int(info.code): info for info in query_crs_info("EPSG", PJType.PROJECTED_CRS) if info.area_of_use}
    others = [code for code, info in sorted(listed.items()) if USUAL.match(info.name)]
    groups = (NATIONAL, others, CONTINENTAL)
    return tuple(
        (group, f"EPSG:{code}", listed[code].name, use)
        for group, codes in enumerate(groups)
        for code in codes
        if code in listed and (use := listed[code].area_of_use) is not None
    )


def _placed(extent: Extent, code: str, use: AreaOfUse) -> tuple[tuple[float, float], float] | None:
    """Return the middle of the map and the share of the system's area of use that it fills; None if it is outside."""
    back = _to_degrees(code)
    x = np.linspace(extent.west, extent.east, 3)
    y = np.linspace(extent.south, extent.north, 3)
    across, up = np.meshgrid(x, y)
    longitude, latitude = back.transform(across.ravel(), up.ravel())
    if not (np.isfinite(longitude).all() and np.isfinite(latitude).all()):
        return None
    width = (use.east - use.west) % 360 or 360.0
    room = 0.6 * width, 0.1 * (use.north - use.south)  # generous, because one zone is often used for a whole country
    east_of = (longitude - use.west + room[0]) % 360
    inside = (east_of <= width + 2 * room[0]) & (latitude >= use.south - room[1]) & (latitude <= use.north + room[1])
    if not inside.all():
        return None
    share = float(np.ptp(east_of) * np.ptp(latitude)) / (width * (use.north - use.south))
    return (round(float(longitude[4]), 4), round(float(latitude[4]), 4)), share


@cache
def _to_degrees(code: str) -> pyproj.Transformer:
    return pyproj.Transformer.from_crs(code, WGS84, always_xy=True)
