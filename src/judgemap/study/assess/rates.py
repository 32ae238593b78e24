"""From rank to rate: how many cases the map stands for, where some areas have counts of them."""

from dataclasses import replace

import numpy as np

from judgemap.core.assess.posterior import INTERVAL
from judgemap.core.assess.rates import Counts, draw_rates
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.geo.figures import Figures
from judgemap.geo.maps import Areas
from judgemap.study.assess.beside import group_areas
from judgemap.study.assess.findings import RateOptions, Rates
from judgemap.study.fit.result import Fit

__all__ = ["rates", "rates_of"]

FEWEST = 8
"""Areas with counts below which nothing is calibrated."""


def rates(
    fit: Fit,
    counts: str,
    expected: str,
    *,
    missed: tuple[float, float] = (0.0, 0.0),
    by: str = "",
    totals: str = "",
    seed: int = 1,
) -> Rates:
    """Turn the map into rates and cases with intervals, where some areas have counts of recorded cases.

    A count follows a negative binomial distribution whose logarithm of the rate is a + b · risk. What is uncertain in
    the map, in a, b and the areas' own deviations, and in the cases not recorded, is uncertain in the rates. Everything
    rests on these counts; the map itself does not change.

    Parameters
    ----------
    fit
        The fit; `Areas.with_figures` gives its areas figures.
    counts
        The column of the figures with recorded cases, empty where nothing is known.
    expected
        The column with the population, or with expected counts.
    missed
        The share of cases that are not recorded, as a range within which every value is as likely.
    by, totals
        The column with each area's district, and the one with its district's total of recorded cases, the same number
        in the row of each of its areas. In every draw the cases of a district are scaled to add up to its total.
    seed
        For the random draws.

    Returns
    -------
    Rates
        A row for each area, and the relation of counts and risk. A `StudyError` says why there are none: fewer than
        eight areas with counts, no cases at all, or counts that do not rise with the risk.

    Examples
    --------
    >>> import pandas as pd
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, as_in_paper=True, chains=2, draws=100)
    >>> cases = np.random.default_rng(1).poisson(20 * np.exp(0.5 * fit.areas["risk_median"]))
    >>> cases = ["" if place % 3 else int(count) for place, count in enumerate(cases)]
    >>> table = pd.DataFrame({"id": areas.ids, "cases": cases, "people": 2000})
    >>> found = jm.rates(replace(fit, map=fit.map.with_figures(table)), "cases", "people", missed=(0.1, 0.3))
    >>> found.areas, found.table.columns.to_list()[4:7]
    (26, ['rate_median', 'rate_low', 'rate_high'])
    """
    options = RateOptions(counts, expected, missed, by, totals)
    if fit.map.figures is None:
        raise StudyError(f"{counts!r} is a column of a table of figures; give the table too (--figures areas.csv)")
    return rates_of(fit, fit.map.figures, options, seed)


def rates_of(fit: Fit, figures: Figures, options: RateOptions, seed: int = 1) -> Rates:
    """Turn the map into rates with given figures; see `rates`."""
    y, exposure = figures.numbers(options.counts), figures.numbers(options.expected)
    known = _check(fit.map, options, y, exposure)
    rng = np.random.default_rng(seed)
    try:
        drawn = draw_rates(rng, fit.risk, Counts(np.flatnonzero(known), y[known], exposure[known]))
    except ValueError:
        raise StudyError(
            f"the relation of {options.counts!r} and the risk could not be drawn; check both columns for a number out "
            "of line"
        ) from None
    low, median, high = np.exp(np.quantile(drawn.b, [INTERVAL[0], 0.5, INTERVAL[1]])).tolist()
    if low <= 1:
        which = "fall as the judged risk rises" if high < 1 else "do not clearly rise with the judged risk"
        raise StudyError(
            f"the {options.counts!r} of {int(known.sum())} areas {which} (rate ratio for one standard deviation: "
            f"{median:.2f}, 95 % interval {low:.2f} to {high:.2f}), so no rates follow from the map"
        )
    drawn_rates = drawn.rates * _scales(fit.map, figures, options, drawn.rates * exposure)
    drawn_rates /= 1 - rng.uniform(*options.missed, size=(len(drawn_rates), 1))
    per = 1000 if y[known].sum() < 0.1 * exposure[known].sum() else 1
    told = np.quantile(drawn_rates, [0.5, *INTERVAL], axis=0)
    return Rates(
        counts=options.counts, expected=options.expected, areas=int(known.sum()), missed=options.missed,
        totals=options.totals, per=per, ratio=(median, low, high), ids=fit.map.ids, names=fit.map.names,
        recorded=[float(each) if np.isfinite(each) else None for each in y], rates=(per * told).T.tolist(),
        cases=[row.tolist() if np.isfinite(row).all() else None for row in (told * exposure).T],
    )  # fmt: skip


def _check(areas: Areas, options: RateOptions, y: FloatArray, exposure: FloatArray) -> np.ndarray:
    """Say which areas have a count and an exposure; raise a `StudyError` if they cannot give rates."""
    for name, values, least in ((options.counts, y, 0.0), (options.expected, exposure, 1e-12)):
        if (wrong := np.flatnonzero(values < least)).size:
            what = "is negative" if least == 0 else "must be above 0"
            raise StudyError(f"{name!r} of {areas.names[wrong[0]]!r} is {values[wrong[0]]:g}, which {what}; correct it")
    known = np.isfinite(y) & np.isfinite(exposure)
    if (y[known] != np.round(y[known])).any():
        raise StudyError(f"{options.counts!r} has numbers that are not whole; give counts of cases, not rates")
    if known.sum() < FEWEST:
        raise StudyError(
            f"{int(known.sum())} areas have both {options.counts!r} and {options.expected!r}; rates need at least "
            f"{FEWEST} of them"
        )
    if not y[known].any():
        raise StudyError(f"{options.counts!r} is 0 in every area, so it says nothing about the rate; give other counts")
    return known


def _scales(areas: Areas, figures: Figures, options: RateOptions, cases: FloatArray) -> FloatArray:
    """Return by what each area's rate is multiplied in each draw so that districts have their known totals."""
    scales = np.ones_like(cases)
    if not options.by:
        return scales
    labels = np.array(group_areas(replace(areas, figures=figures), options.by).labels)
    totals, recorded = figures.numbers(options.totals), np.nan_to_num(figures.numbers(options.counts))
    for name in sorted(set(labels.tolist()) - {""}):
        own = labels == name
        given = np.unique(totals[own][np.isfinite(totals[own])])
        if not given.size:
            continue
        if given.size > 1:
            raise StudyError(f"{options.totals!r} has several numbers for {name!r}; give its total in each of its rows")
        if not np.isfinite(cases[:, own]).all():
            raise StudyError(f"{name!r} has areas without {options.expected!r}, so its total cannot be shared out")
        if given[0] < recorded[own].sum() or given[0] <= 0:
            raise StudyError(
                f"the total of {name!r} is {given[0]:g}, but its areas have {recorded[own].sum():g} cases; correct it"
            )
        scales[:, own] = (given[0] / cases[:, own].sum(axis=1))[:, None]
    return scales
