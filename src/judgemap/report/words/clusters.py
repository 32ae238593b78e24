"""How to describe clusters to decision makers: as a distribution, never as one number. Cheap to import, for pages."""

from collections.abc import Sequence

from judgemap.report.figures.colours import NEUTRAL, RISK, faded
from judgemap.report.words.text import in_words, percentage
from judgemap.study.grouping import Grouping, Level

RARE = 0.02
"""Numbers of clusters less probable than this are pooled, at either end."""
STEPS = ((0.95, 1.0), (0.8, 0.78), (0.65, 0.56), (0.0, 0.36))
"""Pairs of a least probability that an area belongs to its cluster, and how strongly it is then coloured."""
UNPLACED = "#ffffff"
"""The colour of an area that is not clearly in any cluster."""
UNPLACED_WORDS = "no clear cluster"


def numbers_of_clusters(numbers: Sequence[tuple[int, float]]) -> str:
    """Write the distribution of the number of clusters, with rare numbers at either end pooled.

    >>> numbers_of_clusters([(1, 0.001), (2, 0.06), (3, 0.31), (4, 0.38), (5, 0.18), (6, 0.06), (7, 0.009)])
    '2: 6 %, 3: 31 %, 4: 38 %, 5: 18 %, 6: 6 %, more: < 1 %'
    """
    known = sorted(numbers)
    usual = [k for k, chance in known if chance >= RARE]
    fewest, most = usual[0], usual[-1]
    fewer = sum(chance for k, chance in known if k < fewest)
    more = sum(chance for k, chance in known if k > most)
    parts = [f"fewer: {percentage(fewer)}"] if fewer >= RARE / 4 else []
    parts += [f"{k}: {percentage(chance)}" for k, chance in known if fewest <= k <= most]
    parts += [f"more: {percentage(more)}"] if more >= RARE / 4 else []
    return ", ".join(parts)


def number_sentence(numbers: Sequence[tuple[int, float]]) -> str:
    """Say how many clusters there may be.

    >>> number_sentence([(2, 0.2), (3, 0.8)])
    'The number of clusters is uncertain; by probability, 2: 20 %, 3: 80 %.'
    """
    if len(numbers) == 1:
        return f"In every draw there {'is one cluster' if numbers[0][0] == 1 else f'are {numbers[0][0]} clusters'}."
    return f"The number of clusters is uncertain; by probability, {numbers_of_clusters(numbers)}."


def partition_sentence(shown: Grouping) -> str:
    """Say how probable the partition shown on a map is.

    >>> from judgemap.study.grouping import Group
    >>> groups = [Group(3, 1.0, 0.5, 1.5), Group(4, -1.0, -1.5, -0.5)]
    >>> partition_sentence(Grouping(groups, 0.003, 0.81, [(2, 0.06), (3, 0.94)]))
    'The grouping shown has two clusters (probability 6 %). Exactly this grouping has a probability of < 1 %; for 81 %
    of pairs of areas it is expected to be right about whether they belong together.'
    """
    count = len(shown.groups)
    clusters = "one cluster" if count == 1 else f"{in_words(count)} clusters"
    return (
        f"The grouping shown has {clusters} (probability {percentage(shown.number_chance)}). Exactly this grouping has "
        f"a probability of {percentage(shown.chance)}; for {percentage(shown.agreement)} of pairs of areas it is "
        "expected to be right about whether they belong together."
    )


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
    return next(each for least, each in STEPS if probability >= least)


def area_colour(colour: str, probability: float, *, placed: bool) -> str:
    """Return the colour of an area in a cluster: the less likely it belongs there, the fainter."""
    return faded(colour, strength(probability)) if placed else UNPLACED
