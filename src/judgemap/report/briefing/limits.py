"""What a map cannot say: every sentence is worked out from the fit that it warns about."""

import numpy as np

from judgemap.core.comparisons import PairCounts
from judgemap.core.types import IntArray
from judgemap.report.briefing.about import About
from judgemap.report.briefing.front import SURE, TOP, order_of, surely_top
from judgemap.report.text import capital, counted, in_words, isolated, listed, per_cent, percentage, signed
from judgemap.study.clusters import ClusterFit
from judgemap.study.result import Fit

Point = tuple[str, str]
NAMES_JUDGES = "Judges with a single answer"
"""How a note begins that names judges, which a briefing does not."""


def points(fit: Fit, about: About, clusters: ClusterFit | None = None) -> tuple[Point, ...]:
    """Return what the map cannot say, each a few words and the sentences that explain them.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> points(fit, About(data=data))[0][0]
    'How many cases there are'
    """
    said = [_relative(fit), _knowledge(fit, about), _order(fit), _few(fit), _neighbours(fit)]
    said += [_left_out(fit)] if fit.info["data"]["shown"] > fit.info["data"]["comparisons"] else []
    said += [_clusters(clusters)] if clusters is not None else []
    return (*said, _judges_alike(fit), _why(about), _person())


def notes(fit: Fit) -> tuple[str, ...]:
    """Return the notes of a fit, but those that name judges."""
    return tuple(note for note in fit.info["notes"] if not note.startswith(NAMES_JUDGES))


def pair_counts(fit: Fit) -> PairCounts:
    """Return the pair counts that a fit was made of."""
    where = {area: place for place, area in enumerate(fit.map.ids)}
    ends = [[where[str(each)] for each in fit.observed_data[end].to_numpy()] for end in ("first", "second")]
    n, wins = (fit.observed_data[name].to_numpy() for name in ("n", "wins"))
    return PairCounts(len(fit.map), np.array(ends[0]), np.array(ends[1]), n, wins)


def _relative(fit: Fit) -> Point:
    order, names = order_of(fit), fit.map.names
    high, low = order[0], order[-1]
    risk = fit.risk
    chance = float((1 / (1 + np.exp(risk[:, low] - risk[:, high]))).mean())
    gap = signed(fit.areas["risk_median"].iloc[high] - fit.areas["risk_median"].iloc[low])
    return (
        "How many cases there are",
        (
            f"Risk here is relative: 0 is the average of these {len(names):,} areas. If every area had twice the "
            f"cases, the map would look the same. {isolated(names[high])} and {isolated(names[low])} lie {gap} apart, "
            f"which means that a judge would find {isolated(names[high])} the riskier of the two in "
            f"{per_cent(chance)} of comparisons, not that it has so many times the cases."
        ),
    )


def _knowledge(fit: Fit, about: About) -> Point:
    judges, made = fit.info["data"]["judges"], fit.info["data"]["comparisons"]
    heading = "What the judges do not know"
    rests = (
        "The map shows what judges know and believe. Where they hear of little, it shows little; a belief that they "
    )
    rests += "share and that is wrong is on the map as well."
    if judges == 0:
        return heading, f"{rests} The data do not say who answered, so how many people stand behind it is not known."
    if judges == 1:
        return heading, f"{rests} All {made:,} comparisons are one judge's: this is one person's view."
    out = f" The answers of {counted(about.left_out, 'other judge')} were left out." if about.left_out else ""
    busiest = ""
    if np.isfinite(about.largest_share):
        share = percentage(about.largest_share)
        busiest = f", and the busiest of them made {share} of the comparisons"
    return heading, f"{rests} It rests on {counted(judges, 'judge')}{busiest}.{out}"


def _order(fit: Fit) -> Point:
    order, names, table = order_of(fit), fit.map.names, fit.areas
    first, second = order[0], order[1]
    ahead = float((fit.risk[:, first] > fit.risk[:, second]).mean())
    said = [
        (
            f"Ranks overlap. {isolated(names[first])} has a higher risk than {isolated(names[second])}, the next, with "
            f"probability {percentage(ahead)}."
        )
    ]
    if len(order) > TOP:
        last = table.iloc[order[TOP - 1]]
        outside = int((table["p_top10"].to_numpy()[order[TOP:]] >= 1 - SURE).sum())
        sure = surely_top(fit)
        these = f"{in_words(sure)} are" if sure > 1 else f"{'one' if sure else 'none'} is"
        said += [
            (
                f"Of the ten listed, {these} among the ten highest with a "
                f"probability above 95 %; {counted(outside, 'area')} outside the list could belong there (5 % or more)."
            ),
            f"Number ten, {isolated(last['name'])}, ranks between {last['rank_low']} and {last['rank_high']} (95 %).",
        ]
    return "The exact order of areas", " ".join(said)


def _few(fit: Fit) -> Point:
    counts = pair_counts(fit)
    seen = counts.per_area()
    heading = "Much about areas that were seldom compared"
    never, middle = np.flatnonzero(seen == 0), int(np.median(seen))
    said = []
    if len(never):
        one = len(never) == 1
        rests = "on nothing but the assumptions"
        if fit.info["model"] != "standard":
            rests = f"on {'its' if one else 'their'} neighbours alone"
        was = f"{'was' if one else 'were'} never compared and {'rests' if one else 'rest'}"
        said.append(f"{capital(counted(len(never), 'area'))} {was} {rests}: {_names(fit, never)}.")
    rare = np.flatnonzero((seen > 0) & (seen < middle / 2))
    rare = rare[np.argsort(seen[rare], kind="stable")]
    told = [f"{isolated(fit.map.names[area])} ({seen[area]})" for area in rare[:5]]
    if len(rare):
        more = f" and {in_words(len(rare) - 5)} more" if len(rare) > 5 else ""
        said.append(
            f"An area took part in {middle:,} comparisons (median), but these in less than half as many: "
            f"{', '.join(told)}{more}."
        )
    elif not len(never):
        least = int(seen.argmin())
        said.append(
            f"An area took part in {middle:,} comparisons (median); the fewest, {seen[least]:,}, are of "
            f"{isolated(fit.map.names[least])}."
        )
    parts = len(set(counts.components()[seen > 0].tolist()))
    if parts > 1:
        said.append(
            f"The areas fall into {parts} groups that were never compared with each other: how one group stands to "
            "another is assumed, not judged."
        )
    return heading, " ".join(said)


def _neighbours(fit: Fit) -> Point:
    heading = "Sharp steps between neighbours"
    if fit.info["model"] == "standard":
        return heading, (
            "This model lets areas tell nothing of their neighbours: an area with few comparisons stays uncertain, "
            "and steps between neighbours may be chance."
        )
    seen = pair_counts(fit).per_area()
    area = int(seen.argmin())
    around = fit.map.graph.edges[(fit.map.graph.edges == area).any(axis=1)]
    beside = around[around != area]
    fewest = f"the fewest comparisons ({seen[area]:,})"
    leans = f" {isolated(fit.map.names[area])}, with {fewest}, leans on its "
    leans += f"neighbours {_names(fit, beside)}." if len(beside) > 1 else f"neighbour {_names(fit, beside)}."
    joined = [f"{_name_of(fit, each.a)} with {_name_of(fit, each.b)}" for each in fit.map.bridges]
    across = f" Areas without a border were joined to the nearest: {listed(joined)}." if joined else ""
    shared = "share a level" if fit.info["model"] == "clusters" else "have like risk"
    return heading, (
        f"The model believes that areas which lie together {shared}, so answers about one count in part for those "
        "around it. An area that differs from all its neighbours is drawn towards them."
        f"{leans if len(beside) else ''}{across}"
    )


def _left_out(fit: Fit) -> Point:
    data = fit.info["data"]
    return (
        "What judges would not decide",
        (
            f"Of {data['shown']:,} pairs shown, {data['shown'] - data['comparisons']:,} have no winner (ties, skipped "
            "or without an answer). They are left out, though a tie says that two areas are alike."
        ),
    )


def _clusters(fit: ClusterFit) -> Point:
    chances = [f"{k} ({percentage(chance)})" for k, chance in fit.n_clusters.nlargest(3).items()]
    likeliest = f"numbers are {listed(chances)}" if len(chances) > 1 else f"number is {chances[0]}"
    doubtful = [fit.map.names[each.area] for each in fit.best.between]
    between = (
        f" {capital(counted(len(doubtful), 'area'))} could belong to another cluster (20 % or more): "
        f"{listed(doubtful)}."
        if doubtful
        else ""
    )
    return (
        "Where one cluster ends",
        (f"Clusters are a way to read the map, not borders on the ground. The likeliest {likeliest}.{between}"),
    )


def _judges_alike(fit: Fit) -> Point:
    many = fit.info["data"]["judges"] != 1
    first = "that all judges see the same order of areas, and" if many else "that"
    return (
        "How far judges disagree",
        f"The intervals suppose {first} that every answer stands on its own. Where that fails, they are too narrow.",
    )


def _why(about: About) -> Point:
    when = f" in {about.last:%B %Y}" if about.last else " when the judges were asked"
    return (
        "Why, and until when",
        f"The map does not say what causes the risk or what would lower it. It shows how things stood{when}.",
    )


def _person() -> Point:
    return (
        "Anything about a person",
        (
            "A high risk of an area says nothing about any person, family or community that lives there, and a low "
            "one is no reason to turn anybody away."
        ),
    )


def _names(fit: Fit, places: IntArray) -> str:
    return listed([fit.map.names[area] for area in places])


def _name_of(fit: Fit, area: str) -> str:
    return isolated(fit.map.names[int(fit.map.index([area])[0])])
