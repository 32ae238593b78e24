"""What a plan says about judges who differ: sentences, a table, and a picture of precision by numbers of both."""

import numpy as np

from judgemap.report.figures.picture import (
    BLUE,
    DASHED,
    FAINT,
    INK,
    Picture,
    drawing,
)
from judgemap.report.pages.page import Section
from judgemap.report.words.tables import Cell, Table, columns
from judgemap.report.words.text import counted
from judgemap.study.judge_planning import JudgePlan

MEANT = (
    "Judges are treated as a sample of the people whose view the map should show, each with their own view. The "
    "uncertainty shown is of their common view, and it stays above zero however many answers the same judges give. "
    "Correlation is between estimated and true risk over the areas. Hours are the judges' time spent answering."
)


def judge_sentences(plan: JudgePlan) -> list[str]:
    """Say what the planned study tells us about the population, and what doubling its judges or answers gains."""
    judges, answers = plan.planned
    row, column = plan.at(judges, answers)
    sd, endless = plan.sd[row, column], plan.sd[-1, column]
    give = "gives" if judges == 1 else "each give"
    first = (
        f"If judges differ from each other by {plan.differ:.2g} of how far areas differ, {counted(judges, 'judge')} "
        f"with {answers:,} answers {give} the population's map with a standard deviation of {sd:.2f}, a correlation "
        f"of {plan.correlation[row, column]:.2f} with the truth, in {_hours(plan.hours[row, column])}."
    )
    doubled = (
        f"Twice the answers of the same judges: {plan.sd[row + 1, column]:.2f}; twice the judges: "
        f"{plan.sd[row, column + 1]:.2f}; the same judges, however many answers they give: {endless:.2f}."
    )
    return [first, doubled, _where_it_ends(plan, judges)]


def judge_table(plan: JudgePlan) -> Table:
    """Tabulate uncertainty, correlation and the judges' hours by the number of judges and answers each."""
    heads = columns([], ["Answers each", *(_judges(number) for number in plan.judges)])
    rows = [
        (
            Cell(f"{answers:,}"),
            *(Cell(f"{sd:.2f}", f"{r:.2f}; {_hours(h)}") for sd, r, h in zip(of_sd, of_r, of_hours, strict=True)),
        )
        for answers, of_sd, of_r, of_hours in zip(plan.per_judge, plan.sd, plan.correlation, plan.hours, strict=False)
    ]
    endless = zip(plan.sd[-1], plan.correlation[-1], strict=True)
    rows.append((Cell("no limit"), *(Cell(f"{sd:.2f}", f"{r:.2f}") for sd, r in endless)))
    caption = "Uncertainty (sd) of the population's map, with its correlation with the truth and judges' hours"
    return Table(caption, heads, tuple(rows))


def judge_picture(plan: JudgePlan) -> Picture:
    """Draw uncertainty as contours over judges and answers each, and as lines against answers each.

    >>> import judgemap as jm
    >>> picture = judge_picture(jm.plan_judges(jm.chicago(), 8, 40, seed=1, simulations=2))
    >>> picture.alt[:51]
    'Lines of uncertainty of the population’s map agains'
    """
    judges, answers = plan.planned
    with drawing(470, rows=2, share_x=False) as (figure, [grid, lines]):
        filled = grid.contourf(plan.judges, plan.per_judge, plan.sd[:-1], levels=9, cmap="PuBu")
        grid.plot(judges, answers, "D", color=INK, markersize=6)
        grid.set_yscale("log")
        grid.set_ylabel("answers each")
        grid.set_xlabel("judges")
        figure.colorbar(filled, ax=grid, label="uncertainty (sd)")
        shades = np.linspace(0.35, 1.0, len(plan.judges))
        for column, (n_judges, shade) in enumerate(zip(plan.judges, shades, strict=True)):
            lines.plot(plan.per_judge, plan.sd[:-1, column], "o-", color=BLUE, alpha=shade, markersize=4, linewidth=1.4)
            lines.axhline(plan.sd[-1, column], **DASHED)
            lines.annotate(
                f"{n_judges}", (plan.per_judge[-1], plan.sd[-2, column]), (5, -3), textcoords="offset points"
            )
        lines.set_ylim(bottom=0)
        lines.set_ylabel("uncertainty (sd)")
        lines.set_xlabel("answers each; a line for each number of judges")
        lines.grid(axis="y", color=FAINT, linewidth=0.6)
        for axes, axis, ticks in (
            (grid, "x", plan.judges),
            (grid, "y", plan.per_judge),
            (lines, "x", plan.per_judge),
        ):
            getattr(axes, f"set_{axis}scale")("log")
            getattr(axes, f"set_{axis}ticks")(ticks, [f"{tick:,}" for tick in ticks])
            axes.minorticks_off()
    row, column = plan.at(judges, answers)
    alt = (
        f"Lines of uncertainty of the population’s map against {plan.per_judge[0]:,} to {plan.per_judge[-1]:,} answers "
        f"of each of {plan.judges[0]:,} to {plan.judges[-1]:,} judges. {_judges(judges)} × {answers:,}: "
        f"{plan.sd[row, column]:.2f}; twice the answers {plan.sd[row + 1, column]:.2f}, twice the judges "
        f"{plan.sd[row, column + 1]:.2f}."
    )
    caption = (
        "Darker is less certain; the diamond is the planned study. Below, each line falls towards a dashed one: the "
        "best that this many judges can do, however many answers they give."
    )
    return Picture(figure, alt, caption)


def judge_section(plan: JudgePlan) -> Section:
    """Return all of this under one heading, for the plan's page."""
    return Section(
        "How many judges, how many answers each?",
        (*judge_sentences(plan), MEANT),
        picture=judge_picture(plan),
        table=judge_table(plan),
    )


def _judges(number: int) -> str:
    return f"{number:,} {'judge' if number == 1 else 'judges'}"


def _where_it_ends(plan: JudgePlan, judges: int) -> str:
    from_here = plan.helps_little(judges)
    if from_here == 0:
        return (
            f"With {plan.per_judge[0]:,} answers each or fewer, doubling them lowers the uncertainty by less than a "
            "tenth: ask more judges."
        )
    if np.isinf(from_here):
        return (
            f"Up to {plan.per_judge[-2]:,} answers each, doubling them still lowers the uncertainty by a tenth or "
            "more; more judges lower it further."
        )
    return (
        f"From about {from_here:.0f} answers each, doubling them lowers the uncertainty by less than a tenth: ask "
        "more judges, not more of each judge."
    )


def _hours(hours: float) -> str:
    return f"{60 * hours:.0f} min" if hours < 1 else f"{hours:.1f} h" if hours < 10 else f"{hours:,.0f} h"
