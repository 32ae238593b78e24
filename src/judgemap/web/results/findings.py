"""What a worker works out after a fit, as plain JSON for pages: judges, reliability, checks, areas.

`work_out(fit, data)` returns a dict of dicts and lists of str, int, float and None (None where there is nothing to
say, never NaN). Less than 1 MB at 452 areas. Its keys:

``judges``: one entry a judge, in the order in which judges first appear
    judge                     the name
    comparisons, decided      pairs shown; of them with a winner
    ties, skipped, unknown    how many of each; ``undecided`` is their sum as a share of ``comparisons``
    left                      decided for the left area
    left_share, left_low, left_high   left / decided with its 95 % interval; None where sides were not recorded
    seconds_median, seconds_low, seconds_high   median and quartiles of the time taken; None without times
    infit, outfit             mean squares against the other judges; 1 is as the model expects; None for a lone judge
    infit_z, outfit_z         (mean square − 1) / its standard deviation if the judge answers like the others
    agreement, agreement_low, agreement_high   share of decided answers that the other judges' fit would give, 95 %
    agreement_expected        what it would be on average if the judge answers like the others
    repeats, consistency      how often a pair came back, and the share of the same answer; None where none came back
    stands_out                list of sentences, empty for most judges
``judges_note``           one sentence where the table cannot say something (a lone judge, no sides, no times), or ""
``times``                 the histogram of seconds
    edges                     bins' edges, ascending, in seconds; the last bin also holds all that took longer
    counts                    of all comparisons together
    by_judge                  {judge: counts}
    median                    of all comparisons, None without times
``surprises``: up to 30 decided answers, the least expected first
    judge, chosen, other      the judge, and the ids of the two areas; chosen_name, other_name their names
    chosen_risk, other_risk   posterior median risks
    probability               posterior probability of choosing so
    seconds                   or None
``reliability``           of all answers of the fit
    note                      one sentence: what the figures say, or what is missing for them
    answers, judges           decided comparisons and judges used
    bayes, bayes_low, bayes_high    squared correlation of estimate and truth: posterior mean and 95 % interval
    ssr                       scale separation reliability; may be negative with few answers
    split_half, split_half_low, split_half_high   Pearson of two halves of the judges: median and 95 % over splits
    split_half_full           the same stepped up to all answers by Spearman and Brown, 2r / (1 + r)
    splits                    how many splits; fewer on large maps
``reliability_over_time``: entries after a tenth, two tenths … of the answers, in the order in which they were given
    answers, judges, bayes, bayes_low, bayes_high, ssr, split_half, split_half_full   as above, None where not known
``check``                 posterior predictive check
    note                      one sentence
    checks                    list of {name, words, observed, expected, low, high, p}: name one of areas, pairs, left,
                              triads; ``words`` says what is counted; p near 0 or 1 is a misfit
    n_outside                 areas whose observed win rate is outside its 95 % predictive interval
``areas``: one entry an area, in the order of the areas (and of ``FitRun.rows``)
    id, wins, losses          decided comparisons won and lost
    win_rate, win_expected, win_low, win_high, win_p   observed rate against its predictive distribution; None if never
                              compared
    p_top5, p_top10, p_top20  P(among the k of highest risk); None where there are no more than k areas
    quantiles                 of risk, at ``quantile_levels``
    density                   draws of risk in each bin of ``risk_edges``, as shares in thousandths
``quantile_levels``       [0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975]
``risk_edges``            41 edges of bins, the same for all areas
``top``, ``met``, ``sampling``, ``layout``, ``between``   see `judgemap.web.results.describing`
"""

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from judgemap.core.types import FloatArray, IntArray
    from judgemap.study.checks import PredictiveCheck
    from judgemap.study.comparisons import Comparisons
    from judgemap.study.result import Fit

QUANTILES = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)
BINS = 40
TOPS = (5, 10, 20)
OVER_TIME = ["answers", "judges", "bayes", "bayes_low", "bayes_high", "ssr", "split_half", "split_half_full"]
SEED = 1
"""Splits and replicates are drawn with it: the same fit, the same findings."""
WORK = 20_000_000
"""Answers × draws of the predictive check."""


def work_out(fit: "Fit", data: "Comparisons") -> dict[str, Any]:
    """Work out everything that pages show of a fit; see the module's text for the keys."""
    from judgemap.web.results.describing import describe

    found = explain(fit, data, np.argsort(data.answered_at, kind="stable"))
    plain: dict[str, Any] = _plain(found)
    return {**plain, **describe(fit)}


def explain(fit: "Fit", data: "Comparisons", order: "IntArray | None" = None) -> dict[str, Any]:
    """Work it out from the library's values alone; ``order`` lists the comparisons in the order of their answers."""
    from judgemap.study.judges import judge_table, stands_out, surprising_answers
    from judgemap.study.reliability import reliability, reliability_over_time

    judges = judge_table(fit, data)
    unusual = stands_out(judges)
    check = check_answers(fit, data)
    size = len(fit.map)
    whole = reliability(fit, data, seed=SEED, splits=int(np.clip(10_000 // size, 20, 100)))
    splits = int(np.clip(1500 // size, 5, 20))
    growth = reliability_over_time(fit, data, seed=SEED, order=order, splits=splits)
    risk = dict(zip(fit.map.ids, np.median(fit.risk, axis=0).tolist(), strict=True))
    surprises = surprising_answers(fit, data).drop(columns=["row", "outcome"]).to_dict("records")
    edges = np.linspace(*_ends(fit.risk), BINS + 1)
    return {
        "judges": [{**row, "stands_out": unusual[row["judge"]]} for row in judges.to_dict("records")],
        "judges_note": _judges_note(judges),
        "times": _times(data),
        "surprises": [
            {**row, "chosen_risk": risk[row["chosen"]], "other_risk": risk[row["other"]]} for row in surprises
        ],
        "reliability": {"note": whole.note, **asdict(whole)},
        "reliability_over_time": growth[OVER_TIME].to_dict("records"),
        "check": {"note": check.note, "checks": check.checks.to_dict("records"), "n_outside": check.n_outside},
        "areas": _areas(fit, check.areas, edges),
        "quantile_levels": list(QUANTILES),
        "risk_edges": edges.tolist(),
    }


def check_answers(fit: "Fit", data: "Comparisons") -> "PredictiveCheck":
    """Hold the answers against what the fit would answer, with as many replicates as there is time for."""
    from judgemap.study.checks import predictive_check

    return predictive_check(fit, data, seed=SEED, draws=int(np.clip(WORK // max(len(data), 1), 100, 500)))


def _judges_note(judges: "pd.DataFrame") -> str:
    if len(judges) == 0:
        return "The answers do not name their judges, so nothing can be said about them."
    missing = []
    if judges["infit"].isna().all():
        missing.append("only one judge has made decisions, so agreement with others cannot be checked")
    if judges["left_share"].isna().all():
        missing.append("no answer was for the right area, so sides cannot be judged")
    if judges["seconds_median"].isna().all():
        missing.append("no times were recorded")
    text = "; ".join(missing)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _times(data: "Comparisons") -> dict[str, Any]:
    from judgemap.study.judges import time_histogram

    if not np.isfinite(data.seconds).any() or not data.judges:
        return {"edges": [], "counts": [], "by_judge": {}, "median": None}
    found = time_histogram(data)
    return {
        "edges": found.edges.tolist(),
        "counts": found.counts.sum(axis=0).tolist(),
        "by_judge": dict(zip(found.judges, found.counts.tolist(), strict=True)),
        "median": float(np.nanmedian(data.seconds)),
    }


def _areas(fit: "Fit", check: "pd.DataFrame", edges: "FloatArray") -> list[dict[str, Any]]:
    risk, size = fit.risk, len(fit.map)
    quantiles = np.quantile(risk, QUANTILES, axis=0).T.round(4).tolist()
    place = np.clip(np.searchsorted(edges, risk, side="right") - 1, 0, BINS - 1)
    counts = np.bincount((np.arange(size) * BINS + place).ravel(), minlength=size * BINS).reshape(size, BINS)
    density = np.rint(1000 * counts / len(risk)).astype(int).tolist()
    tops = {f"p_top{k}": fit.p_top(k).tolist() if k < size else [None] * size for k in TOPS}
    losses = (check["comparisons"] - check["wins"]).tolist()
    return [
        {
            "id": row["id"],
            "wins": row["wins"],
            "losses": losses[each],
            "win_rate": row["observed"],
            "win_expected": row["expected"],
            "win_low": row["low"],
            "win_high": row["high"],
            "win_p": row["p"],
            **{name: values[each] for name, values in tops.items()},
            "quantiles": quantiles[each],
            "density": density[each],
        }
        for each, row in enumerate(check.to_dict("records"))
    ]


def _ends(risk: "FloatArray") -> tuple[float, float]:
    """Give the ends of the bins: all but the outermost thousandth of the draws of any area."""
    low, high = float(np.quantile(risk, 0.001)), float(np.quantile(risk, 0.999))
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _plain(value: Any) -> Any:  # noqa: ANN401 - anything that JSON knows
    """Turn NumPy's numbers into Python's, five figures each, and what is not finite into None."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    number = float(value)
    return float(f"{number:.5g}") if math.isfinite(number) else None
