"""One verdict on a fit, by one set of rules: can it be used? The command line, pages and briefing all use it.

Each criterion has its own rule: whether the computation has settled, whether the answers reach the areas, whether the
fit explains the answers, how closely another panel's map would agree, whether the judges agree and, for clusters,
whether the areas form them. The verdict is the worst of these, and a criterion that was not checked is a reason for
care. Judges are counted but never named, because the briefing uses the same words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import sqrt
from typing import Any

import msgspec

from judgemap.study.assess.findings import DIFFER, Grouping, JudgeFinding, Measure, Reliability, Remedy

MUCH, SOME = 0.8, 0.6
"""Expected correlations with another panel's map: from the first on the order is sound, below the second unusable."""
MOST_COMPARED, HALF_COMPARED = 0.9, 0.5
"""Shares of areas that were compared: from the first on a map is sound, below the second unusable."""
ENDLESS = 20.0
"""An interval of log-odds wider than this has no practical end: odds of one to 500 million."""
JOINED = 0.8
"""The share of pairs of areas that a partition must be expected to join or separate correctly."""
BORDERLINE = 0.025
"""A p-value closer to 0 or 1 than this is mentioned, even if it is not unusual yet."""
ORDERS = (
    (0.9, "almost the same order of the areas"),
    (MUCH, "much the same order of the areas"),
    (SOME, "a broadly similar order, with many areas in different places"),
    (-1.0, "a rather different order of the areas"),
)
"""What a correlation between the results of two panels means for a reader."""
MEANING = {
    "areas": (
        "Areas' win rates are further from the model than expected: the prior may pull them too strongly.",
        "Areas' win rates are closer to the model than chance would make them.",
    ),
    "pairs": (
        "Answers to the same pair are further from the model than expected: judges may see different things.",
        "Answers to the same pair are closer to the model than chance would make them.",
    ),
    "left": tuple(
        f"Some judges tended to press the {side} button whatever the pair. Those answers carry little information."
        for side in ("left", "right")
    ),
    "triads": (
        "There are more circles than a single scale of risk allows: judges may be using several scales.",
        "There are fewer circles than expected: the answers are more consistent than the model assumes.",
    ),
    "borders": (
        "Some borders are sharper than the prior allows, so areas beside them are drawn towards each other.",
        "",
    ),
    "smooth": ("Neighbours are less alike than the prior assumes, so intervals are too narrow.", ""),
    "parts": ("Judges seem to guess about pairs outside one part of the map each, so risks are drawn together.", ""),
}
"""What an unusual measure of the predictive check means, by its name: more than the model expects, or less."""


def meaning(measure: Measure) -> str:
    """Say what an unusual measure means, and what to do; p is the probability of a larger one, so a small p means more.

    >>> meaning(Measure(name="triads", words="", p=0.991))[:31], meaning(Measure(name="left", words="", p=0.004))[:45]
    ('There are fewer circles than ex', 'Some judges tended to press the left button w')
    """
    p = measure.p or 0.0
    said = MEANING[measure.name][p > 0.5] if measure.name in MEANING else f"Unusual: {measure.words}."
    return f"{said[:-1]} ({p_value(p)}).{again_with(measure.remedy)}"


def again_with(remedy: Remedy | None) -> str:
    """Say how to fit again, as the end of a text."""
    return "" if remedy is None else f" Fit again with {remedy.option}."


class Grade(StrEnum):
    """How far a fit can be used, the best grade first."""

    SOUND = "sound"
    CARE = "care"
    NO = "no"


class Subject(StrEnum):
    """The criteria by which a fit is judged."""

    CONVERGENCE = "convergence"
    AREAS = "areas"
    CHECKS = "checks"
    RELIABILITY = "reliability"
    JUDGES = "judges"
    CLUSTERS = "clusters"


HEADLINES = {
    Grade.SOUND: "Sound",
    Grade.CARE: "Use with care",
    Subject.CONVERGENCE: "Not ready for use",
    Subject.AREAS: "Too few areas compared",
    Subject.RELIABILITY: "Too uncertain to rank areas",
}
"""How a verdict begins; for a fit that cannot be used, the headline says why."""


SUBJECTS = {
    Subject.CHECKS: "Whether the fit explains the answers",
    Subject.RELIABILITY: "How far another panel would agree",
    Subject.JUDGES: "Whether the judges agree",
}
"""What each subject that can fail to be assessed is about, as the beginning of a sentence."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What one rule found, in a sentence or two, and the settings that would answer it."""

    subject: Subject
    grade: Grade
    text: str
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the answers reach: how many areas were compared, and in how many groups that never met each other."""

    areas: int
    compared: int
    groups: int = 1
    endless: int = 0
    """Areas whose 95 % interval of risk has no practical end."""
    contradicted: bool = True
    """Whether any answer contradicts others; if none does, answers say nothing about how far areas are apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that a verdict rests on; None stands for what was not checked."""

    warnings: Sequence[str] = ()
    stopped: bool = False
    """Whether the first warning is about a fit that was stopped early."""
    reach: Reach | None = None
    checks: Sequence[Measure] | None = None
    reliability: Reliability | None = None
    judges: Sequence[JudgeFinding] | None = None
    differ: bool = False
    """Whether judges differ more than chance explains, in a fit that assumes they do not."""
    left_out: int = 0
    """Judges whose answers were not used."""
    grouping: Grouping | None = None
    failed: Mapping[Subject, str] = field(default_factory=dict)
    """Why a subject that was tried could not be assessed."""
    part: str = ""
    """On which part of the map the assessment rests, in a sentence; empty if on all of it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a fit can be used, and the grounds for that, one per subject.

    >>> verdict = judge_fit(Evidence(reach=Reach(areas=60, compared=58)))
    >>> verdict.headline, verdict.grade.value, [each.subject.value for each in verdict.reasons]
    ('Use with care', 'care', ['checks', 'reliability', 'judges'])
    >>> Verdict.from_dict(verdict.to_dict()) == verdict
    True
    """

    grounds: tuple[Ground, ...]

    @property
    def grade(self) -> Grade:
        """The worst grade of all grounds."""
        return max((each.grade for each in self.grounds), key=list(Grade).index)

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        if self.grade is not Grade.NO:
            return HEADLINES[self.grade]
        return HEADLINES[next(each.subject for each in self.grounds if each.grade is Grade.NO)]

    @property
    def reasons(self) -> tuple[Ground, ...]:
        """The grounds that matter, the worst first; all of them if the fit is sound."""
        if self.grade is Grade.SOUND:
            return self.grounds
        against = [each for each in self.grounds if each.grade is not Grade.SOUND]
        return tuple(sorted(against, key=lambda each: -list(Grade).index(each.grade)))

    @property
    def lines(self) -> list[str]:
        """The verdict as it is written everywhere: the headline, then one reason per line."""
        return [f"{self.headline}.", *(each.text for each in self.reasons)]

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """The settings to change, each once."""
        return tuple(dict.fromkeys(remedy for each in self.grounds for remedy in each.remedies))

    def ground(self, subject: Subject) -> Ground:
        """Return what was found about one subject."""
        return next(each for each in self.grounds if each.subject is subject)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict ready for JSON, including the words that a reader of fit.json needs."""
        return {"grade": self.grade.value, "headline": self.headline, **msgspec.to_builtins(self)}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> "Verdict":
        """Read what `to_dict` wrote."""
        return msgspec.convert(kept, cls)


def judge_fit(found: Evidence) -> Verdict:
    """Judge a fit by what was found about it.

    >>> measures = [Measure(name="left", words="", p=0.007, remedy=Remedy("side", True))]
    >>> known = Reliability(split_half_full=0.84, judges=2, answers=800)
    >>> two = [JudgeFinding(judge="ann"), JudgeFinding(judge="bob")]
    >>> judge_fit(Evidence(reach=Reach(9, 9), checks=measures, reliability=known, judges=two)).lines[1][-74:]
    'Those answers carry little information (p = 0.007). Fit again with --side.'
    """
    grounds = [
        judge_convergence(found.warnings, stopped=found.stopped),
        judge_areas(found.reach),
        judge_checks(found.checks),
        judge_reliability(found.reliability),
        judge_judges(found.judges, differ=found.differ, left_out=found.left_out, in_part=bool(found.part)),
        *([judge_clusters(found.grouping)] if found.grouping else []),
    ]
    for place, each in enumerate(grounds):
        if why := found.failed.get(each.subject):
            words = f"{SUBJECTS[each.subject]} could not be assessed ({why})."
            grounds[place] = Ground(each.subject, Grade.CARE, words)
    if found.part:  # said with a ground that is shown: those that are sound may not be
        place = next((at for at, each in enumerate(grounds) if at and each.grade is not Grade.SOUND), 1)
        grounds[place] = replace(grounds[place], text=f"{grounds[place].text} {found.part}")
    return Verdict(tuple(grounds))


def judge_convergence(warnings: Sequence[str], *, stopped: bool = False) -> Ground:
    """Judge the computation: a single warning about the draws is enough to say no.

    A fit that was ``stopped``, as its first warning says, may have settled by then.

    >>> judge_convergence(["The fit was stopped after 500 of 1,000 draws per chain."], stopped=True).text
    'The fit was stopped after 500 of 1,000 draws per chain. By then the chains agreed, and there were enough draws...'
    """
    if stopped and len(warnings) == 1:
        settled = "By then the chains agreed, and there were enough draws; its seed alone does not reproduce it."
        words = f"{warnings[0]} {settled}"
        return Ground(Subject.CONVERGENCE, Grade.CARE, words)
    if stopped:
        words = f"{warnings[0]} By then the computation had not settled. {' '.join(warnings[1:])}"
        return Ground(Subject.CONVERGENCE, Grade.NO, words)
    if warnings:
        words = f"The computation has not settled, so the numbers may change. {' '.join(warnings)}"
        return Ground(Subject.CONVERGENCE, Grade.NO, words)
    words = "The computation has settled: the chains agree, and there are enough draws."
    return Ground(Subject.CONVERGENCE, Grade.SOUND, words)


def judge_areas(reach: Reach | None) -> Ground:
    """Judge whether the answers reach the areas: nine in ten were compared, in one group, and intervals have an end."""
    if reach is None:
        return Ground(Subject.AREAS, Grade.CARE, "We did not check whether every area was compared.")
    share, missing = reach.compared / max(reach.areas, 1), reach.areas - reach.compared
    grade = Grade.SOUND if share >= MOST_COMPARED else Grade.CARE if share >= HALF_COMPARED else Grade.NO
    found = []
    if missing:
        was = "was" if missing == 1 else "were"
        found.append(f"{missing:,} of the {reach.areas:,} areas {was} never compared: only the prior places them.")
    if reach.groups > 1:
        found.append(f"The compared areas form {reach.groups:,} groups that were never compared with each other.")
    if not reach.contradicted:
        found.append(
            "No answer contradicts another, so the answers give an order but not how far areas are apart: ask about "
            "areas that are close in risk, or the same pairs of other judges."
        )
    if reach.endless:
        found.append(f"The intervals of {reach.endless:,} areas have no practical end: ask more about them.")
    if len(found) > bool(missing) and grade is Grade.SOUND:
        grade = Grade.CARE
    return Ground(Subject.AREAS, grade, " ".join(found) or f"All {reach.areas:,} areas were compared.")


def judge_checks(measures: Sequence[Measure] | None) -> Ground:
    """Judge whether the fit could have produced the answers: every measure's p must lie between 0.01 and 0.99."""
    if not measures:
        return Ground(Subject.CHECKS, Grade.CARE, "We did not check whether the fit explains the answers.")
    if unusual := [each for each in measures if each.unusual]:
        remedies = tuple(dict.fromkeys(each.remedy for each in unusual if each.remedy))
        return Ground(Subject.CHECKS, Grade.CARE, " ".join(map(meaning, unusual)), remedies)
    words = f"The fit explains the answers: none of the {len(measures)} checks is unusual."
    near = [each for each in measures if each.tail < BORDERLINE]
    if near:  # explains a 95 % interval on the page that misses its measure
        words += f" Borderline: {'; '.join(f'{each.words} ({p_value(each.p)})' for each in near)}."
    return Ground(Subject.CHECKS, Grade.SOUND, words)


def judge_reliability(known: Reliability | None) -> Ground:
    """Judge how closely another panel's map would agree: a correlation of 0.8 is sound, below 0.6 it is unusable."""
    if known is None:
        return Ground(Subject.RELIABILITY, Grade.CARE, "We did not estimate how far another panel would agree.")
    found, _ = expected_correlation(known)
    words = reliability_words(known)
    if found is None:
        return Ground(Subject.RELIABILITY, Grade.NO, words)
    grade = Grade.SOUND if found >= MUCH else Grade.CARE if found >= SOME else Grade.NO
    return Ground(Subject.RELIABILITY, grade, words)


def judge_judges(
    judges: Sequence[JudgeFinding] | None, *, differ: bool = False, left_out: int = 0, in_part: bool = False
) -> Ground:
    """Judge whether the judges agree: nobody stands out or was left out, and they differ as the model allows.

    With ``in_part``, the judges are those of a part of the map.
    """
    found: list[str] = []
    remedies: tuple[Remedy, ...] = ()
    if left_out:
        found.append(f"{left_out:,} {'judge was' if left_out == 1 else 'judges were'} left out of this fit.")
    if judges is None:
        found.append("We did not check whether the judges agree.")
    elif not judges:
        found.append("The answers do not say who gave them, so we cannot check whether the judges agree.")
    elif len(judges) == 1 and in_part:
        found.append(
            "Only one judge compared areas in the part that was checked, so we cannot say whether judges agree."
        )
    elif len(judges) == 1:
        found.append("All answers come from one judge: this is one person's view.")
    elif differ:
        found.append(
            "Judges differ more than chance explains, so the intervals of this fit are too narrow." + again_with(DIFFER)
        )
        remedies = (DIFFER,)
    judges = judges or ()
    odd = sum(bool(each.stands_out) for each in judges)
    if odd and len(judges) > 1:
        found.append(f"{odd:,} of the {len(judges):,} judges {'stands' if odd == 1 else 'stand'} out from the others.")
    grade = Grade.CARE if found else Grade.SOUND
    if not odd and not differ and len(judges) > 1:
        found.append(f"None of the {len(judges):,} judges stands out from the others.")
    if untold := sum(bool(each.kind_note) for each in judges):
        found.append(
            f"For {untold} of them we cannot tell a judge who guesses, or answers the other way round, from one who "
            "sees another map."
        )
    return Ground(Subject.JUDGES, grade, " ".join(found), remedies)


def judge_clusters(grouping: Grouping) -> Ground:
    """Judge whether areas form the clusters shown: their number is the likeliest, and most pairs belong as shown."""
    likeliest, chance = max(grouping.numbers, key=lambda each: each[1])
    shown, found = len(grouping.groups), []
    if shown != likeliest:
        found.append(
            f"The map shows {_clusters(shown)} (probability {100 * grouping.number_chance:.0f} %), though "
            f"{_clusters(likeliest)} {'is' if likeliest == 1 else 'are'} likelier ({100 * chance:.0f} %): where the "
            "others lie is too uncertain to draw, and the map shown is the closest to all that the answers allow."
        )
    if grouping.agreement < JOINED:
        found.append(
            f"Only {100 * grouping.agreement:.0f} % of pairs of areas are expected to be joined or separated correctly."
        )
    if found:
        return Ground(Subject.CLUSTERS, Grade.CARE, " ".join(found))
    words = (
        f"The map shows {_clusters(shown)}, the likeliest number ({100 * chance:.0f} %), and "
        f"{100 * grouping.agreement:.0f} % of pairs of areas are expected to be joined or separated correctly."
    )
    return Ground(Subject.CLUSTERS, Grade.SOUND, words)


def _clusters(number: int) -> str:
    return "1 cluster" if number == 1 else f"{number:,} clusters"


def expected_correlation(known: Reliability) -> tuple[float | None, bool]:
    """Return the expected correlation with another panel's map, and whether it allows for judges who differ.

    The posterior's own is that of another panel if the model lets judges differ, and otherwise assumes that judges are
    alike. Split halves, stepped up, allow for judges who differ, but agree where the prior fills in the same map twice.
    So the lower of the two counts; with very few answers halves may contradict each other, which counts as 0.

    >>> expected_correlation(Reliability(another_panel=0.81, split_half_full=0.95, bayes=0.95))
    (0.9, True)
    >>> expected_correlation(Reliability(split_half_full=0.97, bayes=0.5))
    (0.5, True)
    >>> expected_correlation(Reliability(split_half_full=-0.62, bayes=0.5))
    (0.0, True)
    """
    own = known.bayes if known.another_panel is None else sqrt(known.another_panel)
    both = [each for each in (own, known.split_half_full) if each is not None]
    of_panels = known.another_panel is not None or known.split_half_full is not None
    return (max(min(both), 0.0) if both else None), of_panels


def reliability_words(known: Reliability) -> str:
    """Say how similar another panel's map would be.

    >>> reliability_words(Reliability(split_half_full=0.84, judges=12, answers=800))
    'Another panel of 12 judges would give much the same order of the areas (expected correlation 0.84).'
    """
    found, of_panels = expected_correlation(known)
    if found is None:
        return known.note or "It is too early to judge reliability: ask for more answers."
    order = next(words for least, words in ORDERS if found >= least or least < 0)
    if of_panels:
        return f"Another panel of {known.judges:,} judges would give {order} (expected correlation {found:.2f})."
    return (
        f"If judges agree, the same number of answers again would give {order} (expected correlation {found:.2f}); "
        "whether they do is not known yet."
    )


def p_value(p: float | None) -> str:
    """Write a p-value with the precision that its rule needs.

    >>> p_value(0.503), p_value(0.0072), p_value(0.9999), p_value(0.9937)
    ('p = 0.50', 'p = 0.007', 'p > 0.999', 'p = 0.994')
    """
    if p is None:
        return "p not known"
    if p < 0.001 or p > 0.999:
        return "p < 0.001" if p < 0.5 else "p > 0.999"
    return f"p = {p:.2f}" if 0.1 <= p <= 0.9 else f"p = {p:.3f}"
