"""How often each area was seen, as classes of colour on the map."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgemap.core.types import IntArray
from judgemap.web.studies.models import Area, Study

CLASSES = 5


@dataclass(frozen=True, slots=True)
class AreaCount:
    """An area with its count, and the class of it: 0 for none, 1 for the fewest, and so on."""

    position: int
    name: str
    count: int
    shade: int


@dataclass(frozen=True, slots=True)
class Shade:
    """A class of the legend."""

    shade: int
    words: str
    areas: int


@dataclass(frozen=True, slots=True)
class AreaMap:
    """All areas with their classes, and the legend."""

    areas: list[AreaCount]
    legend: list[Shade]
    alt: str


@dataclass(frozen=True, slots=True)
class Shape:
    """An area's outline, drawn once a page; the map refers to it."""

    position: int
    path: str


def load_shapes(study: Study) -> list[Shape]:
    """Return the outlines of a study's areas; none where there is no map."""
    rows = Area.objects.filter(study=study).exclude(shape="").order_by("position").values_list("position", "shape")
    return [Shape(*row) for row in rows]


def area_map(names: Sequence[str], counts: IntArray, verb: str) -> AreaMap:
    """Put areas into at most five classes of about as many areas each; those with none are a class of their own.

    >>> drawn = area_map(["A", "B", "C"], np.array([0, 2, 9]), "shown")
    >>> [area.shade for area in drawn.areas], [shade.words for shade in drawn.legend]
    ([0, 1, 2], ['never', '2', '9'])
    """
    seen = np.sort(counts[counts > 0])
    cuts = np.unique(np.quantile(seen, np.arange(1, CLASSES) / CLASSES, method="lower")) if len(seen) else seen
    shades = np.where(counts > 0, 1 + np.searchsorted(cuts, counts, side="left"), 0)
    areas = [
        AreaCount(i, name, int(count), int(shade))
        for i, (name, count, shade) in enumerate(zip(names, counts, shades, strict=True))
    ]
    legend = []
    for shade in np.unique(shades):
        mine = counts[shades == shade]
        words = "never" if shade == 0 else _range(int(mine.min()), int(mine.max()))
        legend.append(Shade(int(shade), words, len(mine)))
    return AreaMap(areas, legend, _words(counts, verb))


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _words(counts: IntArray, verb: str) -> str:
    """Say what the map shows."""
    if len(counts) == 0 or counts.max() == 0:
        return f"No area was {verb} yet."
    never = int((counts == 0).sum())
    times = _range(int(counts.min()), int(counts.max()))
    often = f"Areas were {verb} {times} times, half of them {int(np.median(counts))} times or fewer"
    return f"{often}; {never} never." if never else f"{often}."
