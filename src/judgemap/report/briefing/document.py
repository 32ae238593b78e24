"""The briefing: what a decision maker reads. One page that stands alone, then what lies behind it, diagnostics last."""

from datetime import date

import numpy as np

from judgemap.errors import StudyError
from judgemap.report import clusters, figures, maps, sensitivity, tables
from judgemap.report.briefing import front, limits, methods
from judgemap.report.briefing.about import About
from judgemap.report.briefing.diagnostics import diagnostics
from judgemap.report.briefing.gallery import THIS, against, clusters_of, figures_of, heading
from judgemap.report.page import Front, Section, page_with_front
from judgemap.report.text import capital, counted, in_words, isolated, percentage
from judgemap.study.clusters import ClusterFit
from judgemap.study.comparing import compare_fits
from judgemap.study.records import Comparisons
from judgemap.study.result import Fit

FOOT = (
    "Risk is counted from the average area, which has 0. Read it as an order, with intervals: it is no count of cases "
    "and says nothing about any person. The following pages say how sure the order is, what the map cannot say, and "
    "how it was made."
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


def briefing(fit: Fit, about: About | None = None, other: Fit | None = None) -> str:
    """Return the briefing of a fit: one self-contained HTML page in plain language.

    Parameters
    ----------
    fit
        The fit that map and table show.
    about
        What is known of the study: title, question, comparisons, days.
    other
        A second fit of the same areas, such as one of the clustering model; both are then told of and compared.

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
    clustered = clusters_of(fit, other)
    first_page = Front(
        title=about.title.strip() or "Risk by area",
        question=about.question.strip(),
        sentences=front.sentences(fit, clustered),
        numbers=front.numbers(fit, about),
        picture=maps.risk_map(fit),
        table=tables.highest_risk(fit),
        foot=FOOT,
        notice=about.notice,
        warning=front.warning(fit, other),
    )
    sections = [
        _how_sure(fit),
        *(_clusters(clustered) if clustered is not None else ()),
        *((_two_models(fit, other),) if other is not None else ()),
        *((_otherwise(fit, about),) if about.others else ()),
        _who(fit, about),
        Section("What the map cannot say", points=limits.points(fit, about, clustered)),
        _how(fit, other),
        _methods(fit, other),
        _appendix(fit, about, other),
        *diagnostics(fit, other),
    ]
    return page_with_front(first_page, sections)


def _how_sure(fit: Fit) -> Section:
    spread = fit.areas["risk_sd"].to_numpy()
    least, most = (isolated(fit.map.names[int(area)]) for area in (spread.argmin(), spread.argmax()))
    neighbours = "; so are areas with few neighbours" if fit.info["model"] == "spatial" else ""
    texts = (
        (
            f"The answers say most about {least} (standard deviation {spread.min():.2f}) and least about {most} "
            f"({spread.max():.2f}). Areas that were seldom compared, and areas at the ends of the scale, are harder to "
            f"place{neighbours}."
        ),
        (
            "An interval of 95 % holds the risk with that probability, if the model is right. A difference of 1 "
            "means that of 100 comparisons of two areas about 73 would find the riskier one riskier; a difference of "
            "2, about 88."
        ),
    )
    pictures = (
        ("Where the map is less certain", maps.uncertainty_map(fit)),
        ("The highest, with their intervals", figures.risk_intervals(fit)),
    )
    return Section("How sure we are", texts, gallery=pictures)


def _clusters(fit: ClusterFit) -> tuple[Section, Section]:
    likeliest = int(fit.n_clusters.index[int(fit.n_clusters.argmax())])
    chance = percentage(float(fit.n_clusters.max()))
    text = (
        f"Areas of like risk that lie together make a cluster. That there {'is' if likeliest == 1 else 'are'} "
        f"{counted(likeliest, 'cluster')} is likeliest, with probability {chance}. The map shows the partition "
        f"into {in_words(fit.best.n_clusters)} that comes nearest to all that the answers allow."
    )
    beside = (
        ("Risk in each cluster", clusters.cluster_violins(fit)),
        ("How many clusters", clusters.cluster_number_bars(fit)),
    )
    return (
        Section("Clusters of areas", (text,), picture=clusters.cluster_map(fit), table=tables.cluster_table(fit)),
        Section("Risk in the clusters, and how many there are", gallery=beside),
    )


def _two_models(fit: Fit, other: Fit) -> Section:
    names = [clusters.NAMES.get(each.info["model"], each.info["model"]) for each in (fit, other)]
    text = f"The same areas under the {names[0]} and the {names[1]} model: on the line, both say the same."
    same = fit.info["data"]["sha256"] == other.info["data"]["sha256"]
    different = ("The two fits were made of different comparisons, so models and data differ at once.",)
    picture = against(fit, other)
    return Section("One model against the other", (text,), picture=picture, remarks=() if same else different)


def _otherwise(fit: Fit, about: About) -> Section:
    said = [f"{capital(name)}: {compare_fits(fit, other).words}" for name, other in about.others.items()]
    pictures = (
        ("Estimates, area by area", sensitivity.sensitivity_scatter(fit, about.others)),
        ("The maps", sensitivity.sensitivity_maps({THIS: fit, **about.others})),
    )
    table = tables.correlations({THIS: fit, **about.others})
    return Section("If it had been done otherwise", tuple(said), table=table, gallery=pictures)


def _who(fit: Fit, about: About) -> Section:
    data = fit.info["data"]
    facts = [
        ("Judges", f"{data['judges']:,}" if data["judges"] else "not known"),
        ("Comparisons", f"{data['comparisons']:,} decided, of {data['shown']:,} pairs shown"),
        ("Distinct pairs", f"{data['pairs']:,} of {data['areas'] * (data['areas'] - 1) // 2:,} possible"),
    ]
    timed = None
    if about.data is not None:
        facts += _answers(about.data, about.median_seconds)
        if np.isfinite(about.median_seconds):
            timed = figures.comparison_times(about.data)
    if about.left_out:
        facts.append(("Left out", f"all answers of {counted(about.left_out, 'other judge')}"))
    if about.first and about.last:
        facts.append(("When", _days(about.first, about.last)))
    text = (
        f"{capital(counted(data['judges'], 'judge'))} answered. The briefing counts them and names nobody."
        if data["judges"]
        else "The data do not say who answered, nor how many judges there were."
    )
    return Section("Who was asked", (text,), picture=timed, facts=tuple(facts))


def _answers(data: Comparisons, median_seconds: float) -> list[tuple[str, str]]:
    facts = []
    per_judge = sorted(data.per_judge().values())
    if len(per_judge) > 1:
        middle = f"{np.median(per_judge):g}"
        facts.append(("Pairs a judge saw", f"{per_judge[0]:,} to {per_judge[-1]:,}, median {middle}"))
    kinds = {"tie": "ties", "skipped": "skipped", "unknown": "without an answer"}
    undecided = [f"{data.outcome.count(kind):,} {name}" for kind, name in kinds.items() if kind in data.outcome]
    if undecided:
        facts.append(("Not decided", ", ".join(undecided)))
    if np.isfinite(median_seconds):
        facts.append(("Median time", f"{median_seconds:.3g} seconds a comparison"))
    return facts


def _days(first: date, last: date) -> str:
    if first == last:
        return f"{first.day} {first:%B %Y}"
    return f"{first.day} {first:%B %Y} to {last.day} {last:%B %Y}"


def _how(fit: Fit, other: Fit | None) -> Section:
    believed = {
        "spatial": "areas that lie together are believed to have like risk, as far as the answers do not speak against "
        "it",
        "clusters": "areas that lie together are believed to share a level of risk, in clusters whose number is found "
        "from the answers",
        "standard": "areas tell nothing of their neighbours",
    }
    winner = fit.info["winner_is"]
    steps = [
        ("Ask", f"A judge saw two areas at a time and chose the one with the {winner} rate, again and again."),
        (
            "Count",
            "Only how often each area was chosen over each other one counts, not who chose, nor how fast.",
        ),
        (
            "Place",
            (
                "Each area gets a risk so that the larger the difference between two, the more often the riskier one "
                f"is found riskier. In this model {believed.get(fit.info['model'], fit.info['model'])}."
            ),
        ),
        (
            "Doubt",
            (
                "The computation draws many maps that all agree with the answers. What they have in common is the "
                "result; how they differ gives the intervals."
            ),
        ),
    ]
    if other is not None:
        name = clusters.NAMES.get(other.info["model"], other.info["model"])
        new = believed.get(other.info["model"], other.info["model"])
        steps.append(("Do it again", f"A second model was fitted, the {name} one. In it, {new}."))
    return Section("How it was done", points=tuple(steps))


def _methods(fit: Fit, other: Fit | None) -> Section:
    paragraphs = methods.methods(fit, other)
    return Section(
        "Methods, ready to paste",
        ("For a report or a paper: everything in it is taken from this fit.",),
        to_copy=paragraphs,
        references=methods.references(paragraphs),
    )


def _appendix(fit: Fit, about: About, other: Fit | None) -> Section:
    drawn = figures_of(fit, about, other)
    pictures = [(heading(name), draw()) for name, draw in drawn.items() if name not in (*IN_FRONT, *AT_THE_END)]
    text = "What the pages before do not show. 'judgemap report --figures' writes every figure as SVG and PDF."
    return Section("All other figures", (text,), gallery=(*pictures, *about.pictures))
