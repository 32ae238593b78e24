"""What a briefing says about a study apart from its fit: the title, the question, and how many people answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import MappingProxyType

import numpy as np

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import read_table
from judgemap.report.figures.picture import Picture
from judgemap.study.comparison_files import read_comparisons
from judgemap.study.comparisons import Comparisons
from judgemap.study.definition import NO_WORDS, OwnWords, read_definition
from judgemap.study.explain import Explanation
from judgemap.study.result import Fit


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """The study that a fit belongs to. Every field is optional: a briefing can be made from a fit alone.

    ``data`` are the comparisons that were fitted; they give the number of judges and their times. ``first`` and
    ``last`` are the days of the first and the last answer. ``notice`` is what a reader must know first, and
    ``pictures`` are more figures for the annex, each with its heading. ``others`` are fits of the same areas from other
    answers or under other assumptions, such as "without judge 12", to compare with. ``left_out`` counts the judges
    whose answers the researcher left out. ``explanation`` is the fit's, if it has already been made. ``words`` are the
    researcher's own words, and ``made`` is the date of the briefing.

    >>> About("Wards", "Which ward has the LOWER rate?").title
    'Wards'
    """

    title: str = ""
    question: str = ""
    data: Comparisons | None = None
    first: date | None = None
    last: date | None = None
    notice: str = ""
    pictures: Sequence[tuple[str, Picture]] = ()
    left_out: int = 0
    others: Mapping[str, Fit] = field(default_factory=lambda: MappingProxyType({}))
    explanation: Explanation | None = None
    words: OwnWords = NO_WORDS
    made: date | None = None

    def check(self, fit: Fit) -> None:
        """Raise a `StudyError` if the comparisons are not the ones fitted, or if another fit has different areas."""
        for name, other in self.others.items():
            if other.map.ids != fit.map.ids:
                raise StudyError(f"the fit {name!r} is of different areas; compare fits of one study")
        if self.data is not None and self.data.digest() != fit.record.data.sha256:
            raise StudyError(
                "these are not the comparisons that were fitted (their SHA-256 differs); give the file that "
                "'judgemap fit' read, or fit again"
            )

    @property
    def median_seconds(self) -> float:
        """The median time of a comparison in seconds, or nan if no times are known.

        >>> About().median_seconds
        nan
        """
        if self.data is None or not np.isfinite(self.data.seconds).any():
            return float("nan")
        return float(np.nanmedian(self.data.seconds))

    @property
    def largest_share(self) -> float:
        """The share of comparisons that the busiest judge made, or nan if the judges are not recorded."""
        if self.data is None or not self.data.per_judge():
            return float("nan")
        per_judge = self.data.per_judge().values()
        return max(per_judge) / sum(per_judge)


def read_about(fit: Fit, study: Path | None = None, comparisons: Path | None = None) -> About:
    """Read what a study.toml, and the comparisons.csv that was fitted, say about a fit."""
    title, question, words = "", "", NO_WORDS
    if study is not None:
        definition = read_definition(study)
        if definition.direction != fit.record.winner_is:
            raise StudyError(
                f"{study.name} asks for the area with the {definition.direction} rate, but the fit was made for the "
                f"{fit.record.winner_is} one; give the study that the fit belongs to"
            )
        title, question, words = definition.title, definition.question, definition.briefing
    if comparisons is None:
        return About(title, question, words=words)
    data = read_comparisons(comparisons, fit.map, fit.record.winner_is)
    about = About(title, question, data, *_days(comparisons), explanation=Explanation(fit, data), words=words)
    about.check(fit)
    return about


def _days(comparisons: Path) -> tuple[date | None, date | None]:
    """Return the first and last days in the column ``answered_at``, or None twice if it is missing or unreadable."""
    table = read_table(comparisons)
    written = [row["answered_at"][:10] for row in table.rows if row.get("answered_at")]
    try:
        days = [date.fromisoformat(text) for text in written]
    except ValueError:
        return None, None
    return (min(days), max(days)) if days else (None, None)
