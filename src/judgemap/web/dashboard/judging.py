"""What the pages about judges show: counted from the database now, and compared with the others by the last fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet

from judgemap.core.misfit import share_interval
from judgemap.core.types import FloatArray, IntArray
from judgemap.web.dashboard.charts import Chart, bar_chart, spark
from judgemap.web.dashboard.counting import Counted, Rows
from judgemap.web.dashboard.live import quartiles
from judgemap.web.results.models import Exclusion, FitRun
from judgemap.web.studies.models import Study

BINS = 24
LONG = 0.97
"""The share of times that a histogram has room for; the last bin also holds all that took longer."""
STEPS = (0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A judge in the table. ``found`` is what the last fit says, see `web.results.findings`; empty for nothing."""

    name: str
    shown: int
    left: int
    right: int
    ties: int
    skips: int
    unknown: int
    left_interval: tuple[float, float]
    repeats: int
    repeated: int
    """How many of the repeats were answered as the time before."""
    seconds: tuple[float, float, float] | None
    """Quartiles of the times."""
    spark: str
    found: Mapping[str, Any]
    excluded: Exclusion | None

    @property
    def decided(self) -> int:
        """Pairs with a winner."""
        return self.left + self.right

    @property
    def judged(self) -> int:
        """Pairs that were judged."""
        return self.decided + self.ties + self.skips

    @property
    def left_share(self) -> float | None:
        """Left among the decided pairs."""
        return self.left / self.decided if self.decided else None

    @property
    def tie_share(self) -> float | None:
        """Ties among the pairs judged."""
        return self.ties / self.judged if self.judged else None

    @property
    def skip_share(self) -> float | None:
        """Skips among the pairs judged."""
        return self.skips / self.judged if self.judged else None

    @property
    def consistency(self) -> float | None:
        """The share of repeats that were answered as the time before."""
        return self.repeated / self.repeats if self.repeats else None


def whole_fits(study: Study) -> QuerySet[FitRun]:
    """Return the fits of all judges, or of all but those left out of the study, without what is large in them."""
    excluded = sorted(Exclusion.objects.filter(judge__study=study).values_list("judge_id", flat=True))
    runs = FitRun.objects.filter(Q(left_out=[]) | Q(left_out=excluded), study=study, only=[])
    return runs.defer("rows", "findings", "log").order_by("-number")


def latest_fit(study: Study) -> FitRun | None:
    """Return the last fit of all judges that was explained."""
    return whole_fits(study).filter(status=FitRun.Status.DONE, explained_at__isnull=False).first()


def judge_rows(study: Study, counted: Counted, found: Sequence[Mapping[str, Any]]) -> list[JudgeRow]:
    """Return the judges who were shown a pair, those with the most answers first."""
    n_judges = len(counted.judges)
    said = np.zeros((n_judges, 7), dtype=np.int64)
    np.add.at(said, (counted.owner, counted.rows["said"]), 1)
    low, high = share_interval(said[:, 1], said[:, 1] + said[:, 2])
    repeats, repeated = count_repeats(counted)
    width = bin_width(counted.rows["seconds"][counted.answered])
    by_name = {str(each["judge"]): each for each in found}
    excluded = {each.judge_id: each for each in Exclusion.objects.filter(judge__study=study).select_related("by")}
    rows = []
    for place in np.flatnonzero(said.sum(axis=1)).tolist():
        name, counts, mine = counted.judges[place].name, said[place].tolist(), counted.of(place)
        seconds = times(mine)
        rows.append(
            JudgeRow(
                name=name,
                shown=sum(counts),
                left=counts[1],
                right=counts[2],
                ties=counts[3],
                skips=counts[4],
                unknown=counts[5] + counts[6],
                left_interval=(float(low[place]), float(high[place])),
                repeats=int(repeats[place]),
                repeated=int(repeated[place]),
                seconds=quartiles(seconds),
                spark=spark(histogram(seconds, width)),
                found=by_name.get(name, {}),
                excluded=excluded.get(name),
            )
        )
    return sorted(rows, key=lambda row: (-row.judged, row.name))


def count_repeats(counted: Counted) -> tuple[IntArray, IntArray]:
    """Count for each judge how often a pair came again, decided both times, and how often as the time before."""
    decided = counted.said("left", "right")
    rows, owner = counted.rows[decided], counted.owner[decided]
    left, right = rows["left"].astype(np.int64), rows["right"].astype(np.int64)
    first, second = np.minimum(left, right), np.maximum(left, right)
    chosen = np.where(rows["said"] == 1, left, right)
    order = np.lexsort((rows["position"], second, first, owner))
    key = np.stack([owner, first, second])[:, order]
    again = np.flatnonzero((np.diff(key, axis=1) == 0).all(axis=0)) + 1
    same = again[chosen[order][again] == chosen[order][again - 1]]
    n_judges = len(counted.judges)
    return (
        np.bincount(key[0][again], minlength=n_judges).astype(np.int64),
        np.bincount(key[0][same], minlength=n_judges).astype(np.int64),
    )


def times(rows: Rows) -> FloatArray:
    """Return how long the answered pairs were in view."""
    seconds: FloatArray = rows["seconds"][rows["said"] != 0]
    return seconds


def bin_width(seconds: FloatArray) -> float:
    """Return a plain width of which `BINS` hold nearly all times."""
    long = float(np.quantile(seconds, LONG)) if len(seconds) else 0.0
    return next((step for step in STEPS if step * BINS >= long), STEPS[-1])


def histogram(seconds: FloatArray, width: float) -> list[int]:
    """Count times in bins; the last one also holds all that took longer.

    >>> histogram(np.array([0.2, 0.3, 900.0]), 0.5)[0], histogram(np.array([0.2, 0.3, 900.0]), 0.5)[-1]
    (2, 1)
    """
    place = np.minimum((seconds / width).astype(np.int64), BINS - 1)
    counts: list[int] = np.bincount(place, minlength=BINS).tolist()
    return counts


def time_chart(rows: Rows) -> Chart:
    """Draw one judge's times."""
    seconds = times(rows)
    middle = quartiles(seconds)
    if middle is None:
        return bar_chart("Time for a pair", "This judge has not answered any pairs yet.", [], [])
    width = bin_width(seconds)
    labels = [f"{i * width:g} to {(i + 1) * width:g} s" for i in range(BINS - 1)] + [
        f"{(BINS - 1) * width:g} s or more"
    ]
    alt = f"Half of the pairs took between {middle[0]:.1f} and {middle[2]:.1f} seconds, the middle one {middle[1]:.1f}."
    return bar_chart("Time for a pair", alt, histogram(seconds, width), labels, ("Time", "Pairs"))


def notes(rows: Sequence[JudgeRow], fit: FitRun | None) -> list[str]:
    """Say, a sentence each, what is missing, and what to do."""
    if not rows:
        return ["Nobody has answered yet: invite judges, and come back when they have answered."]
    said = []
    if len(rows) == 1:
        said.append("There is only one judge so far: agreement cannot be checked without a second.")
    if fit is None:
        said.append(
            "There is no fit yet, so agreement, infit, outfit and surprising decisions are missing: ask for one on the "
            "Results page."
        )
    return said
