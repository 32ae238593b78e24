"""How often each area was seen, as classes of colour on the map."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judgemap.core.types import IntArray

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

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
    """Something counted for each area: its words, how 'never' is drawn, and whether low or high counts matter.

    ``nothing`` says that it never happened, ``says`` how often it did.
    """

    words: "StrPromise"
    none: str
    few_matter: bool
    nothing: "StrPromise"
    says: "StrPromise"


LAYERS = {
    "judged": Layer(
        _("compared"),
        "url(#never)",
        few_matter=True,
        nothing=_("No area was compared yet."),
        says=_("Areas were compared %(range)s times, half of them %(middle)s times or fewer. The fewest: %(listed)s."),
    ),
    "shown": Layer(
        _("shown"),
        "url(#never)",
        few_matter=True,
        nothing=_("No area was shown yet."),
        says=_("Areas were shown %(range)s times, half of them %(middle)s times or fewer. The fewest: %(listed)s."),
    ),
    "unknown": Layer(
        _("not known to a judge"),
        "#fff",
        few_matter=False,
        nothing=_("No area was unknown to a judge yet."),
        says=_("%(there)s of %(areas)s areas were not known to a judge. The most often: %(listed)s."),
    ),
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
        words = _range(int(mine.min()), int(mine.max())) if shade else gettext("never")
        legend.append(Shade(shade, words, len(mine), "" if shade else layer.none))
    return AreaMap(areas, legend, _words(names, counts, layer))


def _range(low: int, high: int) -> str:
    if low == high:
        return f"{low:,}"
    return gettext("%(low)s to %(high)s") % {"low": f"{low:,}", "high": f"{high:,}"}


def _words(names: Sequence[str], counts: IntArray, layer: Layer) -> str:
    """Say what the map shows."""
    if len(counts) == 0 or counts.max() == 0:
        return str(layer.nothing)
    order = np.argsort(counts if layer.few_matter else -counts, kind="stable")[:NAMED].tolist()
    return layer.says % {
        "range": _range(int(counts.min()), int(counts.max())),
        "middle": f"{int(np.median(counts)):,}",
        "there": f"{int((counts > 0).sum()):,}",
        "areas": f"{len(counts):,}",
        "listed": ", ".join(f"{names[at]} ({counts[at]:,})" for at in order if layer.few_matter or counts[at]),
    }
