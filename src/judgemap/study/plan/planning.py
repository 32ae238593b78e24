"""Planning: what precision to expect from a study, before you ask anyone.

Whole studies are simulated under each design and analysed like real ones. The truth of each is drawn from the prior
with a guess at α, or from a pilot's posterior; all designs are tried on the same truths.

Where judges differ, how well the population's map can be known depends on how many of them represent it. For studies
with a quarter to four times as many judges, and a quarter to eight times as many answers each, `plan_judges` computes
how precisely it would be known; see `core.design.utility` for the method. No study is sampled, so a grid takes seconds.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from judgemap.core.design.optimal import Panel, optimal
from judgemap.core.design.utility import Population, precision_grid
from judgemap.core.model.prior import Covariance
from judgemap.core.simulate.trials import (
    Asker,
    Interval,
    Merits,
    ask_adaptively,
    ask_from,
    length_for_the_same,
    mean_interval,
    median_interval,
    reach,
    trial,
)
from judgemap.core.threads import one_thread
from judgemap.core.types import FloatArray
from judgemap.display import Displayed
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.geo.maps import Areas
from judgemap.study.fit.priors import prior_covariance
from judgemap.study.fit.record import versions
from judgemap.study.plan.schedules import ALPHA, DIFFER, pair_design

if TYPE_CHECKING:
    import pandas as pd

    from judgemap.study.fit.result import Fit

DESIGNS = ("uniform", "naive", "principal", "optimal", "adaptive")
"""The order must never change: a design's position is part of its seed, so new ones go at the end."""
SHARES = (0.25, 0.5, 0.75, 1.0, 1.5)
"""The study lengths considered, as multiples of the planned one."""
SHORTEST = 6
"""The shortest study considered; nor is one with fewer than half as many comparisons as areas: α could be anything."""
FEWEST = 6
"""The fewest simulations that allow an interval for a median."""
LOSSES = ("sd", "rank_error", "missed")
"""Measures that fall as a study grows, by which designs are compared; ``missed`` is 1 − ``found``."""
GRID_SHARES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Answers per judge to consider, as multiples of the planned number; judges go only up to four times as many."""
SECONDS = 4.0
"""The time an answer takes if no pilot says."""
LITTLE = 0.1
"""Doubling the answers helps little if it lowers the uncertainty by less than this share."""
MOST_AREAS = 1_000
"""The most areas for which a grid takes no more than minutes."""


class Needed(NamedTuple):
    """How many comparisons a design needs to match the reference design at the planned number, by one measure.

    ``middle``, ``low`` and ``high`` are numbers of comparisons; 0 and inf mean fewer and more than were simulated.
    """

    middle: float
    low: float
    high: float
    planned: int

    @property
    def saving(self) -> float:
        """The share of the planned comparisons that would be saved; negative if more are needed."""
        return 1 - self.middle / self.planned

    @property
    def gain(self) -> int:
        """1 if fewer comparisons are certainly needed, −1 if certainly more, and 0 if the difference may be chance."""
        return int(self.high < self.planned) - int(self.low > self.planned)


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """How a plan was simulated; ``truth`` says where the true risks come from."""

    areas: int
    truth: str
    alpha: float
    simulations: int
    seed: int
    seconds: float
    versions: Mapping[str, str]
    notes: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class StudyPlan(Displayed):
    """What to expect. ``merits[design]`` is an array (simulations, lengths, measures), in the order of `Merits`.

    ``reference`` is the design that the others are compared with: uniform, if it was tried.

    >>> import judgemap as jm
    >>> plan = jm.plan(jm.chicago(), 2, 50, seed=1, designs=("uniform", "naive"), simulations=6)
    >>> plan.planned, plan.designs
    (100, ('uniform', 'naive'))
    """

    areas: Areas
    judges: int
    per_judge: int
    lengths: tuple[int, ...]
    top: int
    merits: dict[str, FloatArray]
    record: PlanRecord = field(repr=False)

    @property
    def planned(self) -> int:
        """The number of comparisons asked about: judges × comparisons each."""
        return self.judges * self.per_judge

    @property
    def designs(self) -> tuple[str, ...]:
        """The designs that were tried, in order."""
        return tuple(self.merits)

    @property
    def reference(self) -> str:
        """The design that others are compared with."""
        return "uniform" if "uniform" in self.merits else self.designs[0]

    def curve(self, design: str, measure: str) -> FloatArray:
        """One measure of every simulated study, shape (simulations, lengths)."""
        if measure == "missed":
            return 1 - self.curve(design, "found")
        values: FloatArray = self.merits[design][:, :, Merits._fields.index(measure)]
        return values

    def expected(self, design: str, measure: str) -> list[Interval]:
        """Return a measure at each length, with a Monte Carlo interval: the median for U2, otherwise the mean."""
        summary = median_interval if measure == "u2" else mean_interval
        return [summary(column) for column in self.curve(design, measure).T]

    def at_planned(self, design: str, measure: str) -> Interval:
        """Return a measure at the planned number of comparisons."""
        return self.expected(design, measure)[self.lengths.index(self.planned)]

    def needed(self, design: str, measure: str) -> Needed:
        """Return how many comparisons this design needs to match the reference at the planned number."""
        at = self.lengths.index(self.planned)
        rng = np.random.default_rng([self.record.seed, DESIGNS.index(design)])
        lengths = np.array(self.lengths, dtype=np.float64)
        reference = self.curve(self.reference, measure)
        return Needed(*length_for_the_same(rng, lengths, self.curve(design, measure), reference, at), self.planned)

    def against(self, design: str, measure: str) -> Interval:
        """Return a measure's ratio to the reference at the planned number, as a geometric mean over truths.

        >>> import judgemap as jm
        >>> plan = jm.plan(jm.chicago(), 2, 50, seed=1, designs=("uniform", "naive"), simulations=6)
        >>> plan.against("uniform", "u1").middle
        1.0
        """
        at = self.lengths.index(self.planned)
        ratio = self.curve(design, measure)[:, at] / self.curve(self.reference, measure)[:, at]
        return Interval(*np.exp(mean_interval(np.log(ratio))).tolist())

    def enough(self, design: str, measure: str, level: float) -> float:
        """Return how many comparisons bring a measure in `LOSSES` down to a level; 0 or inf beyond the simulations."""
        return reach(np.array(self.lengths, dtype=np.float64), self.curve(design, measure).mean(axis=0), level)

    def to_frame(self) -> "pd.DataFrame":
        """Return a table: design, comparisons, measure, and its estimate with a 95 % Monte Carlo interval."""
        import pandas as pd

        rows = [
            (design, length, measure, *each)
            for design in self.designs
            for measure in Merits._fields
            for length, each in zip(self.lengths, self.expected(design, measure), strict=True)
        ]
        return pd.DataFrame(rows, columns=["design", "comparisons", "measure", "estimate", "low", "high"])

    def to_dict(self) -> dict[str, Any]:
        """Return everything a program might want, ready for JSON: numbers outside the simulated range are null."""
        expected = {
            design: {measure: [_numbers(each) for each in self.expected(design, measure)] for measure in Merits._fields}
            for design in self.designs
        }
        others = [design for design in self.designs if design != self.reference]
        needed = {
            design: {
                measure: [each or None for each in _numbers(self.needed(design, measure)[:3])] for measure in LOSSES
            }
            for design in others
        }
        return {
            **asdict(self.record),
            "judges": self.judges,
            "per_judge": self.per_judge,
            "planned": self.planned,
            "reference": self.reference,
            "top": self.top,
            "comparisons": list(self.lengths),
            "expected": expected,
            "needed_for_the_same": needed,
        }


def plan(  # noqa: PLR0913 - all that can be asked for, so that `help` shows it
    areas: Areas,
    judges: int = 10,
    per_judge: int = 50,
    *,
    seed: int,
    alpha: float | None = None,
    pilot: "Fit | None" = None,
    designs: Sequence[str] = ("uniform", "principal", "optimal", "adaptive"),
    simulations: int = 40,
    cores: int = 1,
    watch: Callable[[int, int], None] | None = None,
) -> StudyPlan:
    """Simulate studies with a number of judges and comparisons each, and report what to expect from each design.

    Parameters
    ----------
    areas
        The areas of the study.
    judges, per_judge
        The planned study; shorter and longer ones are simulated too.
    seed
        The same seed gives the same numbers.
    alpha
        A guess at α, the standard deviation of the strengths; 3 by default.
    pilot
        A fit of the same areas, instead of the guess: truths are drawn from its posterior. Its own answers do not count
        towards the planned study.
    designs
        Which of ``uniform``, ``naive``, ``principal``, ``optimal``, ``adaptive`` to try.
    simulations
        Simulated studies under each design.
    cores
        Processes to use; the results do not depend on it.
    watch
        Called after each trial with the number done and the total.

    Examples
    --------
    >>> import judgemap as jm
    >>> plan = jm.plan(jm.chicago(), 4, 50, seed=1, designs=("uniform",), simulations=6)
    >>> plan.lengths
    (50, 100, 150, 200, 300)
    >>> few, *_, many = plan.expected("uniform", "rank_error")
    >>> few.middle > many.middle
    True
    """
    chosen = _check(areas, judges, per_judge, simulations, designs)
    source = TruthSource.make(areas, alpha, pilot)
    began = time.perf_counter()
    planned = judges * per_judge
    shortest = max(SHORTEST, len(areas) // 2)
    lengths = tuple(sorted({max(shortest, round(share * planned)) for share in SHARES}))
    top = min(10, max(1, len(areas) // 4))
    covariance = prior_covariance(areas)
    askers = {name: _asker(name, areas, covariance, source.alpha, planned) for name in chosen}
    trials = _Trials(source, covariance, askers, lengths, top)
    merits = trials.run(seed, simulations, cores, watch)
    record = PlanRecord(
        areas=len(areas),
        truth=source.words,
        alpha=source.alpha,
        simulations=simulations,
        seed=seed,
        seconds=round(time.perf_counter() - began, 1),
        versions=versions(),
        notes=[*areas.notes, *source.notes],
    )
    return StudyPlan(areas, judges, per_judge, lengths, top, merits, record)


@dataclass(frozen=True, slots=True, eq=False)
class TruthSource:
    """Where truths come from: draws of a pilot's strengths, or, without one, the prior with a guess at α."""

    alpha: float
    strengths: FloatArray | None
    """The pilot's draws, (draws, areas)."""
    words: str
    notes: tuple[str, ...] = ()

    @classmethod
    def make(cls, areas: Areas, alpha: float | None, pilot: "Fit | None") -> "TruthSource":
        """Check the guess or the pilot, and use it."""
        if pilot is None:
            guess = ALPHA if alpha is None else alpha
            if not (np.isfinite(guess) and guess > 0):
                raise StudyError(f"the guess at α must be a positive number, not {guess:g}")
            return cls(guess, None, f"drawn from the spatial prior with α = {guess:g}")
        if alpha is not None:
            raise StudyError("both a guess at α and a pilot were given; the pilot estimates α, so give only one")
        if pilot.map.ids != areas.ids:
            raise StudyError("the pilot is a fit of different areas; plan with the map it was fitted on")
        if "alpha2" not in pilot.posterior:
            raise StudyError("the pilot has no α in its posterior; use a fit of the spatial or the standard model")
        words = f"drawn from the posterior of a pilot with {pilot.record.data.comparisons:,} comparisons"
        notes = ["The pilot's own answers are not counted in the planned study."]
        if pilot.record.prior != "communicability":
            notes.append(
                f"The pilot was fitted with the prior '{pilot.record.prior}'; the planned study is analysed with the "
                "map's communicability."
            )
        return cls(float(np.median(pilot.alpha)), -pilot.risk, words, tuple(notes))

    def draw(self, rng: np.random.Generator, covariance: Covariance) -> FloatArray:
        """Draw the true strengths of one simulated study."""
        if self.strengths is None:
            drawn: FloatArray = self.alpha * covariance.draw(rng, 1)[0]
            return drawn
        row: FloatArray = self.strengths[rng.integers(len(self.strengths))]
        return row


@dataclass(frozen=True, slots=True, eq=False)
class _Trials:
    """All trials of a plan: each design on each truth."""

    source: TruthSource
    covariance: Covariance
    askers: dict[str, Asker]
    lengths: tuple[int, ...]
    top: int

    def run(
        self, seed: int, simulations: int, cores: int, watch: Callable[[int, int], None] | None
    ) -> dict[str, FloatArray]:
        """Run them on some cores; each has its own generator, so their order does not matter."""
        from joblib import Parallel, delayed

        merits = {name: np.empty((simulations, len(self.lengths), len(Merits._fields))) for name in self.askers}
        work = [
            delayed(_numbered_trial)(
                (name, number),
                # 0 is the truth's generator.
                np.random.default_rng([seed, number, 1 + DESIGNS.index(name)]),
                (truth, self.askers[name], self.lengths, self.covariance, self.top),
            )
            for number, truth in enumerate(self._truths(seed, simulations))
            for name in self.askers
        ]
        parallel = Parallel(n_jobs=cores, return_as="generator_unordered", max_nbytes=None)
        for done, ((name, number), rows) in enumerate(parallel(work), start=1):
            merits[name][number] = rows
            if watch is not None:
                watch(done, len(work))
        return merits

    def _truths(self, seed: int, simulations: int) -> list[FloatArray]:
        return [
            self.source.draw(np.random.default_rng([seed, number, 0]), self.covariance) for number in range(simulations)
        ]


def _numbered_trial(
    label: tuple[str, int], rng: np.random.Generator, arguments: tuple[Any, ...]
) -> tuple[tuple[str, int], FloatArray]:
    return label, trial(rng, *arguments)


def _asker(name: str, areas: Areas, covariance: Covariance, alpha: float, planned: int) -> Asker:
    if name == "adaptive":
        return ask_adaptively(covariance, alpha)
    return ask_from(pair_design(areas.graph, name, alpha, planned))


def _check(areas: Areas, judges: int, per_judge: int, simulations: int, designs: Sequence[str]) -> list[str]:
    _check_size(areas, judges, per_judge)
    if simulations < FEWEST:
        raise StudyError(f"intervals need at least {FEWEST} simulated studies, not {simulations}")
    least = max(SHORTEST, len(areas) - 1)
    if judges * per_judge < least:
        raise StudyError(
            f"{judges:,} × {per_judge:,} comparisons cannot even connect {len(areas):,} areas; plan for at "
            f"least {least:,}"
        )
    for name in designs:
        if name not in DESIGNS:
            raise StudyError(
                f"there is no design {name!r}{did_you_mean(name, DESIGNS)}; the designs are {quoted(DESIGNS)}"
            )
    if not designs:
        raise StudyError(f"no design was named; the designs are {quoted(DESIGNS)}")
    return list(dict.fromkeys(designs))


def _numbers(values: Sequence[float]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


@dataclass(frozen=True, slots=True, eq=False)
class JudgePlan:
    """Precision of the population's map, by number of judges and answers each.

    ``sd``, ``u1`` and ``correlation`` are arrays (answers each, judges). Their last row is for unlimited answers: each
    judge's own map is known exactly, but the population's is not. ``correlation`` is between estimate and truth over
    areas.

    >>> import judgemap as jm
    >>> plan = jm.plan_judges(jm.chicago(), judges=8, per_judge=40, seed=1, simulations=2)
    >>> plan.judges, plan.per_judge
    ((2, 4, 8, 16, 32), (10, 20, 40, 80, 160, 320))
    >>> bool(plan.sd[2, 2] < plan.sd[1, 2] and plan.hours[2, 2] == 2 * plan.hours[1, 2])
    True
    """

    areas: Areas
    judges: tuple[int, ...]
    per_judge: tuple[int, ...]
    planned: tuple[int, int]
    """The planned numbers of judges, and of answers each."""
    sd: FloatArray
    u1: FloatArray
    correlation: FloatArray
    seconds: float
    """Seconds per answer."""
    differ: float
    """σ/α: how far judges differ, relative to areas."""
    alpha: float
    truth: str
    """Where the true risks come from."""
    design: str
    simulations: int
    seed: int

    @property
    def hours(self) -> FloatArray:
        """Judges' hours, (answers each, judges); breaks and reading the instructions are not counted."""
        return np.outer(self.per_judge, self.judges) * self.seconds / 3600

    def at(self, judges: int, per_judge: int) -> tuple[int, int]:
        """Return a study's position in the arrays."""
        return self.per_judge.index(per_judge), self.judges.index(judges)

    def helps_little(self, judges: int) -> float:
        """Return the number of answers each from which doubling them lowers the sd by less than a tenth.

        0 means fewer than the fewest in the grid, inf more than half of the most. If judges were all alike, every
        doubling would gain up to 29 %.

        >>> import judgemap as jm
        >>> plan = jm.plan_judges(jm.chicago(), judges=8, per_judge=40, differ=1.0, seed=1, simulations=2)
        >>> 0 < plan.helps_little(8) < 160
        True
        """
        sd = self.sd[:-1, self.judges.index(judges)]
        doublings = np.diff(np.log2(self.per_judge))
        gain = np.minimum.accumulate(1 - (sd[1:] / sd[:-1]) ** (1 / doublings))
        below = gain < LITTLE
        if below[0]:
            return 0.0
        if not below.any():
            return np.inf
        after = int(np.argmax(below))
        logs = np.log(self.per_judge[after - 1 : after + 1])
        share = (gain[after - 1] - LITTLE) / (gain[after - 1] - gain[after])
        return float(np.exp(logs[0] + share * (logs[1] - logs[0])))

    def to_frame(self) -> "pd.DataFrame":
        """Return a table, one row per study: judges, per_judge, hours, sd, u1, correlation."""
        import pandas as pd

        answers, judges = np.meshgrid(self.per_judge, self.judges, indexing="ij")
        measured = {name: getattr(self, name)[:-1].ravel() for name in ("sd", "u1", "correlation")}
        return pd.DataFrame(
            {"judges": judges.ravel(), "per_judge": answers.ravel(), "hours": self.hours.ravel(), **measured}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything a program might want, ready for JSON; the last row is for unlimited answers."""
        at_most = self.helps_little(self.planned[0])
        return {
            "truth": self.truth,
            "design": self.design,
            "simulations": self.simulations,
            "seed": self.seed,
            "differ": self.differ,
            "alpha": self.alpha,
            "seconds_per_answer": self.seconds,
            "judges": list(self.judges),
            "per_judge": list(self.per_judge),
            "hours": self.hours.tolist(),
            **{name: getattr(self, name).tolist() for name in ("sd", "u1", "correlation")},
            "more_answers_help_little_from": at_most if np.isfinite(at_most) else None,
        }


def plan_judges(  # noqa: PLR0913 - all that can be asked for, so that `help` shows it
    areas: Areas,
    judges: int = 10,
    per_judge: int = 50,
    *,
    seed: int,
    differ: float | None = None,
    alpha: float | None = None,
    pilot: "Fit | None" = None,
    seconds: float = SECONDS,
    design: str = "uniform",
    simulations: int = 12,
) -> JudgePlan:
    """Say how precisely the population's map would be known, by number of judges and answers each.

    Parameters
    ----------
    areas
        The areas of the study.
    judges, per_judge
        The study in the middle of the grid.
    seed
        The same seed gives the same numbers.
    differ
        A guess at σ/α, how far judges' own maps are from the common one relative to how far areas differ; by default
        the pilot's, or 0.5.
    alpha, pilot
        As for `plan`. A pilot in which judges differ also estimates σ/α.
    seconds
        Seconds that one answer takes a judge.
    design
        How pairs are drawn: ``uniform``, ``naive``, ``principal`` or ``optimal``.
    simulations
        How many true maps, each with its own judges, the figures are averaged over.

    Examples
    --------
    >>> import judgemap as jm
    >>> plan = jm.plan_judges(jm.chicago(), judges=12, per_judge=50, differ=0.5, seed=1, simulations=2)
    >>> more_answers, more_judges = plan.sd[3, 2], plan.sd[2, 3]
    >>> bool(more_judges < more_answers)
    True
    """
    source = TruthSource.make(areas, alpha, pilot)
    ratio = _ratio(differ, pilot)
    _check_grid(areas, judges, per_judge, seconds, simulations)
    n_judges = tuple(sorted({max(1, round(share * judges)) for share in GRID_SHARES[:-1]}))
    answers = tuple(sorted({max(1, round(share * per_judge)) for share in GRID_SHARES}))
    covariance = prior_covariance(areas)
    people = Population(covariance, source.alpha, (ratio * source.alpha) ** 2 * covariance.matrix)
    if design == "optimal":
        drawn = optimal(covariance, source.alpha, judges * per_judge, panel=Panel(judges, people.views))
    else:
        drawn = pair_design(areas.graph, design, source.alpha, judges * per_judge)
    grids, spread = [], []
    with one_thread():
        for number in range(simulations):
            rng = np.random.default_rng([seed, number])
            truth = source.draw(rng, covariance)
            grids.append(precision_grid(rng, truth, people, drawn, n_judges, answers))
            spread.append(float(((truth - truth.mean()) ** 2).sum()))
    sd, trace = (np.mean(each, axis=0) for each in zip(*grids, strict=True))
    return JudgePlan(
        areas,
        n_judges,
        answers,
        (judges, per_judge),
        sd=sd,
        u1=1 / trace,
        # Over areas, estimate and error are nearly uncorrelated, so r² = 1 − error variance / variance of the truth.
        correlation=np.sqrt(np.maximum(1 - trace / np.mean(spread), 0.0)),
        seconds=seconds,
        differ=ratio,
        alpha=source.alpha,
        truth=source.words,
        design=design,
        simulations=simulations,
        seed=seed,
    )


def _ratio(differ: float | None, pilot: "Fit | None") -> float:
    if differ is None:
        if pilot is None or "sigma2" not in pilot.posterior:
            return DIFFER
        return float(np.median(np.sqrt(pilot.posterior["sigma2"] / pilot.posterior["alpha2"])))
    if not (np.isfinite(differ) and differ > 0):
        raise StudyError(f"how far judges differ must be a positive number, σ/α, such as {DIFFER}, not {differ:g}")
    return differ


def _check_grid(areas: Areas, judges: int, per_judge: int, seconds: float, simulations: int) -> None:
    _check_size(areas, judges, per_judge)
    if simulations < 1:
        raise StudyError(f"the number of simulated maps must be at least 1, not {simulations}")
    if not (np.isfinite(seconds) and seconds > 0):
        raise StudyError(f"the seconds that an answer takes must be a positive number, not {seconds:g}")
    if len(areas) > MOST_AREAS:
        raise StudyError(
            f"{len(areas):,} areas are too many: judges can be planned for up to {MOST_AREAS:,}; use a coarser map"
        )


def _check_size(areas: Areas, judges: int, per_judge: int) -> None:
    for what, number in (("judges", judges), ("comparisons per judge", per_judge)):
        if number < 1:
            raise StudyError(f"the number of {what} must be at least 1, not {number}")
    if len(areas) < 2:
        raise StudyError("a study needs at least two areas, but the map has only one")
