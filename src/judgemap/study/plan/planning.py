"""Planning: what precision to expect from a study, before you ask anyone.

Whole studies are simulated under each design, with judges who differ, and compared with the truth; see
`core.simulate.trials` for how. The truth of each is drawn from the prior with a guess at α, or from a pilot's
posterior; all designs are tried on the same truths. How well the population's map can be known depends on how many
judges represent it, so studies with a quarter to four times as many judges, and a quarter to eight times as many
answers each, are simulated too, with the first design.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from judgemap.core.design.optimal import Panel, optimal
from judgemap.core.design.utility import Population
from judgemap.core.simulate.trials import (
    Asker,
    Interval,
    Merits,
    ask_adaptively,
    ask_from,
    length_for_the_same,
    mean_interval,
    reach,
    trial,
)
from judgemap.core.types import FloatArray
from judgemap.display import Displayed
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import check_known, quoted
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
"""The numbers of judges for which designs are compared, as multiples of the planned one."""
GRID = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Answers each to consider, as multiples of the planned number; judges go only up to four times as many."""
FEWEST = 6
"""The fewest simulations from which an interval is given."""
LOSSES = ("sd", "rank_error", "missed")
"""Measures that fall as a study grows, by which designs are compared; ``missed`` is 1 − ``found``."""
SECONDS = 4.0
"""The time an answer takes if no pilot says."""
LITTLE = 0.1
"""Doubling the answers helps little if it lowers the uncertainty by less than this share."""
MOST_AREAS = 2_000
"""The most areas for which a plan takes no more than minutes."""


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
    prior: str
    """The prior correlation of areas in the analysis."""
    alpha: float
    differ: float
    """σ/α: how far judges differ, relative to areas."""
    seconds_per_answer: float
    simulations: int
    seed: int
    seconds: float
    versions: Mapping[str, str]
    notes: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class StudyPlan(Displayed):
    """What to expect from a number of judges and answers each.

    ``merits[design]`` is an array (simulations, lengths, measures), in the order of `Merits`, for the planned answers
    each and various numbers of judges. ``reference`` is the design that the others are compared with: uniform, if it
    was tried. ``grid`` has its measures by answers each (the last row is for unlimited answers: each judge's own map is
    known exactly, but the population's is not), numbers of judges, and measure, averaged over simulations.

    >>> plan = jm.plan(jm.chicago(), 4, 50, seed=1, designs=("uniform", "naive"), simulations=6)
    >>> plan.planned, plan.designs, plan.lengths
    (200, ('uniform', 'naive'), (50, 100, 150, 200, 300))
    >>> plan.panels, plan.answers, plan.grid.shape
    ((1, 2, 4, 8, 16), (12, 25, 50, 100, 200, 400), (7, 5, 4))
    """

    areas: Areas
    judges: int
    per_judge: int
    lengths: tuple[int, ...]
    top: int
    merits: dict[str, FloatArray]
    panels: tuple[int, ...]
    """The numbers of judges in the grid."""
    answers: tuple[int, ...]
    """The answers each in the grid."""
    grid: FloatArray
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
        """One measure of every simulated study, shape (simulations, lengths).

        Parameters
        ----------
        design
            One of `designs`.
        measure
            A field of `Merits`, or "missed", the share of the highest areas not found.
        """
        if measure == "missed":
            return 1 - self.curve(design, "found")
        return self.merits[design][:, :, Merits._fields.index(measure)]

    def expected(self, design: str, measure: str) -> list[Interval]:
        """Return the mean of a measure at each length, with a Monte Carlo interval.

        Parameters
        ----------
        design, measure
            As for `curve`.
        """
        return [mean_interval(column) for column in self.curve(design, measure).T]

    def at_planned(self, design: str, measure: str) -> Interval:
        """Return a measure at the planned number of comparisons.

        Parameters
        ----------
        design, measure
            As for `curve`.
        """
        return self.expected(design, measure)[self.lengths.index(self.planned)]

    def needed(self, design: str, measure: str) -> Needed:
        """Return how many comparisons this design needs to match the reference at the planned number.

        Parameters
        ----------
        design, measure
            As for `curve`.
        """
        at = self.lengths.index(self.planned)
        rng = np.random.default_rng([self.record.seed, DESIGNS.index(design)])
        lengths = np.array(self.lengths, dtype=np.float64)
        reference = self.curve(self.reference, measure)
        return Needed(*length_for_the_same(rng, lengths, self.curve(design, measure), reference, at), self.planned)

    def enough(self, design: str, measure: str, level: float) -> float:
        """Return how many comparisons bring a measure in `LOSSES` down to a level; 0 or inf beyond the simulations.

        Parameters
        ----------
        design, measure
            As for `curve`.
        level
            The level to reach.
        """
        return reach(np.array(self.lengths, dtype=np.float64), self.curve(design, measure).mean(axis=0), level)

    def over_grid(self, measure: str) -> FloatArray:
        """Return a measure over the grid, (answers each and, last, unlimited answers; judges).

        Parameters
        ----------
        measure
            A field of `Merits`.
        """
        return self.grid[:, :, Merits._fields.index(measure)]

    @property
    def hours(self) -> FloatArray:
        """Judges' hours, (answers each, judges); breaks and reading the instructions are not counted."""
        return np.outer(self.answers, self.panels) * self.record.seconds_per_answer / 3600

    @property
    def at(self) -> tuple[int, int]:
        """The planned study's position in the grid."""
        return self.answers.index(self.per_judge), self.panels.index(self.judges)

    @property
    def helps_little(self) -> float:
        """The number of answers each from which doubling them lowers the planned judges' sd by less than a tenth.

        0 means fewer than the fewest in the grid, inf more than half of the most. If judges were all alike, every
        doubling would gain up to 29 %.

        >>> plan = jm.plan(jm.chicago(), 4, 50, seed=1, judge_spread=1.0, designs=("uniform",), simulations=6)
        >>> plan.helps_little < 200
        True
        """
        sd = self.over_grid("sd")[:-1, self.at[1]]
        doublings = np.diff(np.log2(self.answers))
        gain = np.minimum.accumulate(1 - (sd[1:] / sd[:-1]) ** (1 / doublings))
        below = gain < LITTLE
        if not below.any():
            return np.inf
        if below[0]:
            return 0.0
        after = int(np.argmax(below))
        logs = np.log(self.answers[after - 1 : after + 1])
        share = (gain[after - 1] - LITTLE) / (gain[after - 1] - gain[after])
        return float(np.exp(logs[0] + share * (logs[1] - logs[0])))

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

    def to_dict(self) -> dict[str, object]:
        """Return everything a program might want, ready for JSON: numbers outside the simulated range are null."""
        expected = {
            design: {measure: [_numbers(each) for each in self.expected(design, measure)] for measure in Merits._fields}
            for design in self.designs
        }
        needed = {
            design: {
                measure: [each or None for each in _numbers(self.needed(design, measure)[:3])] for measure in LOSSES
            }
            for design in self.designs
            if design != self.reference
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
            "grid": {
                "judges": list(self.panels),
                "per_judge": list(self.answers),
                "hours": self.hours.tolist(),
                **{name: self.over_grid(name).tolist() for name in ("sd", "rank_error", "found", "correlation")},
                "more_answers_help_little_from": _numbers([self.helps_little])[0],
            },
        }


def plan(  # noqa: PLR0913 - all that can be asked for, so that `help` shows it
    areas: Areas,
    judges: int = 10,
    per_judge: int = 50,
    *,
    seed: int,
    alpha: float | None = None,
    judge_spread: float | None = None,
    pilot: "Fit | None" = None,
    designs: Sequence[str] = ("uniform", "principal", "optimal", "adaptive"),
    answer_seconds: float = SECONDS,
    simulations: int = 40,
    grid: bool = True,
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
    judge_spread
        A guess at σ/α, how far judges' own maps are from the common one relative to how far areas differ; by default
        the pilot's, or 0.5. With 0, judges are alike.
    pilot
        A fit of the same areas, instead of the guesses: truths are drawn from its posterior. Its own answers do not
        count towards the planned study.
    designs
        Which of ``uniform``, ``naive``, ``principal``, ``optimal``, ``adaptive`` to try.
    answer_seconds
        Seconds that one answer takes a judge.
    simulations
        Simulated studies under each design.
    grid
        Whether studies with other numbers of answers each are simulated too, under the first design.
    cores
        Processes to use; the results do not depend on it.
    watch
        Called after each trial with the number done and the total.

    Returns
    -------
    StudyPlan
        What to expect from each design, by the number of judges and answers.

    Examples
    --------
    >>> plan = jm.plan(jm.chicago(), 4, 50, seed=1, designs=("uniform", "naive"), simulations=6)
    >>> few, *_, many = plan.expected("uniform", "rank_error")
    >>> few.middle > many.middle
    True
    >>> sd, (row, column) = plan.over_grid("sd"), plan.at
    >>> bool(sd[row, column + 1] < sd[row + 1, column])     # twice the judges, or twice the answers of each?
    True
    """
    chosen = _check(areas, judges, per_judge, simulations, designs)
    if not (np.isfinite(answer_seconds) and answer_seconds > 0):
        raise StudyError(f"the seconds that an answer takes must be a positive number, not {answer_seconds:g}")
    source = TruthSource.make(areas, alpha, pilot)
    ratio = _ratio(judge_spread, pilot)
    began = time.perf_counter()
    covariance = prior_covariance(areas) if pilot is None else pilot.covariance
    people = Population(covariance, source.alpha, (ratio * source.alpha) ** 2 * covariance.matrix)
    compared = _multiples(judges, SHARES)
    panels, answers = (_multiples(judges, GRID[:-1]), _multiples(per_judge, GRID)) if grid else (compared, (per_judge,))
    top = min(10, max(1, len(areas) // 4))
    reference = "uniform" if "uniform" in chosen else chosen[0]
    everyone = tuple(sorted({*compared, *panels}))
    tried = {
        name: (
            _asker(name, areas, people, judges, per_judge),
            (everyone, answers) if name == reference else (compared, (per_judge,)),
        )
        for name in chosen
    }
    found = _run(source, people, tried, top, (seed, simulations, cores), watch)
    whole = found[reference]
    in_grid, in_curve = ([everyone.index(each) for each in sizes] for sizes in (panels, compared))
    merits = {name: each[:, 0] for name, each in found.items()}
    merits[reference] = whole[:, answers.index(per_judge)][:, in_curve]
    record = PlanRecord(
        areas=len(areas),
        truth=source.words,
        prior=covariance.name,
        alpha=source.alpha,
        differ=ratio,
        seconds_per_answer=answer_seconds,
        simulations=simulations,
        seed=seed,
        seconds=round(time.perf_counter() - began, 1),
        versions=versions(),
        notes=[*areas.notes, *source.notes],
    )
    lengths = tuple(per_judge * each for each in compared)
    means = whole[:, :, in_grid].mean(axis=0)
    return StudyPlan(areas, judges, per_judge, lengths, top, merits, panels, answers, means, record)


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
        notes = ("The pilot's own answers are not counted in the planned study.",)
        return cls(float(np.median(pilot.alpha)), -pilot.risk, words, notes)

    def draw(self, rng: np.random.Generator, people: Population) -> FloatArray:
        """Draw the true strengths of one simulated study."""
        if self.strengths is None:
            return self.alpha * people.covariance.draw(rng, 1)[0]
        return self.strengths[rng.integers(len(self.strengths))]


_Tried = tuple[Asker, tuple[tuple[int, ...], tuple[int, ...]]]
"""A design to try: how it asks, and the numbers of judges and of answers each."""


def _run(
    source: TruthSource,
    people: Population,
    tried: Mapping[str, _Tried],
    top: int,
    how: tuple[int, int, int],
    watch: Callable[[int, int], None] | None,
) -> dict[str, FloatArray]:
    """Try each design on each truth; each trial has its own generator, so their order does not matter."""
    from joblib import Parallel, delayed

    seed, simulations, cores = how
    truths = [source.draw(np.random.default_rng([seed, number, 0]), people) for number in range(simulations)]
    work = [
        # 0 is the truth's generator.
        delayed(trial)(np.random.default_rng([seed, number, 1 + DESIGNS.index(name)]), truth, people, *each, top)
        for number, truth in enumerate(truths)
        for name, each in tried.items()
    ]
    found: list[FloatArray] = []
    for merits in Parallel(n_jobs=cores, return_as="generator", max_nbytes=None)(work):
        found.append(merits)
        if watch is not None:
            watch(len(found), len(work))
    return {name: np.array(found[place :: len(tried)]) for place, name in enumerate(tried)}


def _asker(name: str, areas: Areas, people: Population, judges: int, per_judge: int) -> Asker:
    if name == "adaptive":
        return ask_adaptively(people.covariance, people.alpha)
    if name == "optimal" and people.views.any():
        panel = Panel(judges, people.views)
        return ask_from(optimal(people.covariance, people.alpha, judges * per_judge, panel=panel))
    return ask_from(pair_design(areas.graph, name, people.alpha, judges * per_judge))


def _multiples(number: int, shares: Sequence[float]) -> tuple[int, ...]:
    """Return multiples of a number, at least 1, without repetition."""
    return tuple(sorted({max(1, round(share * number)) for share in shares}))


def _check(areas: Areas, judges: int, per_judge: int, simulations: int, designs: Sequence[str]) -> list[str]:
    for what, number in (("judges", judges), ("comparisons per judge", per_judge)):
        if number < 1:
            raise StudyError(f"the number of {what} must be at least 1, not {number}")
    if not 2 <= len(areas) <= MOST_AREAS:
        raise StudyError(f"a plan needs from 2 to {MOST_AREAS:,} areas, and there are {len(areas):,}; use another map")
    if simulations < FEWEST:
        raise StudyError(f"intervals need at least {FEWEST} simulated studies, not {simulations}")
    if judges * per_judge < len(areas) - 1:
        raise StudyError(
            f"{judges:,} × {per_judge:,} comparisons cannot even connect {len(areas):,} areas; plan for at "
            f"least {len(areas) - 1:,}"
        )
    for name in designs:
        check_known("design", name, DESIGNS)
    if not designs:
        raise StudyError(f"no design was named; the designs are {quoted(DESIGNS)}")
    return list(dict.fromkeys(designs))


def _ratio(differ: float | None, pilot: "Fit | None") -> float:
    if differ is None:
        if pilot is None or "sigma2" not in pilot.posterior:
            return DIFFER
        return float(np.median(np.sqrt(pilot.posterior["sigma2"] / pilot.posterior["alpha2"])))
    if not (np.isfinite(differ) and differ >= 0):
        raise StudyError(f"how far judges differ must be a number from 0 up, σ/α, such as {DIFFER}, not {differ:g}")
    return differ


def _numbers(values: Sequence[float]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
