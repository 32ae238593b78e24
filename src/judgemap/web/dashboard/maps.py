"""How often each area was seen, as classes of colour on the map."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgemap.core.types import IntArray

CLASSES = 5
SHADES = ("url(#never)", "#e2edf7", "#b0cfe8", "#6fa6d0", "#2f76b0", "#0b3c6f")
"""The colours of the classes in the picture of a large map, as the stylesheet has them."""
NEVER = (
    '<defs><pattern id="never" width="14" height="14" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="14" height="14" fill="#fff"/><rect width="4" height="14" fill="#b9c2ca"/></pattern></defs>'
)
NAMED = 4
"""How many areas at either end of the order are named in words."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Something counted for each area: its words, how 'never' is drawn, and whether low or high counts matter."""

    words: str
    none: str
    few_matter: bool


LAYERS = {
    "judged": Layer("compared", "url(#never)", few_matter=True),
    "shown": Layer("shown", "url(#never)", few_matter=True),
    "unknown": Layer("not known to a judge", "#fff", few_matter=False),
}
"""What the map can count."""


@dataclass(frozen=True, slots=True)
class AreaCount:
    """An area with its count and class: 0 for none, 1 for the fewest, and so on; ``fill`` is set if the class is 0."""

    position: int
    name: str
    count: int
    shade: int
    fill: str


@dataclass(frozen=True, slots=True)
class Shade:
    """A class of the legend."""

    shade: int
    words: str
    areas: int
    fill: str


@dataclass(frozen=True, slots=True)
class AreaMap:
    """All areas with their classes, and the legend."""

    areas: list[AreaCount]
    legend: list[Shade]
    alt: str


def area_map(names: Sequence[str], counts: IntArray, layer: Layer) -> AreaMap:
    """Put areas into at most five classes of about equal size; those with a count of 0 are a class of their own.

    >>> drawn = area_map(["A", "B", "C"], np.array([0, 2, 9]), LAYERS["shown"])
    >>> [area.shade for area in drawn.areas], [shade.words for shade in drawn.legend]
    ([0, 1, 2], ['never', '2', '9'])
    >>> drawn.alt
    'Areas were shown 0 to 9 times, half of them 2 times or fewer. The fewest: A (0), B (2), C (9).'
    """
    seen = np.sort(counts[counts > 0])
    cuts = np.unique(np.quantile(seen, np.arange(1, CLASSES) / CLASSES, method="lower")) if len(seen) else seen
    shades = np.where(counts > 0, 1 + np.searchsorted(cuts, counts, side="left"), 0)
    areas = [
        AreaCount(i, name, count, shade, "" if shade else layer.none)
        for i, (name, count, shade) in enumerate(zip(names, counts.tolist(), shades.tolist(), strict=True))
    ]
    legend = []
    for shade in np.unique(shades).tolist():
        mine = counts[shades == shade]
        words = _range(int(mine.min()), int(mine.max())) if shade else "never"
        legend.append(Shade(shade, words, len(mine), "" if shade else layer.none))
    return AreaMap(areas, legend, _words(names, counts, layer))


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _words(names: Sequence[str], counts: IntArray, layer: Layer) -> str:
    """Say what the map shows."""
    if len(counts) == 0 or counts.max() == 0:
        return f"No area was {layer.words} yet."
    order = np.argsort(counts if layer.few_matter else -counts, kind="stable")[:NAMED].tolist()
    listed = ", ".join(f"{names[place]} ({counts[place]:,})" for place in order if layer.few_matter or counts[place])
    times = (
        f"{_range(int(counts.min()), int(counts.max()))} times, half of them {int(np.median(counts)):,} times or fewer"
    )
    if layer.few_matter:
        return f"Areas were {layer.words} {times}. The fewest: {listed}."
    there = int((counts > 0).sum())
    return f"{there:,} of {len(counts):,} areas were {layer.words}. The most often: {listed}."
