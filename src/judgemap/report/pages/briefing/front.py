"""The front page: a fit in three sentences that can be read aloud, a few numbers, and any warning before both."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from judgemap.core.types import FloatArray, IntArray
from judgemap.report.pages.briefing.about import About
from judgemap.report.words.text import (
    MODELS,
    capital,
    counted,
    in_words,
    isolated,
    listed,
    number_sentence,
    per_cent,
    percentage,
    signed,
    times_in_ten,
)
from judgemap.study.assess.beside import ByRegion
from judgemap.study.assess.comparing import leaders
from judgemap.study.assess.verdict import Grade, Subject, Verdict
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.record import NoteKind
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import View

SURE = 0.95
"""The probability above which the briefing states that an area is among the highest."""

TOP = 10
UNSETTLED = "The computation has not settled, so this page does not say which areas have the highest risk."


def settled(fit: Fit) -> bool:
    """Return whether a fit's draws can be relied on; without that, nothing it says is stated as a finding."""
    return fit.verdict.ground(Subject.CONVERGENCE).grade is not Grade.NO


def sentences(
    fit: Fit, other: Fit | None = None, left_out: int = 0, regions: ByRegion | None = None
) -> tuple[str, ...]:
    """Say who judged what, what came out, what to keep in mind, and whether a second fit puts another area first.

    ``left_out`` counts the judges whose answers were left out. A fit that has not settled makes no claims. Of a large
    map, the ``regions`` are ranked.
    """
    asked = _asked(fit, left_out)
    if not settled(fit):
        return asked, UNSETTLED
    ranked = _areas(fit) if regions is None else _regions(fit, regions)
    return asked, _found(fit, other, ranked), _mind(fit, ranked)


class Ranked(NamedTuple):
    """What the sentences rank, the highest first: what it is called, and the table's columns in that order."""

    what: str
    first: str
    """What comes first, up to its name."""
    names: Sequence[str]
    p_top10: FloatArray
    rank_low: FloatArray
    rank_high: FloatArray
    more: str = ""


def _areas(fit: Fit) -> Ranked:
    table = fit.areas.iloc[fit.order]
    chance, low, high = (table[name].to_numpy() for name in ("p_top10", "rank_low", "rank_high"))
    return Ranked("area", "", table["name"].tolist(), chance, low, high)


def _regions(fit: Fit, regions: ByRegion) -> Ranked:
    table, by = regions.table, regions.by
    chance, low, high = (table[name].to_numpy() for name in (table.columns[-1], "rank_low", "rank_high"))
    more = f" Of single areas, {isolated(fit.map.names[fit.order[0]])} has the highest risk."
    return Ranked(by.name, f"By {by.name}, ", table["group"].tolist(), chance, low, high, more)


def surely_top(fit: Fit) -> IntArray:
    """Return those of the ten areas listed that are among the ten highest with a probability above 95 %."""
    listed = fit.order[:TOP]
    return listed[fit.areas["p_top10"].to_numpy()[listed] > SURE]


def numbers(fit: Fit) -> tuple[tuple[str, str], ...]:
    """Return the few numbers on the first page, each with what it counts, leaving out what is not known."""
    data = fit.record.data
    shown = [(data.judges, "judge"), (data.used, "comparison"), (data.areas, "area")]
    facts = [(f"{number:,}", what if number == 1 else f"{what}s") for number, what in shown if number]
    return (*facts, (f"{2 * data.used / data.areas:.3g}", "answers per area"))


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


def _asked(fit: Fit, left_out: int) -> str:
    data = fit.record.data
    who = capital(counted(data.judges, "judge")) if data.judges else "Judges"
    met = fit.reach.compared
    some = counted(data.areas, "area") if met == data.areas else f"{in_words(met)} of the {counted(data.areas, 'area')}"
    what = "two areas" if data.areas == 2 else f"{some} two at a time"
    times = {1: "once", 2: "twice"}.get(data.used, f"{in_words(data.used)} times in all")
    chose = "said" if data.used == 1 else "said each time"
    tied = f", or that they are alike ({in_words(data.ties)} times)" if data.ties else ""
    out = f"; the answers of {counted(left_out, 'other judge')} were left out" if left_out else ""
    return (
        f"{who} compared {what}, {times}, and {chose} which of the two has the {fit.record.winner_is} rate{tied}{out}."
    )


def _found(fit: Fit, other: Fit | None, ranked: Ranked) -> str:
    names = ranked.names
    highest = "the highest mean risk" if ranked.more else "the highest risk"
    first = f"{ranked.first}{isolated(names[0])} comes out with {highest}, followed by {listed(names[1:3])}"
    if len(names) > TOP:
        sure = [name for name, chance in zip(names[:TOP], ranked.p_top10[:TOP], strict=True) if chance > SURE]
        which = f" of the ten: {listed(sure)}" if len(sure) < TOP else ""
        those = "all ten" if len(sure) == TOP else f"only {in_words(len(sure))}"
        certain = f"we are nearly certain of {those}{which}" if sure else "we are nearly certain of none of the ten"
    else:
        chance = float(ranked.p_top10[0]) if ranked.more else float(fit.p_top(1).iloc[fit.order[0]])
        certain = f"the probability that it truly is the highest is {per_cent(chance)}"
    apart = None if other is None else leaders(fit, other)
    but = f", but a second model puts {isolated(apart[1])} first" if apart else ""
    return f"{first}{but}; {certain}.{ranked.more}"


def _mind(fit: Fit, ranked: Ranked) -> str:
    place = TOP if len(ranked.names) > TOP else 1
    low, high = (int(each[place - 1]) for each in (ranked.rank_low, ranked.rank_high))
    ordinal = {1: "first", TOP: "tenth"}[place]
    if low == high:
        doubt = f"the answers leave little doubt about the {ranked.what} ranked {ordinal}"
    else:
        doubt = f"the {ranked.what} ranked {ordinal} could be anywhere from place {low} to place {high}"
    spread = fit.areas["risk_sd"].to_numpy()
    least = isolated(fit.map.names[int(spread.argmax())])
    known = f", and we know least about {least}" if np.ptp(spread) > 1e-6 * spread.max() else ""
    return f"This is a ranking of areas as the judges see them, not a count of cases: {doubt}{known}."


Point = tuple[str, str]
PERSON = (
    "Anything about an individual",
    (
        "A high risk for an area says nothing about any person, family or community who lives there, and a low risk is "
        "no reason to turn anyone away."
    ),
)
SHORT = (
    "What the judges do not know",
    "The exact order of areas",
    "How far judges disagree",
    "Whose view it is",
    PERSON[0],
)
"""Headings of the limits that somebody who reads only two pages needs to know."""


def second_points(fit: Fit, about: About, other: Fit | None, clusters: ClusterFit | None) -> tuple[Point, ...]:
    """Return what the second page says, in points."""
    if not settled(fit):
        return _whose(fit), PERSON
    found = [("What the numbers mean", meaning(fit))]
    if other is not None and (first := leaders(fit, other)):
        one, two = (MODELS[each.record.model][0] for each in (fit, other))
        models = f"the {one} model puts {isolated(first[0])} first, the {two} model {isolated(first[1])}"
        apart = f"Two fits disagree about the area of highest risk: {models}. Do not rely on either being the highest."
        found.append(("Where two models disagree", apart))
    if clusters is not None:
        between = len(clusters.best.between)
        doubt = f" {between:,} of {len(fit.map):,} areas could belong to more than one." if between else ""
        numbers = number_sentence(clusters.best.grouping.numbers)
        found.append(("Groups of areas", f"Neighbouring areas of similar risk form clusters. {numbers}{doubt}"))
    found += [point for point in points(fit, about) if point[0] in SHORT]
    return tuple(found)


def meaning(fit: Fit) -> str:
    """Say in plain terms how far the highest and the lowest areas are from the average."""
    order, chance = fit.order, fit.judged_riskier
    high, low = order[0], order[-1]
    return (
        f"Judges would pick {isolated(fit.map.names[high])} as riskier than an average area "
        f"{times_in_ten(chance[high])}, and {isolated(fit.map.names[low])}, the lowest, {times_in_ten(chance[low])}. "
        "An average area would be picked 5 times in 10. This shows how sure judges are of the order, not how many "
        "times more cases an area has."
    )


def points(fit: Fit, about: About) -> tuple[Point, ...]:
    """Return what the map cannot say: for each point, a heading and the sentences that explain it."""
    these = [_relative(fit), _knowledge(fit, about), _order(fit), _few(fit), _neighbours(fit)]
    these += [_left_out(fit)] if fit.record.data.left_out else []
    return (*these, _whose(fit), _why(about), PERSON)


def notes(fit: Fit) -> tuple[str, ...]:
    """Return the notes of a fit, except those that name judges."""
    return tuple(note.text for note in fit.record.notes if not note.names_judges)


def _relative(fit: Fit) -> Point:
    order, names = fit.order, fit.map.names
    high, low = order[0], order[-1]
    chosen, other = (low, high) if fit.record.sign < 0 else (high, low)
    chance = float(fit.choice_chances(np.array([chosen]), np.array([other]))[0])
    gap = signed(fit.areas["risk_median"].iloc[high] - fit.areas["risk_median"].iloc[low])
    return (
        "How many cases there are",
        (
            f"Risk here is relative: 0 is the average of these {len(names):,} areas. If every area had twice the "
            f"cases, the map would look the same. {isolated(names[high])} and {isolated(names[low])} are {gap} apart: "
            f"a judge would find {isolated(names[high])} the riskier of the two in {per_cent(chance)} of "
            "comparisons. It does not mean that many times as many cases."
        ),
    )


def _knowledge(fit: Fit, about: About) -> Point:
    judges, made = fit.record.data.judges, fit.record.data.used
    heading = "What the judges do not know"
    rests = (
        "The map shows what judges know and believe. Where they know little, it shows little; if they share a "
        "mistaken belief, so does the map."
    )
    if judges == 0:
        return heading, f"{rests} The data do not record who answered, so we do not know how many people it rests on."
    if judges == 1:
        return heading, f"{rests} One judge made all {made:,} comparisons: this is one person's view."
    out = f" Answers from {counted(about.left_out, 'other judge')} were left out." if about.left_out else ""
    busiest = ""
    if about.data is not None and (counts := about.data.per_judge().values()):
        busiest = f", and the busiest of them made {percentage(max(counts) / sum(counts))} of the comparisons"
    return heading, f"{rests} It rests on {counted(judges, 'judge')}{busiest}.{out}"


def _order(fit: Fit) -> Point:
    order, names, table = fit.order, fit.map.names, fit.areas
    first, second = order[0], order[1]
    ahead = float((fit.risk[:, first] > fit.risk[:, second]).mean())
    sentences = [
        (
            f"Ranks overlap. {isolated(names[first])} has a higher risk than {isolated(names[second])}, the next one "
            f"down, with probability {percentage(ahead)}."
        )
    ]
    if len(order) > TOP:
        last = table.iloc[order[TOP - 1]]
        outside = int((table["p_top10"].to_numpy()[order[TOP:]] >= 1 - SURE).sum())
        sure = len(surely_top(fit))
        sentences += [
            (
                f"Among the ten highest with a probability above 95 %: {in_words(sure) if sure else 'none'} of those "
                f"listed; {counted(outside, 'area')} outside the list could belong there (probability 5 % or more)."
            ),
            f"Number ten, {isolated(last['name'])}, could rank from {last['rank_low']} to {last['rank_high']} (95 %).",
        ]
    return "The exact order of areas", " ".join(sentences)


def _few(fit: Fit) -> Point:
    seen = fit.counts.per_area()
    heading = "Much about areas that were rarely compared"
    never, middle = np.flatnonzero(seen == 0), int(np.median(seen))
    sentences = []
    if len(never):
        by = "the assumptions" if fit.record.model == "standard" else "neighbours"
        sentences.append(f"Never compared, so placed by {by} alone: {_names(fit, never)}.")
    rare = np.flatnonzero((seen > 0) & (seen < middle / 2))
    rare = rare[np.argsort(seen[rare], kind="stable")]
    if len(rare):
        told = listed([f"{fit.map.names[area]} ({seen[area]})" for area in rare])
        sentences.append(
            f"The median area took part in {middle:,} comparisons, but these areas in fewer than half as many: {told}."
        )
    elif not len(never):
        least = int(seen.argmin())
        sentences.append(
            f"The median area took part in {middle:,} comparisons; {isolated(fit.map.names[least])} took part in the "
            f"fewest, {seen[least]:,}."
        )
    parts = len(set(fit.counts.components()[seen > 0].tolist()))
    if parts > 1:
        sentences.append(
            f"The areas fall into {parts:,} groups that were never compared with each other: how one group ranks "
            "against another is an assumption, not a judgement."
        )
    return heading, " ".join(sentences)


def _neighbours(fit: Fit) -> Point:
    heading = "Sharp steps between neighbours"
    if fit.record.model == "standard":
        return heading, (
            "In this model an area tells us nothing about its neighbours: an area with few comparisons stays "
            "uncertain, and steps between neighbours may be chance."
        )
    seen = fit.counts.per_area()
    area = int(seen.argmin())
    around = fit.map.graph.edges[(fit.map.graph.edges == area).any(axis=1)]
    beside = around[around != area]
    fewest = f"the fewest comparisons ({seen[area]:,})"
    leans = f" {isolated(fit.map.names[area])}, with {fewest}, leans on its "
    leans += f"neighbours {_names(fit, beside)}." if len(beside) > 1 else f"neighbour {_names(fit, beside)}."
    names = dict(zip(fit.map.ids, map(isolated, fit.map.names), strict=True))
    joined = [f"{names[each.a]} with {names[each.b]}" for each in fit.map.bridges]
    across = f" Areas with no shared border were linked to the nearest area: {listed(joined)}." if joined else ""
    shared = "share a level" if fit.record.model == "clusters" else "have similar risk"
    return heading, (
        f"The model assumes that neighbouring areas {shared}, so an answer about one area also informs its "
        "neighbours. An area that differs from all its neighbours is pulled towards them."
        f"{leans if len(beside) else ''}{across}"
    )


def _left_out(fit: Fit) -> Point:
    data = fit.record.data
    if data.ties:
        left = f"{data.left_out:,} were skipped or not answered. They are left out; ties are part of the model."
    else:
        left = (
            f"{data.left_out:,} have no winner (tied, skipped or unanswered). They are left out, although a tie "
            "suggests that two areas are alike."
        )
    return ("What judges left undecided", f"Of {data.shown:,} pairs shown, {left}")


def _whose(fit: Fit) -> Point:
    if fit.settings.differ:
        return "Whose view it is", f"{fit.record.view.words} {_sample(fit)}"
    many = fit.record.data.judges != 1
    first = "that all judges see the same order of areas, and" if many else "that"
    differ = any(note.kind is NoteKind.JUDGES_DIFFER for note in fit.record.notes)
    here = " Here judges differ more than chance explains, so they are." if differ else ""
    return (
        "How far judges disagree",
        f"The intervals assume {first} that every answer is independent. Where that fails, they are too narrow.{here}",
    )


def _sample(fit: Fit) -> str:
    """Say what a sample of judges can and cannot tell us."""
    judges, ratio = counted(fit.record.data.judges, "judge"), float(np.median(fit.sigma / fit.alpha))
    if fit.record.view is View.PANEL:
        return f"It does not say what other judges would see: another panel of {judges} would give a different map."
    return (
        f"The {judges} are a sample of that population, with views that differ from the common one by about "
        f"{ratio:.2f} of how far areas differ. The intervals allow for that, but not for a different kind of judge. "
        "More judges would narrow them more than more answers from the same judges."
    )


def _why(about: About) -> Point:
    when = f" in {about.last:%B %Y}" if about.last else " when the judges were asked"
    return (
        "Why, and until when",
        f"The map does not show what causes the risk or what would lower it. It shows how things stood{when}.",
    )


def _names(fit: Fit, places: IntArray) -> str:
    return listed([fit.map.names[area] for area in places])
