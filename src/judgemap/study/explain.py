"""Everything that is said about a fit beside its tables, computed once; pages and pictures only format it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from judgemap.core.diagnostics import Sampling
from judgemap.core.posterior import in_top, ranks
from judgemap.core.types import FloatArray, IntArray
from judgemap.study.checks import PredictiveCheck, predictive_check
from judgemap.study.clusters import ClusterFit
from judgemap.study.comparisons import Comparisons
from judgemap.study.findings import Met
from judgemap.study.judges import judge_table, stands_out, surprising_answers
from judgemap.study.record import json_value
from judgemap.study.reliability import Reliability, reliability, reliability_over_time
from judgemap.study.result import Fit

BINS = 40
TOPS = (1, 3, 5, 10, 20, 50)
OVER_TIME = ["answers", "judges", "bayes", "bayes_low", "bayes_high", "ssr", "split_half", "split_half_full"]
SEED = 1
"""Splits and replicates are drawn with it: the same fit, the same explanation."""
WORK = 20_000_000
"""Answers × draws of the predictive check."""
FIGURES = 5
"""Kept of every number that is not exact."""


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """What is said about a fit: its judges, their answers, how reliable it is, what each area won, how it was sampled.

    ``judges`` is `jm.judge_table` and ``stands_out`` what to look at in it; ``surprises`` are the least expected
    answers, with the areas' median risks; ``density`` has the draws of each area's risk in the bins of ``risk_edges``,
    in thousandths; ``top`` P(among the k of highest risk) by k; ``met`` the other areas that each was compared with,
    the most often first; ``between`` the other cluster of each area that sits between two, and its probability.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> told = explain(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100), data)
    >>> told.reliability.judges, list(told.top), told.density.shape
    (12, [1, 3, 5, 10, 20, 50], (77, 40))
    """

    judges: pd.DataFrame
    stands_out: Mapping[str, list[str]]
    surprises: pd.DataFrame
    reliability: Reliability
    reliability_over_time: pd.DataFrame
    check: PredictiveCheck
    risk_edges: FloatArray
    density: IntArray
    top: Mapping[int, FloatArray]
    met: list[list[Met]]
    sampling: Sampling
    between: list[tuple[int, float] | None] | None

    @property
    def judges_note(self) -> str:
        """What the table of judges cannot say, in a sentence, or nothing."""
        if len(self.judges) == 0:
            return "The answers do not name their judges, so nothing can be said about them."
        missing = []
        if self.judges["infit"].isna().all():
            missing.append("only one judge has made decisions, so agreement with others cannot be checked")
        if self.judges["left_share"].isna().all():
            missing.append("no answer was for the right area, so sides cannot be judged")
        if self.judges["seconds_median"].isna().all():
            missing.append("no times were recorded")
        text = "; ".join(missing)
        return f"{text[0].upper()}{text[1:]}." if text else ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as a database keeps it, by the names that `findings.Findings` reads.

        ``areas`` has an entry an area, in their order: id, wins, losses, win_rate with its predictive interval
        win_low, win_high (None where an area was never compared), density.
        """
        judges = [{**row, "stands_out": self.stands_out[row["judge"]]} for row in self.judges.to_dict("records")]
        rounded = {
            "judges": judges,
            "judges_note": self.judges_note,
            "surprises": self.surprises.to_dict("records"),
            "reliability": {"note": self.reliability.note, **asdict(self.reliability)},
            "reliability_over_time": self.reliability_over_time.to_dict("records"),
            "check": {
                "note": self.check.note,
                "checks": self.check.checks.to_dict("records"),
                "n_outside": self.check.n_outside,
            },
            "areas": self._areas(),
            "risk_edges": self.risk_edges,
        }
        exact = {"top": self.top, "met": self.met, "sampling": self.sampling._asdict()}
        if self.between is not None:
            exact["between"] = self.between
        told: dict[str, Any] = json_value(rounded, FIGURES) | json_value(exact)
        return told

    def _areas(self) -> list[Any]:
        table = self.check.areas
        columns = {
            "id": table["id"],
            "wins": table["wins"],
            "losses": table["comparisons"] - table["wins"],
            "win_rate": table["observed"],
            "win_low": table["low"],
            "win_high": table["high"],
        }
        return pd.DataFrame(columns).assign(density=self.density.tolist()).to_dict("records")


def explain(fit: Fit, data: Comparisons) -> Explanation:
    """Work out what is to be said about a fit; ``data`` are the comparisons that it was made of."""
    size, order = len(fit.map), np.argsort(data.answered_at, kind="stable")
    judges = judge_table(fit, data)
    edges = np.linspace(*_ends(fit.risk), BINS + 1)
    growth = reliability_over_time(fit, data, seed=SEED, order=order, splits=int(np.clip(1500 // size, 5, 20)))
    rank = ranks(fit.risk)
    return Explanation(
        judges=judges,
        stands_out=stands_out(judges),
        surprises=_surprises(fit, data),
        reliability=reliability(fit, data, seed=SEED, splits=int(np.clip(10_000 // size, 20, 100))),
        reliability_over_time=growth[OVER_TIME],
        check=predictive_check(fit, data, seed=SEED, draws=int(np.clip(WORK // max(len(data), 1), 100, 500))),
        risk_edges=edges,
        density=_density(fit.risk, edges),
        top={k: in_top(rank, k) for k in TOPS if k < size},
        met=_met(fit),
        sampling=fit.sampling,
        between=_between(fit) if isinstance(fit, ClusterFit) else None,
    )


def _surprises(fit: Fit, data: Comparisons) -> pd.DataFrame:
    risk = dict(zip(fit.map.ids, np.median(fit.risk, axis=0).tolist(), strict=True))
    table = surprising_answers(fit, data).drop(columns=["row", "outcome"])
    return table.assign(chosen_risk=table["chosen"].map(risk), other_risk=table["other"].map(risk))


def _ends(risk: FloatArray) -> tuple[float, float]:
    """Give the ends of the bins: all but the outermost thousandth of the draws of any area."""
    low, high = (float(end) for end in np.quantile(risk, [0.001, 0.999]))
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _density(risk: FloatArray, edges: FloatArray) -> IntArray:
    draws, size = risk.shape
    place = np.clip(np.searchsorted(edges, risk, side="right") - 1, 0, BINS - 1)
    counts = np.bincount((np.arange(size) * BINS + place).ravel(), minlength=size * BINS).reshape(size, BINS)
    shares: IntArray = np.rint(1000 * counts / draws).astype(np.int64)
    return shares


def _met(fit: Fit) -> list[list[Met]]:
    pairs = fit.observed_data
    first, second = (fit.map.index(pairs[end].to_numpy().tolist()).tolist() for end in ("first", "second"))
    won, lost = pairs["wins"].to_numpy(), (pairs["n"] - pairs["wins"]).to_numpy()
    met: list[list[Met]] = [[] for _ in fit.map.ids]
    for a, b, wins, losses in zip(first, second, won.tolist(), lost.tolist(), strict=True):
        met[a].append(Met(b, wins, losses))
        met[b].append(Met(a, losses, wins))
    return [sorted(each, key=lambda each: (-each.won - each.lost, each.other)) for each in met]


def _between(fit: ClusterFit) -> list[tuple[int, float] | None]:
    others = {each.area: (int(each.other), float(each.other_probability)) for each in fit.best.between}
    return [others.get(area) for area in range(len(fit.map))]
