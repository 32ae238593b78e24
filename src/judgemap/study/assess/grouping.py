"""What may be said about a cluster and its areas: no more than the answers support.

Quick to import, because pages use it too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

PLACED = 0.5
"""An area is shown as part of a cluster if it belongs to it with at least this probability."""


ROUNDING = 1e-9
"""The mean of all areas is 0 up to this rounding error, so a single cluster of all areas is about average."""


class Level(StrEnum):
    """Where the mean risk of a cluster's areas lies, if its 95 % interval leaves no doubt."""

    ABOVE = "above average"
    ABOUT = "about average"
    BELOW = "below average"


@dataclass(frozen=True, slots=True)
class Group:
    """A cluster of the partition shown: how many areas it has, and their mean risk with its 95 % interval."""

    areas: int
    mean: float
    low: float
    high: float

    @property
    def level(self) -> Level:
        """Where the cluster lies relative to the average of all areas, which is 0.

        >>> Group(12, 0.4, -0.1, 0.9).level.value, Group(12, 0.5, 0.1, 0.9).level.value
        ('about average', 'above average')
        """
        if self.low > ROUNDING:
            return Level.ABOVE
        return Level.BELOW if self.high < -ROUNDING else Level.ABOUT


@dataclass(frozen=True, slots=True)
class Grouping:
    """A partition of the areas, and how credible it is.

    ``chance`` is the probability of exactly this partition, and ``agreement`` the share of pairs of areas that it is
    expected to join or separate correctly. ``numbers`` is P(k clusters), by k.
    """

    groups: Sequence[Group]
    chance: float
    agreement: float
    numbers: Sequence[tuple[int, float]]

    @property
    def number_chance(self) -> float:
        """The probability of this number of clusters."""
        return dict(self.numbers).get(len(self.groups), 0.0)


def is_placed(level: Level, risk: float, probability: float) -> bool:
    """Whether an area can be shown as part of its cluster.

    It must be at least as likely as not to belong to it, and be on the cluster's side of the average: an area whose own
    risk is below average is never shown as part of a cluster above it, whatever its neighbours are.

    >>> is_placed(Level.ABOVE, -0.8, 0.9), is_placed(Level.ABOVE, 0.8, 0.22), is_placed(Level.ABOVE, 0.8, 0.9)
    (False, False, True)
    """
    sides = {Level.ABOVE: risk > 0, Level.BELOW: risk < 0, Level.ABOUT: True}
    return probability >= PLACED and sides[level]


def rough_levels(clusters: Sequence[int], risks: Sequence[float]) -> list[Level]:
    """Return the levels of clusters 1, 2 … from the mean of their areas' risks, for when intervals are unknown.

    >>> [level.value for level in rough_levels([1, 1, 2], [1.0, 0.5, -1.0])]
    ['above average', 'below average']
    """
    if max(clusters) == 1:
        return [Level.ABOUT]
    levels = []
    for cluster in range(1, max(clusters) + 1):
        own = [risk for each, risk in zip(clusters, risks, strict=True) if each == cluster]
        levels.append(Level.ABOVE if sum(own) > 0 else Level.BELOW)
    return levels
