"""What a briefing says about a study apart from its fit: the title, the question, and how many people answered."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import read_table
from judgemap.geo.drawing import LARGE
from judgemap.report.figures import clusters, judges, maps
from judgemap.report.figures import fit as figures
from judgemap.report.figures.picture import COLUMN, Picture
from judgemap.study.assess.beside import ByRegion, Grouping, by_region
from judgemap.study.assess.explain import Explanation, checked
from judgemap.study.data.comparisons import Comparisons, read_comparisons
from judgemap.study.data.definition import NO_WORDS, OwnWords, read_definition
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.folder import EXCHANGE, new_folder
from judgemap.study.fit.result import Fit


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """The study that a fit belongs to. Every field is optional: a briefing can be made from a fit alone.

    ``data`` are the comparisons that were fitted; they give the number of judges and their times. ``first`` and
    ``last`` are the days of the first and the last answer. ``notice`` is what a reader must know first, and
    ``pictures`` are more figures for the annex, each with its heading. ``others`` are fits of the same areas from other
    answers or under other assumptions, such as "without judge 12", to compare with. ``left_out`` counts the judges
    whose answers the researcher left out. ``explanation`` is the fit's, if it has already been made. ``words`` are the
    researcher's own words, and ``made`` is the date of the briefing. ``groups`` are the districts or other groups by
    which results are given too, and ``columns`` the figures of the areas that the map is held against.
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
    groups: Sequence[Grouping] = ()
    columns: Sequence[str] = ()

    def check(self, fit: Fit, other: Fit | None = None) -> None:
        """Raise a `StudyError` if the comparisons are not the ones fitted, or if another fit has different areas."""
        for name, each in {**self.others, **({} if other is None else {"to compare with": other})}.items():
            if each.map.ids != fit.map.ids:
                raise StudyError(f"the fit {name!r} is of different areas; compare fits of one study")
        if self.data is not None and self.data.digest() != fit.record.data.sha256:
            raise StudyError(
                "these are not the comparisons that were fitted (their SHA-256 differs); give the file that "
                "'judgemap fit' read, or fit again"
            )


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


MARK = "captions.md"
"""This file marks a folder as one of figures, so that no other folder is overwritten."""

THIS = "this fit"
"""What this fit is called beside others."""

ENDINGS = ("svg", "pdf")
HEADINGS = {
    "network": "The areas and their borders",
    "times": "How long a comparison took",
    "risk": "Risk, posterior median",
    "alpha": "Posterior of α",
    "variance": "Posterior variance of risk",
    "variance-against-median": "Posterior variance against posterior median",
    "uncertainty": "Posterior standard deviation of risk",
    "intervals": "Highest risks, with intervals",
    "top": "Probability of being among the highest",
    "sensitivity": "Estimates compared with other fits",
    "sensitivity-maps": "Maps of other fits",
    "clusters": "Clusters",
    "violins": "Risk in each cluster",
    "number-of-clusters": "Number of clusters",
    "together": "Probability of sharing a cluster",
    "models": "Comparing the two models",
    "win-rates": "Win rates, observed and modelled",
    "ranks": "Ranks of the chains' draws",
    "traces": "Traces",
    "cluster-traces": "Traces of the clustering model",
    "traces-2": "Traces of the second model",
    "judges-times": "How long each judge took",
    "judges-sides": "How often each judge chose the left area",
    "judges-infit": "Infit and outfit of each judge",
    "judges-agreement": "How often each judge agreed with the others",
}
"""What each figure shows, in the order of the paper."""


@dataclass(frozen=True, eq=False)
class Gallery:
    """The figures that can be drawn from a fit, a second fit of the same areas and the comparisons, by name.

    Each is drawn once, when it is first needed. The names are in the order of the paper. Figures of judges name them,
    so they are for the researcher only, and a briefing leaves them out.
    """

    fit: Fit
    about: About = field(default_factory=About)
    other: Fit | None = None

    def __getitem__(self, name: str) -> Picture:
        if name not in self._drawn:
            self._drawn[name] = self._possible[name]()
        return self._drawn[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the figures that can be drawn."""
        return tuple(name for name in HEADINGS if name in self._possible)

    @property
    def everything(self) -> dict[str, Picture]:
        """Every figure by name, the study's own last."""
        own = {f"more-{place}": picture for place, (_, picture) in enumerate(self.about.pictures, start=1)}
        return {name: self[name] for name in self.names} | own

    @cached_property
    def clusters(self) -> ClusterFit | None:
        """The first of the two fits that has clusters, if either does."""
        return next((each for each in (self.fit, self.other) if isinstance(each, ClusterFit)), None)

    @cached_property
    def regions(self) -> ByRegion | None:
        """The results of a large map by its regions."""
        return by_region(self.fit, self.about.groups)

    @cached_property
    def _drawn(self) -> dict[str, Picture]:
        return {}

    @cached_property
    def _possible(self) -> dict[str, Callable[[], Picture]]:
        fit = self.fit
        possible: dict[str, Callable[[], Picture]] = {
            "risk": lambda: maps.risk_map(fit, regions=self.regions),
            "variance-against-median": lambda: figures.variance_against_median(fit),
            "uncertainty": lambda: maps.uncertainty_map(fit),
            "intervals": lambda: figures.risk_intervals(fit),
            "top": lambda: maps.p_top_map(fit, k=max(1, min(10, len(fit.map) // 2))),
            "win-rates": lambda: figures.predictive_check(*checked(fit, self.about.explanation)),
            "traces": lambda: figures.traces(fit),
        }
        if len(fit.map) <= LARGE:  # nobody could follow the lines between more, and the deviation's map is enough
            possible["network"] = lambda: maps.adjacency_map(fit.map)
            possible["variance"] = lambda: maps.variance_map(fit)
        if fit.posterior.sizes["chain"] > 1:
            possible["ranks"] = lambda: figures.rank_plot(fit)
        normal = next((each for each in (fit, self.other) if each is not None and "alpha2" in each.posterior), None)
        if normal is not None and np.ptp(normal.alpha) > 0:
            possible["alpha"] = lambda: figures.alpha_posterior(normal)
        return possible | self._of_others() | self._of_judges()

    def _of_others(self) -> dict[str, Callable[[], Picture]]:
        fit, others, clustered, second = self.fit, self.about.others, self.clusters, self.other
        possible: dict[str, Callable[[], Picture]] = {}
        if others:
            possible["sensitivity"] = lambda: figures.sensitivity_scatter(fit, others)
            possible["sensitivity-maps"] = lambda: figures.sensitivity_maps({THIS: fit, **others})
        if clustered is not None:
            possible |= {
                "clusters": lambda: clusters.cluster_map(clustered),
                "violins": lambda: clusters.cluster_violins(clustered),
                "number-of-clusters": lambda: clusters.cluster_number_bars(clustered),
                "together": lambda: clusters.co_clustering_matrix(clustered),
            }
        if second is not None:
            # A clustering model is on the vertical axis.
            one, two = (second, fit) if isinstance(second, ClusterFit) else (fit, second)
            possible["models"] = lambda: clusters.against_spatial(one, two)
            possible["cluster-traces" if clustered is second else "traces-2"] = lambda: figures.traces(second)
        return possible

    def _of_judges(self) -> dict[str, Callable[[], Picture]]:
        data, explanation = self.about.data, self.about.explanation
        possible: dict[str, Callable[[], Picture]] = {}
        if data is None:
            return possible
        timed = np.isfinite(data.seconds)
        if timed.any():
            possible["times"] = lambda: figures.comparison_times(data)
        if (timed & (data.judge >= 0)).any():
            possible["judges-times"] = lambda: judges.times_by_judge(data)
        if explanation is None:
            return possible
        if len(data.judges) and data.sides:
            possible["judges-sides"] = lambda: judges.left_shares(explanation.judges)
        if len(np.unique(data.judge[data.decided & (data.judge >= 0)])) > 1:
            possible["judges-infit"] = lambda: judges.mean_squares(explanation.judges)
            possible["judges-agreement"] = lambda: judges.agreement(explanation.judges)
        return possible


def write_figures(pictures: Mapping[str, Picture], folder: str | Path, millimetres: float = COLUMN) -> Path:
    """Write pictures into a new folder, each as an SVG and a PDF as wide as a journal column, with their captions.

    Earlier figures in the folder, those that its captions name, are replaced, and other files beside them are left
    alone; a folder without captions must be empty.
    """
    if not pictures:
        raise StudyError("there are no figures to write")
    lines = ["# Figures", ""]
    with new_folder(Path(folder), (MARK, *_earlier(Path(folder)))) as draft:
        for name, picture in pictures.items():
            for ending in ENDINGS:
                picture.save(draft / f"{name}.{ending}", millimetres)
            lines += [f"## {name}", "", picture.caption, "", f"In words: {picture.alt}", ""]
        (draft / MARK).write_text("\n".join(lines), encoding="utf-8")
    return Path(folder)


def _earlier(folder: Path) -> list[str]:
    """List the figures that were written into a folder, by its captions, or by those on their way into it."""
    captions = next((path for path in (folder / MARK, folder / EXCHANGE / MARK) if path.is_file()), None)
    text = "" if captions is None else captions.read_text(encoding="utf-8")
    # Only our own names count: captions are for people, who may add a heading for a file of theirs.
    named = [
        name for name in re.findall(r"^## (.+)$", text, re.M) if name in HEADINGS or re.fullmatch(r"more-\d+", name)
    ]
    return [f"{name}.{ending}" for name in named for ending in ENDINGS]
