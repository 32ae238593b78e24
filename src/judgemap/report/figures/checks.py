"""Pictures of checks: whether chains agree, and whether the model could have produced the judges' answers."""

import numpy as np

from judgemap.core.samplers.diagnostics import ess_bulk, rhat
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.report.figures.fit import CHAINS
from judgemap.report.figures.picture import (
    BLUE,
    DASHED,
    FAINT,
    INK,
    MISSED,
    SMALL,
    Picture,
    drawing,
)
from judgemap.report.words.text import counted, shortened
from judgemap.study import checks
from judgemap.study.checks import PredictiveCheck
from judgemap.study.result import Fit

BINS = 20


def rank_plot(fit: Fit) -> Picture:
    """Draw how each chain's draws rank among all draws, for α and the three worst-mixing areas: flat lines are good.

    The band contains 95 % of the bins if all chains draw from the same distribution, given their effective sample
    sizes. Source: Vehtari et al. (2021).
    """
    risk = fit.posterior["risk"].to_numpy()
    chains, draws = risk.shape[:2]
    if chains < 2:
        raise StudyError("a rank plot compares chains, and this fit has only one; fit with two chains or more")
    shown = [("α", np.sqrt(fit.posterior["alpha2"].to_numpy()))] if "alpha2" in fit.posterior else []
    shown = [(name, values) for name, values in shown if np.ptp(values) > 0]
    judged = [(float(rhat(values)), float(ess_bulk(values))) for _, values in shown]
    worst = np.argsort(fit.sampling.ess_bulk, kind="stable")[:3]
    shown += [(fit.map.names[area], risk[:, :, area]) for area in worst]
    judged += [(fit.sampling.rhat[area], fit.sampling.ess_bulk[area]) for area in worst]
    expected = draws / BINS
    with drawing(24 + 76 * len(shown), rows=len(shown)) as (figure, panels):
        for axes, (name, values), (agreement, size) in zip(panels, shown, judged, strict=True):
            worth = min(size / values.size, 1.0)
            half = 1.96 * np.sqrt(expected * (1 - 1 / BINS) * (1 - 1 / chains) / max(worth, 1e-3))
            axes.axhspan(expected - half, expected + half, color=FAINT, linewidth=0, alpha=0.6)
            for chain, counts in enumerate(_rank_counts(values)):
                colour = CHAINS[chain % len(CHAINS)]
                axes.stairs(counts, np.linspace(0, 1, BINS + 1), baseline=None, color=colour, linewidth=1.0)
            axes.set_title(f"{shortened(name, 40)}: R-hat {agreement:.3f}", loc="left", fontsize=SMALL, pad=3)
            axes.set(yticks=[0, expected], yticklabels=["0", f"{expected:.0f}"], ylim=(0, None))
        panels[-1].set(xlabel="rank among all draws, as a share")
    facts = "; ".join(f"{name}: R-hat {agreement:.3f}" for (name, _), (agreement, _) in zip(shown, judged, strict=True))
    caption = (
        "Draws of each chain (one colour each) by their rank among all draws. Chains that agree stay in the grey band."
    )
    return Picture(figure, f"Rank plots of {chains} chains. {facts}.", caption)


def predictive_check(fit: Fit, check: PredictiveCheck | None = None) -> Picture:
    """Draw each area's observed win rate against the one the fit predicts, with 95 % intervals.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> predictive_check(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)).caption[:57]
    'Share of its comparisons that each area won, against what'
    """
    measured = check or checks.predictive_check(fit, seed=1)
    table = measured.areas[measured.areas["comparisons"] > 0]
    observed, expected = table["observed"].to_numpy(), table["expected"].to_numpy()
    low, high = table["low"].to_numpy(), table["high"].to_numpy()
    outside = (observed < low) | (observed > high)
    with drawing(300) as (figure, [axes]):
        axes.plot([0, 1], [0, 1], **DASHED)
        for members, colour, mark in ((~outside, BLUE, "o"), (outside, MISSED, "D")):
            axes.vlines(observed[members], low[members], high[members], color=colour, linewidth=1.0, alpha=0.5)
            axes.plot(observed[members], expected[members], mark, color=colour, markersize=4)
        axes.set(xlabel="observed win rate", ylabel="the model's, with 95 % interval", xlim=(-0.03, 1.03))
    where = f"{int(outside.sum()):,} of {len(table):,} areas lie outside their interval"
    p = "; ".join(f"{row['words']}: p = {row['p']:.2f}" for row in measured.checks.to_dict("records"))
    caption = f"Share of its comparisons that each area won, against what the fit predicts. {where.capitalize()}."
    alt = f"Scatter of the model's against the observed win rate of {counted(len(table), 'area')}. {where}. {p}."
    return Picture(figure, alt, caption)


def check_intervals(check: PredictiveCheck) -> Picture:
    """Draw each measure of a predictive check: its range over the replicates, and its value in the judges' answers."""
    rows = check.checks.to_dict("records")
    with drawing(30 + 42 * len(rows)) as (figure, [axes]):
        for place, row in enumerate(reversed(rows)):
            half = max(row["high"] - row["expected"], row["expected"] - row["low"], 1e-9)
            low, high, seen = ((row[name] - row["expected"]) / half for name in ("low", "high", "observed"))
            colour = MISSED if row["name"] in check.misfits else INK
            axes.hlines(place, low, high, color=BLUE, linewidth=5, alpha=0.35)
            axes.plot(float(np.clip(seen, -4, 4)), place, "D", color=colour, markersize=6)
            axes.annotate(f"p = {row['p']:.3f}", (4.2, place), va="center", annotation_clip=False)
        axes.set_yticks(range(len(rows)), [row["name"] for row in reversed(rows)])
        axes.set(xlim=(-4.1, 4.1), ylim=(-0.6, len(rows) - 0.4), xticks=[0], xticklabels=["as the model expects"])
        axes.tick_params(axis="y", length=0)
    summary = "; ".join(f"{row['words']}: {row['observed']:.0f}, expected {row['expected']:.0f}" for row in rows)
    return Picture(figure, f"Predictive check by {len(rows)} measures. {summary}.", check.note)


def _rank_counts(values: FloatArray) -> FloatArray:
    """Count each chain's draws by bins of their rank among all draws; the shape is (chains, bins)."""
    rank = np.argsort(np.argsort(values.ravel(), kind="stable"), kind="stable").reshape(values.shape)
    place = rank * BINS // values.size
    return np.array([np.bincount(chain, minlength=BINS) for chain in place], dtype=np.float64)
