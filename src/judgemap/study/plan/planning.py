"""Planning: what precision to expect from a study, before you ask anyone.

Whole studies are simulated under each design and analysed like real ones. The truth of each is drawn from the prior
with a guess at α, or from a pilot's posterior; all designs are tried on the same truths.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

import numpy as np

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
from judgemap.core.types import FloatArray
from judgemap.display import Displayed
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.geo.maps import Areas
from judgemap.study.fit.priors import prior_covariance
from judgemap.study.fit.provenance import versions
from judgemap.study.plan.schedules import ALPHA, pair_design

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


class PlanOptions(TypedDict, total=False):
    """How to simulate; every entry has a default."""

    simulations: int
    """Simulated studies under each design; 40 by default."""
    cores: int
    """Processes to use; the results do not depend on it."""
    watch: Callable[[int, int], None] | None
    """Called after each trial with the number done and the total."""


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


def plan(
    areas: Areas,
    judges: int = 10,
    per_judge: int = 50,
    *,
    seed: int,
    alpha: float | None = None,
    pilot: "Fit | None" = None,
    designs: Sequence[str] = ("uniform", "principal", "optimal", "adaptive"),
    **options: Unpack[PlanOptions],
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
    simulations, cores, watch = options.get("simulations", 40), options.get("cores", 1), options.get("watch")
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
    for what, number, least in (("judges", judges, 1), ("comparisons per judge", per_judge, 1)):
        if number < least:
            raise StudyError(f"the number of {what} must be at least {least}, not {number}")
    if simulations < FEWEST:
        raise StudyError(f"intervals need at least {FEWEST} simulated studies, not {simulations}")
    if len(areas) < 2:
        raise StudyError("a study needs at least two areas, but the map has only one")
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
