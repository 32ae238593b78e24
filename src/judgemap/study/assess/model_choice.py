"""Model choice: each model is judged by how probable it makes the answers of a judge it has not seen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from judgemap.core.assess.held_out import GOOD_K, Shared, log_probability, rows_of, smooth_weights
from judgemap.core.model.judges import Parts
from judgemap.core.threads import one_thread
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.geo.maps import Areas
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.draws import evenly
from judgemap.study.fit.judges import PanelFit
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import FitSettings, with_answers

DIFFER = {"judges": "differ"}
CANDIDATES: dict[str, dict[str, Any]] = {
    "alike": {},
    "differ": DIFFER,
    "independent": {**DIFFER, "disagreement": "independent"},
    "side": {**DIFFER, "side": True},
    "attention": {**DIFFER, "attention": True},
    "lapses": {**DIFFER, "lapses": True},
    "smoothness": {**DIFFER, "smoothness": "infer"},
    "davidson": {**DIFFER, "ties": "davidson"},
}
"""The models to choose from, each as the settings that it changes."""
DRAWS = 200
"""Draws of each fit, evenly spaced."""
FEWEST_JUDGES = 3


@dataclass(frozen=True, slots=True, eq=False)
class ModelComparison:
    """How well each model predicts a judge it has not seen.

    ``table`` has one row per model, the best first: ``model``; ``elpd``, the sum over judges of the log probability of
    their answers given the other judges' (leave-one-judge-out), with its standard error ``se``; ``difference`` from the
    best and ``difference_se``, from the differences judge by judge; ``refits``, how many judges required a new fit
    without them, because importance sampling was not reliable; ``options`` of `judgemap fit`. ``judges`` has one row
    per judge and one column per model.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> judged = jm.compare_models(data.only(["1", "2", "3"]), areas, seed=1, models=["alike"], chains=2, draws=100)
    >>> judged.table["model"].tolist(), judged.judges.shape
    (['alike'], (3, 1))
    """

    table: pd.DataFrame
    judges: pd.DataFrame

    @property
    def words(self) -> str:
        """Which model is best, and by how much, in a sentence."""
        best = self.table.iloc[0]
        command = f"'{best['model']}' (judgemap fit {best['options']})" if best["options"] else f"'{best['model']}'"
        if len(self.table) == 1:
            return f"Only {command} was fitted; name another model to compare it with."
        second = self.table.iloc[1]
        ahead = f"{-second['difference']:.1f} log units (standard error {second['difference_se']:.1f})"
        if -second["difference"] > 2 * second["difference_se"]:
            return (
                f"{command[0]}{command[1:]} predicts a new judge's answers best, {ahead} ahead of '{second['model']}'."
            )
        rivals = self.table["model"][1:][-self.table["difference"][1:] <= 2 * self.table["difference_se"][1:]]
        return (
            f"{command} comes first, but these predict a new judge's answers about equally well: "
            f"{quoted(tuple(rivals))}; "
            "choose the simplest of them."
        )


def compare_models(
    data: Comparisons,
    areas: Areas,
    *,
    seed: int,
    models: Iterable[str] | None = None,
    cores: int = 1,
    **settings: Any,  # noqa: ANN401 - as `FitSettings` takes them
) -> ModelComparison:
    """Compare models of the judges by leaving out one judge at a time: all `CANDIDATES` the data allow, or some.

    ``settings`` are shared by all models. Every model is fitted once; what it says about an unseen judge comes from
    Pareto smoothed importance sampling, or from a new fit without the judge if that is unreliable. If a model leaves
    out ties, so does its comparison.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> compare_models(data, areas, seed=1, models=["alik"])
    Traceback (most recent call last):
        ...
    judgemap.errors.StudyError: there is no model of judges 'alik' (did you mean 'alike'?); there are 'alike', ...
    """
    shared = FitSettings(**{**settings, "seed": seed})
    data, _ = with_answers(data.where(data.decided | data.tied))
    if len(data.judges) < FEWEST_JUDGES or (data.judge < 0).any():
        raise StudyError(
            f"models are compared by leaving out one judge at a time, which takes {FEWEST_JUDGES} judges, and "
            "every answer with its judge's name; fill in the column 'judge', or ask more judges"
        )
    chosen = _applicable(data) if models is None else list(models)
    for name in chosen:
        if name not in CANDIDATES:
            hint = did_you_mean(name, tuple(CANDIDATES))
            raise StudyError(f"there is no model of judges {name!r}{hint}; there are {quoted(tuple(CANDIDATES))}")
    scores, refits = {}, {}
    for name in chosen:
        scores[name], refits[name] = leave_one_judge_out(data, areas, replace(shared, **CANDIDATES[name]), cores)
    return ModelComparison(_table(scores, refits), pd.DataFrame(scores, index=list(data.judges)).rename_axis("judge"))


def leave_one_judge_out(
    data: Comparisons, areas: Areas, settings: FitSettings, cores: int = 1
) -> tuple[FloatArray, int]:
    """Return log p(a judge's answers | the others'), one entry per judge, and how many fits without a judge it took."""
    fit = settings.run(data, areas, cores=cores).whole()
    with one_thread():
        chances = np.array([_chances(fit, data, judge) for judge in range(len(data.judges))])
    smoothed = [smooth_weights(-own) for own in chances]
    scores = np.array([logsumexp(each.log_weights + own) for each, own in zip(smoothed, chances, strict=True)])
    doubtful = np.flatnonzero([not each.k <= GOOD_K for each in smoothed])
    for judge in doubtful:
        again = settings.run(data.without([data.judges[judge]]), areas, cores=cores).whole()
        with one_thread():
            unseen = _chances(again, data, int(judge))
        scores[judge] = logsumexp(unseen) - np.log(len(unseen))
    return scores, len(doubtful)


def _chances(fit: Fit, data: Comparisons, judge: int) -> FloatArray:
    """Return log p(this judge's answers | shared parameters) for some draws of a fit."""
    rows = evenly(len(fit.risk), DRAWS)
    zero = np.zeros(len(rows))
    parts, shared = Parts(), Shared(fit.record.sign * fit.risk[rows], zero, zero, zero, zero, zero)
    if isinstance(fit, PanelFit):
        parts = fit.settings.parts(data, fit.covariance)
        shared = fit.shared(rows)
    return log_probability(np.random.default_rng(judge), rows_of(data.by_judge(), judge, parts), parts, shared)


def _applicable(data: Comparisons) -> list[str]:
    """List the models that these data can say something about."""
    missing = {"side": not data.sides, "davidson": not data.tied.any()}
    return [name for name in CANDIDATES if not missing.get(name, False)]


def _table(scores: Mapping[str, FloatArray], refits: Mapping[str, int]) -> pd.DataFrame:
    order = sorted(scores, key=lambda name: -scores[name].sum())
    best = scores[order[0]]
    size = len(best)
    return pd.DataFrame(
        {
            "model": order,
            "elpd": [scores[name].sum() for name in order],
            "se": [np.sqrt(size * scores[name].var(ddof=1)) for name in order],
            "difference": [(scores[name] - best).sum() for name in order],
            "difference_se": [np.sqrt(size * (scores[name] - best).var(ddof=1)) for name in order],
            "refits": [refits[name] for name in order],
            # The last two words are the seed, which does not matter here.
            "options": [" ".join(FitSettings(seed=0, **CANDIDATES[name]).options()[:-2]) for name in order],
        }
    )
