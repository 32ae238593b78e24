"""Pictures of the judges: times, sides, mean squares, and agreement with the others."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from judgemap.errors import StudyError
from judgemap.report.figures.picture import BLUE, DASHED, INK, MISSED, SMALL, Picture, draw_rows, drawing
from judgemap.report.words.text import listed
from judgemap.study.assess.judges import time_histogram, unlike_the_others
from judgemap.study.data.comparisons import Comparisons

MOST, MOST_TIMES = 40, 12
"""How many judges one picture shows, those with the most answers; and how many one of their times."""


def times_by_judge(data: Comparisons) -> Picture:
    """Draw a histogram of comparison times for each judge, those with the most comparisons first."""
    times = time_histogram(data)
    totals = times.counts.sum(axis=1)
    chosen = [place for place in np.argsort(-totals, kind="stable")[:MOST_TIMES] if totals[place]]
    rows = -(-len(chosen) // 3)
    medians = data.to_frame().groupby("judge")["seconds"].median().to_dict()
    with drawing(30 + 72 * rows, rows=rows, columns=3) as (figure, panels):
        for axes, place in zip(panels, chosen, strict=False):
            axes.stairs(times.counts[place], times.edges, fill=True, color=BLUE, alpha=0.75)
            name = times.judges[place]
            axes.set_title(f"{name}: {totals[place]}, {medians[name]:.1f} s", fontsize=SMALL, loc="left", pad=3)
            axes.axvline(min(medians[name], times.edges[-1]), **{**DASHED, "color": INK, "linewidth": 1.0, "zorder": 2})
            axes.set(yticks=[], xlim=(0, times.edges[-1]))
            axes.spines["left"].set_visible(False)
        for axes in panels[len(chosen) :]:
            axes.set_axis_off()
        for axes in panels[max(len(chosen) - 3, 0) : len(chosen)]:
            axes.set_xlabel("seconds")
    summary = ", ".join(f"{times.judges[place]} {medians[times.judges[place]]:.1f} s" for place in chosen)
    some = "" if len(chosen) == len(totals) else f" The {len(chosen)} with the most of {len(totals):,} judges."
    caption = f"Times of each judge: name, number of comparisons, and median (dashed).{some}"
    return Picture(figure, f"Histograms of the times of {len(chosen)} judges. Medians: {summary}.", caption)


def left_shares(table: pd.DataFrame) -> Picture:
    """Draw every judge's share of left choices with its 95 % interval; ``table`` comes from `jm.judge_table`."""
    shown = _most(table[table["left_share"].notna()])
    if not len(shown):
        raise StudyError("sides were not recorded (no answer is 'right'), so there is no share of left choices to draw")
    off = (shown["left_low"] > 0.5) | (shown["left_high"] < 0.5)
    with drawing(50 + 15 * len(shown)) as (figure, [axes]):
        draw_rows(axes, shown["judge"].tolist(), *shown[["left_share", "left_low", "left_high"]].to_numpy().T, odd=off)
        axes.axvline(0.5, **DASHED)
        axes.set(xlabel="share of left choices, with 95 % interval", xlim=(-0.02, 1.02))
    names = listed(shown["judge"][off].tolist())
    summary = f"The intervals of {names} do not contain one half" if names else "All intervals contain one half"
    caption = f"{summary}; by chance alone, one judge in twenty would miss it."
    return Picture(figure, f"Share of left choices of {len(shown):,} judges. {summary}.", caption)


def mean_squares(table: pd.DataFrame) -> Picture:
    """Draw infit against outfit, one point per judge, on logarithmic axes; judges with unusual infit are named."""
    shown = table[table["infit"].notna() & (table["decided"] > 0)]
    if not len(shown):
        raise StudyError("there is only one judge, so the answers cannot be compared with others")
    infit, outfit = (np.clip(shown[name].to_numpy(), 0.1, 30.0) for name in ("infit", "outfit"))
    odd = unlike_the_others(shown).to_numpy()
    size = np.clip(2 * np.sqrt(shown["decided"].to_numpy()), 4, 14)
    with drawing(270) as (figure, [axes]):
        for line in (axes.axvline, axes.axhline):
            line(1, **DASHED)
        for members, colour in ((~odd, BLUE), (odd, MISSED)):
            axes.scatter(infit[members], outfit[members], s=size[members] ** 2, color=colour, alpha=0.6, linewidth=0)
        for place in np.flatnonzero(odd):
            name = str(shown["judge"].iloc[place])
            axes.annotate(name, (infit[place], outfit[place]), (6, 2), textcoords="offset points")
        _log_axes(axes)
        axes.set(xlabel="infit", ylabel="outfit")
    names = listed(shown["judge"][odd].tolist())
    summary = f"{names} answered further from the others than chance explains" if names else "No judge stands out"
    caption = f"{summary}. 1 is what the other judges' answers lead us to expect; larger points mean more answers."
    return Picture(figure, f"Infit and outfit of {len(shown):,} judges against the others. {summary}.", caption)


def agreement(table: pd.DataFrame) -> Picture:
    """Draw each judge's agreement with the other judges' fit, with its 95 % interval, and the agreement expected."""
    shown = _most(table[table["agreement"].notna()])
    if not len(shown):
        raise StudyError("there is only one judge, so agreement with others cannot be drawn")
    below = shown["agreement_high"] < shown["agreement_expected"]
    with drawing(50 + 15 * len(shown)) as (figure, [axes]):
        ends = shown[["agreement", "agreement_low", "agreement_high"]].to_numpy().T
        draw_rows(axes, shown["judge"].tolist(), *ends, odd=below)
        rows = np.arange(len(shown), 0, -1)
        axes.plot(shown["agreement_expected"], rows, "|", color=INK, markersize=10, markeredgewidth=1.5)
        axes.set(xlabel="share of answers that match the other judges", xlim=(-0.02, 1.02))
    names = listed(shown["judge"][below].tolist())
    summary = f"{names} agreed less with the others than expected" if names else "All judges agreed as much as expected"
    caption = (
        f"{summary}. Points with 95 % intervals show what was observed; vertical marks show what the model expects."
    )
    return Picture(figure, f"Agreement of {len(shown):,} judges with the others. {summary}.", caption)


def _most(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the judges with the most answers, in the table's order."""
    kept = np.sort(np.argsort(-table["decided"].to_numpy(), kind="stable")[:MOST])
    return table.iloc[kept]


def _log_axes(axes: Axes) -> None:
    ticks = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0]
    axes.set(xscale="log", yscale="log")
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    axes.set(xlim=(min(left, 0.45), max(right, 2.2)), ylim=(min(bottom, 0.45), max(top, 2.2)))
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        inside = [tick for tick in ticks if low <= tick <= high]
        axis.set_ticks(inside, [f"{tick:g}" for tick in inside])
        axis.set_ticks([], minor=True)
