"""The front page: a fit in three sentences that can be read aloud, a few numbers, and any warning before both."""

import numpy as np

from judgemap.report.pages.briefing.about import About
from judgemap.report.words.text import (
    capital,
    counted,
    in_words,
    isolated,
    listed,
    per_cent,
)
from judgemap.study.clusters import ClusterFit
from judgemap.study.comparing import leaders
from judgemap.study.result import Fit
from judgemap.study.verdict import Verdict

SURE = 0.95
"""The probability above which the briefing states that an area is among the highest."""

TOP = 10


def sentences(fit: Fit, other: Fit | None = None) -> tuple[str, str, str]:
    """Say who judged what, what came out, what to keep in mind, and whether a second fit puts another area first.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> sentences(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100))[0]
    'Twelve judges compared 77 areas two at a time, 1,848 times in all, and said each time which of the two has the
    lower rate.'
    """
    return _asked(fit), _found(fit, other), _mind(fit)


def order_of(fit: Fit) -> list[int]:
    """Return the areas by posterior median risk, highest first: the order in which tables and maps number them."""
    return [int(area) for area in np.argsort(-fit.areas["risk_median"].to_numpy(), kind="stable")]


def surely_top(fit: Fit) -> int:
    """Count how many of the ten areas listed are among the ten highest with a probability above 95 %."""
    chances = fit.areas["p_top10"].to_numpy()[order_of(fit)[:TOP]]
    return int((chances > SURE).sum())


def numbers(fit: Fit, about: About) -> tuple[tuple[str, str], ...]:
    """Return the few numbers on the first page, each with what it counts, leaving out what is not known."""
    data = fit.record.data
    shown = [(data.judges, "judge"), (data.comparisons, "comparison"), (data.areas, "area")]
    facts = [(f"{number:,}", what if number == 1 else f"{what}s") for number, what in shown if number]
    if np.isfinite(about.median_seconds):
        facts.append((f"{about.median_seconds:.3g} s", "median time of a comparison"))
    else:
        facts.append((f"{data.pairs:,}", "distinct pair" if data.pairs == 1 else "distinct pairs"))
    return tuple(facts)


def verdict(fit: Fit, about: About) -> Verdict:
    """Return whether the fit can be used: the verdict stored with it or else the one from the comparisons."""
    if fit.record.verdict is None and about.explanation is not None:
        return about.explanation.verdict
    return fit.verdict


def warning(other: Fit | None) -> tuple[str, ...]:
    """Return a heading and sentences if the second model's draws cannot be relied on yet, nothing if they can."""
    second = tuple(other.warnings) if other is not None else ()
    if not second:
        return ()
    part = "The clusters" if isinstance(other, ClusterFit) else "The comparison with the second model"
    are = "are" if isinstance(other, ClusterFit) else "is"
    return (
        f"{part} {are} not ready for use",
        (
            "The computation behind that part has not settled, so it may change if it runs longer. The risk map and "
            "the table of the highest areas do not depend on it."
        ),
        *second,
    )


def _asked(fit: Fit) -> str:
    data = fit.record.data
    who = capital(counted(data.judges, "judge")) if data.judges else "Judges"
    what = "two areas" if data.areas == 2 else f"{counted(data.areas, 'area')} two at a time"
    times = {1: "once", 2: "twice"}.get(data.comparisons, f"{in_words(data.comparisons)} times in all")
    chose = "said" if data.comparisons == 1 else "said each time"
    return f"{who} compared {what}, {times}, and {chose} which of the two has the {fit.record.winner_is} rate."


def _found(fit: Fit, other: Fit | None) -> str:
    order, names = order_of(fit), fit.map.names
    after = listed([names[area] for area in order[1:3]])
    first = f"{isolated(names[order[0]])} comes out with the highest risk, followed by {after}"
    if len(order) > TOP:
        sure = surely_top(fit)
        these = f"{in_words(sure)} belong" if sure > 1 else f"{'one' if sure else 'none'} belongs"
        certain = f"of the ten areas ranked highest, {these} there with a probability above 95 per cent"
        if sure == TOP:
            certain = "all of the ten areas ranked highest belong there with a probability above 95 per cent"
    else:
        chance = float(fit.p_top(1).iloc[order[0]])
        certain = f"the probability that it truly is the highest is {per_cent(chance)}"
    apart = None if other is None else leaders(fit, other)
    but = f", but a second model puts {isolated(apart[1])} first" if apart else ""
    return f"{first}{but}; {certain}."


def _mind(fit: Fit) -> str:
    order, table = order_of(fit), fit.areas
    place = min(TOP, len(order)) if len(order) > TOP else 1
    area = table.iloc[order[place - 1]]
    ordinal = {1: "first", TOP: "tenth"}[place]
    if area["rank_low"] == area["rank_high"]:
        doubt = f"the answers leave little doubt about the area ranked {ordinal}"
    else:
        doubt = (
            f"the area ranked {ordinal} could be anywhere from place {area['rank_low']} to place {area['rank_high']}"
        )
    spread = table["risk_sd"].to_numpy()
    least = isolated(fit.map.names[int(spread.argmax())])
    known = f", and we know least about {least}" if np.ptp(spread) > 1e-6 * spread.max() else ""
    return f"This is a ranking of areas as the judges see them, not a count of cases: {doubt}{known}."
