"""From values to colours that everybody can distinguish, on screen, in print and on a black-and-white photocopy.

Every scale runs from light to dark, so its order survives colour blindness and grey printing. The usual diverging
scales fail there: both ends turn the same grey. Ours for risk shows the average in neutral grey, lower risk in blue and
higher risk in red, and darkens all the way. Each quantity has its own hue, so that nobody mistakes one map for another.
Values fall into a few classes with round limits: a reader can match seven steps of lightness with a legend by eye, but
not a continuous shade.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judgemap.core.types import FloatArray, IntArray
from judgemap.study.assess.findings import Level

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def round_step(least: float, steps: tuple[float, ...] = STEPS) -> float:
    """Return the smallest round number that is at least ``least``: one of ``steps``, times a power of ten.

    >>> round_step(0.23), round_step(0.23, (1, 2, 5, 10)), round_step(3000)
    (0.25, 0.5, 5000.0)
    """
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in steps if step * power >= least * (1 - 1e-9))


def round_limits(least: float, most: float, count: int = 7) -> FloatArray:
    """Return round limits that contain a range, in at most about ``count`` equal steps.

    >>> round_limits(0.1, 2.9)
    array([0. , 0.5, 1. , 1.5, 2. , 2.5, 3. ])

    A range of one value, however large, is widened on each side by half of it, or by 0.5 if it is below 1.

    >>> round_limits(1e30, 1e30)[[0, -1]]
    array([4.0e+29, 1.6e+30])
    """
    if most - least <= 1e-9 * max(1.0, abs(most)):
        margin = max(1.0, abs(most)) / 2
        least, most = least - margin, most + margin
    step = round_step((most - least) / count)
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return step * np.arange(first, last + 1, dtype=np.float64)


CLASSES = 7
SPAN = (0.06, 0.98)
"""The part of a colour map that is used: its palest colours would vanish on white paper."""
HUES = {
    "YlOrRd": "#ffffcc #ffeda0 #fed976 #feb24c #fd8d3c #fc4e2a #e31a1c #bd0026 #800026",
    "Blues": "#f7fbff #deebf7 #c6dbef #9ecae1 #6baed6 #4292c6 #2171b5 #08519c #08306b",
    "BuPu": "#f7fcfd #e0ecf4 #bfd3e6 #9ebcda #8c96c6 #8c6bb1 #88419d #810f7c #4d004b",
    "YlGn": "#ffffe5 #f7fcb9 #d9f0a3 #addd8e #78c679 #41ab5d #238443 #006837 #004529",
    "Oranges": "#fff5eb #fee6ce #fdd0a2 #fdae6b #fd8d3c #f16913 #d94801 #a63603 #7f2704",
    "GnBu": "#f7fcf0 #e0f3db #ccebc5 #a8ddb5 #7bccc4 #4eb3d3 #2b8cbe #0868ac #084081",
    "PuBuGn": "#fff7fb #ece2f0 #d0d1e6 #a6bddb #67a9cf #3690c0 #02818a #016c59 #014636",
}
"""Nine colours of each hue, from light to dark (Brewer, 2003); others are interpolated. Pages need no matplotlib."""
NEUTRAL = "#acacac"
BELOW = (NEUTRAL, "#a9cbe1", "#c8f1ff")
"""From the average to the lowest risk, getting lighter."""
ABOVE = (NEUTRAL, "#d68350", "#bf4a26", "#8a1c14", "#52080f")
"""From the average to the highest risk, getting darker."""
HALVED = (1.0, 1.2, 1.6, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Class widths whose halves are also short numbers."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How a quantity is shaded: the hue, the legend's title and the words at its ends, and the limits of the classes.

    Without `limits`, or if a value lies outside them, round limits are chosen from the values.

    >>> scale = Scale("Blues", "width", "narrow", "wide")
    >>> scale.limits_for(np.array([0.1, 2.9]))
    array([0. , 0.5, 1. , 1.5, 2. , 2.5, 3. ])
    """

    hue: str
    title: str
    low: str
    high: str
    limits: tuple[float, ...] = ()

    def limits_for(self, values: FloatArray) -> FloatArray:
        """Return the limits of the classes: one more than the number of classes."""
        least, most = float(values.min()), float(values.max())
        if self.limits and self.limits[0] <= least and most <= self.limits[-1]:
            return np.array(self.limits)
        return round_limits(least, most, CLASSES)

    def classify(self, values: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the class of each value, and the limits of the classes.

        >>> Scale("Blues", "p", "never", "always", (0, 0.5, 1)).classify(np.array([0.0, 0.5, 1.0]))[0]
        array([0, 1, 1])
        """
        limits = self.limits_for(values)
        return np.clip(np.searchsorted(limits, values, side="right") - 1, 0, len(limits) - 2), limits

    def colours(self, count: int) -> list[str]:
        """Return `count` colours, from the lightest to the darkest."""
        where = np.linspace(*SPAN, count) if count > 1 else np.array([sum(SPAN) / 2])
        return _along(HUES[self.hue].split(), np.floor(np.minimum(where * 256, 255)) / 255)

    def shades(self, limits: FloatArray) -> list[str]:
        """Return the colour of each class, given their limits."""
        return self.colours(len(limits) - 1)


class Diverging(Scale):
    """A scale around 0, the average: the class of 0 is neutral, those below it are blue and those above it red.

    >>> scale = Diverging("risk", "risk", "lower", "higher")
    >>> limits = scale.limits_for(np.array([-1.2, 2.9]))
    >>> limits.tolist(), scale.shades(limits)[1] == NEUTRAL
    ([-1.2, -0.4, 0.4, 1.2, 2.0, 2.8, 3.6], True)
    """

    __slots__ = ()

    def limits_for(self, values: FloatArray) -> FloatArray:
        """Return round limits; the two nearest to 0 are equally far from it."""
        least, most = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
        if most - least < 1e-9:
            least, most = -0.5, 0.5
        step = round_step((most - least) / (CLASSES - 1), HALVED)
        first, last = np.floor(least / step + 0.5 + 1e-9), np.ceil(most / step + 0.5 - 1e-9)
        return np.round(step * (np.arange(min(first, 0), max(last, 1) + 1) - 0.5), 12)

    def colours(self, count: int) -> list[str]:
        """Return `count` colours with the average in the middle, from the lightest to the darkest."""
        return self.around(count // 2, count - 1 - count // 2)

    def shades(self, limits: FloatArray) -> list[str]:
        """Return the colour of each class: the further from the average, the further from neutral."""
        below = int((limits < 0).sum()) - 1
        above = len(limits) - 2 - below
        return self.around(below, above)

    def around(self, below: int, above: int) -> list[str]:
        """Return the colours of `below` classes, the average class and `above` classes, with the lowest risk first.

        A side with only one or two classes stops short of the strongest colours, because it is not far from the
        average.
        """
        down, up = (np.arange(1, count + 1) / max(count, 3) for count in (below, above))
        return [*_along(BELOW, down)[::-1], NEUTRAL, *_along(ABOVE, up)]


def _along(anchors: Sequence[str], where: FloatArray) -> list[str]:
    """Interpolate between evenly spaced colours, of which the first is at 0 and the last at 1."""
    channels = np.array([_rgb(colour) for colour in anchors]).T
    mixed = [np.interp(where, np.linspace(0, 1, len(anchors)), channel) for channel in channels]
    return ["#" + "".join(f"{round(255 * float(part)):02x}" for part in colour) for colour in zip(*mixed, strict=True)]


def faded(colour: str, strength: float) -> str:
    """Mix a colour with white: 1 leaves it as it is.

    >>> faded("#ff0000", 1.0), faded("#ff0000", 0.5)
    ('#ff0000', '#ff8080')
    """
    return _along(("#ffffff", colour), np.array([strength]))[0]


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return red, green, blue


def lightness(colour: str) -> float:
    """Return the lightness L* of a colour (CIE 1976), 0 for black and 100 for white: all that a grey print keeps.

    >>> round(lightness("#ffffff")), round(lightness("#777777"))
    (100, 50)
    """
    rgb = np.array(_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return 116 * luminance ** (1 / 3) - 16 if luminance > 216 / 24389 else luminance * 24389 / 27


def readable_on(colour: str) -> str:
    """Return white or black, whichever is easier to read on a colour."""
    return "#ffffff" if lightness(colour) < 55 else "#000000"


RISK = Diverging("risk", "Estimated risk (0 is the average area)", "lower risk", "higher risk")
UNCERTAINTY = Scale("Blues", "Uncertainty of the risk (standard deviation)", "more certain", "less certain")
VARIANCE = Scale("Blues", "Posterior variance of the risk", "more certain", "less certain")
CHANCE = Scale("BuPu", "Probability", "unlikely", "nearly certain", (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1))
LIKENESS = Scale("YlGn", "Correlation before any data", "tells nothing", "tells much", (0, 0.05, 0.1, 0.2, 0.4, 0.7, 1))
RANK = Scale("Oranges", "Median rank (1 is the highest risk)", "lower risk", "higher risk")
RANK_WIDTH = Scale("GnBu", "Width of the 95 % interval of rank", "rank well known", "rank hardly known")


STRENGTHS = ((0.95, 1.0), (0.8, 0.78), (0.65, 0.56), (0.0, 0.36))
"""Pairs of a least probability that an area belongs to its cluster, and how strongly it is then coloured."""
UNPLACED = "#ffffff"
"""The colour of an area that is not clearly in any cluster."""
UNPLACED_WORDS = "no clear cluster"


def cluster_colours(levels: Sequence[Level]) -> list[str]:
    """Return a colour for each cluster: shades of red above the average, grey near it, shades of blue below it."""
    above, below = (sum(level is each for level in levels) for each in (Level.ABOVE, Level.BELOW))
    colours = RISK.around(below, above)
    red, blue = iter(colours[::-1][:above]), iter(colours[:below][::-1])
    return [next(red) if level is Level.ABOVE else next(blue) if level is Level.BELOW else NEUTRAL for level in levels]


def strength(probability: float) -> float:
    """Return how strongly an area is coloured, given the probability that it belongs to its cluster.

    >>> strength(0.99), strength(0.5)
    (1.0, 0.36)
    """
    return next(each for least, each in STRENGTHS if probability >= least)


def area_colour(colour: str, probability: float, *, placed: bool) -> str:
    """Return the colour of an area in a cluster: the less likely it belongs there, the fainter."""
    return faded(colour, strength(probability)) if placed else UNPLACED
