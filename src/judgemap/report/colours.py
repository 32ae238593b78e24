"""From values to colours that everybody can tell apart, on a screen, in print, and in a grey photocopy.

Every scale runs from light to dark, so order survives colour blindness and grey ink; a diverging scale would not,
because both of its ends turn the same grey. A quantity has a hue of its own, so that two maps are never taken for one
another. Values are put in a few classes with round limits: seven steps of lightness can be matched with a legend by
eye, a continuous shade cannot.
"""

from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.ticker import MaxNLocator

from judgemap.core.types import FloatArray, IntArray

CLASSES = 7
SPAN = (0.06, 0.98)
"""The part of a colour map that is used: its palest colours would vanish on white paper."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How a quantity is shaded: the hue, the legend's title and the words at its ends, and the limits of the classes.

    Without `limits` they are chosen round, from the values.

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
        """Return the limits of the classes, one more than there are classes."""
        least, most = float(values.min()), float(values.max())
        if self.limits and self.limits[0] <= least and most <= self.limits[-1]:
            return np.array(self.limits)
        if most - least < 1e-9 * max(1.0, abs(most)):
            least, most = least - 0.5, most + 0.5
        locator = MaxNLocator(nbins=CLASSES, steps=[1, 2, 2.5, 5, 10])
        return np.asarray(locator.tick_values(least, most), dtype=np.float64)

    def classify(self, values: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the class of each value, and the limits of the classes.

        >>> Scale("Blues", "p", "never", "always", (0, 0.5, 1)).classify(np.array([0.0, 0.5, 1.0]))[0]
        array([0, 1, 1])
        """
        limits = self.limits_for(values)
        return np.clip(np.searchsorted(limits, values, side="right") - 1, 0, len(limits) - 2), limits

    def colours(self, count: int) -> list[str]:
        """Return `count` colours, from the lightest to the darkest."""
        where = np.linspace(*SPAN, count) if count > 1 else [sum(SPAN) / 2]
        return [to_hex(colour) for colour in mpl.colormaps[self.hue](where)]


def lightness(colour: str) -> float:
    """Return the lightness L* of a colour, 0 for black and 100 for white: what a grey print keeps of it (CIE 1976).

    >>> round(lightness("#ffffff")), round(lightness("#777777"))
    (100, 50)
    """
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return 116 * luminance ** (1 / 3) - 16 if luminance > 216 / 24389 else luminance * 24389 / 27


def readable_on(colour: str) -> str:
    """Return white or black, whichever can be read on a colour."""
    return "#ffffff" if lightness(colour) < 55 else "#000000"


RISK = Scale("YlOrRd", "Estimated risk (0 is the average area)", "lower risk", "higher risk")
UNCERTAINTY = Scale("Blues", "Uncertainty of the risk (standard deviation)", "more certain", "less certain")
CHANCE = Scale("BuPu", "Probability", "unlikely", "nearly certain", (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1))
LIKENESS = Scale("YlGn", "Correlation before any data", "tells nothing", "tells much", (0, 0.05, 0.1, 0.2, 0.4, 0.7, 1))
