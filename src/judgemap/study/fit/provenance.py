"""What a reader of a fit needs to know: versions, and the limits of the data."""

import platform
from dataclasses import replace
from functools import cache, partial
from importlib.metadata import version

import numpy as np

from judgemap.core.model.counts import PairCounts
from judgemap.core.samplers.run import Draws
from judgemap.geo.csvfiles import quoted
from judgemap.geo.maps import Areas
from judgemap.study.data.comparisons import Comparisons, Outcome
from judgemap.study.fit.record import (
    DataFacts,
    FitRecord,
    Note,
    NoteKind,
)
from judgemap.study.fit.settings import Run

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
