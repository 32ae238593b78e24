"""The briefing as one page: a front that stands on its own, then the details behind it, with diagnostics last."""

from datetime import date

import numpy as np

from judgemap.errors import StudyError
from judgemap.report.figures import clusters
from judgemap.report.pages.briefing import front, limits, methods, second
from judgemap.report.pages.briefing.about import About
from judgemap.report.pages.briefing.diagnostics import diagnostics
from judgemap.report.pages.briefing.gallery import HEADINGS, THIS, Gallery
from judgemap.report.pages.page import Front, Section, page_with_front
from judgemap.report.words import own as own_words
from judgemap.report.words import tables
from judgemap.report.words.clusters import number_sentence, partition_sentence
from judgemap.report.words.text import capital, counted, isolated
from judgemap.study.clusters import ClusterFit
from judgemap.study.comparing import compare_fits
from judgemap.study.comparisons import Comparisons, Outcome
from judgemap.study.result import Fit

FOOT = (
    "Read the map as a ranking, with intervals: it is not a count of cases and says nothing about any individual. "
    "The next page explains how to read it; the annex shows how it was made."
)
IN_FRONT = (
    "risk",
    "uncertainty",
    "intervals",
    "clusters",
    "violins",
    "number-of-clusters",
    "models",
    "times",
    "sensitivity",
    "sensitivity-maps",
)
"""Figures that the briefing shows before its appendix."""

AT_THE_END = ("traces", "traces-2", "cluster-traces")
OF_JUDGES = ("judges-times", "judges-sides", "judges-infit", "judges-agreement")
"""These figures name judges, which no briefing does."""


def briefing(fit: Fit, about: About | None = None, other: Fit | None = None, gallery: Gallery | None = None) -> str:
    """Return the briefing of a fit: one self-contained HTML page in plain language.

    Parameters
    ----------
    fit
        The fit that map and table show.
    about
        What is known about the study: title, question, comparisons, days.
    other
        A second fit of the same areas, such as one of the clustering model; the briefing then covers both.
    gallery
        Their figures, if some have already been drawn.

    Examples
    --------
    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> html = briefing(fit, About("Wards", "Which of the two has the LOWER rate?", data))
    >>> "In three sentences" in html and "http" not in html
    True
    """
    about = about or About()
    about.check(fit)
    if other is not None and other.map.ids != fit.map.ids:
        raise StudyError("the two fits are of different areas; give two fits of one study")
    gallery = gallery or Gallery(fit, about, other)
    clustered = gallery.clusters
    first_page = Front(
        title=about.title.strip() or "Risk by area",
        question=about.question.strip(),
        sentences=front.sentences(fit, other),
        numbers=front.numbers(fit, about),
        picture=gallery["risk"],
        table=tables.highest_in_words(fit),
        byline=own_words.byline(about.words, about.made),
        second=second.points(fit, about, other, clustered),
        next_steps=own_words.next_steps(about.words),
        foot=f"{fit.record.view.words} {FOOT}",
        notice=about.notice,
        warning=front.warning(other),
        verdict=front.verdict(fit, about),
    )
    sections = [
        _how_sure(fit, gallery),
        *(_clusters(clustered, gallery) if clustered is not None else ()),
        *((_two_models(fit, other, gallery),) if other is not None else ()),
        *((_otherwise(fit, about, gallery),) if about.others else ()),
        _who(fit, about, gallery),
        _in_numbers(fit),
        Section("What the map cannot say", points=limits.points(fit, about, clustered)),
        _how(fit, other),
        _methods(fit, other),
        _appendix(about, gallery),
        *diagnostics(fit, other, gallery),
    ]
    return page_with_front(first_page, sections)


def _how_sure(fit: Fit, gallery: Gallery) -> Section:
    spread = fit.areas["risk_sd"].to_numpy()
    least, most = (isolated(fit.map.names[int(area)]) for area in (spread.argmin(), spread.argmax()))
    neighbours = "; so are areas with few neighbours" if fit.record.model == "spatial" else ""
    texts = (
        (
            f"The answers tell us most about {least} (standard deviation {spread.min():.2f}) and least about {most} "
            f"({spread.max():.2f}). Areas that were rarely compared, and areas at either end of the scale, are harder "
            f"to place{neighbours}."
        ),
        (
            "If the model is right, a 95 % interval contains the risk with that probability. A difference of 1 means "
            "that in about 73 of 100 comparisons of two areas the riskier one is judged riskier; a difference of 2, in "
            "about 88."
        ),
    )
    pictures = (
        ("Where the map is less certain", gallery["uncertainty"]),
        ("The highest risks, with intervals", gallery["intervals"]),
    )
    return Section("How sure we are", texts, gallery=pictures)


def _in_numbers(fit: Fit) -> Section:
    text = "The same areas on the model's scale, where the average area is 0."
    return Section("The highest risks in numbers", (text,), table=tables.highest_risk(fit))


def _clusters(fit: ClusterFit, gallery: Gallery) -> tuple[Section, Section]:
    shown = fit.best.grouping
    text = (
        f"Neighbouring areas of similar risk form a cluster. {number_sentence(shown.numbers)} The map shows the "
        f"grouping that best represents all those the answers allow. {partition_sentence(shown)}"
    )
    beside = (
        ("Risk in each cluster", gallery["violins"]),
        ("Number of clusters", gallery["number-of-clusters"]),
    )
    return (
        Section("Clusters of areas", (text,), picture=gallery["clusters"], table=tables.cluster_table(fit)),
        Section("Risk by cluster, and the number of clusters", gallery=beside),
    )


def _two_models(fit: Fit, other: Fit, gallery: Gallery) -> Section:
    names = [clusters.NAMES.get(each.record.model, each.record.model) for each in (fit, other)]
    text = f"Each area's risk under the {names[0]} and the {names[1]} model: on the line, the two agree."
    same = fit.record.data.sha256 == other.record.data.sha256
    different = ("The two fits use different comparisons, so both the model and the data differ.",)
    return Section("Comparing the two models", (text,), picture=gallery["models"], remarks=() if same else different)


def _otherwise(fit: Fit, about: About, gallery: Gallery) -> Section:
    changes = [f"{capital(name)}: {compare_fits(fit, other).words}" for name, other in about.others.items()]
    pictures = (
        ("Estimates, area by area", gallery["sensitivity"]),
        ("The maps", gallery["sensitivity-maps"]),
    )
    table = tables.correlations({THIS: fit, **about.others})
    return Section("What if it had been done differently?", tuple(changes), table=table, gallery=pictures)


def _who(fit: Fit, about: About, gallery: Gallery) -> Section:
    data = fit.record.data
    facts = [
        ("Judges", f"{data.judges:,}" if data.judges else "not known"),
        ("Comparisons", f"{data.comparisons:,} decided, of {data.shown:,} pairs shown"),
        ("Distinct pairs", f"{data.pairs:,} of {data.areas * (data.areas - 1) // 2:,} possible"),
    ]
    timed = None
    if about.data is not None:
        facts += _answers(about.data, about.median_seconds)
        if np.isfinite(about.median_seconds):
            timed = gallery["times"]
    if about.left_out:
        facts.append(("Left out", f"all answers from {counted(about.left_out, 'other judge')}"))
    if about.first and about.last:
        facts.append(("When", _days(about.first, about.last)))
    text = (
        f"{capital(counted(data.judges, 'judge'))} answered. This briefing gives their number but no names."
        if data.judges
        else "The data do not record who answered or how many judges there were."
    )
    return Section("Who was asked", (text,), picture=timed, facts=tuple(facts))


def _answers(data: Comparisons, median_seconds: float) -> list[tuple[str, str]]:
    facts = []
    per_judge = sorted(data.per_judge().values())
    if len(per_judge) > 1:
        middle = f"{np.median(per_judge):g}"
        facts.append(("Pairs per judge", f"{per_judge[0]:,} to {per_judge[-1]:,}, median {middle}"))
    kinds = {
        "ties": data.count(Outcome.TIE),
        "skipped": data.count(Outcome.SKIPPED),
        "without an answer": data.count(Outcome.UNKNOWN) + data.count(Outcome.OPEN),
    }
    undecided = [f"{count:,} {name}" for name, count in kinds.items() if count]
    if undecided:
        facts.append(("Undecided", ", ".join(undecided)))
    if np.isfinite(median_seconds):
        facts.append(("Median time", f"{median_seconds:.3g} seconds per comparison"))
    return facts


def _days(first: date, last: date) -> str:
    if first == last:
        return f"{first.day} {first:%B %Y}"
    return f"{first.day} {first:%B %Y} to {last.day} {last:%B %Y}"


def _how(fit: Fit, other: Fit | None) -> Section:
    believed = {
        "spatial": "neighbouring areas are assumed to have similar risk, unless the answers suggest otherwise",
        "clusters": "neighbouring areas are assumed to share a level of risk, in clusters whose number is estimated "
        "from the answers",
        "standard": "an area tells us nothing about its neighbours",
    }
    winner = fit.record.winner_is
    steps = [
        ("Ask", f"Each judge saw two areas at a time and chose the one with the {winner} rate, many times over."),
        (
            "Count",
            "What counts is how often each area was chosen over each other area, not who chose it or how fast.",
        ),
        (
            "Place",
            (
                "Each area is given a risk: the larger the difference between two, the more often the riskier one is "
                f"judged riskier. In this model, {believed.get(fit.record.model, fit.record.model)}."
            ),
        ),
        (
            "Allow for doubt",
            (
                "The computation draws many maps, all consistent with the answers. What they have in common is the "
                "result; how they differ gives the intervals."
            ),
        ),
    ]
    if other is not None:
        name = clusters.NAMES.get(other.record.model, other.record.model)
        new = believed.get(other.record.model, other.record.model)
        steps.append(("Try another model", f"A second model, the {name} one, was fitted too. In it, {new}."))
    return Section("How it was done", points=tuple(steps))


def _methods(fit: Fit, other: Fit | None) -> Section:
    paragraphs = methods.methods(fit, other)
    return Section(
        "Methods, ready to paste",
        ("For a report or a paper. Every detail comes from this fit.",),
        to_copy=paragraphs,
        references=methods.references(paragraphs),
    )


def _appendix(about: About, gallery: Gallery) -> Section:
    elsewhere = (*IN_FRONT, *AT_THE_END, *OF_JUDGES)
    pictures = [(HEADINGS[name], gallery[name]) for name in gallery.names if name not in elsewhere]
    text = "Figures not shown above. 'judgemap report --figures' writes every figure as SVG and PDF."
    return Section("All other figures", (text,), gallery=(*pictures, *about.pictures))
