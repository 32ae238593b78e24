"""A fit: the posterior with its names and provenance, its tables, its warnings, and its folder."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import expit

from judgemap.core.assess import posterior
from judgemap.core.assess.misfit import Shown
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.covariates import with_covariates
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import Reach as JudgeReach
from judgemap.core.model.outcomes import TieRule, decided_odds, log_chances, odds
from judgemap.core.model.prior import Covariance, independent
from judgemap.core.samplers.diagnostics import GOOD_ESS, GOOD_RHAT, Sampling, assess_sampling
from judgemap.core.threads import pieces
from judgemap.core.types import FloatArray, IntArray
from judgemap.display import Displayed, drawn
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import check_known
from judgemap.geo.maps import Areas
from judgemap.study.assess.verdict import ENDLESS, Evidence, Reach, Verdict, judge_fit
from judgemap.study.data.comparisons import Comparisons, check_map
from judgemap.study.fit.draws import Axed, Named, evenly, read_groups, thinned, write_groups
from judgemap.study.fit.folder import FIT, new_folder, write_whole
from judgemap.study.fit.priors import PRIORS, covariate_matrix, prior_covariance
from judgemap.study.fit.record import FitRecord
from judgemap.study.fit.settings import FitSettings, View

if TYPE_CHECKING:
    import geopandas
    import pandas as pd
    import xarray as xr

WORK = 100_000_000
"""The most pairs × draws for which probabilities are computed; beyond that, evenly spaced draws are used."""
DENSE = 6_000
"""With more areas than this, no matrix of all areas is made: priors are scaled so that a view's typical variance is 1,
and areas are taken to be far apart."""
CHUNK = 250_000
"""Pairs × draws at a time: two megabytes, which fit into a processor's cache."""
MOST_FAILED = 0.01
"""The share of proposals that may fail: one is rightly rejected, but many leave part of the posterior unseen."""
MOST_LOGS = 25_000_000
"""The most answers × draws in a log-likelihood, 200 MB; beyond that, evenly spaced draws of each chain are used."""
KNOWN_DRAWS = 200
"""From how many draws `Fit.known_areas` is worked out."""
GROUPS = ("posterior", "sample_stats", "observed_data", "constant_data")
"""The groups of posterior.nc, beside the judges' ``views``."""
BY_JUDGE = ("side", "attention", "lapse", "centre", "reach")
NO_VIEWS = Named()


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Displayed):
    """A fitted model. `areas` is the table to read; `map` holds the areas themselves, `record` how the fit was made.

    ``posterior`` holds arrays by name: ``risk`` (chain, draw, area), centred and signed so that high is bad; ``level``,
    the mean strength, which comparisons cannot determine; and ``alpha2``, the prior variance α². If the model has them,
    it also has ``theta`` (Rao and Kupper's θ) or ``nu`` (Davidson's ν), ``sigma2`` (σ², between judges), ``rho`` (ρ,
    smoothness), ``lean``, ``side_sigma2``, ``attention_sigma2`` (chain, draw); ``panel_risk`` (chain, draw, area); and
    ``distance``, ``side``, ``attention``, ``lapse``, ``centre`` (an area's position) and ``reach`` (in borders crossed)
    (chain, draw, judge). `inference_data` has the same for xarray and ArviZ.

    If judges differ, `areas` and everything derived from it show the population's map, what other judges of the same
    kind would see on average; `seen_by` gives the same fit with the panel's map, and `judge_maps` each judge's, of
    which ``views`` has some draws: ``judge_risk`` (sample, judge, area).

    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> list(fit.areas.columns[:4]), fit.risk.shape
    (['id', 'name', 'risk_median', 'risk_mean'], (200, 77))
    >>> fit.record.view, fit.seen_by("panel").record.view, fit.judge_maps.shape
    (<View.POPULATION: 'population'>, <View.PANEL: 'panel'>, (924, 8))
    """

    map: Areas
    posterior: Named
    sample_stats: Named
    observed_data: Named
    record: FitRecord
    views: Named = NO_VIEWS

    @property
    def settings(self) -> FitSettings:
        """What was asked for."""
        return self.record.settings

    @property
    def info(self) -> dict[str, Any]:
        """What fit.json says, as plain values."""
        return self.record.to_dict()

    def __repr__(self) -> str:
        data, sizes = self.record.data, self.posterior.sizes
        made = f"{data.areas} areas, {data.comparisons} comparisons, {sizes['chain']} × {sizes['draw']} draws"
        return f"{type(self).__name__}({self.record.model} model, {made})"

    @property
    def plot(self) -> Any:  # noqa: ANN401 - a type of the plotting layer
        """Plots on matplotlib axes: ``fit.plot()`` or ``.map()``, ``.ranks()``, ``.alpha()`` and others."""
        return drawn("plots", self)

    def summary(self) -> str:
        """Say in a few lines what came out: the highest risks, how it was sampled, and the verdict.

        Examples
        --------
        >>> areas, data = jm.example_study(seed=1)
        >>> jm.fit_spatial(data, areas, seed=1, chains=2, draws=100).summary()
        1,848 comparisons of 77 areas by 12 judges, seed 1.
        ...
        """
        return drawn("summary", self)

    @property
    def risk(self) -> FloatArray:
        """Draws of risk, shape (draws, areas), one chain after another."""
        values: FloatArray = self.posterior["risk"]
        return values.reshape(-1, values.shape[2])

    @property
    def alpha(self) -> FloatArray:
        """Draws of α, the standard deviation of the prior."""
        return np.sqrt(self.posterior["alpha2"].ravel())

    @property
    def sigma(self) -> FloatArray:
        """Draws of σ, the standard deviation between judges, to compare with `alpha`; 0 if judges are alike."""
        return np.sqrt(self._flat("sigma2")) if self.settings.differ else np.zeros(len(self.risk))

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the judges whose own views or habits the fit says something about."""
        return tuple(self.posterior["judge"].tolist()) if "judge" in self.posterior else ()

    @cached_property
    def areas(self) -> "pd.DataFrame":
        """One row per area: risk and its 95 % interval, rank (1 = highest risk) and its interval, P(in the top ten).

        The index is the area's id, so that columns can be added: ``fit.areas["p_top5"] = fit.p_top(5)``.
        """
        return self._table(self.risk)

    def _table(self, risk: FloatArray) -> "pd.DataFrame":
        import pandas as pd  # here and below: it takes a while to load

        told = posterior.summarise(risk, top=min(10, len(self.map)))
        told["p_top10"] = told.pop("p_top")
        return pd.DataFrame({"id": self.map.ids, "name": self.map.names, **told}, index=self._index)

    @property
    def _index(self) -> "pd.Index":
        import pandas as pd

        return pd.Index(self.map.ids, name="area")

    def to_frame(self) -> "geopandas.GeoDataFrame":
        """Return the table `areas` with the areas' outlines, in the reference system of the map.

        Returns
        -------
        geopandas.GeoDataFrame
            One row per area, indexed by id: what ``.explore()``, ``.plot()`` and ``.to_file()`` need.

        Examples
        --------
        >>> areas, data = jm.example_study(seed=1)
        >>> frame = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100).to_frame()
        >>> frame.crs.to_epsg(), frame.loc["32", "name"]
        (3435, 'Loop')
        """
        outlines = self.map.to_frame().set_index(self._index)
        return outlines[["geometry"]].join(self.areas)[[*self.areas.columns, "geometry"]]

    @property
    def strengths(self) -> FloatArray:
        """Draws of λ, uncentred, (draws, areas); the population's if judges differ."""
        return self.record.sign * self._population + self._flat("level")[:, None]

    @property
    def effects(self) -> "pd.DataFrame":
        """The effects of covariates on risk, with 95 % intervals, for one standard deviation more of each.

        ``odds`` is e^β: how many times the odds of being judged riskier. `carried` says how much of the map they carry.
        """
        import pandas as pd

        names = self.settings.covariate_names
        draws = self.posterior["effect"].reshape(-1, len(names)) if names else np.empty((1, 0))
        low, median, high = np.exp(np.quantile(draws, [0.025, 0.5, 0.975], axis=0))
        rises = (draws > 0).mean(axis=0)
        table = {"covariate": list(names), "odds": median, "odds_low": low, "odds_high": high, "p_raises": rises}
        return pd.DataFrame(table)

    @property
    def carried(self) -> FloatArray:
        """Draws of the share of the map that the covariates carry, between 0 and 1; none without covariates."""
        return self.posterior["carried"].ravel() if self.settings.covariates else np.empty(0)

    @property
    def order(self) -> IntArray:
        """The positions of the areas, highest risk first."""
        return posterior.by_risk(self.areas["risk_median"])

    def seen_by(self, view: str) -> "Fit":
        """Return the same fit with the map of the 'population' or of the 'panel', if judges differ; see `View`.

        Parameters
        ----------
        view
            "population", "panel" or, if judges are alike, "pooled".
        """
        shown = self.record.view.value
        if view == shown:
            return self
        if not self.settings.differ:
            raise StudyError(
                f"this fit has one map for all judges, not one of the {view}; fit with --judges-differ for the "
                "population's and the panel's"
            )
        check_known("view", view, (View.POPULATION.value, View.PANEL.value))
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
    def has_judge_maps(self) -> bool:
        """Whether each judge's own map is kept; it is not if judges are alike, or there are too many."""
        return "judge_risk" in self.views

    @cached_property
    def judge_maps(self) -> "pd.DataFrame":
        """One row per judge and area: risk as this judge sees it, and its 95 % interval."""
        import pandas as pd

        self._check_judge_maps()
        maps = [self.judge_map(judge).assign(judge=judge) for judge in self.judges]
        of_risk = [name for name in self.areas.columns if name.startswith("risk_")]
        return pd.concat(maps, ignore_index=True)[["judge", "id", "name", *of_risk]]

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
        self._check_judge_maps()
        check_known("judge", judge, self.judges)
        return self._table(self.views["judge_risk"][:, self.judges.index(judge)].astype(np.float64))

    def _check_judge_maps(self) -> None:
        if not self.has_judge_maps:
            many = "there are too many judges to keep a map for each"
            raise StudyError(
                f"this fit has no map for each judge: {many if self.settings.differ else 'it treats judges as alike'}"
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
        rows, reach = evenly(len(self.risk), KNOWN_DRAWS), JudgeReach.on(self.map.graph)
        centre, steps = (self.posterior[each].reshape(-1, len(self.judges)) for each in ("centre", "reach"))
        return np.mean([reach.known(centre[row], steps[row]) for row in rows], axis=0)

    def p_top(self, k: int) -> "pd.Series":
        """P(area is among the k highest risks), by area id.

        Parameters
        ----------
        k
            How many risks count as the highest.

        Returns
        -------
        pandas.Series
            The probability for each area, which add up to k; indexed as `areas` is.
        """
        import pandas as pd

        known = k == min(10, len(self.map))
        chances = self.areas["p_top10"].to_numpy() if known else posterior.p_top(self.risk, k)
        return pd.Series(chances, index=self._index, name=f"p_top{k}")

    def p_riskier(self) -> "pd.DataFrame":
        """P(the row's area has a higher risk than the column's), by area id."""
        import pandas as pd

        return pd.DataFrame(posterior.p_riskier(self.risk), index=list(self.map.ids), columns=list(self.map.ids))

    @cached_property
    def judged_riskier(self) -> FloatArray:
        """P(an area is picked as riskier than one of average risk | it is not a tie), by area.

        The judge is another one of the same kind or, on the panel's map, one who sees that map.
        """
        rng, risk, spread = np.random.default_rng(0), self.risk, self._spread_around_mean()
        size = len(self.map) if len(self.map) <= DENSE else max(1, CHUNK // len(risk))
        chances = [
            self._chosen(rng, np.ascontiguousarray(risk[:, part].T), spread[part], slice(None)).mean(axis=1)
            for part in pieces(len(self.map), size)
        ]
        return np.concatenate(chances)

    def choice_chances(self, first: IntArray, second: IntArray) -> FloatArray:
        """P(first is chosen over second | it is not a tie) by another judge who knows both, over the posterior.

        Parameters
        ----------
        first, second
            The positions of the areas of each pair.
        """
        draws, rng = self._population, np.random.default_rng(0)
        kept = slice(None, None, -(-len(draws) * max(len(first), 1) // WORK))
        spread = self._view_spread(first, second)
        compared, place = np.unique(np.concatenate([first, second]), return_inverse=True)
        first, second = place[: len(first)], place[len(first) :]
        # Single precision, because its exponential is several times as fast; a mean is off by less than a millionth.
        strengths = np.ascontiguousarray(self.record.sign * draws[kept, compared].T, dtype=np.float32)
        chance = np.empty(len(first))
        for part in pieces(len(first), CHUNK // strengths.shape[1]):
            d = strengths[first[part]] - strengths[second[part]]
            chance[part] = self._chosen(rng, d, spread[part], kept).mean(axis=1)
        return chance

    def answer_chances(self, shown: Shown, data: Comparisons | None, draws: int) -> Iterator[FloatArray]:
        """P(the pair's first area is chosen | it is not a tie) for each entry of ``shown``, for some draws.

        Parameters
        ----------
        shown
            The pairs that were shown.
        data
            The answers that were fitted, if known; if the model tells judges apart, the same ones then answer again.
        draws
            How many draws to use, evenly spaced.

        Returns
        -------
        iterator of numpy.ndarray
            For each draw, a probability for each entry of ``shown``.
        """
        if data is not None and self.settings.by_judge and (self.has_judge_maps or not self.settings.differ):
            first, second, sides = shown.first[shown.pair], shown.second[shown.pair], np.where(shown.forward, 1.0, -1.0)
            rows = self._kept_rows[evenly(len(self._kept_rows), draws)]
            for won, lost, _ in self._answer_logs(data.where(data.decided), (first, second, sides), rows):
                yield np.clip(expit(won - lost), 1e-300, 1 - 1e-16)
            return
        rng, spread = np.random.default_rng(0), self._view_spread(shown.first, shown.second)[shown.pair]
        for row in evenly(len(self.risk), draws):
            strengths = self.record.sign * self._population[row].astype(np.float64)
            d = (strengths[shown.first] - strengths[shown.second])[shown.pair, None]
            yield np.clip(self._chosen(rng, d, spread, slice(row, row + 1))[:, 0], 1e-300, 1 - 1e-16)

    def _chosen(self, rng: np.random.Generator, d: np.ndarray, spread: FloatArray, kept: slice) -> FloatArray:
        """P(first | not a tie) at differences d of strengths, (pairs, draws), seen by judges whose views ``spread``.

        Judges are drawn from the population, another one for each pair and draw.
        """
        if spread.any():
            d = d + spread[:, None] * self.sigma[kept] * rng.standard_normal(d.shape)
        if self.settings.attention:
            d = d * (1 + np.sqrt(self._flat("attention_sigma2")[kept]) * rng.standard_normal(d.shape))
        if self.settings.side:
            lean = self._flat("lean")[kept] + np.sqrt(self._flat("side_sigma2")[kept]) * rng.standard_normal(d.shape)
            d = d + rng.choice([-1.0, 1.0], d.shape) * lean
        if self.settings.lapses:
            won, lost, _ = (np.exp(each) for each in log_chances(self._rule, d, odds(d), self.tie_chance[kept]))
            lapse = rng.choice(self._flat("lapse"), d.shape)
            won, lost = ((1 - lapse) * each + lapse / 2 for each in (won, lost))
            return won / (won + lost)
        log_odds = decided_odds(d, self.tie_chance[kept]) if self._rule is TieRule.RAO_KUPPER else d
        with np.errstate(over="ignore"):  # for a choice that is all but impossible
            against = np.exp(-log_odds)  # the fastest way to a logistic function in NumPy
        against += 1
        return np.reciprocal(against, out=against)

    @property
    def _population(self) -> FloatArray:
        """Draws of the risk that all judges share, (draws, areas)."""
        values = self.posterior["population_risk" if "population_risk" in self.posterior else "risk"]
        return values.reshape(-1, values.shape[2])

    @property
    def view_covariance(self) -> Covariance:
        """C_u: how a judge's views of two areas are correlated."""
        return self.covariance if self.settings.disagreement == "map" else independent(len(self.map))

    def _view_spread(self, first: IntArray, second: IntArray) -> FloatArray:
        """How far a judge's view of a difference is from the population's, relative to σ; 0 if judges are alike."""
        if not self.settings.differ:
            return np.zeros(len(first))
        if len(self.map) > DENSE:
            return np.full(len(first), np.sqrt(2))
        C = self.view_covariance.matrix
        return np.sqrt(C[first, first] + C[second, second] - 2 * C[first, second])

    def _spread_around_mean(self) -> FloatArray:
        """Return the same for the difference between an area and the average one; 0 on the panel's map too."""
        if self.record.view is not View.POPULATION:
            return np.zeros(len(self.map))
        if len(self.map) > DENSE:
            return np.ones(len(self.map))
        C = self.view_covariance.matrix
        return np.sqrt(np.diag(C) - 2 * C.mean(axis=1) + C.mean())

    @cached_property
    def answers(self) -> Comparisons | None:
        """The comparisons that the fit was made from; None if it was read from a folder, which does not keep them."""
        return None

    def log_likelihood(self, data: Comparisons) -> "xr.DataArray":
        """Return the log-probability of each answer, given each draw; when judges differ, given the judge's own map.

        Parameters
        ----------
        data
            The comparisons that the fit was made from.

        Returns
        -------
        xarray.DataArray
            Dimensions (chain, draw, answer). The answers are those that the model uses, in the order of the table:
            ``answer`` is their position in it. With many answers, or if judges differ, only some draws are used.
        """
        check_map(data, self.map)
        used = data.decided | data.tied if self._rule is not None else data.decided
        answers, rows = data.where(used), self._rows_by_chain(int(used.sum()))
        if self.settings.differ and not self.has_judge_maps:
            raise StudyError("there are too many judges to keep a map for each, so no answer's chance can be told")
        values, on_the_left = np.empty((rows.size, int(used.sum()))), np.ones(len(answers))
        logs = self._answer_logs(answers, (answers.left, answers.right, on_the_left), rows.ravel())
        for place, chances in enumerate(logs):
            values[place] = np.choose(answers.outcome, chances)  # left, right, tie
        import xarray as xr

        return xr.DataArray(
            values.reshape(*rows.shape, -1),
            dims=("chain", "draw", "answer"),
            coords={"chain": np.arange(len(rows)), "draw": rows[0], "answer": np.flatnonzero(used)},
            name="answers",
        )

    def _rows_by_chain(self, answers: int) -> IntArray:
        """Choose complete draws for a log-likelihood, by their positions among all, (chains, draws)."""
        chains, draws = self.posterior.sizes["chain"], self.posterior.sizes["draw"]
        by_chain = [self._kept_rows[self._kept_rows // draws == chain] for chain in range(chains)]
        fewest = min(len(each) for each in by_chain)
        if not self.settings.differ:
            fewest = min(fewest, max(1, MOST_LOGS // (chains * max(answers, 1))))
        return np.array([each[evenly(len(each), fewest)] for each in by_chain], dtype=np.int64).reshape(-1, fewest)

    @property
    def _kept_rows(self) -> IntArray:
        """The positions of the draws that are complete: those of which each judge's map was kept."""
        return self.views["sample"] if self.has_judge_maps else np.arange(len(self.risk))

    def _answer_logs(
        self, answers: Comparisons, pairs: tuple[IntArray, IntArray, FloatArray], rows: IntArray
    ) -> Iterator[tuple[FloatArray, ...]]:
        """Yield log P(first), log P(second) and log P(tie) of each answer by its own judge, for some complete draws.

        ``pairs`` has the first and the second area of each answer, and 1 if the first was on the left, or −1.
        """
        first, second, sides = pairs
        place = {name: code for code, name in enumerate(self.judges)}
        judge = np.array([place.get(name, 0) for name in [*answers.judges, ""]], dtype=np.int64)[answers.judge]
        by_judge = {
            name: self.posterior[name].reshape(-1, len(self.judges)) for name in BY_JUDGE if name in self.posterior
        }
        population, tie_chance = self._population, self.tie_chance
        reach = JudgeReach.on(self.map.graph) if self.settings.reach else None
        for row, at in zip(rows, np.searchsorted(self._kept_rows, rows), strict=True):
            if self.settings.differ:
                risk = self.views["judge_risk"][at].astype(np.float64)
                d = self.record.sign * (risk[judge, first] - risk[judge, second])
            else:
                d = self.record.sign * (population[row, first] - population[row, second])
            if "attention" in by_judge:
                d = d * by_judge["attention"][row, judge]
            if reach is not None:
                known = reach.known(by_judge["centre"][row], by_judge["reach"][row])
                d = d * (known[judge, first] & known[judge, second])
            if "side" in by_judge:
                d = d + sides * by_judge["side"][row, judge]
            logs = log_chances(self._rule, d, odds(d), tie_chance[row])
            if "lapse" in by_judge:
                lapse = by_judge["lapse"][row, judge]
                guessed = (lapse / 2, lapse / 2, 0.0)
                mixed = ((1 - lapse) * np.exp(log) + guess for log, guess in zip(logs, guessed, strict=True))
                logs = tuple(np.log(np.maximum(each, 1e-300)) for each in mixed)
            yield logs

    @property
    def _rule(self) -> TieRule | None:
        """How the model treats ties; None if it has none."""
        rules = {"theta": TieRule.RAO_KUPPER, "nu": TieRule.DAVIDSON}
        return next((rule for name, rule in rules.items() if name in self.posterior), None)

    @property
    def tie_chance(self) -> FloatArray:
        """Draws of the probability that two areas of equal risk tie; 0 if ties are not modelled."""
        if self._rule is TieRule.RAO_KUPPER:
            return np.tanh(self._flat("theta") / 2)
        nu = self._flat("nu") if self._rule is not None else np.zeros(len(self.risk))
        return nu / (2 + nu)

    @property
    def words(self) -> str:
        """What the model says about judges, ties and smoothness: medians and 95 % intervals, in a sentence or more."""
        texts = []
        if self.settings.differ:
            ratio = interval_words(self.sigma / self.alpha)
            texts.append(f"Judges' views differ from the population's by {ratio} of the map's own spread (σ/α).")
        if self._rule is not None:
            texts.append(f"Two areas of equal risk tie with probability {interval_words(self.tie_chance)}.")
        if "rho" in self.posterior:
            texts.append(f"Of the map's variance, {interval_words(self._flat('rho'))} is smooth (ρ).")
        if "lean" in self.posterior:
            texts.append(f"The judges' mean lean to the left is {interval_words(self._flat('lean'))} in log-odds.")
        return " ".join(texts)

    def _flat(self, name: str) -> FloatArray:
        return self.posterior[name].ravel()

    @cached_property
    def inference_data(self) -> "xr.DataTree":
        """The fit as ArviZ takes it: posterior, sample_stats, observed_data, with provenance as attributes.

        A fit that knows its `answers` also has their log_likelihood, for ``az.loo``. ArviZ itself is an extra,
        ``judgemap[arviz]``; its versions before 1 read ``az.InferenceData.from_datatree(fit.inference_data)``.
        """
        import xarray as xr

        groups = {group: self._group(group).to_xarray() for group in GROUPS}
        if self.answers is not None:
            groups["log_likelihood"] = self.log_likelihood(self.answers).to_dataset()
        tree = xr.DataTree.from_dict(groups)
        tree.attrs.update(self._attributes())
        return tree

    @cached_property
    def sampling(self) -> Sampling:
        """R-hat and effective sample sizes of every area's risk."""
        return assess_sampling(self.posterior["risk"])

    @cached_property
    def covariance(self) -> Covariance:
        """The prior correlation of areas, rebuilt from the record; for clusters, the spatial model's."""
        correlation = self.record.correlation
        if correlation is None:
            return prior_covariance(self.map)
        if names := self.settings.covariate_names:
            plain = replace(self, record=replace(self.record, settings=replace(self.settings, covariates=None)))
            return with_covariates(plain.covariance, covariate_matrix(self.map, names))
        if correlation.kind == "independent":
            return independent(len(self.map))
        if correlation.kind not in PRIORS:
            raise StudyError(
                f"the fit's prior, {correlation.kind!r}, was built in Python, which a saved fit does not keep; fit "
                "again, and use the new fit before you save it"
            )
        return prior_covariance(self.map, correlation.kind, correlation.length)

    def remembering(self, **known: object) -> Self:
        """Store `sampling` or `covariance` if computed during the fit, because both take long on a large map.

        Parameters
        ----------
        **known
            The values, by name.
        """
        vars(self).update(known)
        return self

    @property
    def warnings(self) -> list[str]:
        """Problems with the sampling, in words, and what to do about them."""
        judged, draws = self.record.diagnostics, self.posterior.sizes["draw"]
        draws = self.sample_stats.sizes.get("draw", draws)  # the folder of a large map keeps only some draws of risk
        texts = []
        if not self.record.complete:
            texts.append(f"The fit was stopped after {draws:,} of {self.record.plan.draws:,} draws per chain.")
        broke_down = int(self.sample_stats["divergences"].sum())
        proposals = self.posterior.sizes["chain"] * draws * self.record.plan.thin
        if broke_down > MOST_FAILED * proposals:
            texts.append(
                f"{broke_down:,} of {proposals:,} proposals failed, so the chains may have missed part of the "
                "posterior: try the other sampler, or a narrower prior for the strengths."
            )
        if not judged.rhat_max <= GOOD_RHAT:
            worst = judged.rhat_max
            factor = (worst**2 - 1) / (GOOD_RHAT**2 - 1) if np.isfinite(worst) else 2.0
            texts.append(
                f"The chains do not agree yet (largest R-hat {worst:.3f}, should be at most {GOOD_RHAT}): "
                f"run about {_round_up(max(factor, 2.0) * draws):,} draws per chain, and twice the warm-up."
            )
        if not judged.ess_bulk_min >= GOOD_ESS:
            needed = _round_up(draws * GOOD_ESS / max(judged.ess_bulk_min, 1.0))
            texts.append(
                f"Effective sample size {judged.ess_bulk_min:,.0f} for {judged.ess_bulk_min_of}; at least {GOOD_ESS} "
                f"is needed: run about {needed:,} draws per chain."
            )
        return texts

    @property
    def verdict(self) -> Verdict:
        """Whether the fit can be used: the verdict stored by `judged`, or else what the draws alone say."""
        return self.record.verdict or judge_fit(self.evidence)

    @property
    def evidence(self) -> Evidence:
        """What the draws and the counts say to a verdict."""
        return Evidence(warnings=self.warnings, stopped=not self.record.complete, reach=self.reach)

    @cached_property
    def counts(self) -> PairCounts:
        """How often each pair was compared, and how often its first area won."""
        pairs = self.observed_data
        ends = (self.map.index(pairs[end].tolist()) for end in ("first", "second"))
        names = ("n", "wins", "ties") if "ties" in pairs else ("n", "wins")
        return PairCounts(len(self.map), *ends, *(pairs[name] for name in names))

    @cached_property
    def reach(self) -> Reach:
        """How far the answers reach the areas."""
        met = np.unique([self.counts.first, self.counts.second])
        return Reach(
            areas=len(self.map),
            compared=len(met),
            groups=len(np.unique(self.counts.components()[met])),
            endless=int((self.areas["risk_high"] - self.areas["risk_low"] > ENDLESS).sum()),
            contradicted=self.counts.contradicted,
        )

    def judged(self, verdict: Verdict) -> Self:
        """Return the same fit with a verdict, which is then saved with it.

        Parameters
        ----------
        verdict
            What was found out about the fit.
        """
        made = replace(self, record=replace(self.record, verdict=verdict))
        own = {each.name for each in fields(self)}
        return made.remembering(**{name: value for name, value in vars(self).items() if name not in own})

    @property
    def sampled(self) -> str:
        """How good the draws are, in a sentence: the first warning, or that there is none."""
        judged = self.record.diagnostics
        good = f"effective sample size at least {judged.ess_bulk_min:,.0f}, largest R-hat {judged.rhat_max:.3f}"
        return self.warnings[0] if self.warnings else f"The draws are good: {good}."

    def whole(self) -> Self:
        """Return the fit; if Ctrl-C cut it short, pass that on, so that nothing rests on part of the draws."""
        if not self.record.complete:
            raise KeyboardInterrupt
        return self

    def save(self, folder: str | Path) -> Path:
        """Write areas.csv, areas.geojson (with a map), posterior.nc and fit.json into a folder, all or nothing.

        If the areas have figures, figures.csv is written too.

        The files of an earlier fit in the folder are replaced, and others beside it left alone; a folder without a fit
        must be empty.

        Parameters
        ----------
        folder
            A folder that is new, empty, or holds an earlier fit.
        """
        with new_folder(Path(folder)) as draft:
            self._write(draft)
        return Path(folder)

    def save_verdict(self, folder: str | Path) -> Path:
        """Write fit.json again, into the folder of the same fit, with the verdict given since it was saved.

        Parameters
        ----------
        folder
            The folder in which the fit was saved.
        """
        return write_whole(Path(folder, FIT[0]), self._record_text().encode())

    def _write(self, folder: Path) -> None:
        self.areas.to_csv(folder / "areas.csv", index=False)
        if self.map.geometry is not None:
            frame = self.map.to_frame().to_crs("EPSG:4326").merge(self.areas.drop(columns="name"), on="id")
            frame.to_file(folder / "areas.geojson", driver="GeoJSON", COORDINATE_PRECISION=6)
        if self.map.figures is not None:
            (folder / "figures.csv").write_text(self.map.figures.to_csv(), encoding="utf-8")
        groups = {group: self._group(group) for group in GROUPS} | {"posterior": thinned(self.posterior)}
        groups |= {"views": self.views} if self.views.arrays else {}
        write_groups(folder / "posterior.nc", groups, self._attributes())
        if self.has_judge_maps:
            self.judge_maps.to_csv(folder / "judge_maps.csv", index=False)
        (folder / FIT[0]).write_text(self._record_text(), encoding="utf-8")

    def _record_text(self) -> str:
        return json.dumps(self.record.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def _group(self, group: str) -> Named:
        if group == "constant_data":
            return Named({"edges": Axed(("edge", "end"), self.map.graph.edges)})
        return getattr(self, group)

    def _attributes(self) -> dict[str, str]:
        made = replace(self.record, verdict=None).to_dict()  # a verdict comes after the draws, and goes into fit.json
        return {"inference_library": "judgemap", "judgemap": json.dumps(made, ensure_ascii=False)}


def check_fits(*fits: Fit) -> None:
    """Raise a `StudyError` unless all fits are of the same areas."""
    if len({fit.map.ids for fit in fits}) > 1:
        raise StudyError("these fits are of different areas; compare fits of one study")


def load_fit(folder: str | Path) -> Fit:
    """Read a fit back exactly from the folder that `Fit.save` wrote.

    Parameters
    ----------
    folder
        A folder that `Fit.save` or `judgemap fit` wrote.

    Returns
    -------
    Fit
        A `ClusterFit` if it was one.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = jm.load_fit(fit.save(Path(folder) / "results"))
    >>> bool((again.risk == fit.risk).all())
    True
    """
    folder = Path(folder)
    if not (folder / FIT[0]).is_file():
        raise StudyError(f"{folder} holds no fit (there is no fit.json in it); make one with 'judgemap fit'")
    try:
        return _load(folder)
    except StudyError as error:
        wrong = str(error)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError):  # whatever netCDF and GDAL raise
        wrong = "a file in it is damaged" if (folder / "posterior.nc").is_file() else "there is no posterior.nc in it"
    raise StudyError(f"{folder} is not a complete fit ({wrong}); make it again with 'judgemap fit'")


def _load(folder: Path) -> Fit:
    groups = read_groups(folder / "posterior.nc")
    record = FitRecord.from_dict(json.loads((folder / FIT[0]).read_text(encoding="utf-8")))
    samples, outlines = groups["posterior"], None
    ids, names = (tuple(samples[column].tolist()) for column in ("area", "name"))
    if (folder / "areas.geojson").exists():
        import geopandas as gpd

        frame = gpd.read_file(folder / "areas.geojson")
        outlines = frame.set_index(frame["id"].astype(str)).loc[list(ids)].geometry.reset_index(drop=True)
    graph = AreaGraph(len(ids), groups["constant_data"]["edges"])
    areas = Areas(ids, names, graph, outlines, record.bridges)
    if (folder / "figures.csv").exists():
        areas = areas.with_figures(folder / "figures.csv")
    kind = Fit
    if record.model == "clusters":
        from judgemap.study.fit.clusters import ClusterFit

        kind = ClusterFit
    observed, views = groups["observed_data"], groups.get("views", NO_VIEWS)
    return kind(areas, samples, groups["sample_stats"], observed, record, views)


def interval_words(draws: FloatArray) -> str:
    """Write the median of some draws, and their 95 % interval."""
    low, middle, high = np.quantile(draws, [0.025, 0.5, 0.975])
    return f"{middle:.2f} (95 % interval {low:.2f} to {high:.2f})"


def _round_up(draws: float) -> int:
    """Round up to two significant digits: 1234 → 1300."""
    size = 10 ** max(len(str(int(draws))) - 2, 0)
    return int(-(-draws // size) * size)
