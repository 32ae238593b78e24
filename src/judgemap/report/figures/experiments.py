"""Tables and pictures of the simulation studies."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes

from judgemap.core.types import FloatArray
from judgemap.report.figures.picture import BLUE, DASHED, INK, Picture, drawing, name_rows
from judgemap.report.words.tables import Cell, Heading, Table, columns
from judgemap.report.words.text import DESIGNS, measured
from judgemap.study.simulations.robustness import words_of
from judgemap.study.simulations.runner import Results, Row

SAMPLERS = {
    "gibbs": "Pólya-Gamma Gibbs (the paper's)",
    "single-site": "single site",
    "block-walk": "block random walk",
    "hmc": "split HMC (ours)",
    "caron-doucet": "Caron and Doucet's, gamma priors",
}
MARKS = {"o": "circles", "D": "diamonds", "s": "squares", "^": "triangles", "v": "arrowheads", "P": "crosses"}
"""The marks of fits in the picture of robustness, and what to call them."""
MEASURES = {
    "rand": "Rand index",
    "adjusted_rand": "adjusted Rand index",
    "binder_rand": "Rand index, Binder's partition",
    "binder_adjusted_rand": "adjusted Rand index, Binder's partition",
    "absolute_error": "median absolute error of strengths",
    "true_clusters": "clusters simulated",
    "found_clusters": "clusters found",
    "p_true_clusters": "P(number simulated)",
}


def summary_table(results: Results) -> Table:
    """Return the study's table."""
    return _SHOWN[results.job.experiment.name][0](results.summary(), len(results.sets))


def summary_picture(results: Results) -> Picture:
    """Return the study's picture."""
    return _SHOWN[results.job.experiment.name][1](results.rows, results.summary())


def remarks(results: Results) -> list[str]:
    """Return what a reader of the table must know, one sentence each."""
    sentences = list(results.notes)
    for row in results.summary():
        if row.get("sets_converged", row["sets"]) < row["sets"]:
            sentences.append(
                f"{SAMPLERS[row['sampler']]}: chains agreed (R-hat of every area ≤ 1.01) in {row['sets_converged']} of "
                f"{row['sets']} sets, and the largest R-hat is {row['rhat_max']:.3f}; where chains do not agree, the "
                "effective sample size is unreliable, and usually too high."
            )
    agreed = results.summary()[0].get("sets_agreed", len(results.sets))
    if agreed < len(results.sets):
        sentences.append(
            f"Chains from different partitions agreed (R-hat < 1.05) in {agreed} of {len(results.sets)} sets; "
            "the others need longer chains."
        )
    if results.job.experiment.name == "scheduling":
        sentences.append(
            "U1 is of centred strengths. A few nearly certain pairs dominate the mean of U2; "
            "robust U2 is 1 / median Var(p)."
        )
    return sentences


def _scheduling_table(summary: Sequence[Row], sets: int) -> Table:
    u1: list[Heading] = [("U1 mean", "min–max"), ("U1 to uniform", "95 %")]
    u2: list[Heading] = ["U2 mean", "U2 median", "Robust U2 mean", ("Robust U2 to uniform", "95 %")]
    heads = columns(["Design"], [*u1, *u2])
    rows = tuple(
        (
            Cell(_design(row)),
            Cell(f"{row['u1_mean']:.4f}", f"{row['u1_min']:.4f}–{row['u1_max']:.4f}"),
            _ratio(row, "u1"),
            Cell(f"{row['u2_mean']:,.0f}"),
            Cell(f"{row['u2_median']:,.0f}"),
            Cell(f"{row['u2_robust_mean']:.1f}"),
            _ratio(row, "u2_robust"),
        )
        for row in summary
    )
    return Table(f"Utility of each design over {sets:,} sets of strengths", heads, rows)


def _design(row: Row) -> str:
    return DESIGNS[row["design"]].removesuffix(" design")


def _ratio(row: Row, measure: str) -> Cell:
    if row["design"] == "uniform":
        return Cell("1")
    low, high = row[f"{measure}_ratio_low"], row[f"{measure}_ratio_high"]
    return Cell(f"{row[f'{measure}_ratio']:.3f}", "" if np.isnan(low) else f"{low:.3f}–{high:.3f}")


def _scalability_table(summary: Sequence[Row], sets: int) -> Table:
    speeds: list[Heading] = [("ESS/s median", "min–max"), "Worst area", "log α²", "With set-up"]
    heads = columns(["Sampler"], [*speeds, "R-hat median", "Sets converged"])
    rows = tuple(
        (
            Cell(SAMPLERS[row["sampler"]]),
            Cell(
                measured(row["ess_per_second"]),
                f"{measured(row['ess_per_second_min'])}–{measured(row['ess_per_second_max'])}",
            ),
            Cell(measured(row["ess_per_second_worst_area"])),
            Cell(measured(row["ess_per_second_log_variance"])),
            Cell(measured(row["ess_per_second_with_setup"])),
            Cell(f"{row['rhat_median']:.3f}"),
            Cell(f"{row['sets_converged']} of {row['sets']}"),
        )
        for row in summary
    )
    return Table(f"Effective draws per CPU second over {sets:,} sets of strengths", heads, rows)


def _clustering_table(summary: Sequence[Row], sets: int) -> Table:
    heads = columns(["Measure"], ["Median", "Mean", "Min", "Max"])
    rows = tuple(
        (Cell(MEASURES[row["measure"]]), *(Cell(f"{row[which]:.3f}") for which in ("median", "mean", "min", "max")))
        for row in summary
    )
    return Table(f"Clusters and strengths recovered over {sets:,} sets", heads, rows)


def _scheduling_picture(rows: Sequence[Row], summary: Sequence[Row]) -> Picture:
    values = {
        name: np.array([row["u1"] for row in rows if row["design"] == name]) for name in {row["design"] for row in rows}
    }
    others = [row for row in summary if row["design"] != "uniform"]
    with drawing(60 + 50 * len(others)) as (figure, [axes]):
        for place, row in enumerate(reversed(others), start=1):
            _strip(axes, place, values[row["design"]] / values["uniform"])
            axes.plot([row["u1_ratio_low"], row["u1_ratio_high"]], [place, place], color=INK, linewidth=4, zorder=4)
            axes.plot(row["u1_ratio"], place, "D", color=INK, markersize=6, zorder=5)
        axes.axvline(1, **DASHED)
        axes.set_xscale("log")
        name_rows(axes, [_design(row) for row in others])
        _plain_ticks(axes, (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10))
        axes.set_xlabel("U1 against the uniform design, one dot per set")
    results = "; ".join(f"{_design(row)} {row['u1_ratio']:.3f}" for row in others)
    caption = "The diamond is the geometric mean, the bar its 95 % interval."
    return Picture(figure, f"Utility U1 against the uniform design: {results}.", caption)


def _scalability_picture(rows: Sequence[Row], summary: Sequence[Row]) -> Picture:
    with drawing(60 + 45 * len(SAMPLERS)) as (figure, [axes]):
        for place, row in enumerate(reversed(summary), start=1):
            of = [each for each in rows if each["sampler"] == row["sampler"]]
            _strip(axes, place, np.array([each["ess_median"] / each["seconds"] for each in of]))
            axes.plot(row["ess_per_second"], place, "D", color=INK, markersize=6, zorder=5)
        axes.set_xscale("log")
        _plain_ticks(axes, [10.0**power for power in range(-3, 8)])
        name_rows(axes, [SAMPLERS[row["sampler"]].split(" (")[0] for row in summary])
        axes.set_xlabel("effective draws per CPU second, one dot per set")
    results = "; ".join(f"{SAMPLERS[row['sampler']]} {measured(row['ess_per_second'])}" for row in summary)
    return Picture(figure, f"Effective draws per CPU second: {results}.", "The diamond is the median over the sets.")


def _clustering_picture(rows: Sequence[Row], summary: Sequence[Row]) -> Picture:
    middle = {row["measure"]: row["median"] for row in summary}
    with drawing(230, rows=2, share_x=False) as (figure, [indices, errors]):
        for axes, names in ((indices, ("adjusted_rand", "rand")), (errors, ("absolute_error",))):
            for place, name in enumerate(reversed(names), start=1):
                _strip(axes, place, np.array([row[name] for row in rows], dtype=np.float64))
                axes.plot(middle[name], place, "D", color=INK, markersize=6, zorder=5)
            name_rows(axes, [MEASURES[name].replace("median absolute error of strengths", "error") for name in names])
        indices.set_xlabel("agreement with the simulated clusters")
        errors.set_xlabel("median absolute error of the strengths")
        errors.set_xlim(left=0)
    results = "; ".join(f"{MEASURES[name]} {middle[name]:.3f}" for name in ("rand", "adjusted_rand", "absolute_error"))
    return Picture(
        figure, f"Medians over {len(rows):,} sets: {results}.", "One dot per set; the diamond is the median."
    )


def _robustness_table(summary: Sequence[Row], sets: int) -> Table:
    heads = columns(["Case", "Fit"], ["Risk", "Up to scale", "Ranks", ("r²", "claimed")])
    rows = tuple(
        (
            Cell(words_of(row["case"])),
            Cell(row["fit"]),
            *(Cell(f"{row[each]:.3f}") for each in ("risk", "scaled", "ranks")),
            Cell(f"{row['r2']:.3f}", f"{row['claimed']:.3f}"),
        )
        for row in summary
    )
    return Table(f"Coverage of 95 % intervals over {sets:,} sets", heads, rows)


def _robustness_picture(rows: Sequence[Row], summary: Sequence[Row]) -> Picture:
    cases, fits = (list(dict.fromkeys(row[column] for row in summary)) for column in ("case", "fit"))
    places = {case: place for place, case in enumerate(reversed(cases), start=1)}
    with drawing(60 + 26 * len(cases)) as (figure, [axes]):
        for fit, (marker, _) in zip(fits, MARKS.items(), strict=False):
            at = [(row["scaled"], places[row["case"]]) for row in summary if row["fit"] == fit]
            colour = "white" if fit == "paper" else INK
            axes.plot(*zip(*at, strict=True), marker, markersize=6, color=colour, markeredgecolor=INK)
        axes.axvline(0.95, **DASHED)
        name_rows(axes, cases)
        axes.set_xlabel("coverage of risk up to scale")
    results = "; ".join(f"{words_of(row['case'])}, {row['fit']} {row['scaled']:.3f}" for row in summary)
    shown = ", ".join(f"{words} {fit}" for fit, words in zip(fits, MARKS.values(), strict=False))
    caption = f"Fits: {shown}. The dashed line is the nominal level."
    return Picture(figure, f"Coverage of 95 % intervals over {len(rows) // len(summary):,} sets: {results}.", caption)


_SHOWN: dict[str, tuple[Callable[[Sequence[Row], int], Table], Callable[[Sequence[Row], Sequence[Row]], Picture]]] = {
    "scheduling": (_scheduling_table, _scheduling_picture),
    "scalability": (_scalability_table, _scalability_picture),
    "clustering": (_clustering_table, _clustering_picture),
    "robustness": (_robustness_table, _robustness_picture),
}


def _strip(axes: Axes, place: int, values: FloatArray) -> None:
    """Draw one dot per value in a row, shifted up and down so that they do not hide each other."""
    # Multiples of the golden ratio keep successive dots apart, and need no random numbers.
    turn = (np.arange(len(values)) * 0.618 % 1 - 0.5) * 0.5
    alpha = max(0.15, min(0.7, 40 / len(values)))
    axes.plot(values, place + turn, "o", color=BLUE, alpha=alpha, markersize=3.5, markeredgewidth=0, zorder=2)


def _plain_ticks(axes: Axes, ticks: Sequence[float]) -> None:
    """Mark a logarithmic axis with the ticks within its range, as plain numbers."""
    low, high = axes.get_xlim()
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_xticks(shown, [f"{tick:,.9g}" for tick in shown])
    axes.set_xlim(low, high)
    axes.minorticks_off()
