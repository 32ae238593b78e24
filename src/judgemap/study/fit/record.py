"""The record of a fit: fit.json as a typed value, written and read only here."""

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import msgspec
import numpy as np

from judgemap.core.assess.partitions import Convergence
from judgemap.core.assess.posterior import risk_sign
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.prior import FixedVariance, HalfNormal
from judgemap.core.samplers.run import Draws, Plan
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import quoted
from judgemap.geo.maps import Areas, Bridge
from judgemap.study.assess.verdict import Verdict
from judgemap.study.data.comparisons import Comparisons, Direction, Outcome
from judgemap.study.fit.settings import CLUSTER_OPTIONS, MODEL_NAMES, FitSettings, Run, View

Json = dict[str, Any]
GOOD_GAP = 0.1
"""The largest difference between chains in a co-clustering probability that calls for no warning."""


class NoteKind(StrEnum):
    """What a note is about."""

    MAP = "map"
    """How the boundary file or edge list was read."""
    UNDECIDED = "undecided"
    NEVER_COMPARED = "never compared"
    GROUPS = "groups"
    """Areas fall into groups that were never compared with each other."""
    ONE_JUDGE = "one judge"
    REPEATED = "repeated rows"
    """The same row occurs many times, as if a file had been pasted together from copies."""
    SINGLE_ANSWERS = "single answers"
    """Judges, by name, who answered only once."""
    SILENT_JUDGES = "silent judges"
    """Judges, by name, who gave no answer that a model can use."""
    JUDGES_DIFFER = "judges differ"
    """Judges differ more than chance explains, in a fit that assumes they do not."""
    TIES = "ties"
    """Ties are part of the model."""
    PARTS = "parts"
    """The map is in several parts; no cluster spans two."""
    ENGINE = "engine"
    """How a large map was fitted."""
    COVARIATES = "covariates"
    """What effects of covariates do not say."""
    DRAWS_KEPT = "draws kept"
    """Which draws of a large map its folder keeps."""


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence that every reader of the fit should know."""

    kind: NoteKind
    text: str

    @property
    def names_judges(self) -> bool:
        """Whether the note names judges, who must stay anonymous in anything published."""
        return self.kind in (NoteKind.SINGLE_ANSWERS, NoteKind.SILENT_JUDGES)


@dataclass(frozen=True, slots=True)
class Correlation:
    """The prior correlation of areas: one of `priors.PRIORS`, 'independent', or the name of one built by hand."""

    kind: str
    length: float | None = None

    @property
    def text(self) -> str:
        """What the prior is called."""
        return self.kind if self.length is None else f"{self.kind}, length {self.length:g}"


@dataclass(frozen=True, slots=True)
class DataFacts:
    """The data of a fit; the same ``sha256`` means the same comparisons."""

    sha256: str
    areas: int
    shown: int
    """Pairs shown to judges; those with a winner are the ``comparisons``."""
    comparisons: int
    pairs: int
    judges: int
    ties: int = 0
    """Ties that are part of the model."""

    @property
    def used(self) -> int:
        """Answers that the model uses: those with a winner, and ties if they are part of it."""
        return self.comparisons + self.ties

    @property
    def left_out(self) -> int:
        """Pairs that were shown but say nothing to the model."""
        return self.shown - self.used


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """How far the draws can be trusted; nan if that cannot be determined."""

    rhat_max: float
    ess_bulk_min: float
    ess_bulk_min_of: str
    """The area, or other quantity, with that effective sample size."""
    ess_bulk_median: float
    ess_bulk_of: Mapping[str, float]
    """The effective sample sizes of quantities other than the areas' risks."""
    ess_tail_min: float
    ess_per_second: float
    clusters: Convergence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRecord:
    """How a fit was made, from what, by which software, and what to bear in mind about it."""

    settings: FitSettings
    """What was asked for, with the numbers of the plan that was carried out."""
    correlation: Correlation | None = None
    """None for clusters, which have a different prior."""
    complete: bool
    """False if the run was interrupted."""
    seconds: float
    winner_is: Direction
    view: View = View.POOLED
    """Whose map the fit shows."""
    why: str = ""
    """Why judges differ or are alike in the model."""
    data: DataFacts
    versions: Mapping[str, str]
    bridges: tuple[Bridge, ...]
    notes: tuple[Note, ...]
    diagnostics: Diagnostics
    n_clusters: Mapping[int, float] | None = None
    """P(k clusters), by k."""
    verdict: Verdict | None = None
    """Whether the fit can be used; None if that was not judged."""

    @property
    def model(self) -> str:
        """The model: spatial, standard or clusters."""
        return self.settings.model

    @property
    def seed(self) -> int:
        """The seed of the draws."""
        return self.settings.seed

    @property
    def sampler(self) -> str:
        """How the posterior was sampled."""
        return self.settings.sampler

    @property
    def plan(self) -> Plan:
        """How much was drawn."""
        return self.settings.plan

    @property
    def prior(self) -> str:
        """What the prior is called."""
        if self.model == "clusters":
            return f"distance dependent Chinese restaurant process, affinity {self.settings.affinity}"
        return self.correlation.text if self.correlation is not None else ""

    @property
    def made_by(self) -> str:
        """Which model made the map, and whose view it shows, in one sentence."""
        settings, which, parts = self.settings, f"the {MODEL_NAMES[self.model]} model", []
        if settings.as_in_paper and settings.chosen_as_in_paper and self.model != "clusters":
            which += " as in the paper"
        elif self.model != "clusters":
            parts += [f"the prior {self.prior}"] if self.model == "spatial" else []
            how = "who differ" if settings.differ else "taken to be alike"
            parts.append(f"judges {how} ({self.why})" if self.why else f"judges {how}")
        parts += ["ties"] if self.data.ties else []
        parts += [f"the covariate {name}" for name in settings.covariate_names]
        parts += [
            title for title in settings.titles if title not in ("as in the paper", "judges alike", "judges differ")
        ]
        listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        return f"The map shows {self.view.shows}, by {which}{f' with {listed}' if listed else ''}."

    @property
    def risk(self) -> str:
        """What risk is, in terms of the strength λ."""
        return "minus the centred strength" if self.winner_is == "lower" else "the centred strength"

    @property
    def sign(self) -> float:
        """Risk = sign × centred strength."""
        return risk_sign(self.winner_is)

    @property
    def assumed(self) -> dict[str, float | str]:
        """The hyperparameters, by the names that the settings use, and `alpha2` if α² is fixed."""
        if self.model == "clusters":
            given = {name: getattr(self.settings, name) for name in CLUSTER_OPTIONS}
            return given | {"length": 1.0 if self.settings.length is None else self.settings.length}
        variance = self.settings.variance
        if isinstance(variance, FixedVariance):
            return {"alpha2": variance.value}
        if isinstance(variance, HalfNormal):
            return {"alpha_scale": variance.scale}
        return {"chi": variance.shape, "omega": variance.scale}

    def to_dict(self) -> Json:
        """Return the content of fit.json, ready for JSON: the record, and what follows from its settings."""
        told: Json = msgspec.to_builtins(self, str_keys=True)
        told |= {
            "notes": [note.text for note in self.notes],
            "note_kinds": [note.kind.value for note in self.notes],
            "verdict": self.verdict and self.verdict.to_dict(),
        }
        named = ("model", "made_by", "prior", "sampler", "seed", "risk")
        made = {name: getattr(self, name) for name in named}
        made |= {"hyperparameters": self.assumed, "plan": self.plan.numbers()}
        return made | {name: value for name, value in told.items() if value is not None}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "FitRecord":
        """Read the content of fit.json.

        >>> FitRecord.from_dict({})
        Traceback (most recent call last):
            ...
        judgemap.errors.StudyError: fit.json is not the record of a fit (it does not give 'note_kinds')
        """
        try:
            notes = [{"kind": kind, "text": text} for kind, text in zip(told["note_kinds"], told["notes"], strict=True)]
            numbers = _with_nan(told["diagnostics"])
            whole = {**told, "notes": notes, "diagnostics": numbers}
            return msgspec.convert(whole, cls, str_keys=True)
        except KeyError as error:
            raise StudyError(f"fit.json is not the record of a fit (it does not give {error})") from None
        except (TypeError, AttributeError, ValueError) as error:
            raise StudyError(f"fit.json is not the record of a fit ({error})") from None


def _with_nan(value: Any) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Turn None, which a database stores for nan, back into nan."""
    if isinstance(value, Mapping):
        return {name: each if name == "clusters" and each is None else _with_nan(each) for name, each in value.items()}
    return math.nan if value is None else value


def json_value(value: Any, figures: int | None = None) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Prepare a value for strict JSON: NumPy numbers become Python's, rounded to ``figures``; nan and inf become None.

    >>> json_value({1: (0.123456, float("nan"), True, "a")}, figures=3)
    {'1': [0.123, None, True, 'a']}
    """
    if isinstance(value, Mapping):
        return {
            str(key): each if isinstance(each, int | str) else json_value(each, figures) for key, each in value.items()
        }
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [each if isinstance(each, int | str) else json_value(each, figures) for each in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return value if figures is None else float(f"{value:.{figures}g}")


_version = cache(version)
"""Cached, because looking up a package's version means reading all its metadata, which takes as long as a short run."""

UNDECIDED = {Outcome.TIE: "tie", Outcome.SKIPPED: "skipped", Outcome.UNKNOWN: "unknown", Outcome.OPEN: "not answered"}


def begin_record(
    data: Comparisons, counts: PairCounts, areas: Areas, run: Run, drawn: tuple[Draws, float]
) -> partial[FitRecord]:
    """Record what every fit says about its data and run; ``drawn`` is the draws and the seconds they took."""
    draws, seconds = drawn
    plan, drawn_each = run.plan, draws.asked or draws.n_draws
    return partial(
        FitRecord,
        settings=replace(run.settings, chains=plan.chains, warmup=plan.warmup, draws=drawn_each, thin=plan.thin),
        complete=draws.complete,
        seconds=seconds,
        winner_is=data.winner_is,
        why=run.why,
        data=DataFacts(
            sha256=data.digest(),
            areas=len(areas),
            shown=len(data),
            comparisons=counts.total,
            pairs=len(counts.n),
            judges=len(data.per_judge()),
            ties=int(counts.ties.sum()),
        ),
        versions=versions(),
        bridges=areas.bridges,
    )


def versions() -> dict[str, str]:
    """Return the versions of the software that a fit depends on."""
    packages = ("judgemap", "numpy", "scipy")
    return {"python": platform.python_version(), **{package: _version(package) for package in packages}}


def data_notes(data: Comparisons, counts: PairCounts, areas: Areas, model: str) -> tuple[Note, ...]:
    """Say, in one sentence each, how the map was read, what is unusual about these comparisons, and what that means."""
    notes = [Note(NoteKind.MAP, text) for text in areas.notes]
    ties = int(counts.ties.sum())
    if ties:
        text = f"{ties:,} of {counts.total + ties:,} answers are ties, and are part of the model."
        notes.append(Note(NoteKind.TIES, text))
    left_out = len(data) - counts.total - ties
    if left_out:
        left = {kind: word for kind, word in UNDECIDED.items() if not (ties and kind is Outcome.TIE)}
        kinds = ", ".join(f"{count:,} {word}" for kind, word in left.items() if (count := data.count(kind)))
        text = f"{left_out:,} of {len(data):,} shown pairs have no winner ({kinds}) and are left out of the model."
        notes.append(Note(NoteKind.UNDECIDED, text))
    if times := data.most_repeated():
        text = (
            f"Some rows occur up to {times:,} times, with the same judge, areas, answer and time: each counts as an "
            "answer of its own, so remove the copies if they are a mistake."
        )
        notes.append(Note(NoteKind.REPEATED, text))
    compared = np.bincount(np.concatenate([counts.first, counts.second]), minlength=len(areas)) > 0
    silent = np.flatnonzero(~compared)
    if len(silent):
        rests = "on the prior alone" if model == "standard" else "on their neighbours and the prior"
        names = quoted([areas.names[area] for area in silent], most=5)
        text = f"{len(silent):,} of {len(areas):,} areas were never compared ({names}): their risk rests {rests}."
        notes.append(Note(NoteKind.NEVER_COMPARED, text))
    parts = len(set(counts.components()[compared].tolist()))
    if parts > 1:
        text = (
            f"The compared areas fall into {parts:,} groups that were never compared with each other: "
            "differences between groups depend on the prior alone."
        )
        notes.append(Note(NoteKind.GROUPS, text))
    answers = data.per_judge()
    lone = [judge for judge, count in answers.items() if count == 1]
    if len(answers) == 1:
        text = (
            "All answers come from one judge: the map shows what one person thinks, and cannot be "
            "checked against others."
        )
        notes.append(Note(NoteKind.ONE_JUDGE, text))
    elif lone:
        text = f"Judges with only one answer, treated like any other: {quoted(lone, most=5)}."
        notes.append(Note(NoteKind.SINGLE_ANSWERS, text))
    return tuple(notes)
