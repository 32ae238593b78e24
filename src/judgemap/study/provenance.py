"""What a reader of a fit must know: versions, and what the data could not say."""

import platform
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from judgemap.core.comparisons import PairCounts
from judgemap.geo.csvfiles import quoted
from judgemap.geo.maps import Areas
from judgemap.study.comparisons import Comparisons, Outcome


def record(facts: dict[str, Any], data: Comparisons, counts: PairCounts, areas: Areas) -> dict[str, Any]:
    """Put together what fit.json says of a fit: how it was made (``facts``), from what, by which software."""
    return {
        **facts,
        "winner_is": data.winner_is,
        "risk": "minus the centred strength" if data.winner_is == "lower" else "the centred strength",
        "data": {
            "sha256": data.digest(),
            "areas": len(areas),
            "shown": len(data),
            "comparisons": counts.total,
            "pairs": len(counts.n),
            "judges": len(data.per_judge()),
        },
        "versions": versions(),
        "bridges": [asdict(bridge) for bridge in areas.bridges],
        "notes": [*areas.notes, *data_notes(data, counts, areas, facts["model"])],
    }


def versions() -> dict[str, str]:
    """Name the software that a fit depends on.

    >>> "judgemap" in versions()
    True
    """
    packages = ("judgemap", "numpy", "scipy", "polyagamma")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}


def data_notes(data: Comparisons, counts: PairCounts, areas: Areas, model: str) -> list[str]:
    """Say, a sentence each, what is unusual about these comparisons and what it means for the map."""
    notes = []
    left_out = len(data) - counts.total
    if left_out:
        words = {
            Outcome.TIE: "tie",
            Outcome.SKIPPED: "skipped",
            Outcome.UNKNOWN: "unknown",
            Outcome.OPEN: "not answered",
        }
        kinds = ", ".join(f"{count} {word}" for kind, word in words.items() if (count := data.count(kind)))
        notes.append(f"{left_out} of {len(data)} shown pairs have no winner ({kinds}) and are left out of the model.")
    silent = np.flatnonzero(counts.per_area() == 0)
    if len(silent):
        rests = "on the prior alone" if model == "standard" else "on their neighbours and the prior"
        names = quoted([areas.names[area] for area in silent], most=5)
        notes.append(f"{len(silent)} of {len(areas)} areas were never compared ({names}): their risk rests {rests}.")
    labels = counts.components()
    parts = len(set(labels[counts.per_area() > 0].tolist()))
    if parts > 1:
        notes.append(
            f"The compared areas fall into {parts} groups that were never compared with each other: "
            "between groups, differences of risk rest on the prior."
        )
    lone = [judge for judge, answers in data.per_judge().items() if answers == 1]
    if len(data.per_judge()) == 1:
        notes.append(
            "All answers are one judge's: the map shows what one person thinks, and nobody to hold it against."
        )
    elif lone:
        notes.append(f"Judges with a single answer, used like any other: {quoted(lone, most=5)}.")
    return notes
