"""What the pages about judges show: counted from the database now, and compared with the others by the last fit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet

from judgemap.core.misfit import share_interval
from judgemap.study.comparisons import Comparisons, Outcome
from judgemap.study.judges import time_histogram, time_quartiles
from judgemap.web.dashboard.charts import Chart, bar_chart, spark
from judgemap.web.dashboard.counting import Counted
from judgemap.web.results.models import Exclusion, FitRun
from judgemap.web.studies.models import Study

BINS = 24


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
    data = counted.data
    outcomes = data.outcomes_by_judge()
    low, high = share_interval(outcomes[:, Outcome.LEFT], outcomes[:, : Outcome.TIE].sum(axis=1))
    repeats, same = data.repeats()
    times = time_histogram(data, BINS).counts if np.isfinite(data.seconds).any() else np.zeros((len(outcomes), BINS))
    quartiles = time_quartiles(data)
    by_name = {str(each["judge"]): each for each in found}
    excluded = {each.judge_id: each for each in Exclusion.objects.filter(judge__study=study).select_related("by")}
    rows = []
    for place in np.flatnonzero(outcomes.sum(axis=1)).tolist():
        name = data.judges[place]
        left, right, ties, skips, unknown, _ = outcomes[place].tolist()
        rows.append(
            JudgeRow(
                name=name,
                shown=int(outcomes[place].sum()),
                left=left,
                right=right,
                ties=ties,
                skips=skips,
                unknown=unknown,
                left_interval=(float(low[place]), float(high[place])),
                repeats=int(repeats[place]),
                repeated=int(same[place]),
                seconds=tuple(quartiles[place].tolist()) if np.isfinite(quartiles[place, 1]) else None,
                spark=spark(times[place].tolist()),
                found=by_name.get(name, {}),
                excluded=excluded.get(name),
            )
        )
    return sorted(rows, key=lambda row: (-row.judged, row.name))


def time_chart(data: Comparisons) -> Chart:
    """Draw the times of one judge's comparisons."""
    low, middle, high = time_quartiles(data)[0].tolist()
    if not np.isfinite(middle):
        return bar_chart("Time for a pair", "This judge has not answered any pairs yet.", [], [])
    _, edges, counts = time_histogram(data, BINS)
    labels = [f"{start:g} to {end:g} s" for start, end in pairwise(edges[:-1].tolist())] + [f"{edges[-2]:g} s or more"]
    alt = f"Half of the pairs took between {low:.1f} and {high:.1f} seconds, the middle one {middle:.1f}."
    return bar_chart("Time for a pair", alt, counts[0].tolist(), labels, ("Time", "Pairs"))


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
