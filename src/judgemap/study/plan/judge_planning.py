"""Planning for judges who differ: how many judges to ask, and for how many answers each.

How well the population's map can be known depends on how many judges represent it. For studies with a quarter to four
times as many judges, and a quarter to eight times as many answers each, this computes how precisely it would be known;
see `core.design.utility` for the method. No study is sampled, so a grid takes seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from judgemap.core.design.optimal import Panel, optimal
from judgemap.core.design.utility import Population, precision_grid
from judgemap.core.threads import one_thread
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.fit.priors import prior_covariance
from judgemap.study.plan.planning import TruthSource
from judgemap.study.plan.schedules import DIFFER, pair_design

if TYPE_CHECKING:
    import pandas as pd

    from judgemap.study.fit.result import Fit

SHARES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Answers per judge to consider, as multiples of the planned number; judges go only up to four times as many."""
SECONDS = 4.0
"""The time an answer takes if no pilot says."""
SIMULATIONS = 12
LITTLE = 0.1
"""Doubling the answers helps little if it lowers the uncertainty by less than this share."""
MOST_AREAS = 1_000
"""The most areas for which a grid takes no more than minutes."""


class JudgePlanOptions(TypedDict, total=False):
    """Further planning options; every entry has a default."""

    seconds: float
    """Seconds that one answer takes a judge; 4 by default."""
    design: str
    """How pairs are drawn: ``uniform``, ``naive``, ``principal`` or ``optimal``."""
    simulations: int
    """How many true maps, each with its own judges, the figures are averaged over; 12 by default."""


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


def plan_judges(
    areas: Areas,
    judges: int = 10,
    per_judge: int = 50,
    *,
    seed: int,
    differ: float | None = None,
    alpha: float | None = None,
    pilot: "Fit | None" = None,
    **options: Unpack[JudgePlanOptions],
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
    options
        See `JudgePlanOptions`.

    Examples
    --------
    >>> import judgemap as jm
    >>> plan = jm.plan_judges(jm.chicago(), judges=12, per_judge=50, differ=0.5, seed=1, simulations=2)
    >>> more_answers, more_judges = plan.sd[3, 2], plan.sd[2, 3]
    >>> bool(more_judges < more_answers)
    True
    """
    seconds, simulations = options.get("seconds", SECONDS), options.get("simulations", SIMULATIONS)
    design = options.get("design", "uniform")
    source = TruthSource.make(areas, alpha, pilot)
    ratio = _ratio(differ, pilot)
    _check(areas, judges, per_judge, seconds, simulations)
    n_judges = tuple(sorted({max(1, round(share * judges)) for share in SHARES[:-1]}))
    answers = tuple(sorted({max(1, round(share * per_judge)) for share in SHARES}))
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


def _check(areas: Areas, judges: int, per_judge: int, seconds: float, simulations: int) -> None:
    numbers: Sequence[tuple[str, float]] = (
        ("judges", judges),
        ("comparisons per judge", per_judge),
        ("simulated maps", simulations),
    )
    for what, number in numbers:
        if number < 1:
            raise StudyError(f"the number of {what} must be at least 1, not {number}")
    if not (np.isfinite(seconds) and seconds > 0):
        raise StudyError(f"the seconds that an answer takes must be a positive number, not {seconds:g}")
    if len(areas) < 2:
        raise StudyError("a study needs at least two areas, but the map has only one")
    if len(areas) > MOST_AREAS:
        raise StudyError(
            f"{len(areas):,} areas are too many: judges can be planned for up to {MOST_AREAS:,}; use a coarser map"
        )
