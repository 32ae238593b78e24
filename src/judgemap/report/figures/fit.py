"""Figures of a fit: intervals, the posterior of α, traces, and the truth if it is known."""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from judgemap.core.assess.reliability import pearson, spearman
from judgemap.core.samplers.diagnostics import GOOD_ESS, GOOD_RHAT, ess_bulk, rhat
from judgemap.core.types import BoolArray, FloatArray
from judgemap.errors import StudyError
from judgemap.report.figures.colours import Diverging
from judgemap.report.figures.maps import drawn_how, ground, kind_of
from judgemap.report.figures.picture import (
    BLUE,
    DASHED,
    FAINT,
    INK,
    SMALL,
    WIDTH,
    Picture,
    draw_against,
    draw_diagonal,
    draw_keys,
    draw_rows,
    drawing,
    mark_points,
)
from judgemap.report.words.text import capital, counted, listed, number, shortened
from judgemap.study.assess import checks
from judgemap.study.assess.beside import Follows
from judgemap.study.assess.checks import PredictiveCheck
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.result import Fit, check_fits

CHAINS = (BLUE, "#d98200", "#2f8f5b", "#a03a7d", "#6b6f1d", "#56a8d8", "#8a4b2a", "#6a6f7a")
TRACED = 250
"""How many draws of a chain a trace shows: more would look the same and make the file large."""
NAMED = 6
"""How many areas that stand out from a figure are named."""
WORST, BINS = 3, 20
"""How many of the worst-mixing areas are shown, and in how many bins their ranks are counted."""


class Recovery(NamedTuple):
    """How close a fit comes to a known truth.

    `correlation` is Pearson's, between posterior medians and true risk; `covered` marks the 95 % intervals that contain
    the truth.
    """

    correlation: float
    covered: BoolArray


def recovery(fit: Fit, true_risk: ArrayLike) -> Recovery:
    """Compare a fit with the risk that its data were simulated from; only differences in risk count."""
    truth = _centred(fit, true_risk)
    low, middle, high = fit.areas[["risk_low", "risk_median", "risk_high"]].to_numpy().T
    return Recovery(pearson(middle, truth), (low <= truth) & (truth <= high))


def truth_against_estimate(fit: Fit, true_risk: ArrayLike) -> Picture:
    """Draw each area's estimate with its 95 % interval against the risk that its data were simulated from."""
    truth, recovered = _centred(fit, true_risk), recovery(fit, true_risk)
    low, middle, high = fit.areas[["risk_low", "risk_median", "risk_high"]].to_numpy().T
    with drawing(300) as (figure, [axes]):
        draw_diagonal(axes, low, truth, high)
        labels = ("interval contains the truth", "interval misses it")
        mark_points(axes, truth, middle, ~recovered.covered, intervals=(low, high), labels=labels)
        axes.set(xlabel="true risk", ylabel="estimated risk, with 95 % interval")
        axes.legend(loc="upper left", frameon=False, fontsize=SMALL, handletextpad=0.2, borderaxespad=0)
    inside = int(recovered.covered.sum())
    share = f"{inside:,} of {len(truth):,} intervals ({100 * inside / len(truth):.0f} %) contain the truth"
    summary = f"Correlation of estimate and truth {recovered.correlation:.3f}; {share}, where 95 % should."
    alt = f"Scatter of the estimated against the true risk of {len(truth):,} areas. {summary}"
    return Picture(figure, alt, summary)


def risk_intervals(fit: Fit, top: int = 20, *, ax: Axes | None = None) -> Picture:
    """Draw the areas of highest risk in order, each with its 95 % interval."""
    names, low, middle, high = _highest(fit, top, "risk_low", "risk_median", "risk_high")
    with drawing(44 + 15.5 * len(names), axes=ax) as (figure, [axes]):
        draw_rows(axes, names, middle, low, high)
        axes.set_xlabel("risk, with 95 % interval")
        if axes.get_xlim()[0] < 0 < axes.get_xlim()[1]:
            axes.axvline(0, **DASHED)
    first, last = (f"{names[at]}, {middle[at]:.2f} ({low[at]:.2f} to {high[at]:.2f})" for at in (0, -1))
    alt = f"The {len(names)} areas of highest risk with 95 % intervals, from {first} down to {last}."
    caption = "Risk 0 is the average area. Where intervals overlap, the order of two areas is not certain."
    return Picture(figure, alt, caption)


def rank_intervals(fit: Fit, top: int = 20, *, ax: Axes | None = None) -> Picture:
    """Draw the ranks of the areas of highest risk, 1 the highest, each with its 95 % interval."""
    names, low, middle, high = _highest(fit, top, "rank_low", "rank", "rank_high")
    with drawing(44 + 15.5 * len(names), axes=ax) as (figure, [axes]):
        draw_rows(axes, names, middle, low, high)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel(f"rank among {len(fit.map):,} areas, with 95 % interval")
    first = f"{names[0]}, {middle[0]:,} ({low[0]} to {high[0]})"
    alt = f"The ranks of {len(names):,} areas with 95 % intervals, from {first}, down."
    return Picture(figure, alt, "Rank 1 is the highest risk. Where intervals overlap, the order is not certain.")


def convergence(fit: Fit, *, ax: Axes | None = None) -> Picture:
    """Draw every area's R-hat against its effective sample size, with the limits that both should meet."""
    size, agreement = fit.sampling.ess_bulk, fit.sampling.rhat
    good = (size >= GOOD_ESS) & (agreement <= GOOD_RHAT)
    with drawing(230, axes=ax) as (figure, [axes]):
        mark_points(axes, size, agreement, ~good)
        axes.axvline(GOOD_ESS, **DASHED)
        axes.axhline(GOOD_RHAT, **DASHED)
        axes.set(xlabel="effective sample size (bulk)", ylabel="R-hat")
        axes.set_xlim(left=0)
    summary = f"{int(good.sum()):,} of {len(size):,} areas have R-hat ≤ {GOOD_RHAT} and an effective size ≥ {GOOD_ESS}."
    return Picture(figure, f"Scatter of {len(size):,} areas' R-hat against effective sample size. {summary}", summary)


def alpha_posterior(fit: Fit, *, ax: Axes | None = None) -> Picture:
    """Draw the posterior of α, the prior's standard deviation, without the last thousandth of its long tail."""
    if "alpha2" not in fit.posterior:
        raise StudyError(f"a fit of the {fit.record.model} model has no α to draw")
    alpha = fit.alpha
    if np.ptp(alpha) == 0:
        raise StudyError(f"α was fixed at {alpha[0]:g} in this fit, so it has no posterior to draw")
    low, middle, high = np.quantile(alpha, [0.025, 0.5, 0.975])
    with drawing(210, axes=ax) as (figure, [axes]):
        inside = alpha[alpha <= np.quantile(alpha, 0.999)]
        axes.hist(inside, bins=40, density=True, color=BLUE, alpha=0.75, edgecolor="white", linewidth=0.4)
        foot = -0.04 * axes.get_ylim()[1]
        axes.plot([low, high], [foot, foot], color=INK, linewidth=2, solid_capstyle="butt")
        axes.plot(middle, foot, "o", color=INK, markersize=6)
        axes.set(xlabel="α", yticks=[], ylim=(2 * foot, None))
        axes.spines["left"].set_visible(False)
    summary = f"α has posterior median {middle:.2f} and 95 % interval {low:.2f} to {high:.2f}"
    return Picture(figure, f"Histogram of the posterior of α. {summary}.", f"{summary} (the line below the bars).")


def variance_against_median(fit: Fit, *, ax: Axes | None = None) -> Picture:
    """Draw each area's posterior variance of risk against its posterior median."""
    median, variance = fit.areas["risk_median"].to_numpy(), fit.areas["risk_sd"].to_numpy() ** 2
    with drawing(260, axes=ax) as (figure, [axes]):
        axes.plot(median, variance, "o", color=BLUE, markersize=4.5, alpha=0.75, markeredgewidth=0)
        axes.set(xlabel="risk, posterior median", ylabel="posterior variance")
        axes.set_ylim(bottom=0)
    least, most = fit.map.names[int(variance.argmin())], fit.map.names[int(variance.argmax())]
    summary = (
        f"The variance is smallest for {least} ({variance.min():.3f}) and largest for {most} ({variance.max():.3f})."
    )
    alt = f"Scatter of posterior variance against posterior median of risk for {len(median):,} areas. {summary}"
    return Picture(figure, alt, summary)


def comparison_times(data: Comparisons) -> Picture:
    """Draw how long comparisons took, without the slowest hundredth."""
    seconds = data.seconds[np.isfinite(data.seconds)]
    if not len(seconds):
        raise StudyError("the comparisons have no times to draw; add a column 'seconds' to the table")
    middle, longest = np.quantile(seconds, [0.5, 0.99])
    with drawing(210) as (figure, [axes]):
        inside = seconds[seconds <= longest]
        axes.hist(inside, bins=40, color=BLUE, alpha=0.75, edgecolor="white", linewidth=0.4)
        axes.axvline(middle, **{**DASHED, "color": INK, "linewidth": 1.2, "zorder": 2})
        text, across = f"median {middle:.1f} s", axes.get_xaxis_transform()
        axes.annotate(text, (middle, 0.97), (4, 0), xycoords=across, textcoords="offset points", va="top")
        axes.set(xlabel="seconds", ylabel="comparisons")
        axes.set_xlim(left=0)
    unknown = len(data) - len(seconds)
    untimed = f" {unknown:,} comparison{' has' if unknown == 1 else 's have'} no time." if unknown else ""
    summary = f"Half of the comparisons took {middle:.1f} seconds or less, one in a hundred more than {longest:.0f}."
    alt = f"Histogram of the time that each of {len(seconds):,} comparisons took. {summary}"
    return Picture(figure, alt + untimed, f"{summary}{untimed}")


def traces(fit: Fit) -> Picture:
    """Plot the draws of α, or of the number of clusters, and of the three worst-mixing areas, one line per chain."""
    shown = _mixing(fit, _scalars(fit))
    chains, draws = fit.posterior.sizes["chain"], fit.posterior.sizes["draw"]
    every = -(-draws // TRACED)
    facts = [f"{shortened(each.name, 24)}: R-hat {each.rhat:.3f}, ESS {each.ess:,.0f}" for each in shown]
    with drawing(20 + 78 * len(shown), rows=len(shown)) as (figure, panels):
        for axes, fact, each in zip(panels, facts, shown, strict=True):
            for chain, line in enumerate(each.draws[:, ::every]):
                where = np.arange(len(line)) * every
                axes.plot(where, line, color=CHAINS[chain % len(CHAINS)], linewidth=0.6, alpha=0.8)
            axes.set_title(fact, loc="left", fontsize=SMALL, pad=3)
            axes.yaxis.set_major_locator(MaxNLocator(4))
        panels[-1].set_xlabel("draw")
    thinned = f", one draw in {every}" if every > 1 else ""
    first = listed([each.name for each in shown[:-WORST]], most=9)
    those = f"{capital(first)}, and the areas" if first else "The areas"
    caption = f"{those} that mix worst, one colour per chain{thinned}. Chains that agree overlap throughout."
    return Picture(figure, f"Traces of {chains} chains. {'; '.join(facts)}.", caption)


def rank_plot(fit: Fit) -> Picture:
    """Draw how each chain's draws rank among all draws, for α and the three worst-mixing areas: flat lines are good.

    The band contains 95 % of the bins if all chains draw from the same distribution, given their effective sample
    sizes. Source: Vehtari et al. (2021).
    """
    chains, draws = fit.posterior.sizes["chain"], fit.posterior.sizes["draw"]
    if chains < 2:
        raise StudyError("a rank plot compares chains, and this fit has only one; fit with two chains or more")
    # Numbers of clusters are left out: many draws are equal, so their ranks say nothing.
    shown = _mixing(fit, {name: values for name, values in _scalars(fit).items() if name == "α"})
    expected = draws / BINS
    facts = [f"{shortened(each.name, 40)}: R-hat {each.rhat:.3f}" for each in shown]
    with drawing(24 + 76 * len(shown), rows=len(shown)) as (figure, panels):
        for axes, fact, each in zip(panels, facts, shown, strict=True):
            worth = min(each.ess / each.draws.size, 1.0)
            half = 1.96 * np.sqrt(expected * (1 - 1 / BINS) * (1 - 1 / chains) / max(worth, 1e-3))
            axes.axhspan(expected - half, expected + half, color=FAINT, linewidth=0, alpha=0.6)
            for chain, counts in enumerate(_rank_counts(each.draws)):
                colour = CHAINS[chain % len(CHAINS)]
                axes.stairs(counts, np.linspace(0, 1, BINS + 1), baseline=None, color=colour, linewidth=1.0)
            axes.set_title(fact, loc="left", fontsize=SMALL, pad=3)
            axes.set(yticks=[0, expected], yticklabels=["0", f"{expected:.0f}"], ylim=(0, None))
        panels[-1].set(xlabel="rank among all draws, as a share")
    caption = (
        "Draws of each chain (one colour each) by their rank among all draws. Chains that agree stay in the grey band."
    )
    return Picture(figure, f"Rank plots of {chains} chains. {'; '.join(facts)}.", caption)


def _rank_counts(values: FloatArray) -> FloatArray:
    """Count each chain's draws by bins of their rank among all draws; the shape is (chains, bins)."""
    rank = np.argsort(np.argsort(values.ravel(), kind="stable"), kind="stable").reshape(values.shape)
    place = rank * BINS // values.size
    return np.array([np.bincount(chain, minlength=BINS) for chain in place], dtype=np.float64)


class _Quantity(NamedTuple):
    """A quantity's draws, (chain, draw), and how well they mix."""

    name: str
    draws: FloatArray
    rhat: float
    ess: float


def _mixing(fit: Fit, scalars: Mapping[str, FloatArray]) -> list[_Quantity]:
    """Return the quantities given, unless they are fixed, and the areas that mix worst."""
    shown = [
        _Quantity(name, draws, float(rhat(draws)), float(ess_bulk(draws)))
        for name, draws in scalars.items()
        if np.ptp(draws) > 0
    ]
    risk, mixed = fit.posterior["risk"], fit.sampling
    for area in np.argsort(mixed.ess_bulk, kind="stable")[:WORST]:
        shown.append(_Quantity(fit.map.names[area], risk[:, :, area], mixed.rhat[area], mixed.ess_bulk[area]))
    return shown


def _scalars(fit: Fit) -> dict[str, FloatArray]:
    """Return the draws of the quantities that a model has besides the areas' risk."""
    if "alpha2" in fit.posterior:
        return {"α": np.sqrt(fit.posterior["alpha2"])}
    known = {"number of clusters": "n_clusters", "log posterior": "log_posterior"}
    return {name: fit.posterior[key].astype(np.float64) for name, key in known.items()}


def _highest(fit: Fit, top: int, *columns: str) -> tuple[list[str], FloatArray, FloatArray, FloatArray]:
    """Return the names of the areas of highest risk, and three columns of the table of areas for them."""
    if top < 1:
        raise StudyError(f"show at least one area, not {top}")
    highest = fit.areas.iloc[fit.order[:top]]
    low, middle, high = highest[list(columns)].to_numpy().T
    return highest["name"].tolist(), low, middle, high


def _centred(fit: Fit, true_risk: ArrayLike) -> FloatArray:
    truth = np.asarray(true_risk, dtype=np.float64)
    if truth.shape != (len(fit.map),):
        raise StudyError(
            f"the fit has {len(fit.map):,} areas and the true risk {truth.size:,}; give one value per area"
        )
    return np.asarray(truth - truth.mean())


def predictive_check(fit: Fit, check: PredictiveCheck | None = None) -> Picture:
    """Draw each area's observed win rate against the one the fit predicts, with 95 % intervals."""
    measured = check or checks.predictive_check(fit, seed=1)
    table = measured.areas[measured.areas["comparisons"] > 0]
    observed, expected, low, high = (table[name].to_numpy() for name in ("observed", "expected", "low", "high"))
    outside = (observed < low) | (observed > high)
    with drawing(300) as (figure, [axes]):
        axes.plot([0, 1], [0, 1], **DASHED)
        mark_points(axes, observed, expected, outside, intervals=(low, high))
        axes.set(xlabel="observed win rate", ylabel="the model's, with 95 % interval", xlim=(-0.03, 1.03))
    where = f"{int(outside.sum()):,} of {len(table):,} areas lie outside their interval"
    p = "; ".join(f"{row['words']}: p = {row['p']:.2f}" for row in measured.checks.to_dict("records"))
    caption = f"Share of its comparisons that each area won, against what the fit predicts. {where.capitalize()}."
    alt = f"Scatter of the model's against the observed win rate of {counted(len(table), 'area')}. {where}. {p}."
    return Picture(figure, alt, caption)


def against_figure(fit: Fit, column: str, told: Follows) -> Picture:
    """Draw each area's risk, with its 95 % interval, against a figure, and name the areas that stand out from it."""
    if fit.map.figures is None:
        raise StudyError("this fit has no figures; give them with jm.Areas.with_figures before fitting")
    values = fit.map.figures.numbers(column)
    known = np.flatnonzero(np.isfinite(values))
    table, x = fit.areas.iloc[known], values[known]
    y, low, high = (table[name].to_numpy() for name in ("risk_median", "risk_low", "risk_high"))
    out = {each.area for each in told.out}
    odd = np.array([area in out for area in known])
    with drawing(300) as (figure, [axes]):
        axes.plot(*zip(*told.line, strict=True), **DASHED)
        mark_points(axes, x, y, odd, intervals=(low, high))
        for each in told.out[:NAMED]:
            at = int(np.searchsorted(known, each.area))
            axes.annotate(shortened(each.name, 20), (x[at], y[at]), (4, 4), textcoords="offset points", fontsize=SMALL)
        axes.set(xlabel=column, ylabel="risk, with 95 % interval")
    said = " ".join(each.words(column) for each in told.out[:NAMED])
    alt = f"Scatter of the risk of {counted(len(known), 'area')} against {column}. {told.sentence} {said}".strip()
    caption = f"{told.sentence} The dashed line is what {column} suggests; diamonds stand out from it."
    return Picture(figure, alt, caption)


STANDARD = Diverging("risk", "Risk, in standard deviations over the areas", "lower risk", "higher risk")


def sensitivity_scatter(base: Fit, others: Mapping[str, Fit]) -> Picture:
    """Draw the posterior medians of other fits against those of a base, area by area."""
    medians = _medians({"": base, **others})
    x, names = medians.pop(""), list(others)
    columns = min(len(names), 2)
    rows = -(-len(names) // columns)
    told = (f"{name}: Pearson {pearson(x, y):.3f}, Spearman {spearman(x, y):.3f}" for name, y in medians.items())
    summary = "; ".join(told)
    with drawing(300 if columns == 1 else 20 + 175 * rows, rows=rows, columns=columns) as (figure, panels):
        for axes, (name, y) in zip(panels, medians.items(), strict=False):
            draw_against(axes, x, y, name)
        for axes in panels[len(names) :]:
            axes.set_axis_off()
        for axes in panels[max(len(names) - columns, 0) : len(names)]:
            axes.set_xlabel("risk, base")
        for axes in panels[::columns]:
            axes.set_ylabel("risk, other")
    alt = f"Scatter of posterior medians of {len(x):,} areas. {summary}."
    return Picture(figure, alt, f"Posterior medians of risk. {summary}.")


def sensitivity_maps(fits: Mapping[str, Fit]) -> Picture:
    """Draw the risk maps of several fits side by side, each in standard deviations over its own areas.

    Fits to fewer answers, or with another prior, spread the areas less or more, so only the order of the areas and
    their relative distances can be compared.
    """
    medians = {name: (each - each.mean()) / (each.std() or 1.0) for name, each in _medians(fits).items()}
    areas = next(iter(fits.values())).map
    place = ground(areas)
    classes, limits = STANDARD.classify(np.array(list(medians.values())))
    colours = STANDARD.shades(limits)
    columns = min(len(fits), 2)
    rows = -(-len(fits) // columns)
    with drawing(64 + rows * (24 + place.height / columns), rows=rows, columns=columns) as (figure, panels):
        for axes in panels:
            axes.set_axis_off()
        for axes, name, own in zip(panels, fits, classes, strict=False):
            axes.set(xlim=(0, WIDTH), ylim=(0, place.height), aspect="equal")
            place.shade(axes, own, colours)
            axes.set_title(name, fontsize=SMALL, loc="left", color=INK)
        keys = [f"{number(low)} to {number(high)}" for low, high in pairwise(limits)]
        look = {"ncols": 3, "handlelength": 1.0, "columnspacing": 1.0}
        draw_keys(figure, colours, keys, loc="outside lower center", **look)
    highest = "; ".join(f"{name}: {areas.names[int(values.argmax())]}" for name, values in medians.items())
    alt = f"{kind_of(areas)}s of the risk of {len(areas):,} areas by {len(fits):,} fits. Highest of each: {highest}."
    return Picture(figure, alt, f"{STANDARD.title}: the darker, the higher.{drawn_how(areas)}")


def _medians(fits: Mapping[str, Fit]) -> dict[str, FloatArray]:
    check_fits(*fits.values())
    if len(fits) < 1:
        raise StudyError("there is no fit to draw")
    return {name: np.median(fit.risk, axis=0) for name, fit in fits.items()}
