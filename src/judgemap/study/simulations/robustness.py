"""The robustness study: whether intervals are right if judges or maps are not as the model assumes.

Two kinds of cases, in one table. Panels whose judges misbehave in known ways (`core.simulate.misbehaviour`), which also
have a remedy: the part of the panel model designed for them. And maps of every kind (`core.simulate.truths`: draws from
each prior, hot spots, plateaus, slopes, covariates, measured values), seen by judges who are alike, differ, or differ
and answer unequally often, at the beginning and at the end of a study. Each case is fitted as in the paper and by the
plain fit, and each posterior is compared with the truth: do 95 % intervals cover it, and does the fit know how close it
came?
"""

import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd

from judgemap.core.assess.posterior import ranks
from judgemap.core.assess.reliability import pearson, squared_correlations
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import PanelModel
from judgemap.core.model.prior import Covariance, InverseGamma
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.run import Draws
from judgemap.core.simulate.misbehaviour import BEHAVIOURS, PanelAnswers, Setting
from judgemap.core.simulate.truths import FRAGILE, JUDGES, ON_BORDERS, Truth, judged, measured, truths
from judgemap.core.types import BoolArray, FloatArray
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import check_known, quoted, read_table
from judgemap.geo.maps import read_areas
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.fitting import draw_posterior
from judgemap.study.fit.priors import PLAIN
from judgemap.study.fit.settings import PAPER, FitSettings
from judgemap.study.simulations.runner import Experiment, Row

FITS = {
    "paper": FitSettings(seed=0, as_in_paper=True, ties="leave-out"),
    "plain": FitSettings(seed=0),
    "car": FitSettings(seed=0, prior="car", judges="alike"),
    "differ": FitSettings(seed=0, prior="communicability", judges="differ"),
    "car-differ": FitSettings(seed=0, prior="car", judges="differ"),
}
"""The fits that can be compared: the paper's model, what `judgemap fit` does if nothing is said, and what it could."""
REMEDY = "remedy"
ANSWERS = ("early", "few", "many")
"""How long a study has been going on: 100 answers, or 10 or 25 an area."""


def answers_of(length: str, n_areas: int) -> int:
    """Return the number of answers at one of `ANSWERS`."""
    return {"early": 100, "few": 10 * n_areas, "many": 25 * n_areas}[length]


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
    """Compare draws of the strengths, (draws, areas), with the truth."""
    drawn, truth = draws - draws.mean(axis=1, keepdims=True), strengths - strengths.mean()
    scaled = drawn / drawn.std(axis=1, keepdims=True)
    return Coverage(
        risk=float(_inside(drawn, truth).mean()),
        scaled=float(_inside(scaled, truth / truth.std()).mean()),
        ranks=float(_inside(ranks(drawn).astype(np.float64), ranks(truth[None])[0].astype(np.float64)).mean()),
        r2=pearson(drawn.mean(axis=0), truth) ** 2,
        claimed=float(squared_correlations(drawn).mean()),
    )


class RealMap(NamedTuple):
    """A real place: its areas, and values measured there, by name."""

    graph: AreaGraph
    columns: Mapping[str, FloatArray]


class Place(NamedTuple):
    """What all sets share about one map: the setting, the priors of the fits, and the truths by name."""

    setting: Setting
    priors: dict[str, Covariance]
    truths: dict[str, Truth]


@dataclass(frozen=True, slots=True, kw_only=True)
class Robustness(Experiment):
    """Settings of the robustness study: which cases to try, with which fits.

    ``comparisons`` are the answers of a panel that misbehaves. None of the truths means all that the map allows, and
    ``points`` are centroids for priors that need them. All ``real`` maps, by the name of the place, are tried.
    """

    alpha: float = 3.0
    judges: int = 12
    behaviours: tuple[str, ...] = tuple(BEHAVIOURS)
    truths: tuple[str, ...] | None = None
    panels: tuple[str, ...] = JUDGES
    lengths: tuple[str, ...] = ANSWERS
    fits: tuple[str, ...] = ("paper", "plain")
    points: FloatArray | None = None
    real: Mapping[str, RealMap] = field(default_factory=dict)
    chains: int = 8
    warmup: int = 100
    draws: int = 150

    name: ClassVar[str] = "robustness"
    paper_sets: ClassVar[int] = 80

    def __post_init__(self) -> None:
        Experiment.__post_init__(self)
        _check("behaviour", self.behaviours, BEHAVIOURS)
        _check("panel", self.panels, JUDGES)
        _check("length", self.lengths, ANSWERS)
        _check("fit", self.fits, FITS)
        if not self.fits:
            raise StudyError(f"no fit was named; the choices are {quoted(list(FITS))}")
        if not self.cases() and not self.behaviours:
            raise StudyError("nothing is left to try; name some behaviours, or truths, panels and lengths")

    def cases(self) -> list[tuple[str, str, str]]:
        """Return each truth, panel and length to try together."""
        known = truths(AreaGraph(3, np.empty((0, 2), dtype=np.int64)), self.points)
        chosen = [name for name in known if name not in FRAGILE] if self.truths is None else list(self.truths)
        _check("truth", chosen, known)
        there = [f"{place}: {column}" for place, each in self.real.items() for column in each.columns]
        return list(product([*chosen, *there], self.panels, self.lengths))

    def prepare(self, graph: AreaGraph) -> dict[str, Place]:
        """Build the priors of the map, whose name is empty, and of every real place."""
        found = {"": self._place(graph, truths(graph, self.points))}
        for place, (there, columns) in self.real.items():
            real = {f"{place}: {column}": measured(values) for column, values in columns.items()}
            found[place] = self._place(there, real)
        return found

    def _place(self, graph: AreaGraph, known: dict[str, Truth]) -> Place:
        priors = {name: ON_BORDERS[name](graph) for name in (PAPER["prior"], PLAIN)}
        setting = Setting(graph, priors["communicability"], self.alpha, self.judges, self.comparisons)
        return Place(setting, priors, known)

    def run(self, rng: np.random.Generator, prepared: dict[str, Place]) -> list[Row]:
        """Simulate each case and fit it in each way.

        A behaviour's generator depends only on its position in `BEHAVIOURS` and a case's only on its name, so the
        choice of others changes nothing.
        """
        generators = dict(zip(BEHAVIOURS, rng.spawn(len(BEHAVIOURS)), strict=True))
        seed = int(rng.integers(2**63))
        rows: list[Row] = []
        for name in self.behaviours:
            answering, first, remedied, *others = generators[name].spawn(2 + len(FITS))
            answers = BEHAVIOURS[name].simulate(answering, prepared[""].setting)
            rows += self._fitted([first, *others], prepared[""], name, answers)
            rows.append(self._remedied(remedied, prepared[""].setting, name, answers))
        for truth, panel, length in self.cases():
            name = ", ".join((truth, panel, length))
            own = np.random.default_rng([seed, zlib.crc32(name.encode())])
            place = prepared.get(truth.rpartition(": ")[0], prepared[""])
            setting = place.setting._replace(comparisons=answers_of(length, place.setting.graph.n_areas))
            answers = judged(own, setting, place.truths[truth](own, setting), panel)
            rows += self._fitted(own.spawn(len(FITS)), place, name, answers)
        return rows

    def _fitted(self, rngs: list[np.random.Generator], prepared: Place, case: str, answers: PanelAnswers) -> list[Row]:
        """Fit one case in each way; each of `FITS` has its own generator."""
        data = _table(answers)
        rows: list[Row] = []
        for rng, (name, settings) in zip(rngs, FITS.items(), strict=True):
            if name in self.fits:
                chosen, _ = settings.chosen_for(data, len(answers.strengths))
                covariance = prepared.priors[chosen.prior or PLAIN]
                parts = chosen.parts(data, covariance, prepared.setting.graph)
                draws = draw_posterior(rng, chosen, data, covariance, parts, self.plan())
                rows.append(_row(case, name, draws, answers.strengths))
        return rows

    def _remedied(self, rng: np.random.Generator, setting: Setting, case: str, answers: PanelAnswers) -> Row:
        parts = BEHAVIOURS[case].remedy(setting)
        panel = PanelModel(answers.counts(setting.judges), setting.covariance, InverseGamma(), parts)
        return _row(case, REMEDY, sample_panel(rng, panel, plan=self.plan()), answers.strengths)

    def summarise(self, measured: pd.DataFrame) -> pd.DataFrame:
        """Summarise each case and fit: the mean of every measure, with its standard error."""
        cases = measured.groupby(["case", "fit"], sort=False)
        table = pd.DataFrame({"sets": cases.size()})
        for measure in Coverage._fields:
            table[measure], table[f"{measure}_error"] = cases[measure].mean(), cases[measure].sem()
        return table.reset_index()


def read_real(measured: Path, outlines: Path, places: Sequence[str]) -> dict[str, RealMap]:
    """Read real maps: the outlines of each place, and every column of numbers that a table has for its areas.

    A place is all areas whose names begin with its own, as "Nottingham 001A" does; without places, the whole file is
    one. The first column of the table has the areas' ids; areas that are elsewhere do not matter.
    """
    from judgemap.geo.boundaries import load
    from judgemap.geo.maps import choose_labels

    frame = load(outlines)[0]
    labels = choose_labels(frame, None, None)
    table = read_table(measured)
    rows = {row[table.columns[0]]: row for row in table.rows}
    found = {}
    for place in places or [outlines.stem]:
        here = [not places or name == place or name.startswith(f"{place} ") for name in labels.names]
        if sum(here) < 3:
            raise StudyError(f"{outlines.name}: fewer than three areas have names that begin with {place!r}")
        areas = read_areas(frame[here])
        if missing := [each for each in areas.ids if each not in rows]:
            raise StudyError(f"{measured.name}: area {missing[0]!r} of {place} has no row")
        columns = {name: _numbers(rows[each][name] for each in areas.ids) for name in table.columns[1:]}
        kept = {name: values for name, values in columns.items() if values is not None}
        if not kept:
            raise StudyError(f"{measured.name}: no column has different numbers for all areas of {place}")
        found[place] = RealMap(areas.graph, kept)
    return found


def _numbers(cells: Iterable[str]) -> FloatArray | None:
    """Return a column of numbers that are not all the same; None if it is something else."""
    try:
        values = np.array([float(cell) for cell in cells])
    except ValueError:
        return None
    return values if np.isfinite(values).all() and np.ptp(values) > 0 else None


def _check(kind: str, chosen: Sequence[str], known: Collection[str]) -> None:
    for each in chosen:
        check_known(kind, each, known)


def _table(answers: PanelAnswers) -> Comparisons:
    """Return the answers as the table that a study would have."""
    words = np.array(["tie", "left", "right"])[answers.choice]
    names = [f"judge {code}" for code in answers.judge]
    ids = [str(area) for area in range(len(answers.strengths))]
    return Comparisons.from_words(ids, names, answers.left, answers.right, words.tolist())


def _row(case: str, fit: str, draws: Draws, strengths: FloatArray) -> Row:
    if not draws.complete:
        raise KeyboardInterrupt
    return {"case": case, "fit": fit, **cover(draws.strengths.reshape(-1, len(strengths)), strengths)._asdict()}


def _inside(draws: FloatArray, truth: FloatArray) -> BoolArray:
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    return (low <= truth) & (truth <= high)
