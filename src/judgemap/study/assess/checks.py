"""Whether the model could have produced these answers: a posterior predictive check.

A model can be fitted to any answers. Here it answers the same pairs again, many times, and the judges' answers are
compared with the result: the win rate of every area, how far areas and individual pairs are from what the model
expects, how often the left area is chosen, and circles (A chosen over B, B over C, C over A).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from judgemap.core.assess.misfit import (
    EXTREME,
    Shown,
    circular_triads,
    differ_share,
    replicate,
    tail_share,
)
from judgemap.core.threads import one_thread
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.study.assess.judges import check_areas
from judgemap.study.assess.verdict import meaning
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.record import Note, NoteKind
from judgemap.study.fit.result import Fit

WORDS = {
    "areas": "how far the areas' win rates are from what the model expects",
    "pairs": "how far single pairs are from what the model expects",
    "left": "answers for the area on the left",
    "triads": "circles: A chosen over B, B over C and C over A",
}


@dataclass(frozen=True, slots=True, eq=False)
class PredictiveCheck:
    """The judges' answers compared with what the model would answer.

    ``areas`` has one row per area: id, name, ``comparisons``, ``wins``, ``observed`` win rate, its predictive mean
    ``expected`` and 95 % interval ``low``, ``high``, and ``p`` = P(replicate above observed), with ties counting half;
    nan if an area was never compared. ``checks`` has one row per measure: ``name``, ``words``, ``observed``,
    ``expected``, ``low``, ``high``, ``p``. Distances depend on the draw of the strengths too: their ``observed`` is a
    mean over the draws.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=2)
    >>> check = jm.predictive_check(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100), data, seed=1)
    >>> check.checks["name"].tolist(), check.misfits
    (['areas', 'pairs', 'left', 'triads'], [])
    """

    areas: pd.DataFrame
    checks: pd.DataFrame

    @property
    def n_outside(self) -> int:
        """Areas whose observed win rate is outside its 95 % interval."""
        return int(((self.areas["observed"] < self.areas["low"]) | (self.areas["observed"] > self.areas["high"])).sum())

    @property
    def misfits(self) -> list[str]:
        """The names of the measures by which the model does not fit."""
        p = self.checks["p"].to_numpy()
        return self.checks["name"][(p < EXTREME) | (p > 1 - EXTREME)].tolist()

    @property
    def note(self) -> str:
        """One sentence: whether the model fits, and what it means if not."""
        compared = int((self.areas["comparisons"] > 0).sum())
        where = f"{self.n_outside:,} of {compared:,} areas have a win rate outside its 95 % interval"
        if not self.misfits:
            return f"The model could have produced these answers: {where}, and no measure is unusual."
        p = dict(zip(self.checks["name"], self.checks["p"], strict=True))
        return " ".join(meaning(name, p[name]) for name in self.misfits)


def predictive_check(fit: Fit, data: Comparisons | None = None, *, seed: int, draws: int = 500) -> PredictiveCheck:
    """Let the fit answer the same pairs again, ``draws`` times, and compare the judges' answers with the result.

    Without ``data``, the check uses the counts stored in the fit, and sides are not checked.

    The fit used the same answers, so p-values stay closer to ½ than they otherwise would: any misfit you see is real,
    but others may stay hidden. The areas' win rates reveal little except a prior that pulls too strongly, because
    strengths are fitted to them; the other measures look where strengths cannot adapt.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=2)
    >>> check = predictive_check(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100), data, seed=1, draws=100)
    >>> check.misfits
    []
    """
    if draws < 20:
        raise StudyError(f"a predictive check needs at least 20 draws, not {draws}")
    shown = _counted_pairs(fit) if data is None else _shown(fit, data)
    chances = fit.answer_chances(shown, data, draws)
    with one_thread():
        made = replicate(np.random.default_rng(seed), shown, chances)
    rows = [_realised("areas", made.areas), _realised("pairs", made.pairs)]
    if data is not None and not shown.left_won.all():
        rows.append(_counted("left", made.left, int(shown.left_won.sum())))
    if len(made.triads):
        rows.append(_counted("triads", made.triads, circular_triads(shown, shown.wins(shown.first_won))))
    return PredictiveCheck(_area_table(fit, shown, made.wins), pd.DataFrame(rows))


def _shown(fit: Fit, data: Comparisons) -> Shown:
    check_areas(fit, data)
    answers = data.where(data.decided)
    if len(answers) == 0:
        raise StudyError("none of the comparisons was decided, so there is nothing to check")
    first, second, number = answers.pairs
    return Shown(len(data.ids), number, first, second, answers.left < answers.right, answers.first_won)


def _counted_pairs(fit: Fit) -> Shown:
    counts = fit.observed_data
    n, wins = counts["n"].to_numpy(), counts["wins"].to_numpy()
    pair = np.repeat(np.arange(len(n)), n)
    nth = np.arange(len(pair)) - np.repeat(np.cumsum(n) - n, n)
    first, second = (fit.map.index(counts[end].to_numpy().tolist()) for end in ("first", "second"))
    return Shown(len(fit.map), pair, first, second, np.ones(len(pair), dtype=np.bool_), nth < wins[pair])


def _area_table(fit: Fit, shown: Shown, wins: np.ndarray) -> pd.DataFrame:
    won_first = shown.wins(shown.first_won)
    n = shown.onto_areas(shown.n, shown.n).astype(np.int64)
    won = shown.onto_areas(won_first, shown.n - won_first).astype(np.int64)
    low, high = np.quantile(wins, [0.025, 0.975], axis=0, method="nearest")
    there = np.where(n > 0, 1.0, np.nan) / np.maximum(n, 1)
    return pd.DataFrame(
        {
            "id": fit.map.ids,
            "name": fit.map.names,
            "comparisons": n,
            "wins": won,
            "observed": won * there,
            "expected": wins.mean(axis=0) * there,
            "low": low * there,
            "high": high * there,
            "p": np.where(n > 0, tail_share(wins, won), np.nan),
        }
    )


def _realised(name: str, values: FloatArray) -> dict[str, object]:
    observed, replicated = values.T
    return {**_row(name, float(observed.mean()), replicated), "p": float(tail_share(replicated, observed))}


def _counted(name: str, replicated: np.ndarray, observed: int) -> dict[str, object]:
    return {**_row(name, observed, replicated), "p": float(tail_share(replicated, observed))}


def _row(name: str, observed: float, replicated: np.ndarray) -> dict[str, object]:
    low, high = np.quantile(replicated, [0.025, 0.975])
    return {
        "name": name,
        "words": WORDS[name],
        "observed": observed,
        "expected": float(replicated.mean()),
        "low": float(low),
        "high": float(high),
    }


DIFFER_LEVEL = 0.01
"""The false alarm rate: fewer than this share of panels whose judges are alike get a warning."""
DIFFER_DRAWS = 199
MOST_AREAS = 1_000
"""With more areas, disagreement is tested area by area, because using C would take too long."""


def differ_note(
    data: Comparisons,
    strengths: FloatArray,
    C: FloatArray | None,
    seed: int,
    chance: Callable[[FloatArray], FloatArray] = expit,
) -> list[Note]:
    """Warn if judges differ more than chance explains; ``strengths`` are draws from a fit that assumes they do not.

    ``C`` is the prior correlation; without it, or with many areas, disagreement is tested area by area. ``chance`` is
    P(first is chosen | it is not a tie) at a given difference of strengths.
    """
    named = data.where(data.decided & (data.judge >= 0))
    answers = np.bincount(named.judge, minlength=1)
    if (answers > 1).sum() < 2:
        return []
    rows = np.unique(np.linspace(0, len(strengths) - 1, DIFFER_DRAWS).astype(np.int64))
    C = C if C is not None and len(C) <= MOST_AREAS else None
    share = differ_share(np.random.default_rng(seed), named.by_judge(), strengths[rows], C, chance)
    if share > DIFFER_LEVEL:
        return []
    text = (
        f"Judges differ more than chance explains (p = {share:.3f} or less), so intervals that pool their answers are "
        "too narrow: fit again with --judges differ."
    )
    return [Note(NoteKind.JUDGES_DIFFER, text)]
