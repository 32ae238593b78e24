"""Figures of a fit: intervals, the posterior of α, traces, and the truth if it is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
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
    MISSED,
    SMALL,
    WIDTH,
    Picture,
    draw_diagonal,
    drawing,
    name_rows,
)
from judgemap.report.words.text import capital, counted, listed, number, shortened
from judgemap.study.assess import checks
from judgemap.study.assess.checks import PredictiveCheck
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.result import Fit

CHAINS = (BLUE, "#d98200", "#2f8f5b", "#a03a7d", "#6b6f1d", "#56a8d8", "#8a4b2a", "#6a6f7a")
TRACED = 250
"""How many draws of a chain a trace shows: more would look the same and make the file large."""


@dataclass(frozen=True, slots=True, eq=False)
class Recovery:
    """How close a fit comes to a known truth.

    `correlation` is Pearson's, between posterior medians and true risk; `covered` marks the 95 % intervals that contain
    the truth.
    """

    correlation: float
    covered: BoolArray

    @property
    def n_covered(self) -> int:
        """How many intervals contain the truth."""
        return int(self.covered.sum())


def recovery(fit: Fit, true_risk: ArrayLike) -> Recovery:
    """Compare a fit with the risk that its data were simulated from; only differences in risk count.

    >>> import judgemap as jm
    >>> study = jm.simulate_study(np.random.default_rng(1), jm.chicago())
    >>> fit = jm.fit_spatial(study.data, study.areas, seed=1, chains=2, draws=200)
    >>> recovery(fit, study.true_risk).correlation > 0.9
    True
    """
    truth = _centred(fit, true_risk)
    table = fit.areas
    inside = (table["risk_low"].to_numpy() <= truth) & (truth <= table["risk_high"].to_numpy())
    return Recovery(float(np.corrcoef(table["risk_median"], truth)[0, 1]), inside)


def truth_against_estimate(fit: Fit, true_risk: ArrayLike, *, ax: Axes | None = None) -> Picture:
    """Draw each area's estimate with its 95 % interval against the risk that its data were simulated from."""
    truth, recovered = _centred(fit, true_risk), recovery(fit, true_risk)
    low, middle, high = _intervals(fit)
    with drawing(300, axes=ax) as (figure, [axes]):
        draw_diagonal(axes, low, truth, high)
        looks: list[tuple[BoolArray, dict[str, Any]]] = [
            (recovered.covered, {"color": BLUE, "label": "interval contains the truth"}),
            (~recovered.covered, {"color": MISSED, "marker": "D", "label": "interval misses it"}),
        ]
        for members, look in looks:
            if members.any():
                axes.vlines(truth[members], low[members], high[members], color=look["color"], linewidth=0.9, alpha=0.55)
                axes.plot(truth[members], middle[members], **{"marker": "o", "markersize": 4, "linestyle": "", **look})
        axes.set(xlabel="true risk", ylabel="estimated risk, with 95 % interval")
        axes.legend(loc="upper left", frameon=False, fontsize=SMALL, handletextpad=0.2, borderaxespad=0)
    inside = recovered.n_covered
    share = f"{inside:,} of {len(truth):,} intervals ({100 * inside / len(truth):.0f} %) contain the truth"
    summary = f"Correlation of estimate and truth {recovered.correlation:.3f}; {share}, where 95 % should."
    return Picture(
        figure, f"Scatter of the estimated against the true risk of {len(truth):,} areas. {summary}", summary
    )


def risk_intervals(fit: Fit, top: int = 20, *, ax: Axes | None = None) -> Picture:
    """Draw the areas of highest risk in order, each with its 95 % interval."""
    if top < 1:
        raise StudyError(f"show at least one area, not {top}")
    low, middle, high = _intervals(fit)
    order = fit.order[:top]
    rows = np.arange(len(order), 0, -1)
    with drawing(44 + 15.5 * len(order), axes=ax) as (figure, [axes]):
        axes.hlines(rows, low[order], high[order], color=BLUE, linewidth=2.2, alpha=0.45)
        axes.plot(middle[order], rows, "o", color=BLUE, markersize=5)
        name_rows(axes, [shortened(fit.map.names[area], 24) for area in order])
        axes.set_xlabel("risk, with 95 % interval")
        if axes.get_xlim()[0] < 0 < axes.get_xlim()[1]:
            axes.axvline(0, **DASHED)
    first, last = order[0], order[-1]
    alt = (
        f"The {len(order)} areas of highest risk with 95 % intervals, from {_with_interval(fit, int(first))} down "
        f"to {_with_interval(fit, int(last))}."
    )
    return Picture(
        figure, alt, "Risk 0 is the average area. Where intervals overlap, the order of two areas is not certain."
    )


def rank_intervals(fit: Fit, top: int = 20, *, ax: Axes | None = None) -> Picture:
    """Draw the ranks of the areas of highest risk, 1 the highest, each with its 95 % interval.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> rank_intervals(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100), top=5).alt[:42]
    'The ranks of 5 areas with 95 % intervals, '
    """
    if top < 1:
        raise StudyError(f"show at least one area, not {top}")
    low, middle, high = (fit.areas[column].to_numpy() for column in ("rank_low", "rank", "rank_high"))
    order = fit.order[:top]
    rows = np.arange(len(order), 0, -1)
    with drawing(44 + 15.5 * len(order), axes=ax) as (figure, [axes]):
        axes.hlines(rows, low[order], high[order], color=BLUE, linewidth=2.2, alpha=0.45)
        axes.plot(middle[order], rows, "o", color=BLUE, markersize=5)
        name_rows(axes, [shortened(fit.map.names[area], 24) for area in order])
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel(f"rank among {len(fit.map):,} areas, with 95 % interval")
    first = order[0]
    alt = (
        f"The ranks of {len(order):,} areas with 95 % intervals, from {fit.map.names[first]}, {middle[first]:,} "
        f"({low[first]} to {high[first]}), down."
    )
    return Picture(figure, alt, "Rank 1 is the highest risk. Where intervals overlap, the order is not certain.")


def convergence(fit: Fit, *, ax: Axes | None = None) -> Picture:
    """Draw every area's R-hat against its effective sample size, with the limits that both should meet.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> convergence(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)).alt[:44]
    "Scatter of 77 areas' R-hat against effective"
    """
    size, agreement = fit.sampling.ess_bulk, fit.sampling.rhat
    good = (size >= GOOD_ESS) & (agreement <= GOOD_RHAT)
    with drawing(230, axes=ax) as (figure, [axes]):
        looks: list[tuple[BoolArray, dict[str, Any]]] = [
            (good, {"color": BLUE, "alpha": 0.75}),
            (~good, {"color": MISSED, "marker": "D"}),
        ]
        for members, look in looks:
            axes.plot(size[members], agreement[members], **{"marker": "o", "markersize": 4, "linestyle": "", **look})
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


def comparison_times(data: Comparisons, *, ax: Axes | None = None) -> Picture:
    """Draw how long comparisons took, without the slowest hundredth.

    >>> import judgemap as jm
    >>> comparison_times(jm.example_study(seed=1)[1]).caption[:44]
    'Half of the comparisons took 3.9 seconds or '
    """
    seconds = data.seconds[np.isfinite(data.seconds)]
    if not len(seconds):
        raise StudyError("the comparisons have no times to draw; add a column 'seconds' to the table")
    middle, longest = np.quantile(seconds, [0.5, 0.99])
    with drawing(210, axes=ax) as (figure, [axes]):
        inside = seconds[seconds <= longest]
        axes.hist(inside, bins=40, color=BLUE, alpha=0.75, edgecolor="white", linewidth=0.4)
        axes.axvline(middle, **{**DASHED, "color": INK, "linewidth": 1.2, "zorder": 2})
        beside: dict[str, Any] = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points", "va": "top"}
        axes.annotate(f"median {middle:.1f} s", (middle, 0.97), (4, 0), **beside)
        axes.set(xlabel="seconds", ylabel="comparisons")
        axes.set_xlim(left=0)
    unknown = len(data) - len(seconds)
    untimed = f" {unknown:,} comparisons have no time." if unknown else ""
    summary = f"Half of the comparisons took {middle:.1f} seconds or less, one in a hundred more than {longest:.0f}."
    alt = f"Histogram of the time that each of {len(seconds):,} comparisons took. {summary}"
    return Picture(figure, alt + untimed, f"{summary}{untimed}")


def traces(fit: Fit) -> Picture:
    """Plot the draws of α, or of the number of clusters, and of the three worst-mixing areas, one line per chain."""
    risk = fit.posterior["risk"].to_numpy()
    judged = fit.sampling
    worst = np.argsort(judged.ess_bulk, kind="stable")[:3]
    shown = [(name, draws) for name, draws in _scalars(fit) if np.ptp(draws) > 0]
    first = listed([name for name, _ in shown], most=9)
    shown += [(fit.map.names[area], risk[:, :, area]) for area in worst]
    every = -(-risk.shape[1] // TRACED)
    figures = [(float(rhat(draws)), float(ess_bulk(draws))) for _, draws in shown[: len(shown) - len(worst)]]
    figures += [(judged.rhat[area], judged.ess_bulk[area]) for area in worst]
    facts = [
        f"{shortened(name, 24)}: R-hat {agreement:.3f}, ESS {size:,.0f}"
        for (name, _), (agreement, size) in zip(shown, figures, strict=True)
    ]
    with drawing(20 + 78 * len(shown), rows=len(shown)) as (figure, panels):
        for axes, fact, (_, draws) in zip(panels, facts, shown, strict=True):
            for chain, line in enumerate(draws[:, ::every]):
                where = np.arange(len(line)) * every
                axes.plot(where, line, color=CHAINS[chain % len(CHAINS)], linewidth=0.6, alpha=0.8)
            axes.set_title(fact, loc="left", fontsize=SMALL, pad=3)
            axes.yaxis.set_major_locator(MaxNLocator(4))
        panels[-1].set_xlabel("draw")
    thinned = f", one draw in {every}" if every > 1 else ""
    those = f"{capital(first)}, and the areas" if first else "The areas"
    caption = f"{those} that mix worst, one colour per chain{thinned}. Chains that agree overlap throughout."
    return Picture(figure, f"Traces of {len(risk)} chains. {'; '.join(facts)}.", caption)


def _intervals(fit: Fit) -> tuple[FloatArray, FloatArray, FloatArray]:
    low, middle, high = (fit.areas[column].to_numpy() for column in ("risk_low", "risk_median", "risk_high"))
    return low, middle, high


def _scalars(fit: Fit) -> list[tuple[str, FloatArray]]:
    """Return the draws, (chain, draw), of the quantities that a model has besides the areas' risk."""
    if "alpha2" in fit.posterior:
        return [("α", np.sqrt(fit.posterior["alpha2"].to_numpy()))]
    known = {"number of clusters": "n_clusters", "log posterior": "log_posterior"}
    return [(name, fit.posterior[key].to_numpy().astype(np.float64)) for name, key in known.items()]


def _centred(fit: Fit, true_risk: ArrayLike) -> FloatArray:
    truth = np.asarray(true_risk, dtype=np.float64)
    if truth.shape != (len(fit.map),):
        raise StudyError(
            f"the fit has {len(fit.map):,} areas and the true risk {truth.size:,}; give one value per area"
        )
    centred: FloatArray = truth - truth.mean()
    return centred


def _with_interval(fit: Fit, area: int) -> str:
    low, middle, high = (values[area] for values in _intervals(fit))
    return f"{fit.map.names[area]}, {middle:.2f} ({low:.2f} to {high:.2f})"


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


def _rank_counts(values: FloatArray) -> FloatArray:
    """Count each chain's draws by bins of their rank among all draws; the shape is (chains, bins)."""
    rank = np.argsort(np.argsort(values.ravel(), kind="stable"), kind="stable").reshape(values.shape)
    place = rank * BINS // values.size
    return np.array([np.bincount(chain, minlength=BINS) for chain in place], dtype=np.float64)


STANDARD = Diverging("risk", "Risk, in standard deviations over the areas", "lower risk", "higher risk")


def sensitivity_scatter(base: Fit, others: Mapping[str, Fit]) -> Picture:
    """Draw the posterior medians of other fits against those of a base, area by area.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> sensitivity_scatter(fit, {"the same": fit}).caption
    'Posterior medians of risk. the same: Pearson 1.000, Spearman 1.000.'
    """
    medians = _medians({"": base, **others})
    x, names = medians.pop(""), list(others)
    columns = min(len(names), 2)
    rows = -(-len(names) // columns)
    summary = "; ".join(
        f"{name}: Pearson {pearson(x, medians[name]):.3f}, Spearman {spearman(x, medians[name]):.3f}" for name in names
    )
    with drawing(300 if columns == 1 else 20 + 175 * rows, rows=rows, columns=columns) as (figure, panels):
        for axes, name in zip(panels, names, strict=False):
            y = medians[name]
            draw_diagonal(axes, x, y)
            axes.plot(x, y, "o", color=BLUE, markersize=3.5, alpha=0.75, markeredgewidth=0)
            axes.set_title(name, fontsize=SMALL, loc="left", pad=3)
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
    medians = {name: _standardised(values) for name, values in _medians(fits).items()}
    areas = next(iter(fits.values())).map
    place, names = ground(areas), list(fits)
    limits = STANDARD.limits_for(np.concatenate(list(medians.values())))
    colours = STANDARD.shades(limits)
    columns = min(len(names), 2)
    rows = -(-len(names) // columns)
    with drawing(64 + rows * (24 + place.height / columns), rows=rows, columns=columns) as (figure, panels):
        for axes in panels:
            axes.set_axis_off()
        for axes, name in zip(panels, names, strict=False):
            axes.set(xlim=(0, WIDTH), ylim=(0, place.height), aspect="equal")
            place.frame(axes)
            classes = np.clip(np.searchsorted(limits, medians[name], side="right") - 1, 0, len(colours) - 1)
            for each, colour in enumerate(colours):
                place.paint(axes, np.flatnonzero(classes == each), colour)
            axes.set_title(name, fontsize=SMALL, loc="left", color=INK)
        keys = [f"{number(low)} to {number(high)}" for low, high in pairwise(limits)]
        figure.legend(
            handles=[Patch(color=colour, label=key) for colour, key in zip(colours, keys, strict=True)],
            loc="outside lower center",
            ncols=3,
            frameon=False,
            fontsize=SMALL,
            handlelength=1.0,
            columnspacing=1.0,
        )
    highest = "; ".join(f"{name}: {areas.names[int(values.argmax())]}" for name, values in medians.items())
    alt = f"{kind_of(areas)}s of the risk of {len(areas):,} areas by {len(names):,} fits. Highest of each: {highest}."
    return Picture(figure, alt, f"{STANDARD.title}: the darker, the higher.{drawn_how(areas)}")


def _medians(fits: Mapping[str, Fit]) -> dict[str, FloatArray]:
    if len({fit.map.ids for fit in fits.values()}) > 1:
        raise StudyError("these fits are of different areas; compare fits of one study")
    if len(fits) < 1:
        raise StudyError("there is no fit to draw")
    return {name: np.median(fit.risk, axis=0) for name, fit in fits.items()}


def _standardised(values: FloatArray) -> FloatArray:
    spread = float(values.std())
    centred: FloatArray = values - values.mean()
    return centred / spread if spread > 0 else centred
