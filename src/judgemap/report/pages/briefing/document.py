"""The briefing as one page: a front that stands on its own, then the details behind it, with diagnostics last."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from judgemap.core.samplers.diagnostics import GOOD_ESS, GOOD_RHAT
from judgemap.errors import StudyError
from judgemap.report.figures.fit import NAMED, against_figure
from judgemap.report.figures.picture import Picture
from judgemap.report.pages import finish
from judgemap.report.pages.briefing import front, methods
from judgemap.report.pages.briefing.about import HEADINGS, THIS, About, Gallery
from judgemap.report.pages.page import Section, render
from judgemap.report.words import tables
from judgemap.report.words.tables import Table
from judgemap.report.words.text import MODELS, capital, counted, isolated, listed
from judgemap.study.assess.beside import ByRegion, Grouping, follows, results_by
from judgemap.study.assess.comparing import compare_fits
from judgemap.study.assess.findings import NOT_CAUSE
from judgemap.study.assess.verdict import Grade
from judgemap.study.data.comparisons import Comparisons, Outcome
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import SAMPLER_NAMES

FOOT = (
    "Read the map as a ranking, with intervals: it is not a count of cases and says nothing about any individual. "
    "The next page explains how to read it; the annex shows how it was made."
)
IN_NUMBERS = "The same areas on the model's scale, where the average area is 0."


def briefing(fit: Fit, about: About | None = None, other: Fit | None = None, gallery: Gallery | None = None) -> str:
    """Return the briefing of a fit: one self-contained HTML page in plain language.

    Given ``other``, a second fit of the same areas, it covers both; ``gallery`` has figures that are drawn already.
    """
    about = about or About()
    about.check(fit, other)
    gallery = gallery or Gallery(fit, about, other)
    clustered, settled = gallery.clusters, front.settled(fit)
    regions = gallery.regions
    second = front.second_points(fit, about, other, clustered)
    made = [_who(fit, about, gallery), _how(fit, other), _methods(fit, other)]
    ends = list(_diagnostics(fit, other, gallery))
    if settled:
        unsaid = tuple(point for point in front.points(fit, about) if point not in second)
        made = [
            _how_sure(fit, gallery),
            *(_clusters(clustered, gallery) if clustered is not None else ()),
            *((_two_models(fit, other, gallery),) if other is not None else ()),
            *((_otherwise(fit, about, gallery),) if about.others else ()),
            *([_by_region(fit, regions)] if regions is not None else []),
            *(_by_group(fit, each) for each in about.groups[0 if regions is None else 1 :]),
            *(_beside(fit, column) for column in about.columns),
            made[0],
            Section("The highest risks in numbers", (IN_NUMBERS,), table=tables.highest_risk(fit)),
            Section("What else the map cannot say", points=unsaid),
            *made[1:],
        ]
        shown = [gallery["risk"], *(picture for each in (*made, *ends) for picture in each.pictures)]
        made.append(_appendix(about, gallery, shown))
    return render(
        "briefing.html",
        title=about.title.strip() or "Risk by area",
        question=about.question.strip(),
        byline=finish.byline(about.words, about.made),
        verdict=front.verdict(fit, about),
        warning=front.warning(other),
        notice=about.notice,
        settled=settled,
        ready=fit.verdict.grade is not Grade.NO,
        sentences=front.sentences(fit, other, about.left_out, regions),
        numbers=front.numbers(fit),
        picture=gallery["risk"],
        table=(tables.highest_in_words(fit) if regions is None else tables.highest_regions(fit, regions))
        if settled
        else None,
        foot=f"{fit.record.view.words} {FOOT}",
        second=second,
        next_steps=finish.next_steps(about.words),
        sections=[*made, *ends],
    )


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


def _clusters(fit: ClusterFit, gallery: Gallery) -> tuple[Section, Section]:
    doubtful = [fit.map.names[each.area] for each in fit.best.between]
    between = (
        f" {capital(counted(len(doubtful), 'area'))} could belong to another cluster (probability 20 % or more): "
        f"{listed(doubtful)}."
    )
    text = (
        "Neighbouring areas of similar risk form a cluster. The map shows the grouping that best represents all those "
        "the answers allow: a way to read the map, not borders on the ground."
    )
    table = replace(tables.cluster_table(fit), caption="The clusters shown, the highest risk first")
    beside = (("Risk in each cluster", gallery["violins"]), ("Number of clusters", gallery["number-of-clusters"]))
    return (
        Section("Clusters of areas", (text + between if doubtful else text,), picture=gallery["clusters"], table=table),
        Section("Risk by cluster, and the number of clusters", gallery=beside),
    )


def _two_models(fit: Fit, other: Fit, gallery: Gallery) -> Section:
    names = [MODELS[each.record.model][0] for each in (fit, other)]
    text = f"Each area's risk under the {names[0]} and the {names[1]} model: on the line, the two agree."
    same = fit.record.data.sha256 == other.record.data.sha256
    different = ("The two fits use different comparisons, so both the model and the data differ.",)
    return Section("Comparing the two models", (text,), picture=gallery["models"], remarks=() if same else different)


def _otherwise(fit: Fit, about: About, gallery: Gallery) -> Section:
    changes = [f"{capital(name)}: {compare_fits(fit, other).words}" for name, other in about.others.items()]
    pictures = (("Estimates, area by area", gallery["sensitivity"]), ("The maps", gallery["sensitivity-maps"]))
    table = tables.correlations({THIS: fit, **about.others})
    return Section("What if it had been done differently?", tuple(changes), table=table, gallery=pictures)


def sections_beside(fit: Fit, groups: Sequence[Grouping], columns: Sequence[str]) -> str:
    """Return what a briefing shows by group and beside figures, as HTML to insert into one that is made already."""
    sections = [*(_by_group(fit, each) for each in groups), *(_beside(fit, column) for column in columns)]
    return render("sections.html", sections=sections)


def _by_group(fit: Fit, by: Grouping) -> Section:
    return _grouped(by, tables.by_group(by, results_by(fit, by)))


def _by_region(fit: Fit, regions: ByRegion) -> Section:
    """Show every region with its highest areas, or the first hundreds."""
    table = tables.with_highest(fit, regions)
    more = len(regions.table) - len(table.rows)
    said = f" {capital(counted(more, 'group'))} more are in what 'judgemap export --by' writes." if more else ""
    return _grouped(regions.by, table, said)


def _grouped(by: Grouping, table: Table, more: str = "") -> Section:
    text = (
        f"The areas of each {by.name} taken together, {by.weighted_words}. A group can lie near the average and still "
        f"have areas of high risk.{more}"
    )
    return Section(f"Results by {by.name}", (text,), table=table, remarks=by.notes)


def _beside(fit: Fit, column: str) -> Section:
    if fit.map.figures is None:
        raise StudyError(f"this fit has no figures to hold it against {column!r}; fit again with --figures")
    told = follows(fit, fit.map.figures, column)
    out = tuple(each.words(column) for each in told.out[:NAMED])
    picture = against_figure(fit, column, told)
    return Section(f"Beside {column}", (told.sentence, *out, NOT_CAUSE), picture=picture)


def _who(fit: Fit, about: About, gallery: Gallery) -> Section:
    data = fit.record.data
    facts = [
        ("Judges", f"{data.judges:,}" if data.judges else "not known"),
        ("Comparisons", f"{data.used:,} used, of {data.shown:,} pairs shown"),
        ("Distinct pairs", f"{data.pairs:,} of {data.areas * (data.areas - 1) // 2:,} possible"),
    ]
    if about.data is not None:
        facts += _answers(about.data)
    if about.left_out:
        facts.append(("Left out", f"all answers from {counted(about.left_out, 'other judge')}"))
    if about.first and about.last:
        days = [f"{day.day} {day:%B %Y}" for day in (about.first, about.last)]
        facts.append(("When", " to ".join(dict.fromkeys(days))))
    text = (
        f"{capital(counted(data.judges, 'judge'))} answered. This briefing gives their number but no names."
        if data.judges
        else "The data do not record who answered or how many judges there were."
    )
    timed = gallery["times"] if "times" in gallery.names else None
    return Section("Who was asked", (text,), picture=timed, facts=tuple(facts))


def _answers(data: Comparisons) -> list[tuple[str, str]]:
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
    if np.isfinite(data.seconds).any():
        facts.append(("Median time", f"{np.nanmedian(data.seconds):.3g} seconds per comparison"))
    return facts


def _how(fit: Fit, other: Fit | None) -> Section:
    winner = fit.record.winner_is
    steps = [
        ("Ask", f"Each judge saw two areas at a time and chose the one with the {winner} rate, many times over."),
        ("Count", "What counts is how often each area was chosen over each other area, not who chose it or how fast."),
        (
            "Place",
            (
                "Each area is given a risk: the larger the difference between two, the more often the riskier one is "
                f"judged riskier. In this model, {MODELS[fit.record.model][1]}."
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
        name, new = MODELS[other.record.model]
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


def _appendix(about: About, gallery: Gallery, shown: list[Picture]) -> Section:
    """Return the figures that no other section shows, but for those that name judges, which no briefing does."""
    names = [name for name in gallery.names if not name.startswith("judges-")]
    others = [(HEADINGS[name], gallery[name]) for name in names if gallery[name] not in shown]
    text = "Figures not shown above. 'judgemap report --pictures' writes every figure as SVG and PDF."
    return Section("All other figures", (text,), gallery=(*others, *about.pictures))


def _diagnostics(fit: Fit, other: Fit | None, gallery: Gallery) -> Iterator[Section]:
    """Yield the last sections of a briefing, for one fit or two; a note that both share is printed once."""
    fits = {"traces": fit}
    if other is not None:
        fits["cluster-traces" if gallery.clusters is other else "traces-2"] = other
    told: set[str] = set()
    for traces, each in fits.items():
        of = f": the {MODELS[each.record.model][0]} model" if other is not None else ""
        new = tuple(note for note in front.notes(each) if note not in told)
        told.update(new)
        yield Section(f"Diagnostics{of}", (_sampling(each),), picture=gallery[traces])
        yield Section(f"The record of the fit{of}", facts=_record(each), remarks=new)


def _sampling(fit: Fit) -> str:
    """Say whether the draws can be relied on."""
    checks = fit.record.diagnostics
    if fit.warnings:
        return "The sampling checks found a problem: " + " ".join(fit.warnings)
    chains = counted(fit.posterior.sizes["chain"], "chain")
    return (
        f"The sampling checks found no problem: {chains} from different starting points agree (largest R-hat "
        f"{checks.rhat_max:.3f}; it should be at most {GOOD_RHAT}), and the effective sample size is at least "
        f"{checks.ess_bulk_min:,.0f}, for {checks.ess_bulk_min_of} ({GOOD_ESS} is needed)."
    )


def _record(fit: Fit) -> tuple[tuple[str, str], ...]:
    record, sizes = fit.record, fit.posterior.sizes
    given = ", ".join(f"{name} {value}" for name, value in record.assumed.items() if name != "affinity")
    return (
        ("Model", f"{record.made_by} In this model, {MODELS[record.model][1]}."),
        ("Prior", f"{record.prior}; {given}"),
        ("Risk", record.risk),
        ("Sampler", SAMPLER_NAMES[record.sampler]),
        ("Draws", f"{sizes['chain']} chains of {sizes['draw']:,} draws, after {record.plan.warmup:,} warm-up draws"),
        ("Seed", str(record.seed)),
        ("Time", f"{record.seconds:.2f} seconds"),
        ("Software", ", ".join(f"{name} {version}" for name, version in record.versions.items())),
        ("Data", f"SHA-256 {record.data.sha256}"),
    )
