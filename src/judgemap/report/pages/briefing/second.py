"""The second page: how to read the first, what is certain about it, and what it cannot say."""

from judgemap.report.figures import clusters as cluster_pictures
from judgemap.report.pages.briefing import limits
from judgemap.report.pages.briefing.about import About
from judgemap.report.pages.briefing.front import order_of
from judgemap.report.words.clusters import number_sentence
from judgemap.report.words.text import isolated, times_in_ten
from judgemap.study.clusters import ClusterFit
from judgemap.study.comparing import leaders
from judgemap.study.result import Fit

Point = tuple[str, str]
SHORT = ("What the judges do not know", "The exact order of areas", "How far judges disagree", "Whose view it is",
         "Anything about an individual")  # fmt: skip
"""Headings of the limits that somebody who reads only two pages needs to know."""


def points(fit: Fit, about: About, other: Fit | None, clusters: ClusterFit | None) -> tuple[Point, ...]:
    """Return what the second page says, in points.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> points(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100), About(), None, None)[0][0]
    'What the numbers mean'
    """
    found = [("What the numbers mean", meaning(fit))]
    apart = None if other is None else disagreement(fit, other)
    found += [("Where two models disagree", apart)] if apart else []
    found += [("Groups of areas", groups(clusters))] if clusters is not None else []
    found += [point for point in limits.points(fit, about) if point[0] in SHORT]
    return tuple(found)


def meaning(fit: Fit) -> str:
    """Say in plain terms how far the highest and the lowest areas are from the average."""
    order, chance = order_of(fit), fit.judged_riskier
    high, low = order[0], order[-1]
    return (
        f"Judges would pick {isolated(fit.map.names[high])} as riskier than an average area "
        f"{times_in_ten(chance[high])}, and {isolated(fit.map.names[low])}, the lowest, {times_in_ten(chance[low])}. "
        "An average area would be picked 5 times in 10. This shows how sure judges are of the order, not how many "
        "times more cases an area has."
    )


def disagreement(fit: Fit, other: Fit) -> str:
    """Say which areas two fits put first if these differ; otherwise return an empty string."""
    first = leaders(fit, other)
    if first is None:
        return ""
    one, two = (cluster_pictures.NAMES.get(each.record.model, each.record.model) for each in (fit, other))
    models = f"the {one} model puts {isolated(first[0])} first, the {two} model {isolated(first[1])}"
    return f"Two fits disagree about the area of highest risk: {models}. Do not rely on either being the highest."


def groups(fit: ClusterFit) -> str:
    """Say how many clusters there may be, and how many areas could belong to more than one."""
    between = len(fit.best.between)
    doubt = f" {between:,} of {len(fit.map):,} areas could belong to more than one." if between else ""
    return f"Neighbouring areas of similar risk form clusters. {number_sentence(fit.best.grouping.numbers)}{doubt}"
