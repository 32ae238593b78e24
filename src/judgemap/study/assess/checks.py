"""Whether the model could have produced these answers: a posterior predictive check.

A model can be fitted to any answers. Here it answers the same pairs again, many times, and the judges' answers are
compared with the result: the win rate of every area, how far areas and individual pairs are from what the model
expects, how often the left area is chosen, and circles (A chosen over B, B over C, C over A). The map itself is
compared with those that the prior draws, and judges with some who know only a part of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from judgemap.core.assess.misfit import (
    Shown,
    circular_triads,
    differ_share,
    log_evidence,
    log_parts,
    replicate,
    sharpness,
    tail_share,
)
from judgemap.core.assess.posterior import risk_sign
from judgemap.core.model.judges import Reach
from judgemap.core.model.outcomes import decided_odds
from judgemap.core.model.prior import FixedVariance, Model, covariance_of, independent
from judgemap.core.threads import one_thread
from judgemap.core.types import FloatArray, IntArray
from judgemap.errors import StudyError
from judgemap.study.assess.findings import DIFFER, Measure, Remedy
from judgemap.study.assess.judges import belief_of, of_each, others_chances, quick_fit, smoothed
from judgemap.study.assess.verdict import meaning
from judgemap.study.data.comparisons import Comparisons, check_map
from judgemap.study.fit.draws import evenly
from judgemap.study.fit.priors import prior_covariance
from judgemap.study.fit.record import Note, NoteKind
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import SETTINGS

if TYPE_CHECKING:
    import pandas as pd

WORDS = {
    "areas": "how far the areas' win rates are from what the model expects",
    "pairs": "how far single pairs are from what the model expects",
    "left": "answers for the area on the left",
    "triads": "circles: A chosen over B, B over C and C over A",
    "borders": "how far a few borders stand out: the kurtosis of neighbours' differences",
    "smooth": "how much likelier the answers are if neighbours are less alike: the logarithm of a Bayes factor",
    "parts": "how much likelier the answers are if each judge knows one part: the logarithm of a Bayes factor",
}
REMEDIES = {
    "areas": (Remedy("prior", "car"), Remedy("smoothness", "infer")),
    "pairs": (DIFFER, Remedy("lapses", value=True)),
    "left": (Remedy("side", value=True),),
    "triads": (DIFFER,),
    "borders": (Remedy("model", "clusters"),),
    "smooth": (Remedy("prior", "car"), Remedy("smoothness", "infer")),
    "parts": (Remedy("reach", value=True),),
}
"""What to change if a measure is too large; the first that the model has and the fit does not use yet."""
FEWEST_BORDERS = 10
"""With fewer borders than this, none can stand out."""


@dataclass(frozen=True, slots=True, eq=False)
class PredictiveCheck:
    """The judges' answers compared with what the model would answer.

    ``areas`` has one row per area: id, name, ``comparisons``, ``wins``, ``observed`` win rate, its predictive mean
    ``expected`` and 95 % interval ``low``, ``high``, and ``p`` = P(replicate above observed), with ties counting half;
    nan if an area was never compared. ``measures`` are of the answers as a whole. Some depend on the draw of the
    strengths too: their ``observed`` is a mean over the draws.

    >>> areas, data = jm.example_study(seed=2)
    >>> fit = jm.fit_spatial(data, areas, seed=1, judges="alike", chains=4, draws=500)
    >>> check = jm.predictive_check(fit, data, seed=1)
    >>> check.checks["name"].tolist(), check.misfits
    (['areas', 'pairs', 'left', 'triads', 'borders', 'smooth', 'parts'], [])
    """

    areas: "pd.DataFrame"
    measures: tuple[Measure, ...]

    @property
    def checks(self) -> "pd.DataFrame":
        """The measures as a table: ``name``, ``words``, ``observed``, ``expected``, ``low``, ``high``, ``p``."""
        import pandas as pd

        columns = ["name", "words", "observed", "expected", "low", "high", "p"]
        return pd.DataFrame([[getattr(each, name) for name in columns] for each in self.measures], columns=columns)

    @property
    def n_outside(self) -> int:
        """Areas whose observed win rate is outside its 95 % interval."""
        return int(((self.areas["observed"] < self.areas["low"]) | (self.areas["observed"] > self.areas["high"])).sum())

    @property
    def misfits(self) -> list[str]:
        """The names of the measures by which the model does not fit."""
        return [each.name for each in self.measures if each.unusual]

    @property
    def note(self) -> str:
        """Whether the model fits and, if not, what that means and what to do."""
        compared = int((self.areas["comparisons"] > 0).sum())
        where = f"{self.n_outside:,} of {compared:,} areas have a win rate outside its 95 % interval"
        if not self.misfits:
            return f"The model could have produced these answers: {where}, and no measure is unusual."
        return " ".join(meaning(each) for each in self.measures if each.unusual)


def predictive_check(fit: Fit, data: Comparisons | None = None, *, seed: int, draws: int = 500) -> PredictiveCheck:
    """Let the fit answer the same pairs again, ``draws`` times, and compare the judges' answers with the result.

    The fit used the same answers, so p-values of win rates, pairs and circles stay closer to ½ than they otherwise
    would: any misfit you see is real, but others may stay hidden. Three more measures ask whether the map is one that
    the prior would draw (``borders``), whether a prior with less alike neighbours explains the answers better
    (``smooth``), and whether judges seem to guess beyond the part of the map that they know (``parts``).

    Parameters
    ----------
    fit
        The fit to check.
    data
        The comparisons that were fitted; without them, the counts stored in the fit are used, and sides not checked.
    seed
        The same seed gives the same numbers.
    draws
        How often the pairs are answered again.

    Returns
    -------
    PredictiveCheck
        The measures, each with its p-value, and a table of areas.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> [measure.name for measure in jm.predictive_check(fit, data, seed=1, draws=20).measures]
    ['areas', 'pairs', 'left', 'triads', 'borders', 'smooth', 'parts']
    """
    if draws < 20:
        raise StudyError(f"a predictive check needs at least 20 draws, not {draws}")
    shown = _counted_pairs(fit) if data is None else _shown(fit, data)
    chances, rng = fit.answer_chances(shown, data, draws), np.random.default_rng(seed)
    with one_thread():
        made = replicate(rng, shown, chances)
        found = [_measure(fit, "areas", *made.areas.T), _measure(fit, "pairs", *made.pairs.T)]
        if data is not None and not shown.left_won.all():
            found.append(_measure(fit, "left", shown.left_won.sum(), made.left))
        if len(made.triads):
            circles = circular_triads(shown, shown.wins(shown.first_won))
            found.append(_measure(fit, "triads", circles, made.triads))
        found += _prior_measures(rng, fit, draws)
        if data is not None:
            found += _part_measures(fit, data)
    return PredictiveCheck(_area_table(fit, shown, made.wins), tuple(found))


def _prior_measures(rng: np.random.Generator, fit: Fit, draws: int) -> Iterator[Measure]:
    """Check the prior of the strengths, unless it is one of clusters, or the map is too large for dense matrices."""
    if fit.record.model == "clusters" or len(fit.map) > MOST_AREAS:
        return
    edges, inferred = fit.map.graph.edges, "rho" in fit.posterior
    C = covariance_of(smoothed(fit)) if inferred else fit.covariance
    if len(edges) >= FEWEST_BORDERS:
        rows = evenly(len(fit.risk), draws)
        drawn, expected = (sharpness(each, edges, C.matrix) for each in (fit.risk[rows], C.draw(rng, len(rows))))
        p = tail_share(expected[:, None], drawn[None, :]).mean()
        yield replace(_measure(fit, "borders", drawn, expected), p=float(p))
    if fit.record.model == "spatial" and not inferred:
        rougher = independent(len(fit.map)) if C.name == "car" else prior_covariance(fit.map, "car")
        counts = fit.counts.decided()
        belief, near, odds = belief_of(fit), None, []
        for prior in (C, rougher):
            near = quick_fit(counts, belief._replace(covariance=prior), near)
            odds.append(log_evidence(Model(counts, prior, FixedVariance(near.variance))))
        yield _bayes_factor(fit, "smooth", odds[1] - odds[0])


def _part_measures(fit: Fit, data: Comparisons) -> Iterator[Measure]:
    """Check whether judges answer well only near one place each, unless the model knows, or the map is too large."""
    if fit.settings.reach or fit.record.model != "spatial" or len(fit.map) > MOST_AREAS:
        return
    chance = others_chances(data, belief_of(fit))
    if not np.isfinite(chance).any():
        return
    reach, (first, second, number) = Reach.on(fit.map.graph), data.pairs
    gained = sum(
        log_parts(reach, first[number[own]], second[number[own]], data.first_won[own], chance[own])
        for own in of_each(np.where(np.isfinite(chance), data.judge, -1))
    )
    yield _bayes_factor(fit, "parts", gained)


def _bayes_factor(fit: Fit, name: str, gained: float) -> Measure:
    """Return a measure that is the logarithm of a Bayes factor against the model."""
    p, remedy = float(expit(-gained)), _remedy(fit, name, 0.0)
    return Measure(name=name, words=WORDS[name], observed=gained, p=p, remedy=remedy)


def _measure(fit: Fit, name: str, observed: ArrayLike, replicated: FloatArray | IntArray) -> Measure:
    """Compare a measure of the answers, one value or one for each draw, with that of the replicates."""
    low, high = np.quantile(replicated, [0.025, 0.975])
    p = float(tail_share(replicated, np.asarray(observed)))
    return Measure(
        name=name,
        words=WORDS[name],
        observed=float(np.asarray(observed).mean()),
        expected=float(replicated.mean()),
        low=float(low),
        high=float(high),
        p=p,
        remedy=_remedy(fit, name, p),
    )


def _remedy(fit: Fit, name: str, p: float) -> Remedy | None:
    """Return what to change if there is too much of a measure; too much of one side is as bad as too little."""
    settings = fit.settings
    for each in REMEDIES[name] if p < 0.5 or name == "left" else ():
        used = settings.differ if each.setting == "judges" else getattr(settings, each.setting) == each.value
        if settings.model in SETTINGS[each.setting].models and not used:
            return each
    return None


def _shown(fit: Fit, data: Comparisons) -> Shown:
    check_map(data, fit.map)
    answers = data.where(data.decided)
    if len(answers) == 0:
        raise StudyError("none of the comparisons was decided, so there is nothing to check")
    first, second, number = answers.pairs
    return Shown(len(data.ids), number, first, second, answers.left < answers.right, answers.first_won)


def _counted_pairs(fit: Fit) -> Shown:
    counts = fit.counts
    pair = np.repeat(np.arange(len(counts.n)), counts.n)
    nth = np.arange(len(pair)) - np.repeat(np.cumsum(counts.n) - counts.n, counts.n)
    always = np.ones(len(pair), dtype=np.bool_)
    return Shown(len(fit.map), pair, counts.first, counts.second, always, nth < counts.wins[pair])


def _area_table(fit: Fit, shown: Shown, wins: np.ndarray) -> "pd.DataFrame":
    import pandas as pd

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


DIFFER_LEVEL = 0.01
"""The false alarm rate: fewer than this share of panels whose judges are alike get a warning."""
DIFFER_DRAWS = 199
MOST_AREAS = 1_000
"""With more areas, disagreement is tested area by area, because using C would take too long."""


def differ_note(
    data: Comparisons, risk: FloatArray, C: FloatArray | None, seed: int, tie_chance: FloatArray
) -> list[Note]:
    """Warn if judges differ more than chance explains; ``risk`` are draws from a fit that assumes they do not.

    ``C`` is the prior correlation; without it, or with many areas, disagreement is tested area by area. ``tie_chance``
    is that of Rao and Kupper's rule, under which ties make choices steeper; 0 without it.
    """
    named = data.where(data.decided & (data.judge >= 0))
    answers = np.bincount(named.judge, minlength=1)
    if (answers > 1).sum() < 2:
        return []
    strengths = risk_sign(data.winner_is) * risk[evenly(len(risk), DIFFER_DRAWS)].astype(np.float64)
    C = C if C is not None and len(C) <= MOST_AREAS else None
    share = differ_share(
        np.random.default_rng(seed), named.by_judge(), strengths, C, lambda d: expit(decided_odds(d, tie_chance))
    )
    if share > DIFFER_LEVEL:
        return []
    text = (
        f"Judges differ more than chance explains (p = {share:.3f} or less), so intervals that pool their answers are "
        f"too narrow: fit again with {DIFFER.option}."
    )
    return [Note(NoteKind.JUDGES_DIFFER, text)]
