"""Fits whose model includes ties, judges who differ, their sides, attention or lapses, or the map's smoothness."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from judgemap.core.assess.held_out import Shared
from judgemap.core.assess.misfit import Shown
from judgemap.core.model.judges import Reach
from judgemap.core.model.outcomes import TieRule, decided_odds, log_chances, odds
from judgemap.core.model.prior import (
    Covariance,
    covariance_of,
    independent,
)
from judgemap.core.samplers.run import Draws
from judgemap.core.types import FloatArray, IntArray
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.draws import (
    Named,
    evenly,
)
from judgemap.study.fit.record import Note, NoteKind
from judgemap.study.fit.result import (
    DENSE,
    Fit,
    interval_words,
)
from judgemap.study.fit.settings import (
    View,
)

if TYPE_CHECKING:
    import pandas as pd

SHARED = ("sigma2", "lean", "side_sigma2", "attention_sigma2")
SOME_DRAWS = 200


@dataclass(frozen=True, eq=False, repr=False)
class PanelFit(Fit):
    """A fit that says more about the judges: a `Fit` with whichever of the following its model has.

    If judges differ, `areas` and everything derived from it show the population's map, what other judges of the same
    kind would see on average; `seen_by` gives the same fit with the panel's map, and `judge_maps` each judge's.

    ``posterior`` has ``sigma2`` (σ², between judges), ``theta`` (Rao and Kupper's θ) or ``nu`` (Davidson's ν), ``rho``
    (ρ, smoothness), ``lean``, ``side_sigma2``, ``attention_sigma2`` (chain, draw); ``panel_risk`` (chain, draw, area);
    ``distance``, ``side``, ``attention``, ``lapse``, ``centre`` (an area's position) and ``reach`` (in borders crossed)
    (chain, draw, judge). ``views`` has ``judge_risk`` (sample, judge, area), some draws of each judge's own map.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, judges="differ", chains=4, draws=100)
    >>> fit.record.view, fit.seen_by("panel").record.view, fit.judge_maps.shape
    (<View.POPULATION: 'population'>, <View.PANEL: 'panel'>, (924, 8))
    """

    views: Named

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the judges the fit says something about."""
        return tuple(self.posterior["judge"].tolist()) if "judge" in self.posterior else ()

    @property
    def sigma(self) -> FloatArray:
        """Draws of σ, the standard deviation between judges, to compare with `alpha`; 0 if judges are alike."""
        return np.sqrt(self._flat("sigma2")) if self.settings.differ else np.zeros(len(self.risk))

    @property
    def view_covariance(self) -> Covariance:
        """C_u: how a judge's views of two areas are correlated."""
        return self.covariance if self.settings.disagreement == "map" else independent(len(self.map))

    def seen_by(self, view: str) -> "PanelFit":
        """Return the same fit with the map of the 'population' or of the 'panel'; see `View`.

        Parameters
        ----------
        view
            "population" or "panel".

        Returns
        -------
        PanelFit
            The same draws.
        """
        if not self.settings.differ:
            super().seen_by(view)
            return self
        wanted = (View.POPULATION.value, View.PANEL.value)
        if view not in wanted:
            raise StudyError(f"there is no view {view!r}{did_you_mean(view, wanted)}; choose one of {quoted(wanted)}")
        shown = self.record.view.value
        if view == shown:
            return self
        if f"{view}_risk" not in self.posterior:
            raise StudyError(
                f"there is no map of the {view}: with {len(self.map):,} areas, each judge has a view of only the part "
                "they met"
            )
        draws = self.posterior.arrays
        other = self.posterior.without(f"{view}_risk").assign(
            **{"risk": draws[f"{view}_risk"], f"{shown}_risk": draws["risk"]}
        )
        made = replace(self, posterior=other, record=replace(self.record, view=View(view)))
        return made.remembering(covariance=self.covariance, answers=self.answers)

    @property
    def words(self) -> str:
        """What the model says about judges, ties and smoothness: medians and 95 % intervals, in a sentence or more."""
        texts = []
        if self.settings.differ:
            ratio = interval_words(self.sigma / self.alpha)
            texts.append(f"Judges' views differ from the population's by {ratio} of the map's own spread (σ/α).")
        if ties := super().words:
            texts.append(ties)
        if "rho" in self.posterior:
            texts.append(f"Of the map's variance, {interval_words(self._flat('rho'))} is smooth (ρ).")
        if "lean" in self.posterior:
            texts.append(f"The judges' mean lean to the left is {interval_words(self._flat('lean'))} in log-odds.")
        return " ".join(texts)

    @property
    def has_judge_maps(self) -> bool:
        """Whether each judge's own map is kept; it is not if judges are alike, or there are too many."""
        return "judge_risk" in self.views

    @cached_property
    def judge_maps(self) -> "pd.DataFrame":
        """One row per judge and area: risk as this judge sees it, and its 95 % interval."""
        import pandas as pd

        risk = self._judge_risk()
        low, middle, high = np.quantile(risk, [0.025, 0.5, 0.975], axis=0)
        judges, areas = risk.shape[1:]
        return pd.DataFrame(
            {
                "judge": np.repeat(np.array(self.judges, dtype=object), areas),
                "id": list(self.map.ids) * judges,
                "name": list(self.map.names) * judges,
                "risk_median": middle.ravel(),
                "risk_mean": risk.mean(axis=0).ravel(),
                "risk_sd": risk.std(axis=0, ddof=1).ravel(),
                "risk_low": low.ravel(),
                "risk_high": high.ravel(),
            }
        )

    def judge_map(self, judge: str) -> "pd.DataFrame":
        """Return the table `areas` as one judge sees it.

        Parameters
        ----------
        judge
            The judge's name.

        Returns
        -------
        pandas.DataFrame
            One row per area.
        """
        if judge not in self.judges:
            known = did_you_mean(judge, self.judges)
            raise StudyError(f"there is no judge {judge!r}{known}; the judges are {quoted(self.judges)}")
        risk = self._judge_risk(self.judges.index(judge))
        return self._table(risk)

    @property
    def strengths(self) -> FloatArray:
        """Draws of λ, the population's strengths, not centred."""
        return self.record.sign * self._population + self._flat("level")[:, None]

    @property
    def prior_precision(self) -> FloatArray:
        """The precision of the strengths' prior, with α² and ρ at their medians."""
        return np.linalg.inv(self.prior_matrix).astype(np.float64, copy=False)

    @property
    def judge_covariance(self) -> Covariance:
        """The covariance of a judge's map, α²C + σ²C_u, with α², ρ and σ² at their medians."""
        return covariance_of(self.prior_matrix + np.median(self.sigma) ** 2 * self.view_covariance.matrix)

    @property
    def prior_matrix(self) -> FloatArray:
        """The prior covariance of the population's map, α²C, with α² and ρ at their medians."""
        matrix = self.covariance.matrix
        if "rho" in self.posterior:
            rho = float(np.median(self._flat("rho")))
            matrix = rho * matrix + (1 - rho) * np.eye(len(matrix))
        return np.median(self.alpha) ** 2 * matrix

    @property
    def shared(self) -> Shared:
        """What all judges share, at the medians of the draws."""
        found = {name: float(np.median(self._flat(name))) for name in SHARED if name in self.posterior}
        return Shared(
            strengths=np.median(self.strengths, axis=0),
            tie_chance=float(np.median(self.tie_chance)),
            sigma=found.get("sigma2", 0.0) ** 0.5,
            lean=found.get("lean", 0.0),
            side_sd=found.get("side_sigma2", 0.0) ** 0.5,
            attention_sd=found.get("attention_sigma2", 0.0) ** 0.5,
        )

    def known_areas(self) -> FloatArray:
        """Return how likely each judge is to know each area, (judges, areas); 1 without ``reach``.

        Returns
        -------
        FloatArray
            Probabilities, in the order of `judges` and of the map's areas.
        """
        if not self.settings.reach:
            return np.ones((len(self.judges), len(self.map)))
        rows, reach = evenly(len(self.risk), SOME_DRAWS), Reach.on(self.map.graph)
        centre, steps = (self.posterior[each].reshape(-1, len(self.judges)) for each in ("centre", "reach"))
        return np.mean([reach.known(centre[row], steps[row]) for row in rows], axis=0)

    def answer_chances(self, shown: Shown, data: Comparisons | None, draws: int) -> Iterator[FloatArray]:
        """P(the pair's first area is chosen | it is not a tie), by each judge's own map, side, attention and lapses."""
        if data is None or (self.settings.differ and not self.has_judge_maps):
            return super().answer_chances(shown, None, draws)
        return self._own_answers(shown, data.where(data.decided), draws)

    def _own_answers(self, shown: Shown, answers: Comparisons, draws: int) -> Iterator[FloatArray]:
        """Let the same judges answer again."""
        first, second = shown.first[shown.pair], shown.second[shown.pair]
        rows = self._kept_rows[evenly(len(self._kept_rows), draws)]
        sides = np.where(shown.forward, 1.0, -1.0)
        for won, lost, _ in self._own_chances(answers, (first, second, sides), rows):
            yield np.clip(won / (won + lost), 1e-300, 1 - 1e-16)

    def _answer_logs(self, answers: Comparisons, rows: IntArray) -> Iterator[tuple[FloatArray, ...]]:
        if self.settings.differ and not self.has_judge_maps:
            raise StudyError("there are too many judges to keep a map for each, so no answer's chance can be told")
        sides = np.ones(len(answers))
        for chances in self._own_chances(answers, (answers.left, answers.right, sides), rows):
            yield tuple(np.log(np.maximum(each, 1e-300)) for each in chances)

    def _rows_by_chain(self, answers: int) -> IntArray:
        if not self.settings.differ:
            return super()._rows_by_chain(answers)
        draws, rows = self.posterior.sizes["draw"], self._kept_rows
        by_chain = [rows[rows // draws == chain] for chain in range(self.posterior.sizes["chain"])]
        fewest = min(len(each) for each in by_chain)
        return np.array([each[evenly(len(each), fewest)] for each in by_chain], dtype=np.int64).reshape(-1, fewest)

    @property
    def _kept_rows(self) -> IntArray:
        """The positions of the draws that are complete: those of which each judge's map was kept."""
        return self.views["sample"] if self.settings.differ else np.arange(len(self.risk))

    def _own_chances(
        self, answers: Comparisons, pairs: tuple[IntArray, IntArray, FloatArray], rows: IntArray
    ) -> Iterator[tuple[FloatArray, ...]]:
        """Yield P(first), P(second) and P(tie) of each answer by its own judge, for some complete draws.

        ``pairs`` has the first and the second area of each answer, and 1 if the first was on the left, or −1.
        """
        first, second, sides = pairs
        place = {name: code for code, name in enumerate(self.judges)}
        judge = np.array([place.get(name, 0) for name in [*answers.judges, ""]], dtype=np.int64)[answers.judge]
        by_judge = {
            name: self.posterior[name].reshape(-1, len(self.judges))
            for name in ("side", "attention", "lapse", "centre", "reach")
            if name in self.posterior
        }
        population, tie_chance = self._population, self.tie_chance
        reach = Reach.on(self.map.graph) if self.settings.reach else None
        for row, at in zip(rows, np.searchsorted(self._kept_rows, rows), strict=True):
            if self.settings.differ:
                strengths = self.record.sign * self.views["judge_risk"][at].astype(np.float64)
                d = strengths[judge, first] - strengths[judge, second]
            else:
                d = self.record.sign * (population[row, first] - population[row, second])
            if "attention" in by_judge:
                d = d * by_judge["attention"][row, judge]
            if reach is not None:
                known = reach.known(by_judge["centre"][row], by_judge["reach"][row])
                d = d * (known[judge, first] & known[judge, second])
            if "side" in by_judge:
                d = d + sides * by_judge["side"][row, judge]
            won, lost, tie = (np.exp(each) for each in log_chances(self._rule, d, odds(d), tie_chance[row]))
            if "lapse" in by_judge:
                lapse = by_judge["lapse"][row, judge]
                won, lost, tie = (1 - lapse) * won + lapse / 2, (1 - lapse) * lost + lapse / 2, (1 - lapse) * tie
            yield won, lost, tie

    def _view_spread(self, first: IntArray, second: IntArray) -> FloatArray:
        if not self.settings.differ:
            return super()._view_spread(first, second)
        if len(self.map) > DENSE:
            return np.full(len(first), np.sqrt(2))
        C = self.view_covariance.matrix
        return np.sqrt(C[first, first] + C[second, second] - 2 * C[first, second])

    def _spread_around_mean(self) -> FloatArray:
        if not self.settings.differ or self.record.view is View.PANEL:
            return super()._spread_around_mean()
        if len(self.map) > DENSE:
            return np.ones(len(self.map))
        C = self.view_covariance.matrix
        return np.sqrt(np.diag(C) - 2 * C.mean(axis=1) + C.mean())

    def _chosen(self, rng: np.random.Generator, d: np.ndarray, spread: FloatArray, kept: slice) -> FloatArray:
        """Let judges drawn from the population answer, another one for each pair and draw."""
        if spread.any():
            d = d + spread[:, None] * self.sigma[kept] * rng.standard_normal(d.shape)
        if self.settings.attention:
            d = d * (1 + np.sqrt(self._flat("attention_sigma2")[kept]) * rng.standard_normal(d.shape))
        if self.settings.side:
            lean = self._flat("lean")[kept] + np.sqrt(self._flat("side_sigma2")[kept]) * rng.standard_normal(d.shape)
            d = d + rng.choice([-1.0, 1.0], d.shape) * lean
        if not self.settings.lapses:
            return super()._chosen(rng, d, spread, kept)
        won, lost, _ = (np.exp(each) for each in log_chances(self._rule, d, odds(d), self.tie_chance[kept]))
        lapse = rng.choice(self.posterior["lapse"].ravel(), d.shape)
        won, lost = ((1 - lapse) * each + lapse / 2 for each in (won, lost))
        return won / (won + lost)

    @property
    def _population(self) -> FloatArray:
        name = "population_risk" if "population_risk" in self.posterior else "risk"
        values: FloatArray = self.posterior[name]
        return values.reshape(-1, values.shape[2])

    def _judge_risk(self, place: int | None = None) -> FloatArray:
        """Draws of every judge's map, (samples, judges, areas), or of one judge's, (samples, areas)."""
        if not self.has_judge_maps:
            why = (
                "there are too many judges to keep a map for each"
                if self.settings.differ
                else "it treats judges as alike"
            )
            raise StudyError(f"this fit has no map for each judge: {why}")
        draws: FloatArray = self.views["judge_risk"]
        return (draws if place is None else draws[:, place]).astype(np.float64)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of posterior.nc, including the draws of each judge's map."""
        return (*super().groups, "views")

    def _group(self, group: str) -> Named:
        return self.views if group == "views" else super()._group(group)

    def _write(self, folder: Path) -> None:
        super()._write(folder)
        if self.has_judge_maps:
            self.judge_maps.to_csv(folder / "judge_maps.csv", index=False)


def silent_note(silent: tuple[str, ...]) -> list[Note]:
    """Name the judges of whom the fit says nothing."""
    text = f"The fit says nothing about judges who never answered left, right or tie: {quoted(silent, most=5)}."
    return [Note(NoteKind.SILENT_JUDGES, text)] if silent else []


def decided_chance(draws: Draws, rule: TieRule | None) -> Callable[[FloatArray], FloatArray]:
    """Return P(first | not a tie) as a function of the difference, with the chance of ties at its median."""
    if rule is not TieRule.RAO_KUPPER:
        return expit
    tie_chance = np.median(draws["tie_chance"])
    return lambda d: expit(decided_odds(d, tie_chance))
