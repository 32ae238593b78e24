"""The stored explanation of a fit, typed, for the pages that read it. Quick to import: no tables, no arrays.

`explain.Explanation.to_dict` writes these names. Parts that are not there yet get their default here, and extra
ones are ignored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired, TypedDict

import msgspec

from judgemap.core.assess.misfit import EXTREME
from judgemap.errors import StudyError

if TYPE_CHECKING:
    import pandas as pd

PLACED = 0.5
"""An area is shown as part of a cluster if it belongs to it with at least this probability."""


ROUNDING = 1e-9
"""The mean of all areas is 0 up to this rounding error, so a single cluster of all areas is about average."""


class Level(StrEnum):
    """Where the mean risk of a cluster's areas lies, if its 95 % interval leaves no doubt."""

    ABOVE = "above average"
    ABOUT = "about average"
    BELOW = "below average"


@dataclass(frozen=True, slots=True)
class Group:
    """A cluster of the partition shown: how many areas it has, and their mean risk with its 95 % interval."""

    areas: int
    mean: float
    low: float
    high: float

    @property
    def level(self) -> Level:
        """Where the cluster lies relative to the average of all areas, which is 0.

        >>> Group(12, 0.4, -0.1, 0.9).level.value, Group(12, 0.5, 0.1, 0.9).level.value
        ('about average', 'above average')
        """
        if self.low > ROUNDING:
            return Level.ABOVE
        return Level.BELOW if self.high < -ROUNDING else Level.ABOUT


@dataclass(frozen=True, slots=True)
class Grouping:
    """A partition of the areas, and how credible it is.

    ``chance`` is the probability of exactly this partition, and ``agreement`` the share of pairs of areas that it is
    expected to join or separate correctly. ``numbers`` is P(k clusters), by k.
    """

    groups: Sequence[Group]
    chance: float
    agreement: float
    numbers: Sequence[tuple[int, float]]

    @property
    def number_chance(self) -> float:
        """The probability of this number of clusters."""
        return dict(self.numbers).get(len(self.groups), 0.0)


def is_placed(level: Level, risk: float, probability: float) -> bool:
    """Whether an area can be shown as part of its cluster.

    It must be at least as likely as not to belong to it, and be on the cluster's side of the average: an area whose own
    risk is below average is never shown as part of a cluster above it, whatever its neighbours are.

    >>> is_placed(Level.ABOVE, -0.8, 0.9), is_placed(Level.ABOVE, 0.8, 0.22), is_placed(Level.ABOVE, 0.8, 0.9)
    (False, False, True)
    """
    sides = {Level.ABOVE: risk > 0, Level.BELOW: risk < 0, Level.ABOUT: True}
    return probability >= PLACED and sides[level]


def rough_levels(clusters: Sequence[int], risks: Sequence[float]) -> list[Level]:
    """Return the levels of clusters 1, 2 … from the mean of their areas' risks, for when intervals are unknown.

    >>> [level.value for level in rough_levels([1, 1, 2], [1.0, 0.5, -1.0])]
    ['above average', 'below average']
    """
    if max(clusters) == 1:
        return [Level.ABOUT]
    levels = []
    for cluster in range(1, max(clusters) + 1):
        own = [risk for each, risk in zip(clusters, risks, strict=True) if each == cluster]
        levels.append(Level.ABOVE if sum(own) > 0 else Level.BELOW)
    return levels


class RiskRow(TypedDict):
    """A row of the table of areas, as in areas.csv; with the area's cluster in a fit of clusters."""

    id: str
    name: str
    risk_median: float
    risk_mean: float
    risk_sd: float
    risk_low: float
    risk_high: float
    rank: int
    rank_low: int
    rank_high: int
    p_top10: float
    cluster: NotRequired[int]
    probability: NotRequired[float]


class Met(NamedTuple):
    """Another area, by position, and how often this one won and lost against it."""

    other: int
    won: int
    lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaFinding:
    """What an area won, what the fit expects of it, and the draws of its risk by bin, in thousandths."""

    wins: int = 0
    losses: int = 0
    win_rate: float | None = None
    win_low: float | None = None
    win_high: float | None = None
    riskier: float | None = None
    """P(a judge picks it as riskier than an average area)."""
    density: Sequence[float] = ()

    @property
    def compared(self) -> int:
        """How many of its comparisons had a winner."""
        return self.wins + self.losses

    @property
    def unexpected(self) -> tuple[float, float, float] | None:
        """The area's win rate and the interval that the fit expects, if the one is outside the other."""
        if self.win_rate is None or self.win_low is None or self.win_high is None:
            return None
        outside = not self.win_low <= self.win_rate <= self.win_high
        return (self.win_rate, self.win_low, self.win_high) if outside else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaFindings:
    """Everything stored about one area; ``between`` is another cluster it may belong to, with the probability."""

    area: AreaFinding = AreaFinding()
    met: Sequence[Met] = ()
    between: tuple[int, float] | None = None

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> "AreaFindings":
        """Read the area's entries of ``areas``, ``met`` and ``between``, any of which may be missing."""
        return msgspec.convert({**kept, "area": kept.get("areas", {})}, cls)


@dataclass(frozen=True, slots=True)
class Remedy:
    """A setting to change, by its name in `FitSettings`, when the answers contradict a fit.

    >>> Remedy("judges", "differ").option, Remedy("side", True).option
    ('--judges-differ', '--side')
    """

    setting: str
    value: str | bool

    @property
    def option(self) -> str:
        """What to add to `judgemap fit`."""
        from judgemap.study.fit.settings import words_of  # not quick to import

        return " ".join(words_of(self.setting, self.value))


DIFFER = Remedy("judges", "differ")
ONE_SIDED = ("borders", "smooth", "parts")
"""The measures of which too little does no harm: a map may be smoother than its prior."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Something counted in the answers, and in answers simulated from the fit; see `checks.PredictiveCheck`."""

    words: str
    name: str = ""
    observed: float | None = None
    expected: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    remedy: Remedy | None = None
    """What to change if the measure is unusual, and the fit can be changed in that respect."""

    @property
    def tail(self) -> float:
        """How far out the measure lies: p or 1 − p, whichever is less; only p where too little of it does no harm."""
        if self.p is None:
            return 0.5
        return self.p if self.name in ONE_SIDED else min(self.p, 1 - self.p)

    @property
    def unusual(self) -> bool:
        """Whether the model does not fit by this measure."""
        return self.tail < EXTREME


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFinding:
    """How well a judge agrees with the others, and what a researcher should look at; see `judges.judge_table`."""

    judge: str
    agreement: float | None = None
    agreement_expected: float | None = None
    infit: float | None = None
    outfit: float | None = None
    stands_out: Sequence[str] = ()
    distance: float | None = None
    """From the population's map, in a fit in which judges differ; `panel_judges` explains this and what follows."""
    distance_low: float | None = None
    distance_high: float | None = None
    p_little: float | None = None
    p_reversed: float | None = None
    p_another_view: float | None = None
    kind_note: str = ""
    """Why these three cannot be determined, and what to do; empty if they can."""

    @property
    def told_apart(self) -> list[tuple[str, float]]:
        """What kind of judge the model suggests, in words, each with its probability; the likeliest first.

        >>> JudgeFinding(judge="ann", p_little=0.02, p_another_view=0.7).told_apart
        [('another view', 0.7), ('little information', 0.02)]
        """
        chances = {
            "little information": self.p_little,
            "the other way round": self.p_reversed,
            "another view": self.p_another_view,
        }
        known = [(words, chance) for words, chance in chances.items() if chance is not None]
        return sorted(known, key=lambda each: -each[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Surprise:
    """An answer that the fit considers unlikely."""

    judge: str
    chosen_name: str
    other_name: str
    probability: float
    seconds: float | None = None


FEWEST_ANSWERS = 10
"""With fewer decided answers than this, nothing is said about reliability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How reliable the estimates are, from all answers or the first of them; None if that cannot be determined.

    ``bayes`` with its 95 % interval; ``ssr``; ``split_half``, Pearson's correlation between the estimates of two halves
    of the judges (the median over ``splits`` splits, and the range that contains 95 % of them);
    ``split_half_full`` = 2r/(1 + r) of that median. For a fit in which judges differ, also the expected squared
    correlation of its estimate with the ``population``'s map and with the estimate that ``another_panel`` of the same
    size would give.

    >>> areas, data = jm.example_study(seed=1)
    >>> figures = jm.reliability(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100), data, seed=1, splits=10)
    >>> figures.answers, figures.judges, figures.bayes_low < figures.bayes < figures.bayes_high
    (1848, 12, True)
    """

    answers: int = 0
    judges: int = 0
    bayes: float | None = None
    bayes_low: float | None = None
    bayes_high: float | None = None
    ssr: float | None = None
    split_half: float | None = None
    split_half_low: float | None = None
    split_half_high: float | None = None
    split_half_full: float | None = None
    splits: int = 0
    population: float | None = None
    another_panel: float | None = None

    @property
    def bayes_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of ``bayes``."""
        return None if self.bayes_low is None or self.bayes_high is None else (self.bayes_low, self.bayes_high)

    @property
    def note(self) -> str:
        """One sentence: what the figures say, or why they are missing."""
        if self.bayes is None or self.answers < FEWEST_ANSWERS:
            some = "1 decided answer" if self.answers == 1 else f"{self.answers:,} decided answers"
            return f"With {some} it is too early to judge reliability; collect at least {FEWEST_ANSWERS}."
        known = f"the estimate is expected to explain {100 * self.bayes:.0f} % of the variation in true risk"
        if self.judges < 2:
            return f"According to the model, {known}; with one judge we cannot tell whether others would agree."
        if self.split_half is None:
            return f"According to the model, {known}; half of these judges have too few answers to compare."
        halves = f"two halves of the {self.judges:,} judges agree with correlation {self.split_half:.2f}"
        panels = ""
        if self.another_panel is not None:
            panels = f"; the estimates of another panel of the same size would share {100 * self.another_panel:.0f} %"
        return f"According to the model, {known}{panels}; {halves}."


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingFinding:
    """How well each area's risk was sampled."""

    rhat: Sequence[float | None] = ()
    ess_bulk: Sequence[float | None] = ()
    ess_tail: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter that belongs to no area or judge: symbol, meaning, posterior median, 95 % interval."""

    symbol: str
    words: str
    median: float
    low: float
    high: float


EQUAL = "equal"
"""The weights of areas that all count alike."""


@dataclass(frozen=True, slots=True)
class StandsOut:
    """An area that is judged riskier, or less risky, than a figure suggests, and how probable that is."""

    area: int
    """Its position."""
    name: str
    riskier: bool
    probability: float

    def words(self, column: str) -> str:
        """Say it in a sentence.

        >>> StandsOut(3, "Radford", True, 0.97).words("income")
        'Radford is judged riskier than its income suggests (97 %).'
        """
        how = "riskier" if self.riskier else "less risky"
        chance = "over 99 %" if self.probability > 0.995 else f"{100 * self.probability:.0f} %"
        return f"{self.name} is judged {how} than its {column} suggests ({chance})."


@dataclass(frozen=True, slots=True, kw_only=True)
class Follows:
    """How far the map follows a figure: the rank correlation over the draws, and the areas that stand out from it.

    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> figures = jm.Figures(areas.ids, {"number": areas.ids})
    >>> jm.follows(fit, figures, "number").column
    'number'
    """

    column: str
    areas: int
    """How many areas have the figure."""
    median: float
    low: float
    high: float
    """Spearman's rank correlation of risk and figure: median and 95 % interval over the draws."""
    counts: Sequence[int]
    """How many draws have a correlation in each of 40 bins from −1 to 1."""
    line: Sequence[tuple[float, float]]
    """The risk that the figure suggests, from its lowest to its highest value: (figure, risk)."""
    out: Sequence[StandsOut]

    @property
    def sentence(self) -> str:
        """What the correlation says, in a sentence."""
        numbers = f"rank correlation {self.median:.2f}, 95 % interval {self.low:.2f} to {self.high:.2f}"
        numbers = numbers.replace("-", "−")
        if self.low <= 0 <= self.high:
            return f"The map does not clearly follow {self.column} ({numbers})."
        size = abs(self.median)
        how = "closely" if size > 0.8 else "in part" if size > 0.4 else "a little"
        which = "" if self.median > 0 else ", the other way round: the higher the figure, the lower the risk"
        return f"The map follows {self.column} {how} ({numbers}){which}."


NOT_CAUSE = (
    "A correlation does not say why: it is not a cause, and judges may have had the figure in mind. A map that follows "
    "a figure adds little to it; where the two part, somebody who knows the area should look."
)
"""What stands wherever a figure is held against the map."""


@dataclass(frozen=True, slots=True)
class RateOptions:
    """Which columns of the figures have the counts, and what is known about them: see `jm.rates`.

    >>> RateOptions("cases", "people", missed=(0.5, 0.2))
    Traceback (most recent call last):
    judgemap.errors.StudyError: the share of cases not recorded is 0.5 to 0.2; ...
    """

    counts: str
    expected: str
    missed: tuple[float, float] = (0.0, 0.0)
    by: str = ""
    totals: str = ""

    def __post_init__(self) -> None:
        low, high = self.missed
        if not 0 <= low <= high < 1:
            raise StudyError(
                f"the share of cases not recorded is {low:g} to {high:g}; give two numbers from 0 to below 1, the "
                "lower first"
            )
        if bool(self.by) != bool(self.totals):
            raise StudyError("known totals need two columns: the district of each area, and the total of its district")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Rates and cases of every area, which rest on the counts that some of them have; see `jm.rates`.

    >>> found = Rates(counts="cases", expected="people", areas=8, ratio=(1.5, 1.2, 1.9), ids=["1"], names=["Ash"],
    ...               recorded=[None], rates=[(3.0, 2.0, 5.0)], cases=[(6.0, 4.0, 10.0)])
    >>> found.table.loc[0, "cases_high"], found.sentence[:47]
    (np.float64(10.0), 'These rates rest on the cases of 8 of 1 areas, ')
    """

    counts: str
    expected: str
    areas: int
    """How many areas have counts."""
    missed: tuple[float, float] = (0.0, 0.0)
    totals: str = ""
    per: int = 1000
    """Rates are for so many of ``expected``."""
    ratio: tuple[float, float, float]
    """By what the rate is multiplied for one standard deviation more of risk: median and 95 % interval."""
    ids: Sequence[str]
    names: Sequence[str]
    recorded: Sequence[float | None]
    rates: Sequence[tuple[float, float, float]]
    cases: Sequence[tuple[float, float, float] | None]
    """Median and 95 % interval for each area."""

    @property
    def table(self) -> "pd.DataFrame":
        """The rates as a table, in the order of the areas; `Rates.sentence` says what they rest on."""
        import pandas as pd

        own = {"id": self.ids, "name": self.names, "recorded": self.recorded, "rests_on": self.areas}
        ends = ("median", "low", "high")
        rates = pd.DataFrame(list(self.rates), columns=[f"rate_{end}" for end in ends])
        cases = pd.DataFrame([each or (None,) * 3 for each in self.cases], columns=[f"cases_{end}" for end in ends])
        return pd.concat([pd.DataFrame(own), rates, cases], axis=1)

    @property
    def sentence(self) -> str:
        """What the rates rest on, in a few sentences."""
        low, high = (f"{100 * each:.0f}" for each in self.missed)
        share = f"{low} %" if low == high else f"{low} to {high} %"
        missed = f" {share} of cases are taken as not recorded." if self.missed[1] else ""
        middle, least, most = self.ratio
        unit = f"{self.per:,} of {self.expected}" if self.per > 1 else f"one of {self.expected}"
        known = f" Districts are scaled to their {self.totals}." if self.totals else ""
        return (
            f"These rates rest on the {self.counts} of {self.areas:,} of {len(self.ids):,} areas, for each {unit}; "
            f"where the counts are wrong, so are they. One standard deviation more of risk multiplies the rate by "
            f"{middle:.2f} (95 % interval {least:.2f} to {most:.2f}).{missed}{known}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Everything about a fit beside its figures, as pages and files show it."""

    follows: Mapping[str, Follows]
    groups: Mapping[str, Sequence[Mapping[str, float | int | str]]]
    """The rows of `beside.results_by`, by the column that groups."""
    weighted_by: str = EQUAL
    notes: Sequence[str] = ()
    rates: Rates | None = None
    no_rates: str = ""
    """Why the counts that were chosen give no rates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What is stored about a fit, or the parts asked for; the rest are empty, as they are before a worker is done.

    ``layout`` has a point for each area if there is no map; see `explain.Explanation` for the rest.

    >>> findings = Findings.from_dict({"checks": [{"words": "wins", "p": 0.001}], "top": {"3": [0.5, 0.1]}})
    >>> findings.checks[0].unusual, findings.top, findings.reliability
    (True, {3: [0.5, 0.1]}, None)
    """

    warnings: Sequence[str] = ()
    top: Mapping[int, Sequence[float]] = field(default_factory=dict)
    layout: Sequence[Sequence[float]] = ()
    risk_edges: Sequence[float] = ()
    areas: Sequence[AreaFinding] = ()
    checks: Sequence[Measure] = ()
    """What was counted in the answers and in simulated ones."""
    judges: Sequence[JudgeFinding] = ()
    judges_note: str = ""
    part_words: str = ""
    """On which part of a large map checks, reliability and judges rest; empty if on all of it."""
    surprises: Sequence[Surprise] = ()
    reliability: Reliability | None = None
    reliability_over_time: Sequence[Reliability] = ()
    sampling: SamplingFinding = SamplingFinding()
    parameters: Sequence[Parameter] = ()
    between: Sequence[Sequence[float] | None] = ()
    """The other cluster that each area may belong to, with the probability."""
    grouping: Grouping | None = None
    verdict: Mapping[str, Any] | None = None
    """As `verdict.Verdict.from_dict` reads it."""

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> "Findings":
        """Read what `explain.Explanation.to_dict` wrote, or some of its parts."""
        return msgspec.convert(kept, cls, str_keys=True)
