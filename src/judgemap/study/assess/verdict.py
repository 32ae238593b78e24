"""One verdict on a fit, by one set of rules: can it be used? The command line, pages and briefing all use it.

Four criteria, each with its own rule: whether the computation has settled, whether the fit explains the answers, how
closely another panel's map would agree, and whether the judges agree. The verdict is the worst of the four, and a
criterion that was not checked is a reason for care. Judges are counted but never named, because the briefing uses the
same words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import Any

import msgspec

from judgemap.study.assess.findings import JudgeFinding, Measure, ReliabilityFinding

MUCH, SOME = 0.8, 0.6
"""Expected correlations with another panel's map: from the first on the order is sound, below the second unusable."""
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
}
"""What an unusual measure of the predictive check means, by its name: more than the model expects, or less."""


def meaning(name: str, p: float) -> str:
    """Say what an unusual measure means; ``p`` is the probability of a larger one, so a small p means too much of it.

    >>> meaning("triads", 0.991)[:27], meaning("triads", 0.004)[:26]
    ('There are fewer circles tha', 'There are more circles tha')
    """
    return MEANING[name][p > 0.5]


class Grade(StrEnum):
    """How far a fit can be used, the best grade first."""

    SOUND = "sound"
    CARE = "care"
    NO = "no"


class Subject(StrEnum):
    """The criteria by which a fit is judged."""

    CONVERGENCE = "convergence"
    CHECKS = "checks"
    RELIABILITY = "reliability"
    JUDGES = "judges"


HEADLINES = {
    Grade.SOUND: "Sound",
    Grade.CARE: "Use with care",
    Subject.CONVERGENCE: "Not ready for use",
    Subject.RELIABILITY: "Too uncertain to rank areas",
}
"""How a verdict begins; for a fit that cannot be used, the headline says why."""


SUBJECTS = {
    Subject.CONVERGENCE: "Whether the computation has settled",
    Subject.CHECKS: "Whether the fit explains the answers",
    Subject.RELIABILITY: "How far another panel would agree",
    Subject.JUDGES: "Whether the judges agree",
}
"""What each subject is about, as the beginning of a sentence."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What one rule found, in a sentence or two."""

    subject: Subject
    grade: Grade
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a fit can be used, and the grounds for that, one per subject.

    >>> verdict = judge_fit([], None, None, None, differ=False)
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


def judge_fit(
    warnings: Sequence[str],
    checks: Sequence[Measure] | None,
    reliability: ReliabilityFinding | None,
    judges: Sequence[JudgeFinding] | None,
    *,
    differ: bool,
    stopped: bool = False,
    failed: Mapping[Subject, str] | None = None,
) -> Verdict:
    """Judge a fit by what was found about it; None stands for what was not checked.

    ``differ`` says that judges differ more than chance explains, in a fit that assumes they do not; ``stopped``, that
    the first warning is about a fit stopped early. ``failed`` says why a subject that was tried could not be assessed.

    >>> measures = [Measure(name="left", words="answers for the area on the left", p=0.007)]
    >>> found = ReliabilityFinding(split_half_full=0.84, judges=2, answers=800)
    >>> judge_fit([], measures, found, [JudgeFinding(judge="ann"), JudgeFinding(judge="bob")], differ=False).lines
    ['Use with care.', 'Some judges tended to press the left button whatever the pair. Those answers carry little...']
    """
    grounds = (
        judge_convergence(warnings, stopped=stopped),
        judge_checks(checks),
        judge_reliability(reliability),
        judge_judges(judges, differ),
    )
    whys = failed or {}
    return Verdict(tuple(_failed(each, whys[each.subject]) if each.subject in whys else each for each in grounds))


def _failed(ground: Ground, why: str) -> Ground:
    return Ground(ground.subject, Grade.CARE, f"{SUBJECTS[ground.subject]} could not be assessed ({why}).")


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


def judge_checks(measures: Sequence[Measure] | None) -> Ground:
    """Judge whether the fit could have produced the answers: every measure's p must lie between 0.01 and 0.99."""
    if not measures:
        return Ground(Subject.CHECKS, Grade.CARE, "We did not check whether the fit explains the answers.")
    unusual = [each for each in measures if each.unusual]
    if unusual:
        found = [
            (meaning(each.name, each.p or 0.0) if each.name in MEANING else f"Unusual: {each.words}.", p_value(each.p))
            for each in unusual
        ]
        return Ground(Subject.CHECKS, Grade.CARE, " ".join(f"{words[:-1]} ({p})." for words, p in found))
    words = f"The fit explains the answers: none of the {len(measures)} checks is unusual."
    near = [each for each in measures if each.p is not None and not BORDERLINE <= each.p <= 1 - BORDERLINE]
    if near:  # explains a 95 % interval on the page that misses its measure
        words += f" Borderline: {'; '.join(f'{each.words} ({p_value(each.p)})' for each in near)}."
    return Ground(Subject.CHECKS, Grade.SOUND, words)


def judge_reliability(known: ReliabilityFinding | None) -> Ground:
    """Judge how closely another panel's map would agree: a correlation of 0.8 is sound, below 0.6 it is unusable."""
    if known is None:
        return Ground(Subject.RELIABILITY, Grade.CARE, "We did not estimate how far another panel would agree.")
    found, _ = expected_correlation(known)
    words = reliability_words(known)
    if found is None:
        return Ground(Subject.RELIABILITY, Grade.NO, words)
    grade = Grade.SOUND if found >= MUCH else Grade.CARE if found >= SOME else Grade.NO
    return Ground(Subject.RELIABILITY, grade, words)


def judge_judges(judges: Sequence[JudgeFinding] | None, differ: bool) -> Ground:  # noqa: FBT001 - clear by its name
    """Judge whether the judges agree: nobody stands out, and they differ no more than the model allows."""
    if judges is None:
        return Ground(Subject.JUDGES, Grade.CARE, "We did not check whether the judges agree.")
    if not judges:
        words = "The answers do not say who gave them, so we cannot check whether the judges agree."
        return Ground(Subject.JUDGES, Grade.CARE, words)
    if len(judges) == 1:
        return Ground(Subject.JUDGES, Grade.CARE, "All answers come from one judge: this is one person's view.")
    odd = sum(bool(each.stands_out) for each in judges)
    found = []
    if differ:
        found.append("Judges differ more than chance explains, so the intervals of this fit are too narrow.")
    if odd:
        stand = "stands" if odd == 1 else "stand"
        found.append(f"{odd:,} of the {len(judges):,} judges {stand} out from the others.")
    grade = Grade.CARE if found else Grade.SOUND
    if not odd and not differ:
        found.append(f"None of the {len(judges):,} judges stands out from the others.")
    if untold := sum(bool(each.kind_note) for each in judges):
        found.append(
            f"For {untold} of them there are not enough draws to tell a judge who guesses, or answers the other way "
            "round, from one who sees another map."
        )
    return Ground(Subject.JUDGES, grade, " ".join(found))


def expected_correlation(known: ReliabilityFinding) -> tuple[float | None, bool]:
    """Return the expected correlation with another panel's map, and whether it allows for judges who differ.

    It comes from the model if the model lets judges differ, or else from split halves, stepped up; without either, it
    is what the posterior says, which assumes that judges are alike.

    >>> expected_correlation(ReliabilityFinding(another_panel=0.81, split_half_full=0.5, bayes=0.95))
    (0.9, True)
    """
    if known.another_panel is not None:
        return sqrt(known.another_panel), True
    if known.split_half_full is not None:
        return known.split_half_full, True
    return known.bayes, False


def reliability_words(known: ReliabilityFinding) -> str:
    """Say how similar another panel's map would be.

    >>> reliability_words(ReliabilityFinding(split_half_full=0.84, judges=12, answers=800))
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
