"""What a plan says: sentences, tables, pictures, and one page."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from judgemap.core.simulate.trials import Interval
from judgemap.report.figures.picture import BLUE, DASHED, FAINT, INK, QUIET, Picture, drawing
from judgemap.report.pages.page import Section, page
from judgemap.report.words.tables import Cell, Table, columns
from judgemap.report.words.text import DESIGNS, in_words
from judgemap.study.plan.planning import Needed, StudyPlan

LOOKS = {
    "uniform": (INK, "o", (0, (4, 2))),
    "naive": (QUIET, "v", (0, (1, 1.5))),
    "principal": ("#d98200", "s", "solid"),
    "optimal": ("#2f8f5b", "^", "solid"),
    "adaptive": (BLUE, "D", "solid"),
}
"""Colour, mark and line of each design: they differ in greyscale too."""

SAME = {"sd": "the same uncertainty", "rank_error": "the same rank error"}
"""The measures by which the sentences compare designs."""


def sentences(plan: StudyPlan) -> list[str]:
    """Say what the planned study gives, what more judges or answers and other designs gain, and how many are enough."""
    return [_gives(plan), *_more(plan), *_savings(plan), *_enough(plan)]


def at_planned(plan: StudyPlan) -> Table:
    """Compare the designs at the planned number of comparisons, with 95 % Monte Carlo intervals."""
    heads = columns(["Design"], ["Uncertainty (sd)", "Rank error", _found_heading(plan), "Comparisons for the same sd"])
    rows = []
    for design in plan.designs:
        cells = [Cell(design), *_cells(plan, [plan.at_planned(design, each) for each in ("sd", "rank_error", "found")])]
        middle, low, high = (_count(plan, each, "<", ">") for each in plan.needed(design, "sd")[:3])
        cells.append(Cell(f"{plan.planned:,}") if design == plan.reference else Cell(middle, f"{low}–{high}"))
        rows.append(tuple(cells))
    return Table(f"What {plan.planned:,} comparisons give, with 95 % Monte Carlo intervals", heads, tuple(rows))


def by_length(plan: StudyPlan, design: str) -> Table:
    """Compare shorter and longer studies with one design."""
    lengths = ["Comparisons", f"Judges × {plan.per_judge}"]
    heads = columns([], [*lengths, "Uncertainty (sd)", "Rank error", _found_heading(plan)])
    measures = zip(*(plan.expected(design, each) for each in ("sd", "rank_error", "found")), strict=True)
    rows = tuple(
        (Cell(f"{length:,}"), Cell(f"{length / plan.per_judge:.3g}"), *_cells(plan, each))
        for length, each in zip(plan.lengths, measures, strict=True)
    )
    return Table(f"Shorter and longer studies with the {DESIGNS[design]}", heads, rows)


def curves(plan: StudyPlan) -> Picture:
    """Draw uncertainty, rank error and worst areas found against the number of comparisons, one line per design."""
    panels = {
        "sd": "uncertainty of risk (sd)",
        "rank_error": "rank error (places)",
        "found": "chance to find the worst" if plan.top == 1 else f"found of the {in_words(plan.top)} worst",
    }
    with drawing(480, rows=len(panels)) as (figure, axes):
        for each, (measure, label) in zip(axes, panels.items(), strict=True):
            scale = plan.top if measure == "found" else 1
            for design in plan.designs:
                _line(each, plan, design, measure, scale)
            each.set_ylabel(label)
            each.axvline(plan.planned, **DASHED)
            each.grid(axis="y", color=FAINT, linewidth=0.6)
        axes[-1].set_ylim(top=plan.top)
        axes[-1].set_xlabel("comparisons")
        axes[-1].set_xticks(plan.lengths, [f"{length:,}" for length in plan.lengths])
        handles, labels = axes[0].get_legend_handles_labels()
        look = {"ncols": 4 if len(labels) <= 4 else 3, "columnspacing": 1.2, "frameon": False, "fontsize": 9}
        figure.legend(handles, labels, loc="outside upper left", **look)
    notes = "; ".join(
        f"{design}: sd {plan.at_planned(design, 'sd').middle:.2f}, rank error "
        f"{plan.at_planned(design, 'rank_error').middle:.1f}, found {_found(plan, design):.1f}"
        for design in plan.designs
    )
    alt = (
        f"Lines of uncertainty, rank error and worst areas found against {plan.lengths[0]:,} to {plan.lengths[-1]:,} "
        f"comparisons. At {plan.planned:,} — {notes}."
    )
    caption = (
        f"Means over {plan.record.simulations} simulated studies; bands are 95 % Monte Carlo intervals. All designs "
        "were tried on the same truths, so differences between lines are more certain than the bands suggest. The "
        f"dashed line marks the planned {plan.planned:,} comparisons."
    )
    return Picture(figure, alt, caption)


def plan_page(plan: StudyPlan) -> str:
    """Return the plan as one self-contained page."""
    reference = plan.reference
    best = min(plan.designs, key=lambda design: plan.at_planned(design, "sd").middle)
    record = plan.record
    found = "chance to find the worst area" if plan.top == 1 else f"of the {in_words(plan.top)} worst areas found"
    lengths = [Section("How many are enough?", tuple(_enough(plan)), table=by_length(plan, reference))]
    if best != reference:
        lengths.append(Section(f"The same with the {DESIGNS[best]}", table=by_length(plan, best)))
    facts = (
        ("Areas", f"{record.areas:,}"),
        ("True risks", record.truth),
        ("Simulated studies", f"{record.simulations} under each design, all designs on the same truths"),
        ("Judges", f"differ by {record.differ:.2g} of how far areas differ (σ/α)" if record.differ else "alike"),
        ("Analysis", f"spatial Bradley-Terry model (prior {record.prior}), in the Gaussian approximation"),
        ("Seed", str(record.seed)),
        ("Time", f"{record.seconds:.0f} seconds"),
        ("Software", ", ".join(f"{name} {version}" for name, version in record.versions.items())),
    )
    return page(
        "What to expect from this study",
        [
            Section("What the planned study gives", (_gives(plan),), picture=curves(plan), table=at_planned(plan)),
            *([Section("Which pairs to ask", tuple(_savings(plan)))] if len(plan.designs) > 1 else []),
            *lengths,
            Section(
                "How many judges, how many answers each?",
                (*_more(plan), DIFFER),
                picture=grid_picture(plan),
                table=grid_table(plan),
            ),
            Section("How this was done", (MEANT,), facts=facts, remarks=tuple(record.notes)),
        ],
        notice="These figures come from simulated studies. They are only as good as the guess at how much areas "
        "differ, and they assume that judges answer as the model says.",
        numbers=[
            (f"{plan.planned:,}", f"comparisons, {plan.judges} judges × {plan.per_judge}"),
            (f"{plan.at_planned(reference, 'sd').middle:.2f}", "uncertainty of risk (sd)"),
            (f"{plan.at_planned(reference, 'rank_error').middle:.1f}", "places out in rank, on average"),
            (f"{_found(plan, reference):.1f}", found),
        ],
    )


MEANT = (
    "Uncertainty is the posterior standard deviation of an area's risk, averaged over the areas; a difference in risk "
    "of 1 means that in about 73 of 100 comparisons the riskier area is judged riskier. Rank error is how many "
    "places, on average, an area's estimated rank is from its true one. One of the k worst areas counts as found if "
    "its estimate is among the k highest."
)


def _gives(plan: StudyPlan) -> str:
    sd, rank = (plan.at_planned(plan.reference, measure) for measure in ("sd", "rank_error"))
    return (
        f"{plan.planned:,} comparisons ({_judges(plan.judges)} × {plan.per_judge}) with the "
        f"{DESIGNS[plan.reference]} give each area's risk with a standard deviation of {sd.middle:.2f} "
        f"({sd.low:.2f}–{sd.high:.2f}), leave an area, on average, {rank.middle:.1f} ({rank.low:.1f}–{rank.high:.1f}) "
        f"places from its true rank, and {_finds(plan)}. Its correlation with {TOGETHER} is "
        f"{plan.at_planned(plan.reference, 'correlation').middle:.2f}, and judges spend {_hours(plan.hours[plan.at])}."
    )


def _finds(plan: StudyPlan) -> str:
    """Say how many of the worst areas are found on average, and in an unlucky study."""
    if plan.top == 1:
        return f"find the worst area in {100 * _found(plan, plan.reference):.0f} % of studies"
    shares = plan.curve(plan.reference, "found")[:, plan.lengths.index(plan.planned)]
    unlucky = plan.top * np.quantile(shares, 0.1, method="inverted_cdf")
    average = f"{_found(plan, plan.reference):.1f} of the {in_words(plan.top)} worst areas, on average"
    return f"find {average}; one study in ten finds {unlucky:.0f} or fewer"


def _savings(plan: StudyPlan) -> list[str]:
    """Say what each other design saves according to the simulated curves, or that no gain can be seen."""
    notes = []
    for design in plan.designs:
        if design == plan.reference:
            continue
        needed = {measure: plan.needed(design, measure) for measure in SAME}
        gains = {measure: each.gain for measure, each in needed.items()}
        name = DESIGNS[design].capitalize()
        if not any(gains.values()):
            middle, low, high = (_count(plan, each) for each in needed["sd"][:3])
            notes.append(
                f"{name}: no gain is visible in {plan.record.simulations} simulated studies; the same uncertainty "
                f"takes {middle} ({low} to {high}) comparisons."
            )
        else:
            notes.append(f"{name}: " + "; ".join(_verdict(plan, each, SAME[m]) for m, each in needed.items()) + ".")
    return notes


def _verdict(plan: StudyPlan, needed: Needed, same: str) -> str:
    count = f"{_count(plan, needed.middle)} comparisons for {same}"
    if needed.gain == 0:
        return f"{count}, a difference that may be chance"
    word = "fewer" if needed.gain > 0 else "more"
    first, second = sorted(abs(_percent(plan, each)) for each in (needed.low, needed.high))
    return f"{count}, {abs(_percent(plan, needed.middle)):.0f} % {word} ({first:.0f} to {second:.0f} %)"


def _percent(plan: StudyPlan, comparisons: float) -> float:
    """Return the percentage saved; a number outside the simulated lengths counts as the nearest of them."""
    inside = min(max(comparisons, plan.lengths[0]), plan.lengths[-1])
    return 100 * (1 - inside / plan.planned)


def _enough(plan: StudyPlan) -> list[str]:
    """Say how many comparisons find eight in ten of the worst areas."""
    if plan.top < 5:
        return []
    wanted = round(0.8 * plan.top)
    missed = 1 - wanted / plan.top
    takes = [f"{_count(plan, plan.enough(each, 'missed', missed))} ({each})" for each in plan.designs]
    these = f"{in_words(wanted)} of the {in_words(plan.top)} worst areas"
    return [f"To find {these} on average takes {', '.join(takes)} comparisons."]


def _count(plan: StudyPlan, comparisons: float, fewer: str = "fewer than ", more: str = "more than ") -> str:
    if comparisons == 0:
        return f"{fewer}{plan.lengths[0]:,}"
    return f"{more}{plan.lengths[-1]:,}" if np.isinf(comparisons) else f"{comparisons:,.0f}"


def _cells(plan: StudyPlan, measures: Sequence[Interval]) -> list[Cell]:
    sd, rank, top = measures
    shown = ((sd, 2), (rank, 1), (Interval(*(plan.top * each for each in top)), 1))
    return [Cell(f"{each.middle:,.{n}f}", f"{each.low:,.{n}f}–{each.high:,.{n}f}") for each, n in shown]


def _found(plan: StudyPlan, design: str) -> float:
    return plan.top * plan.at_planned(design, "found").middle


def _found_heading(plan: StudyPlan) -> str:
    return "Worst found" if plan.top == 1 else f"Worst {in_words(plan.top)} found"


def _line(axes: Axes, plan: StudyPlan, design: str, measure: str, scale: float) -> None:
    colour, mark, line = LOOKS[design]
    middle, low, high = scale * np.array(plan.expected(design, measure)).T
    axes.fill_between(plan.lengths, low, high, color=colour, alpha=0.12, linewidth=0)
    axes.plot(
        plan.lengths, middle, color=colour, marker=mark, linestyle=line, markersize=4, linewidth=1.4, label=design
    )


TOGETHER = "what all such judges together would say"
DIFFER = (
    "Judges are treated as a sample of the people whose view the map should show, each with their own view. The "
    "uncertainty shown is of their common view, and it stays above zero however many answers the same judges give. "
    "Correlation is over the areas, with what all such judges together would say. Hours are the judges' time."
)


def _more(plan: StudyPlan) -> list[str]:
    """Say what doubling the judges or their answers gains."""
    (row, column), sd = plan.at, plan.over_grid("sd")
    how = f"differ by {plan.record.differ:.2g} of how far areas differ" if plan.record.differ else "are alike"
    doubled = (
        f"If judges {how}, twice the answers of the same judges give {sd[row + 1, column]:.2f}; twice the judges "
        f"{sd[row, column + 1]:.2f}; the same judges, however many answers they give, {sd[-1, column]:.2f}."
    )
    return [doubled, _where_it_ends(plan)]


def grid_table(plan: StudyPlan) -> Table:
    """Tabulate uncertainty, correlation and the judges' hours by the number of judges and answers each."""
    heads = columns([], ["Answers each", *(_judges(number) for number in plan.panels)])
    sd, correlation = plan.over_grid("sd"), plan.over_grid("correlation")
    rows = [
        (
            Cell(f"{answers:,}"),
            *(Cell(f"{each:.2f}", f"{r:.2f}; {_hours(h)}") for each, r, h in zip(of_sd, of_r, of_hours, strict=True)),
        )
        for answers, of_sd, of_r, of_hours in zip(plan.answers, sd, correlation, plan.hours, strict=False)
    ]
    endless = zip(sd[-1], correlation[-1], strict=True)
    rows.append((Cell("no limit"), *(Cell(f"{each:.2f}", f"{r:.2f}") for each, r in endless)))
    caption = f"Uncertainty (sd) of the population's map, with its correlation with {TOGETHER}, and judges' hours"
    return Table(caption, heads, tuple(rows))


def grid_picture(plan: StudyPlan) -> Picture:
    """Draw uncertainty as contours over judges and answers each, and as lines against answers each."""
    sd, (row, column) = plan.over_grid("sd"), plan.at
    with drawing(470, rows=2, share_x=False) as (figure, [grid, lines]):
        filled = grid.contourf(plan.panels, plan.answers, sd[:-1], levels=9, cmap="PuBu")
        grid.plot(plan.judges, plan.per_judge, "D", color=INK, markersize=6)
        grid.set_yscale("log")
        grid.set_ylabel("answers each")
        grid.set_xlabel("judges")
        figure.colorbar(filled, ax=grid, label="uncertainty (sd)")
        shades = np.linspace(0.35, 1.0, len(plan.panels))
        for place, (n_judges, shade) in enumerate(zip(plan.panels, shades, strict=True)):
            lines.plot(plan.answers, sd[:-1, place], "o-", color=BLUE, alpha=shade, markersize=4, linewidth=1.4)
            lines.axhline(sd[-1, place], **DASHED)
            lines.annotate(f"{n_judges}", (plan.answers[-1], sd[-2, place]), (5, -3), textcoords="offset points")
        lines.set_ylim(bottom=0)
        lines.set_ylabel("uncertainty (sd)")
        lines.set_xlabel("answers each; a line for each number of judges")
        lines.grid(axis="y", color=FAINT, linewidth=0.6)
        for axes, axis, ticks in ((grid, "x", plan.panels), (grid, "y", plan.answers), (lines, "x", plan.answers)):
            getattr(axes, f"set_{axis}scale")("log")
            getattr(axes, f"set_{axis}ticks")(ticks, [f"{tick:,}" for tick in ticks])
            axes.minorticks_off()
    alt = (
        f"Lines of uncertainty of the population’s map against {plan.answers[0]:,} to {plan.answers[-1]:,} answers "
        f"of each of {plan.panels[0]:,} to {plan.panels[-1]:,} judges. {_judges(plan.judges)} × {plan.per_judge:,}: "
        f"{sd[row, column]:.2f}; twice the answers {sd[row + 1, column]:.2f}, twice the judges "
        f"{sd[row, column + 1]:.2f}."
    )
    caption = (
        "Darker is less certain; the diamond is the planned study. Below, each line falls towards a dashed one: the "
        "best that this many judges can do, however many answers they give."
    )
    return Picture(figure, alt, caption)


def _judges(number: int) -> str:
    return f"{number:,} {'judge' if number == 1 else 'judges'}"


def _where_it_ends(plan: StudyPlan) -> str:
    from_here = plan.helps_little
    if from_here == 0:
        return (
            f"With {plan.answers[0]:,} answers each or fewer, doubling them lowers the uncertainty by less than a "
            "tenth: ask more judges."
        )
    if np.isinf(from_here):
        return (
            f"Up to {plan.answers[-2]:,} answers each, doubling them still lowers the uncertainty by a tenth or "
            "more; more judges lower it further."
        )
    return (
        f"From about {from_here:.0f} answers each, doubling them lowers the uncertainty by less than a tenth: ask "
        "more judges, not more of each judge."
    )


def _hours(hours: float) -> str:
    return f"{60 * hours:.0f} min" if hours < 1 else f"{hours:.1f} h" if hours < 10 else f"{hours:,.0f} h"
