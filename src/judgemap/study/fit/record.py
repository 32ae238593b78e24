"""The record of a fit: fit.json as a typed value, written and read only here."""

import math
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from judgemap.core.assess.partitions import Convergence
from judgemap.core.assess.posterior import risk_sign
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.prior import FixedVariance, InverseGamma, VariancePrior
from judgemap.core.samplers.run import Draws, Plan
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import quoted
from judgemap.geo.maps import Areas, Bridge
from judgemap.study.assess.verdict import Verdict
from judgemap.study.data.comparisons import Comparisons, Outcome
from judgemap.study.fit.settings import ClusterSettings, PanelSettings, Run, View

if TYPE_CHECKING:
    from judgemap.study.data.comparisons import Direction

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
    DRAWS_KEPT = "draws kept"
    """Which draws of a large map its folder keeps."""


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence that every reader of the fit should know.

    >>> Note(NoteKind.SINGLE_ANSWERS, "Judges with only one answer, treated like any other: 'ann'.").names_judges
    True
    """

    kind: NoteKind
    text: str

    @property
    def names_judges(self) -> bool:
        """Whether the note names judges, who must stay anonymous in anything published."""
        return self.kind in (NoteKind.SINGLE_ANSWERS, NoteKind.SILENT_JUDGES)


@dataclass(frozen=True, slots=True)
class Correlation:
    """The prior correlation of areas: one of `priors.PRIORS`, 'independent', or the name of one built by hand.

    >>> Correlation("exponential", 5.0).text
    'exponential, length 5'
    """

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


@dataclass(frozen=True, slots=True)
class PartitionChoice:
    """The partition that a fit shows: the one of least expected ``loss``, with a given number of clusters or any."""

    n_clusters: int | None = None
    loss: str = "vi"


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRecord:
    """How a fit was made, from what, by which software, and what to bear in mind about it.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> record = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100).record
    >>> record.model, record.correlation, record.hyperparameters, record.plan.draws
    ('spatial', Correlation(kind='communicability', length=None), InverseGamma(shape=0.1, scale=0.1), 100)
    >>> FitRecord.from_dict(record.to_dict()) == record
    True
    """

    model: str
    correlation: Correlation | None
    """None for clusters, which have a different prior."""
    hyperparameters: VariancePrior | ClusterSettings
    sampler: str
    seed: int
    plan: Plan
    complete: bool
    """False if the run was interrupted."""
    seconds: float
    winner_is: "Direction"
    data: DataFacts
    versions: Mapping[str, str]
    bridges: tuple[Bridge, ...]
    notes: tuple[Note, ...]
    diagnostics: Diagnostics
    partition: PartitionChoice | None = None
    n_clusters: Mapping[int, float] | None = None
    """P(k clusters), by k."""
    panel: PanelSettings | None = None
    """What was assumed about judges and ties, if it is not the paper's model."""
    view: View = View.POOLED
    """Whose map the fit shows."""
    verdict: Verdict | None = None
    """Whether the fit can be used; None if that was not judged."""

    @property
    def of_panel(self) -> bool:
        """Whether the model includes more about judges, ties or smoothness than the paper's."""
        panel = self.panel
        if panel is None or self.model == "clusters":
            return False
        return panel.by_judge or panel.smoothness == "infer" or self.data.ties > 0

    @property
    def prior(self) -> str:
        """What the prior is called."""
        if isinstance(self.hyperparameters, ClusterSettings):
            return f"distance dependent Chinese restaurant process, affinity {self.hyperparameters.affinity}"
        return self.correlation.text if self.correlation is not None else ""

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
        if isinstance(self.hyperparameters, ClusterSettings):
            return asdict(self.hyperparameters)
        if isinstance(self.hyperparameters, FixedVariance):
            return {"alpha2": self.hyperparameters.value}
        return {"chi": self.hyperparameters.shape, "omega": self.hyperparameters.scale}

    def to_dict(self) -> Json:
        """Return the content of fit.json, ready for JSON."""
        diagnostics = asdict(self.diagnostics)
        if self.diagnostics.clusters is None:
            del diagnostics["clusters"]
        told: Json = {
            "model": self.model,
            "prior": self.prior,
            "correlation": None if self.correlation is None else asdict(self.correlation),
            "hyperparameters": self.assumed,
            "sampler": self.sampler,
            "seed": self.seed,
            "plan": self.plan.numbers(),
            "complete": self.complete,
            "seconds": self.seconds,
            "winner_is": self.winner_is,
            "risk": self.risk,
            "view": self.view.value,
            "data": asdict(self.data),
            "versions": dict(self.versions),
            "bridges": [asdict(bridge) for bridge in self.bridges],
            "notes": [note.text for note in self.notes],
            "note_kinds": [note.kind.value for note in self.notes],
            "diagnostics": diagnostics,
        }
        if self.partition is not None and self.n_clusters is not None:
            told["partition"] = asdict(self.partition)
            told["n_clusters"] = {str(k): chance for k, chance in self.n_clusters.items()}
        if self.panel is not None:
            told["panel"] = asdict(self.panel)
        if self.verdict is not None:
            told["verdict"] = self.verdict.to_dict()
        return told

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "FitRecord":
        """Read the content of fit.json, from this version or an earlier one.

        >>> FitRecord.from_dict({})
        Traceback (most recent call last):
            ...
        judgemap.errors.StudyError: fit.json does not give 'model'
        """
        try:
            return _read(_upgraded(told))
        except KeyError as error:
            raise StudyError(f"fit.json does not give {error}") from None
        except (TypeError, AttributeError, ValueError):
            raise StudyError("fit.json is not the record of a fit") from None


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


def _read(told: Mapping[str, Any]) -> FitRecord:
    clusters = told["model"] == "clusters"
    correlation = told["correlation"]
    return FitRecord(
        model=told["model"],
        correlation=None if correlation is None else Correlation(**correlation),
        hyperparameters=_hyperparameters(told["hyperparameters"]),
        sampler=told["sampler"],
        seed=told["seed"],
        plan=Plan(**told["plan"]),
        complete=told["complete"],
        seconds=told["seconds"],
        winner_is=cast("Direction", told["winner_is"]),
        data=DataFacts(**told["data"]),
        versions=dict(told["versions"]),
        bridges=tuple(Bridge(**bridge) for bridge in told["bridges"]),
        notes=tuple(Note(NoteKind(kind), text) for kind, text in zip(told["note_kinds"], told["notes"], strict=True)),
        diagnostics=_diagnostics(told["diagnostics"]),
        partition=PartitionChoice(**told["partition"]) if clusters else None,
        n_clusters={int(k): float(chance) for k, chance in told["n_clusters"].items()} if clusters else None,
        panel=PanelSettings(**told["panel"]) if "panel" in told else None,
        view=View(told.get("view", View.POOLED)),
        verdict=Verdict.from_dict(told["verdict"]) if "verdict" in told else None,
    )


def _hyperparameters(told: Mapping[str, Any]) -> VariancePrior | ClusterSettings:
    if "alpha2" in told:
        return FixedVariance(told["alpha2"])
    if "chi" in told:
        return InverseGamma(told["chi"], told["omega"])
    return ClusterSettings(**told)


def _diagnostics(told: Mapping[str, Any]) -> Diagnostics:
    """Read the diagnostics; a database stores None for nan."""
    judged = told.get("clusters")
    numbers = {
        each.name: _number(told[each.name])
        for each in fields(Diagnostics)
        if each.name not in ("ess_bulk_min_of", "ess_bulk_of", "clusters")
    }
    return Diagnostics(
        **numbers,
        ess_bulk_min_of=str(told["ess_bulk_min_of"]),
        ess_bulk_of={name: _number(value) for name, value in told["ess_bulk_of"].items()},
        clusters=None if judged is None else Convergence(**{name: _number(value) for name, value in judged.items()}),
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


_OLD_NOTES = (
    (NoteKind.UNDECIDED, r"[\d,]+ of [\d,]+ shown pairs have no winner"),
    (NoteKind.NEVER_COMPARED, r"[\d,]+ of [\d,]+ areas were never compared"),
    (NoteKind.GROUPS, r"The compared areas fall into [\d,]+ groups"),
    (NoteKind.ONE_JUDGE, r"All answers (are one judge's|come from one judge)"),
    (NoteKind.SINGLE_ANSWERS, r"Judges with (a single|only one) answer"),
    (NoteKind.SILENT_JUDGES, r"The fit says nothing about judges|Judges without an answer of left, right or tie"),
    (NoteKind.PARTS, r"The map is in [\d,]+ parts: no cluster"),
)
"""How notes begin, to derive kinds that are missing; all others count as notes about the map."""


def _upgraded(told: Mapping[str, Any]) -> Mapping[str, Any]:
    """Bring an earlier version's record up to date: kinds of notes were missing, and the prior was only text.

    Kinds are also derived again if there are not as many as notes, because a judge who withdrew was cut out of both.
    """
    kinds = told.get("note_kinds", [])
    if len(kinds) != len(told.get("notes", [])):
        kinds = [next((kind for kind, start in _OLD_NOTES if re.match(start, note)), "map") for note in told["notes"]]
    if "correlation" in told:
        correlation = told["correlation"]
    elif told["model"] == "clusters":
        correlation = None
    else:
        kind, _, length = told["prior"].partition(", length ")
        correlation = {"kind": kind, "length": float(length) if length else None}
    return {**told, "note_kinds": kinds, "correlation": correlation}


_version = cache(version)
"""Cached, because looking up a package's version means reading all its metadata, which takes as long as a short run."""

UNDECIDED = {
    Outcome.TIE: "tie",
    Outcome.SKIPPED: "skipped",
    Outcome.UNKNOWN: "unknown",
    Outcome.OPEN: "not answered",
}


def begin_record(
    data: Comparisons, counts: PairCounts, areas: Areas, run: Run, drawn: tuple[Draws, float]
) -> partial[FitRecord]:
    """Record what every fit says about its data and run; ``drawn`` is the draws and the seconds they took."""
    draws, seconds = drawn
    return partial(
        FitRecord,
        sampler=run.sampler,
        seed=run.seed,
        plan=replace(run.plan, draws=draws.asked or draws.n_draws, most=0),
        complete=draws.complete,
        seconds=seconds,
        winner_is=data.winner_is,
        data=data_facts(data, counts, areas),
        versions=versions(),
        bridges=areas.bridges,
    )


def data_facts(data: Comparisons, counts: PairCounts, areas: Areas) -> DataFacts:
    """Summarise the data of a fit."""
    return DataFacts(
        sha256=data.digest(),
        areas=len(areas),
        shown=len(data),
        comparisons=counts.total,
        pairs=len(counts.n),
        judges=len(data.per_judge()),
        ties=int(counts.ties.sum()),
    )


def versions() -> dict[str, str]:
    """Return the versions of the software that a fit depends on.

    >>> "judgemap" in versions()
    True
    """
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
