"""The part of a map that a judge knows: whole regions, and areas with their surroundings.

A judge's row keeps them as short texts, so that a pair costs no further query: "region:Nottingham", "around:1204" for
the area at a position and its surroundings, "all" for everywhere. Which areas they contain depends on the map, which
never changes, so each process caches the result.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from judgemap.core.types import FloatArray, IntArray
from judgemap.web.server.forms import whole_number
from judgemap.web.studies.models import Area

ALL = "all"
REGION, AROUND = "region:", "around:"
NEARBY = (3, 50)
"""How many areas count as being around one: an eighth of the map, but at least and at most so many."""
DRAWN = 1_000
"""Up to this many areas, the page has a map on which judges tap what they know."""
MOST = 40
"""How many places one judge can name."""
MOST_REGIONS = 600
"""Up to this many regions are listed; if there are more, judges search for them."""
MOST_FOUND = 30


@dataclass(frozen=True, slots=True, eq=False)
class Gazetteer:
    """A study's areas by position: names, regions, and points on the map."""

    names: list[str]
    regions: dict[str, IntArray]
    points: FloatArray

    def areas_in(self, places: Collection[str]) -> IntArray | None:
        """Return the positions of the areas in some places; None for everywhere."""
        if not places or ALL in places:
            return None
        return np.unique(np.concatenate([self._areas_of(place) for place in places]))

    @property
    def nearby(self) -> int:
        """How many areas count as being around one."""
        return min(max(NEARBY[0], len(self.names) // 8), NEARBY[1])

    def _areas_of(self, place: str) -> IntArray:
        if place.startswith(REGION):
            return self.regions.get(place.removeprefix(REGION), np.empty(0, dtype=np.int64))
        position = int(place.removeprefix(AROUND))
        away = np.hypot(*(self.points - self.points[position]).T)
        return np.sort(np.argsort(away, kind="stable")[: self.nearby + 1])

    def check(self, places: Collection[str]) -> list[str]:
        """Keep the places that exist, each once, up to the most that a judge can name."""
        known = {f"{REGION}{name}" for name in self.regions} | {ALL}
        kept = [each for each in dict.fromkeys(places) if each in known or self._is_around(each)]
        return [ALL] if ALL in kept else kept[:MOST]

    def _is_around(self, place: str) -> bool:
        number = whole_number(place.removeprefix(AROUND), most=len(self.names) - 1)
        return place.startswith(AROUND) and number is not None

    def words(self, place: str) -> str:
        """Return the name of a place: the region's, or that of the area in the middle."""
        return place.removeprefix(REGION) if place.startswith(REGION) else self.names[int(place.removeprefix(AROUND))]

    def find(self, text: str) -> tuple[list[str], list[int]]:
        """Find regions and areas by part of their name, with names that begin with it first; a few of each."""
        wanted = " ".join(text.casefold().split())
        if not wanted:
            return [], []
        regions = _best(wanted, list(self.regions))
        positions = _best(wanted, self.names)
        return [list(self.regions)[each] for each in regions], positions


def _best(wanted: str, names: Sequence[str]) -> list[int]:
    folded = ((place, name.casefold()) for place, name in enumerate(names))
    found = [(not name.startswith(wanted), name, place) for place, name in folded if wanted in name]
    return [place for *_, place in sorted(found)[:MOST_FOUND]]


@lru_cache(maxsize=8)
def gazetteer(study_id: int) -> Gazetteer:
    """Return the gazetteer of a study; its areas never change."""
    fields = ("name", "region", "label_x", "label_y")
    rows = list(Area.objects.filter(study_id=study_id).order_by("position").values_list(*fields))
    names = [name for name, *_ in rows]
    inside: dict[str, list[int]] = {}
    for place, (_, region, *_) in enumerate(rows):
        inside.setdefault(region, []).append(place)
    regions = {name: np.array(inside[name], dtype=np.int64) for name in sorted(set(inside) - {""})}
    points = np.array([(x or 0.0, y or 0.0) for *_, x, y in rows], dtype=np.float64).reshape(-1, 2)
    return Gazetteer(names, regions, points)


@lru_cache(maxsize=8)
def region_names(study_id: int) -> list[str]:
    """Return the names of a study's regions in their order, without reading every area's name."""
    named = Area.objects.filter(study_id=study_id).exclude(region="")
    return sorted(named.values_list("region", flat=True).distinct())


@lru_cache(maxsize=4096)
def known_areas(study_id: int, places: tuple[str, ...]) -> IntArray | None:
    """Return the positions of the areas in a judge's places; None for everywhere."""
    return gazetteer(study_id).areas_in(places)


def in_codes(place: str, ids: Sequence[str]) -> str:
    """Write a place for the export, where an area is known by its id.

    >>> in_codes("around:1", ["W01", "W02"]), in_codes("region:North", []), in_codes("all", [])
    ('around:W02', 'region:North', 'all')
    """
    return f"{AROUND}{ids[int(place.removeprefix(AROUND))]}" if place.startswith(AROUND) else place
