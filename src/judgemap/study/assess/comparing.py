"""Compare two fits of the same areas: what changes with another model or prior, or without a judge."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd

from judgemap.core.assess.partitions import adjusted_rand_index
from judgemap.core.assess.posterior import p_riskier, ranks
from judgemap.core.assess.reliability import likeness, pearson, spearman
from judgemap.core.threads import one_thread
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import check_known, quoted
from judgemap.geo.maps import Areas
from judgemap.study.assess.judges import bench_of
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.result import Fit, check_fits
from judgemap.study.fit.settings import CLUSTER_OPTIONS, FitSettings, with_answers

DRAWS = 1_000
"""Probabilities about the order of areas use at least this many evenly spaced draws of each fit, if it has them."""


@dataclass(frozen=True, slots=True, eq=False)
class FitComparison:
    """What changes from one fit to another.

    ``pearson`` and ``spearman`` compare posterior median risks. ``reordered`` is the share of pairs of areas whose
    medians change order. ``p_reordered`` is the probability that a random pair is ordered differently in a draw of the
    other fit than in a draw of the base; ``p_reordered_base`` is the same for two draws of the base itself, which shows
    how much is due to uncertainty alone. ``same_top`` of the ``top`` highest areas are the same.

    ``areas`` has one row per area: id, name, ``risk_base``, ``risk_other``, ``change``, ``rank_base``, ``rank_other``
    (by median, 1 is the highest risk), ``rank_change``, and ``p_higher``, the probability that a draw of the other fit
    is above a draw of the base. The two fits share answers, so p_higher is not a test; it says whether a change is
    large relative to the uncertainty.

    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> same = jm.compare_fits(fit, fit)
    >>> same.same_top, same.top, same.reordered
    (10, 10, 0.0)
    """

    pearson: float
    spearman: float
    reordered: float
    p_reordered: float
    p_reordered_base: float
    same_top: int
    top: int
    areas: pd.DataFrame

    def movers(self, most: int = 10) -> pd.DataFrame:
        """Return the areas whose rank changes most; among equals, those whose risk changes most.

        Parameters
        ----------
        most
            How many areas at most.

        Returns
        -------
        pandas.DataFrame
            Rows of ``areas``, the largest change first.
        """
        ranked, moved = self.areas["rank_change"].abs().to_numpy(), self.areas["change"].abs().to_numpy()
        return self.areas.iloc[np.lexsort((-moved, -ranked))[:most]]

    @property
    def words(self) -> str:
        """What changes, in a sentence or two."""
        first = self.movers(1).iloc[0]
        return (
            f"The two estimates have correlation {self.pearson:.3f} (Pearson) and {self.spearman:.3f} (Spearman); "
            f"{self.same_top} of the {self.top} areas of highest risk are the same. {first['name']} moves most, from "
            f"rank {first['rank_base']} to {first['rank_other']}."
        )


def compare_fits(base: Fit, other: Fit) -> FitComparison:
    """Compare another fit of the same areas with a base fit.

    Parameters
    ----------
    base, other
        Two fits of the same areas.

    Returns
    -------
    FitComparison
        Correlations of the medians, areas that moved, and how the table of areas changes.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> base = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> other = jm.fit_spatial(data, areas, seed=1, as_in_paper=True, chains=2, draws=100)
    >>> change = compare_fits(base, other)
    >>> change.pearson > 0.9, change.same_top, change.top
    (True, 8, 10)
    """
    from scipy.stats import mannwhitneyu  # takes half a second to load

    check_fits(base, other)
    medians = [np.median(each.risk, axis=0) for each in (base, other)]
    rank = ranks(np.stack(medians))
    alike = likeness(medians[0], medians[1])
    draws = [_some(each.risk) for each in (base, other)]
    chances = [_upper(p_riskier(each)) for each in draws]
    change = medians[1] - medians[0]
    areas = pd.DataFrame(
        {
            "id": base.map.ids,
            "name": base.map.names,
            "risk_base": medians[0],
            "risk_other": medians[1],
            "change": change,
            "rank_base": rank[0],
            "rank_other": rank[1],
            "rank_change": rank[1] - rank[0],
            # Mann and Whitney's statistic counts the pairs of draws in which the other is higher, equal ones half.
            "p_higher": mannwhitneyu(draws[1], draws[0]).statistic / (len(draws[0]) * len(draws[1])),
        }
    )
    before, after = (_upper(np.sign(each[:, None] - each[None, :])) for each in medians)
    return FitComparison(
        pearson=alike.pearson,
        spearman=alike.spearman,
        reordered=_mean(before * after < 0),
        p_reordered=_mean(chances[0] * (1 - chances[1]) + (1 - chances[0]) * chances[1]),
        p_reordered_base=_mean(2 * chances[0] * (1 - chances[0])),
        same_top=alike.same_top,
        top=alike.top,
        areas=areas,
    )


def leaders(one: Fit, other: Fit) -> tuple[str, str] | None:
    """Return the names of the areas that two fits put first if they disagree; None if they agree."""
    first, second = (each.map.names[int(np.median(each.risk, axis=0).argmax())] for each in (one, other))
    return None if first == second else (first, second)


def compare_many(fits: dict[str, Fit]) -> pd.DataFrame:
    """Correlate the medians of every two fits, by name, as in the paper's table of judges left out or alone.

    Parameters
    ----------
    fits
        Fits of the same areas, by name.

    Returns
    -------
    pandas.DataFrame
        One row for every two fits.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> parts = {"all": data, "only 12": data.only(["12"])}
    >>> fits = {name: jm.fit_spatial(part, areas, seed=1, chains=2, draws=100) for name, part in parts.items()}
    >>> compare_many(fits).columns.tolist()
    ['base', 'other', 'pearson', 'spearman']
    """
    check_fits(*fits.values())
    medians = {name: np.median(fit.risk, axis=0) for name, fit in fits.items()}
    rows = [
        (one, other, pearson(medians[one], medians[other]), spearman(medians[one], medians[other]))
        for one, other in combinations(fits, 2)
    ]
    return pd.DataFrame(rows, columns=["base", "other", "pearson", "spearman"])


def _some(draws: FloatArray) -> FloatArray:
    return draws[:: max(1, len(draws) // DRAWS)]


def _upper(matrix: FloatArray) -> FloatArray:
    return matrix[np.triu_indices(len(matrix), 1)]


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


F = TypeVar("F", bound=Fit)
Refit = Callable[..., Fit]
"""Fits again with the given options in place of those that a fit was made with, as in ``refit(chi=1.0)``."""
Variation = tuple[str, list[float]]
NUMBERS = CLUSTER_OPTIONS[1:]
VARIANCE_NUMBERS = ("alpha_scale", "chi", "omega", "both")
"""What can be varied: the scale of α's half-normal prior; χ or ω of α² ~ InvGamma(χ, ω), or both set to one value."""
USUAL_VARIATIONS: tuple[Variation, ...] = (
    ("alpha_scale", [2.5, 5.0, 10.0]),
    ("both", [0.01, 0.1, 1.0]),
    ("chi", [0.01, 1.0, 3.0]),
    ("omega", [0.01, 1.0, 10.0]),
)


def read_variation(text: str, names: Sequence[str] = NUMBERS) -> Variation:
    """Read ``beta=1e-10,1e-8`` as a hyperparameter and the values to try.

    >>> read_variation("beta=1e-10,1e-8")
    ('beta', [1e-10, 1e-08])
    >>> read_variation("chi=0.1,1", VARIANCE_NUMBERS)
    ('chi', [0.1, 1.0])
    """
    name, _, values = text.partition("=")
    check_known("hyperparameter", name, names)
    try:
        return name, [float(value) for value in values.split(",")]
    except ValueError:
        raise StudyError(f"--sensitivity {text}: write numbers separated by commas, as in {name}=0.5,1,2") from None


def variance_sensitivity(base: Fit, refit: Refit, variations: Iterable[Variation] = USUAL_VARIATIONS) -> pd.DataFrame:
    """Refit the standard or spatial model under other priors of α, and compare every fit with ``base``.

    Columns: ``parameter`` ('alpha_scale', 'chi', 'omega', or 'both' set to the same) and ``value``; the prior's
    ``alpha_scale``, or ``chi`` and ``omega``; ``alpha2`` (posterior median) with its 95 % interval; for median risks,
    ``pearson`` and ``spearman`` with the base, the largest ``change`` and the largest ``rank_change``; how many of the
    ten highest are the same (``same_top``); ``sd_ratio``, the mean posterior sd relative to the base's; the worst
    R-hat.

    Parameters
    ----------
    base
        The fit to compare with.
    refit
        Fits again with the given options changed, as in ``refit(chi=1.0)``.
    variations
        Pairs of a parameter's name and the values to try.

    Returns
    -------
    pandas.DataFrame
        A row for ``base`` and one for each value.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = lambda **changed: jm.fit_spatial(data, areas, seed=1, as_in_paper=True, chains=2, draws=100, **changed)
    >>> table = variance_sensitivity(fit(), fit, [("both", [1.0])])
    >>> table["parameter"].tolist(), bool(table["pearson"].min() > 0.99)
    (['(as fitted)', 'both'], True)
    """
    if base.record.model == "clusters" or base.settings.alpha is not None:
        raise StudyError(
            "this fit has no prior of α to vary (α was fixed, or it is a cluster fit); fit the standard or the "
            "spatial model with α inferred"
        )
    return _sensitivity(base, refit, variations, _varied, _against)


def cluster_sensitivity(base: ClusterFit, refit: Refit, variations: Iterable[Variation]) -> pd.DataFrame:
    """Refit under each value of each hyperparameter, and compare every fit with ``base``.

    Columns: the hyperparameter and its value; the most probable number of clusters, its probability, and the mean
    number; the number of clusters in the best partition and its adjusted Rand index with the base's; the correlation of
    posterior median risks with the base and the largest difference in a co-clustering probability; the worst R-hat.

    Parameters
    ----------
    base
        The fit to compare with.
    refit
        Fits again with the given options changed, as in ``refit(beta=1e-6)``.
    variations
        Pairs of a hyperparameter's name and the values to try.

    Returns
    -------
    pandas.DataFrame
        A row for ``base`` and one for each value.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> quick = {"seed": 1, "chains": 2, "warmup": 50, "draws": 50, "thin": 1}
    >>> fit = lambda **changed: jm.fit_clusters(data, areas, **quick, **changed)
    >>> table = cluster_sensitivity(fit(), fit, [("beta", [1e-6])])
    >>> table["parameter"].tolist()
    ['(as fitted)', 'beta']
    """
    return _sensitivity(base, refit, variations, lambda name, value: {name: value}, _against_clusters)


def _sensitivity(
    base: F,
    refit: Refit,
    variations: Iterable[Variation],
    changes: Callable[[str, float], dict[str, Any]],
    against: Callable[[F, F], dict[str, Any]],
) -> pd.DataFrame:
    """Fit again with each value, unless it is the base's, and measure every fit against the base."""
    rows = [{"parameter": "(as fitted)", "value": np.nan, **against(base, base)}]
    for name, values in variations:
        for value in values:
            changed = changes(name, value)
            same = all(getattr(base.settings, key) == new for key, new in changed.items())
            fit = base if same else cast("F", refit(**changed).whole())
            rows.append({"parameter": name, "value": value, **against(base, fit)})
    return pd.DataFrame(rows)


def _varied(name: str, value: float) -> dict[str, float | None]:
    check_known("hyperparameter", name, VARIANCE_NUMBERS)
    if name == "alpha_scale":
        return {name: value, "chi": None, "omega": None, "as_in_paper": False}
    return dict.fromkeys(("chi", "omega") if name == "both" else (name,), value)


def _against(base: Fit, fit: Fit) -> dict[str, float | str]:
    compared = compare_fits(base, fit)
    low, middle, high = np.quantile(fit.alpha**2, [0.025, 0.5, 0.975])
    return {
        **{name: fit.record.assumed.get(name, np.nan) for name in VARIANCE_NUMBERS[:3]},
        "alpha2": float(middle),
        "alpha2_low": float(low),
        "alpha2_high": float(high),
        "pearson": compared.pearson,
        "spearman": compared.spearman,
        "change": float(compared.areas["change"].abs().max()),
        "rank_change": int(compared.areas["rank_change"].abs().max()),
        "same_top": compared.same_top,
        "sd_ratio": float(fit.areas["risk_sd"].mean() / base.areas["risk_sd"].mean()),
        "rhat_max": fit.record.diagnostics.rhat_max,
    }


def _against_clusters(base: ClusterFit, fit: ClusterFit) -> dict[str, float]:
    chances = fit.n_clusters
    medians = np.stack([np.median(each.risk, axis=0) for each in (base, fit)])
    return {
        "likeliest_n": int(chances.index.to_numpy()[chances.to_numpy().argmax()]),
        "p_likeliest_n": float(chances.max()),
        "mean_n": float((chances.index.to_numpy() * chances.to_numpy()).sum()),
        "partition_n": fit.best.n_clusters,
        "adjusted_rand": adjusted_rand_index(base.best.labels, fit.best.labels),
        "risk_correlation": float(np.corrcoef(medians[0], medians[1])[0, 1]),
        "co_clustering_gap": float(np.abs(base.co_clustering - fit.co_clustering).max()),
        "rhat_max": fit.record.diagnostics.rhat_max,
    }


CANDIDATES: dict[str, Callable[[FitSettings], FitSettings]] = {
    "alike": partial(replace, judges="alike"),
    "differ": partial(replace, judges="differ"),
    "independent": partial(replace, judges="differ", disagreement="independent"),
    "side": partial(replace, judges="differ", side=True),
    "attention": partial(replace, judges="differ", attention=True),
    "lapses": partial(replace, judges="differ", lapses=True),
    "smoothness": partial(replace, judges="differ", smoothness="infer"),
    "davidson": partial(replace, judges="differ", ties="davidson"),
}
"""The models to choose from, each as what it changes in the settings."""
MOST_OF_ONE = 0.5
"""If more of what is known in some direction rests on one judge, that judge is left out by fitting again."""
FEWEST_JUDGES = 3


@dataclass(frozen=True, slots=True, eq=False)
class ModelComparison:
    """How well each model predicts a judge it has not seen.

    ``table`` has one row per model, the best first: ``model``; ``elpd``, the sum over judges of the log probability of
    their answers given the other judges' (leave-one-judge-out), with its standard error ``se``; ``difference`` from the
    best and ``difference_se``, from the differences judge by judge; ``refits``, how many judges required a new fit
    without them, because too much rested on their answers; ``options`` of `judgemap fit`. ``judges`` has one row
    per judge and one column per model.

    >>> areas, data = jm.example_study(seed=1)
    >>> judged = jm.compare_models(data.only(["1", "2", "3"]), areas, seed=1, models=["alike"], chains=2, draws=50)
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
        rivals = self.table[-self.table["difference"] <= 2 * self.table["difference_se"]]
        # Where predictions are alike, intervals decide: those of judges taken as alike are too narrow if they are not.
        named = rivals["model"].tolist()
        chosen = next(name for name in CANDIDATES if name in named and name != "alike")
        options = self.table.set_index("model")["options"][chosen]
        return (
            f"{command} comes first, but these predict a new judge's answers about equally well: "
            f"{quoted(tuple(named[1:]))}. Choose '{chosen}' (judgemap fit {options}), whose intervals allow for judges "
            "who differ."
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

    Every model is fitted once; what it says about an unseen judge comes from its
    posterior with the judge's answers taken out (`core.assess.held_out`), or from a new fit without the judge if too
    much rests on them. If a model leaves out ties, so does its comparison.

    Parameters
    ----------
    data, areas
        The comparisons, and the areas they were read with.
    seed
        The same seed gives the same numbers.
    models
        Names of `CANDIDATES`; by default all that the data allow.
    cores
        Threads to use; the results do not depend on it.
    settings
        Other options of `jm.fit_spatial`, for all models.

    Returns
    -------
    ModelComparison
        How well each model predicts each judge, and what to conclude, in words.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> compare_models(data, areas, seed=1, models=["alik"])
    Traceback (most recent call last):
        ...
    judgemap.errors.StudyError: there is no model of judges 'alik' (did you mean 'alike'?); choose one of ...
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
        check_known("model of judges", name, CANDIDATES)
    scores, refits = {}, {}
    for name in chosen:
        scores[name], refits[name] = leave_one_judge_out(data, areas, CANDIDATES[name](shared), cores)
    return ModelComparison(_table(scores, refits), pd.DataFrame(scores, index=list(data.judges)).rename_axis("judge"))


def leave_one_judge_out(
    data: Comparisons, areas: Areas, settings: FitSettings, cores: int = 1
) -> tuple[FloatArray, int]:
    """Return log p(a judge's answers | the others'), one entry per judge, and how many fits without a judge it took."""
    fit = settings.run(data, areas, cores=cores).whole()
    scores, refits = np.empty(len(data.judges)), 0
    with one_thread():
        bench = bench_of(fit, data)
        aside = [bench.set_aside(judge) for judge in range(len(scores))]
    for judge, (others, share) in enumerate(aside):
        at, rng = bench, np.random.default_rng(judge)
        if share > MOST_OF_ONE:
            again = settings.run(data.without([data.judges[judge]]), areas, cores=cores).whole()
            at, refits = replace(bench_of(again, data), counts=bench.counts), refits + 1
            others = at.known  # noqa: PLW2901 - known better now
        with one_thread():
            scores[judge] = at.log_chance(rng, judge, others)
    return scores, refits


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
            "options": [" ".join(CANDIDATES[name](FitSettings(seed=0)).options()[:-2]) for name in order],
        }
    )
