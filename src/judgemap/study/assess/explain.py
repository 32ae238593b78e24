"""Everything said about a fit beyond its tables, computed once; pages and pictures only format it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from judgemap.core.assess.posterior import p_tops
from judgemap.core.model.graph import AreaGraph
from judgemap.core.types import FloatArray, IntArray
from judgemap.geo.maps import Areas
from judgemap.study.assess.checks import PredictiveCheck, predictive_check
from judgemap.study.assess.findings import Findings, Parameter, Reliability
from judgemap.study.assess.judges import judge_table, stands_out, surprising_answers
from judgemap.study.assess.reliability import reliability, reliability_over_time
from judgemap.study.assess.verdict import Subject, Verdict, judge_fit
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.record import NoteKind, json_value
from judgemap.study.fit.result import Fit

BINS = 40
TOPS = (1, 3, 5, 10, 20, 50)
OVER_TIME = ["answers", "judges", "bayes", "bayes_low", "bayes_high", "ssr", "split_half", "split_half_full"]
SEED = 1
"""The seed for splits and replicates, so that the same fit always gets the same explanation."""
WORK = 20_000_000
"""The most answers × draws in the predictive check."""
LARGE, PART = 3_000, 1_000
"""On a map with more areas than the first, what takes many fits rests on a part with as many as the second."""
PARTS = (Subject.JUDGES, Subject.RELIABILITY, Subject.CHECKS)
"""What a verdict is based on, by the names that `findings.Findings` reads."""
FIGURES = 5
"""Significant digits kept of every number that is not exact."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What is said about a fit: its judges, their answers, its reliability, what each area won, how it was sampled.

    ``data`` are the comparisons that were fitted. Each part is computed when first used, and cached: a briefing uses
    little of it, the pages of a study use all.
    """

    fit: Fit
    data: Comparisons
    left_out: int = 0
    """Judges whose answers are not among them."""

    @cached_property
    def part(self) -> "Explanation":
        """The part of a large map that is assessed, with the answers about it: the areas around the one most compared.

        Its reliability is that of the part, whose areas differ less than those of the whole map.
        """
        if len(self.fit.map) <= LARGE:
            return self
        kept = _part_of(self.fit)
        return Explanation(_fit_on(self.fit, kept), _answers_on(self.data, kept), self.left_out)

    @property
    def part_words(self) -> str:
        """On what the assessment rests, if not on the whole map."""
        part = self.part
        if part is self:
            return ""
        return (
            f"Checks, reliability and judges rest on {len(part.fit.map):,} of the {len(self.fit.map):,} areas, and on "
            f"the {len(part.data):,} answers between them."
        )

    @cached_property
    def judges(self) -> pd.DataFrame:
        """See `jm.judge_table`."""
        return judge_table(self.fit, self.data)

    @cached_property
    def stands_out(self) -> Mapping[str, list[str]]:
        """What to look at in each judge's answers, one sentence each."""
        return stands_out(self.judges)

    @cached_property
    def surprises(self) -> pd.DataFrame:
        """The least expected answers, with the areas' median risks."""
        risk = dict(zip(self.fit.map.ids, np.median(self.fit.risk, axis=0).tolist(), strict=True))
        table = surprising_answers(self.fit, self.data).drop(columns=["row", "outcome"])
        return table.assign(chosen_risk=table["chosen"].map(risk), other_risk=table["other"].map(risk))

    @cached_property
    def reliability(self) -> Reliability:
        """See `jm.reliability`; with fewer splits if the map is large."""
        splits = int(np.clip(10_000 // len(self.fit.map), 20, 100))
        return reliability(self.fit, self.data, seed=SEED, splits=splits)

    @cached_property
    def reliability_over_time(self) -> pd.DataFrame:
        """How reliability grew, in the order in which judges answered; the last row is `reliability` itself."""
        order, splits = np.argsort(self.data.answered_at, kind="stable"), int(np.clip(1500 // len(self.fit.map), 5, 20))
        # The last point covers all answers, for which `reliability` has more splits and the fit's own draws. Use it, so
        # that a card beside the chart shows the same number.
        rows = reliability_over_time(self.fit, self.data, seed=SEED, order=order, splits=splits, last=self.reliability)[
            OVER_TIME
        ]
        if self.reliability.another_panel is not None:
            # Earlier points come from quick fits, which assume that judges are alike; their `bayes` is not comparable.
            rows[["bayes", "bayes_low", "bayes_high"]] = np.nan
        return rows

    @cached_property
    def check(self) -> PredictiveCheck:
        """Whether the model could have produced these answers."""
        draws = int(np.clip(WORK // max(len(self.data), 1), 100, 500))
        return predictive_check(self.fit, self.data, seed=SEED, draws=draws)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the fit can be used, and why."""
        kept, failed = {}, {}
        for subject in PARTS:
            try:
                kept[subject.value] = self.part.assessed(subject)
            except (ValueError, ArithmeticError, MemoryError) as error:  # a matrix that is singular, draws without end
                failed[subject] = str(error) or type(error).__name__
        found = Findings.from_dict(json_value(kept, FIGURES))
        evidence = replace(
            self.fit.evidence,
            checks=found.checks,
            reliability=found.reliability,
            judges=found.judges,
            differ=any(note.kind is NoteKind.JUDGES_DIFFER for note in self.fit.record.notes),
            left_out=self.left_out,
            grouping=self.fit.best.grouping if isinstance(self.fit, ClusterFit) else None,
            failed=failed,
            part=self.part_words,
        )
        return judge_fit(evidence)

    @cached_property
    def risk_edges(self) -> FloatArray:
        """The edges of `density`'s bins, so wide that the outermost areas' curves fall to nothing within them."""
        low, high = np.quantile(self.fit.risk, [0.001, 0.999], axis=0)
        least, most = float(low.min()), float(high.max())
        margin = max(most - least, 1.0) / BINS
        return np.linspace(least - margin, most + margin, BINS + 1)

    @cached_property
    def density(self) -> IntArray:
        """The draws of each area's risk per bin, in thousandths."""
        draws, size = self.fit.risk.shape
        least, most = self.risk_edges[[0, -1]]
        place = np.clip(((self.fit.risk - least) * (BINS / (most - least))).astype(np.int64), 0, BINS - 1)
        counts = np.bincount((np.arange(size) * BINS + place).ravel(), minlength=size * BINS).reshape(size, BINS)
        return np.rint(1000 * counts / draws).astype(np.int64)

    @cached_property
    def top(self) -> Mapping[int, FloatArray]:
        """P(among the k areas of highest risk), by k."""
        return p_tops(self.fit.risk, [k for k in TOPS if k < len(self.fit.map)])

    @cached_property
    def met(self) -> list[list[list[int]]]:
        """The areas that each area was compared with, the most frequent first, as `findings.Met` reads them."""
        return _met(self.fit)

    @property
    def judges_note(self) -> str:
        """What the table of judges cannot say, in a sentence, or the empty string."""
        if len(self.judges) == 0:
            return "The answers do not name their judges, so we can say nothing about judges."
        missing = []
        if self.judges["infit"].isna().all():
            missing.append("only one judge has made decisions, so agreement with others cannot be checked")
        if self.judges["left_share"].isna().all():
            missing.append("no answer was for the area on the right, so side preferences cannot be checked")
        if self.judges["seconds_median"].isna().all():
            missing.append("no times were recorded")
        text = "; ".join(missing)
        return f"{text[0].upper()}{text[1:]}." if text else ""

    def to_dict(self) -> dict[str, object]:
        """Return everything as the database stores it, by the names that `findings.Findings` reads.

        ``areas`` has one entry per area, in order: id, wins, losses, win_rate with its predictive interval win_low,
        win_high (None if an area was never compared), density. For a map of thousands of areas there is nothing about
        single areas but ``met``, and all the rest is about a `part` of the map.
        """
        part = self.part
        rounded: dict[str, object] = {
            **{subject.value: part.assessed(subject) for subject in PARTS},
            "judges_note": part.judges_note,
            "part_words": self.part_words,
            "surprises": part.surprises.to_dict("records"),
            "reliability_over_time": part.reliability_over_time.to_dict("records"),
        }
        exact: dict[str, object] = {"verdict": self.verdict.to_dict(), "sampling": self.fit.sampling._asdict()}
        if part is self:
            rounded |= {"areas": self._areas(), "risk_edges": self.risk_edges}
            exact |= {"top": self.top}
        told = json_value(rounded, FIGURES) | json_value(exact) | of_clusters(self.fit)
        return {**told, "met": self.met}  # a hundred thousand integers, which JSON takes as they are

    def assessed(self, subject: Subject) -> Any:  # noqa: ANN401 - as `Findings` reads it
        """Return what a verdict's word on a subject is based on."""
        if subject is Subject.JUDGES:
            return [{**row, "stands_out": self.stands_out[row["judge"]]} for row in self.judges.to_dict("records")]
        if subject is Subject.RELIABILITY:
            return asdict(self.reliability)
        return [asdict(each) for each in self.check.measures]

    def _areas(self) -> list[Any]:
        table = self.check.areas
        columns = {
            "id": table["id"],
            "wins": table["wins"],
            "losses": table["comparisons"] - table["wins"],
            "win_rate": table["observed"],
            "win_low": table["low"],
            "win_high": table["high"],
            "riskier": self.fit.judged_riskier,
        }
        return pd.DataFrame(columns).assign(density=self.density.tolist()).to_dict("records")


def of_clusters(fit: Fit) -> dict[str, object]:
    """Return what must accompany a map of clusters, as the database stores it; nothing for other models.

    ``grouping`` says how probable the partition is; ``between`` has, for each area that lies between two clusters, the
    other one and its probability, and None for all other areas.
    """
    if not isinstance(fit, ClusterFit):
        return {}
    others = {each.area: (int(each.other), float(each.other_probability)) for each in fit.best.between}
    between = [others.get(area) for area in range(len(fit.map))]
    return {"grouping": json_value(asdict(fit.best.grouping)), "between": json_value(between)}


def judge(fit: Fit, data: Comparisons) -> Fit:
    """Return the fit with its verdict."""
    return fit.judged(Explanation(fit, data).verdict)


def checked(fit: Fit, told: Explanation | None = None) -> tuple[Fit, PredictiveCheck | None]:
    """Return the fit that a picture of the check is about, the part of a large map, and the check if it was made."""
    if told is not None:
        return told.part.fit, told.part.check
    return (fit if len(fit.map) <= LARGE else _fit_on(fit, _part_of(fit))), None


def _part_of(fit: Fit) -> IntArray:
    """Return the areas around the one that was compared most often."""
    counts, size = fit.counts, len(fit.map)
    times = np.bincount(counts.first, counts.n, size) + np.bincount(counts.second, counts.n, size)
    return np.sort(fit.map.graph.around(int(times.argmax()), PART))


def _fit_on(fit: Fit, kept: IntArray) -> Fit:
    """Return the fit of some areas, as if only the answers between them had been given."""
    areas, place = fit.map, _places(len(fit.map), kept)
    edges, counts = place[areas.graph.edges], fit.counts
    part = Areas(
        tuple(areas.ids[each] for each in kept),
        tuple(areas.names[each] for each in kept),
        AreaGraph(len(kept), edges[(edges >= 0).all(axis=1)]),
        None if areas.geometry is None else areas.geometry.iloc[kept],
    )
    posterior = fit.posterior.take("area", kept)
    for name in ("risk", "panel_risk", "population_risk"):
        if name in posterior:
            posterior = posterior.assign(**{name: posterior[name] - posterior[name].mean(axis=2, keepdims=True)})
    inside = np.flatnonzero((place[counts.first] >= 0) & (place[counts.second] >= 0))
    observed, views = fit.observed_data.take("pair", inside), fit.views.take("area", kept)
    return replace(fit, map=part, posterior=posterior, observed_data=observed, views=views)


def _answers_on(data: Comparisons, kept: IntArray) -> Comparisons:
    """Keep the answers between some areas, and the judges who gave them."""
    place = _places(len(data.ids), kept)
    inside = data.where((place[data.left] >= 0) & (place[data.right] >= 0))
    ids = tuple(data.ids[each] for each in kept)
    part = replace(inside, ids=ids, left=place[inside.left], right=place[inside.right])
    return part.only([judge for judge, answers in part.per_judge().items() if answers])


def _places(n_areas: int, kept: IntArray) -> IntArray:
    """Return the new position of each area, or −1."""
    place = np.full(n_areas, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return place


def _met(fit: Fit) -> list[list[list[int]]]:
    first, second, won = fit.counts.first, fit.counts.second, fit.counts.wins
    lost, owner = fit.counts.n - won, np.concatenate([first, second])
    rows = np.column_stack([np.concatenate(ends) for ends in ((second, first), (won, lost), (lost, won))])
    order = np.lexsort((rows[:, 0], -rows[:, 1] - rows[:, 2], owner))
    met = rows[order].tolist()
    ends = np.cumsum(np.bincount(owner, minlength=len(fit.map))).tolist()
    return [met[start:end] for start, end in pairwise([0, *ends])]


NAMES = {
    "alpha2": ("α", "How far areas differ: the prior standard deviation of an area's strength."),
    "sigma2": ("σ", "How far judges differ: the standard deviation of a judge's view around the population's."),
    "theta": ("θ", "Ties (Rao and Kupper): how close two areas must be to be called alike, in log-odds."),
    "nu": ("ν", "Ties (Davidson): how readily two areas are called alike."),
    "rho": ("ρ", "How smooth the map is: the share of its variance that follows the neighbours."),
    "lean": ("b", "The judges' mean lean to the left area, in log-odds; 0 is none."),
    "side_sigma2": ("σ_b", "How far judges differ in that lean."),
    "attention_sigma2": ("σ_a", "How far judges differ in attention, which is 1 on average."),
}
"""Keyed by their names in the posterior; where a name ends in 2, the posterior holds the square of what is shown."""


def parameters(fit: Fit) -> list[Parameter]:
    """List the parameters that the model has: α unless there are clusters; σ, θ or ν, ρ, and those of other parts."""
    return [
        Parameter(symbol=symbol, words=words, median=middle, low=low, high=high)
        for symbol, words, draws in _parameter_draws(fit)
        for low, middle, high in [np.quantile(draws, [0.025, 0.5, 0.975]).tolist()]
    ]


def _parameter_draws(fit: Fit) -> Iterator[tuple[str, str, FloatArray]]:
    """Yield each parameter's symbol, words and draws."""
    for name, (symbol, words) in NAMES.items():
        if name in fit.posterior:
            draws: FloatArray = fit.posterior[name].ravel()
            yield symbol, words, np.sqrt(draws) if name.endswith("2") else draws
    for place, name in enumerate(fit.settings.covariate_names):
        odds = np.exp(fit.posterior["effect"][..., place].ravel())
        yield f"e^β {name}", f"The odds of being judged riskier, times this for one sd more {name}.", odds
    if fit.settings.covariates:
        yield "R²", "The share of the map that the covariates carry.", fit.carried
    if fit.settings.differ:
        yield "σ/α", "How far judges differ, relative to areas.", fit.sigma / fit.alpha
    if "theta" in fit.posterior or "nu" in fit.posterior:
        yield "P(tie)", "The probability that two areas of equal risk are called alike.", fit.tie_chance
