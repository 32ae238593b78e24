"""The robustness study: what happens to the intervals if judges do not follow the model, and what helps.

Panels of judges who misbehave in known ways are simulated, fitted as in the paper (all judges alike, ties left out),
and fitted again with the part of the panel model that is the remedy. Each posterior is compared with the truth, the
population's map: do 95 % intervals cover it, and does the fit know how close it came?
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from judgemap.core.assess.posterior import ranks
from judgemap.core.assess.reliability import pearson, squared_correlations
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import PanelModel
from judgemap.core.model.prior import InverseGamma, Model, communicability
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.run import Draws, Plan, sample
from judgemap.core.simulate.misbehaviour import BEHAVIOURS, Setting
from judgemap.core.types import BoolArray, FloatArray
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.study.simulations.runner import Row, check_positive, check_whole, plan_of

FITS = ("alike", "remedy")
MEASURES = ("risk", "scaled", "ranks", "r2", "claimed")


class Coverage(NamedTuple):
    """Shares of areas whose truth is in the 95 % interval, and r² of estimate and truth next to what the fit claims.

    ``risk`` is in the model's own units; ``scaled`` ignores scale: draws and truth are divided by their spread over
    areas.
    """

    risk: float
    scaled: float
    ranks: float
    r2: float
    claimed: float


def cover(draws: FloatArray, strengths: FloatArray) -> Coverage:
    """Compare draws of the strengths, (draws, areas), with the truth.

    >>> rng = np.random.default_rng(1)
    >>> truth = rng.normal(size=200)
    >>> held = cover(truth + 0.3 * rng.normal(size=200) + 0.3 * rng.normal(size=(500, 200)), truth)
    >>> bool(0.9 < held.risk < 0.99), bool(0.9 < held.scaled < 0.99)
    (True, True)
    """
    drawn, truth = draws - draws.mean(axis=1, keepdims=True), strengths - strengths.mean()
    scaled = drawn / drawn.std(axis=1, keepdims=True)
    return Coverage(
        risk=float(_inside(drawn, truth).mean()),
        scaled=float(_inside(scaled, truth / truth.std()).mean()),
        ranks=float(_inside(ranks(drawn).astype(np.float64), ranks(truth[None])[0].astype(np.float64)).mean()),
        r2=pearson(drawn.mean(axis=0), truth) ** 2,
        claimed=float(squared_correlations(drawn).mean()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Robustness:
    """Settings of the robustness study; ``behaviours`` names those to try, by default all of them."""

    alpha: float = 3.0
    judges: int = 12
    comparisons: int = 2000
    behaviours: tuple[str, ...] = tuple(BEHAVIOURS)
    chains: int = 8
    warmup: int = 100
    draws: int = 150

    name: ClassVar[str] = "robustness"
    paper_sets: ClassVar[int] = 80
    timed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_positive("alpha", self.alpha)
        check_whole("judges", self.judges)
        check_whole("comparisons", self.comparisons)
        for each in self.behaviours:
            if each not in BEHAVIOURS:
                raise StudyError(
                    f"there is no behaviour {each!r}{did_you_mean(each, list(BEHAVIOURS))}; "
                    f"they are {quoted(list(BEHAVIOURS))}"
                )
        if not self.behaviours:
            raise StudyError(f"no behaviour was named; the choices are {quoted(list(BEHAVIOURS))}")
        self.plan()

    def plan(self) -> Plan:
        """How much to draw."""
        return plan_of(self.chains, self.warmup, self.draws)

    def prepare(self, graph: AreaGraph) -> Setting:
        """Build the prior."""
        return Setting(graph, communicability(graph), self.alpha, self.judges, self.comparisons)

    def run(self, rng: np.random.Generator, prepared: Setting) -> list[Row]:
        """Simulate a panel of each behaviour, and fit it with judges alike and with the remedy.

        A behaviour's generator depends only on its position in `BEHAVIOURS`, so the choice of others changes nothing.
        """
        generators = dict(zip(BEHAVIOURS, rng.spawn(len(BEHAVIOURS)), strict=True))
        return [row for name in self.behaviours for row in self._try(generators[name], prepared, name)]

    def _try(self, rng: np.random.Generator, setting: Setting, name: str) -> list[Row]:
        answering, alike, remedied = rng.spawn(3)
        behaviour = BEHAVIOURS[name]
        answers = behaviour.simulate(answering, setting)
        counts = answers.counts(setting.judges)
        pooled = Model(counts.pairs().decided(), setting.covariance, InverseGamma())
        panel = PanelModel(counts, setting.covariance, InverseGamma(), behaviour.remedy(setting.covariance))
        fits = {
            "alike": sample(alike, pooled, plan=self.plan()),
            "remedy": sample_panel(remedied, panel, plan=self.plan()),
        }
        return [
            {"behaviour": name, "fit": fit, **_covered(draws, answers.strengths)._asdict()}
            for fit, draws in fits.items()
        ]

    def summarise(self, rows: Sequence[Row]) -> list[Row]:
        """Summarise each behaviour and fit: the mean of every measure, with its standard error."""
        return [
            _summary(name, fit, [row for row in rows if (row["behaviour"], row["fit"]) == (name, fit)])
            for name in self.behaviours
            for fit in FITS
        ]


def _covered(draws: Draws, strengths: FloatArray) -> Coverage:
    if not draws.complete:
        raise KeyboardInterrupt
    return cover(draws.strengths.reshape(-1, len(strengths)), strengths)


def _summary(name: str, fit: str, rows: Sequence[Row]) -> Row:
    summary: Row = {"behaviour": name, "fit": fit, "sets": len(rows)}
    for measure in MEASURES:
        values = np.array([row[measure] for row in rows], dtype=np.float64)
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        summary |= {measure: float(values.mean()), f"{measure}_error": float(error)}
    return summary


def _inside(draws: FloatArray, truth: FloatArray) -> BoolArray:
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    inside: BoolArray = (low <= truth) & (truth <= high)
    return inside
