"""Rows of a boundary file that cannot be used as areas, and what can be done about them.

`find_faults` lists them by kind; `settle` applies the remedy chosen for each kind and records it in notes. `read_areas`
settles nothing: it refuses such a file with one sentence. The study server asks the researcher first.
"""

from collections.abc import Mapping, Sequence

import geopandas
import numpy as np
import pandas as pd
import shapely

from judgemap.core.types import BoolArray, IntArray
from judgemap.geo.boundaries import ShapeArray, repaired, sound_outlines
from judgemap.geo.csvfiles import quoted
from judgemap.web.studies.upload.records import REMEDIES, FaultKind, Remedy

TINY = 1e-3
"""A sliver is smaller than this share of the median area …"""
THIN = 0.02
"""… and at most this round: 4πA/P² is 1 for a circle, 0.02 for a strip 150 times as long as it is wide."""


FAULTS = {
    FaultKind.NO_OUTLINE: "have no outline",
    FaultKind.NOT_POLYGONS: "are points or lines, not areas",
    FaultKind.NOWHERE: "have coordinates that are nowhere on Earth",
    FaultKind.NO_SURFACE: "have an outline that encloses nothing",
    FaultKind.NO_ID: "have no id",
    FaultKind.SAME_OUTLINE: "have the same outline as an earlier row",
    FaultKind.SLIVER: "are slivers, too small and thin to see",
}
"""What notes say of rows that were left out or joined."""
Choices = Mapping[FaultKind, Remedy]


def find_faults(geometry: geopandas.GeoSeries) -> dict[FaultKind, list[int]]:
    """List the rows of a file whose outlines have a fault, by kind; rows are numbered from 0.

    >>> square = shapely.box(0, 0, 1, 1)
    >>> find_faults(geopandas.GeoSeries([square, None, shapely.Point(0, 0), shapely.box(1, 0, 2, 1), square]))
    {<FaultKind.NO_OUTLINE: 'no outline'>: [1], <FaultKind.NOT_POLYGONS: 'not polygons'>: [2],
     <FaultKind.SAME_OUTLINE: 'same outline'>: [4]}
    """
    shapes, sound, found = _outline_faults(geometry)
    found[FaultKind.SAME_OUTLINE] = _same_outline(shapes, sound)
    found[FaultKind.SLIVER] = _slivers(shapes, sound & ~found[FaultKind.SAME_OUTLINE])
    return {kind: np.flatnonzero(rows).tolist() for kind, rows in found.items() if rows.any()}


def settle(
    frame: geopandas.GeoDataFrame, ids: Sequence[str], choices: Choices
) -> tuple[geopandas.GeoDataFrame, list[str], list[str]]:
    """Apply the remedy chosen for each kind of fault; return the remaining rows, their ids and notes.

    A kind without a choice gets its default remedy, the first in `REMEDIES`.

    >>> squares = [shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1), shapely.box(5, 0, 6, 1), None]
    >>> rows = geopandas.GeoDataFrame({"code": ["a", "b", "a", "c"]}, geometry=squares)
    >>> left, ids, notes = settle(rows, rows["code"], {})
    >>> ids, left.area.tolist()
    (['a', 'b'], [2.0, 1.0])
    >>> print(*notes, sep="; ")
    Rows that have no outline were left out: 'c'; Rows that share an id were joined into one area: 'a'
    """
    shapes, sound, found = _outline_faults(frame.geometry)
    labels = np.array([str(each) for each in ids], dtype=object)
    notes = [_note(kind, "were left out", rows, labels) for kind, rows in found.items() if rows.any()]
    keep = sound.copy()
    unlabelled = sound & (labels == "")
    if unlabelled.any():
        if _choice(choices, FaultKind.NO_ID) is Remedy.LEAVE_OUT:
            keep &= ~unlabelled
            notes.append(_note(FaultKind.NO_ID, "were left out", unlabelled, labels))
        else:
            _give_ids(labels, unlabelled)
            notes.append(f"Rows without an id were given one: {quoted(labels[unlabelled].tolist())}")
    notes += _settle_same_ids(shapes, labels, keep, choices)
    twins = _same_outline(shapes, keep)
    if twins.any() and _choice(choices, FaultKind.SAME_OUTLINE) is Remedy.LEAVE_OUT:
        keep &= ~twins
        notes.append(_note(FaultKind.SAME_OUTLINE, "were left out", twins, labels))
    notes += _settle_slivers(shapes, labels, keep, choices)
    left = frame.set_geometry(geopandas.GeoSeries(shapes, index=frame.index, crs=frame.crs))
    return left[keep].reset_index(drop=True), labels[keep].tolist(), notes


def _outline_faults(geometry: geopandas.GeoSeries) -> tuple[ShapeArray, BoolArray, dict[FaultKind, BoolArray]]:
    """Return the outlines, repaired where that goes by itself, which are sound, and the faults of the rest."""
    shapes, faults = sound_outlines(geometry.to_numpy())
    return shapes, ~np.any(list(faults.values()), axis=0), {FaultKind(kind): rows for kind, rows in faults.items()}


def _seen_before(labels: ShapeArray, among: BoolArray) -> BoolArray:
    seen = among.copy()
    seen[among] = pd.Series(labels[among]).duplicated()  # hashed: a text array is as wide as its longest outline
    return seen


def _same_outline(shapes: ShapeArray, among: BoolArray) -> BoolArray:
    """Find the rows whose outline is exactly that of an earlier one, wherever its ring begins."""
    texts = np.full(len(shapes), b"", dtype=object)
    texts[among] = shapely.to_wkb(shapely.normalize(shapes[among]))
    return _seen_before(texts, among)


def _slivers(shapes: ShapeArray, among: BoolArray) -> BoolArray:
    if not among.any():
        return among
    areas, lengths = shapely.area(shapes[among]), shapely.length(shapes[among])
    slivers = among.copy()
    slivers[among] = (areas < TINY * np.median(areas)) & (4 * np.pi * areas < THIN * lengths**2)
    return slivers


def _settle_same_ids(shapes: ShapeArray, labels: ShapeArray, keep: BoolArray, choices: Choices) -> list[str]:
    again = keep & _seen_before(labels, keep)
    if not again.any():
        return []
    shared = sorted(set(labels[again].tolist()))
    if _choice(choices, FaultKind.SAME_ID) is Remedy.LEAVE_OUT:
        keep &= ~again
        return [f"Of rows that share an id, only the first was kept: {quoted(shared)}"]
    for key in shared:
        rows = np.flatnonzero(keep & (labels == key))
        shapes[rows[0]] = shapely.union_all(shapes[rows])
    keep &= ~again
    return [f"Rows that share an id were joined into one area: {quoted(shared)}"]


def _settle_slivers(shapes: ShapeArray, labels: ShapeArray, keep: BoolArray, choices: Choices) -> list[str]:
    slivers = _slivers(shapes, keep)
    remedy = _choice(choices, FaultKind.SLIVER)
    if not slivers.any() or remedy is Remedy.KEEP:
        return []
    keep &= ~slivers
    if remedy is Remedy.LEAVE_OUT or not keep.any():
        return [_note(FaultKind.SLIVER, "were left out", slivers, labels)]
    places = np.flatnonzero(keep)
    tree = shapely.STRtree(shapes[places])
    alone = np.zeros(len(shapes), dtype=bool)
    for row in np.flatnonzero(slivers).tolist():
        near: IntArray = places[tree.query(shapes[row], predicate="intersects")]
        if not len(near):
            alone[row] = True
            continue
        shared = shapely.length(shapely.intersection(shapely.boundary(shapes[row]), shapes[near]))
        host = int(near[int(np.argmax(shared))])
        shapes[host] = repaired(np.array([shapely.union(shapes[host], shapes[row])], dtype=object))[0]
    notes = []
    if (slivers & ~alone).any():
        notes.append(_note(FaultKind.SLIVER, "were joined to a neighbour", slivers & ~alone, labels))
    if alone.any():
        notes.append(_note(FaultKind.SLIVER, "and border nothing were left out", alone, labels))
    return notes


def _give_ids(labels: ShapeArray, rows: BoolArray) -> None:
    taken = set(labels.tolist())
    for row in np.flatnonzero(rows).tolist():
        key = f"row-{row + 1}"
        while key in taken:
            key += "-x"
        labels[row] = key
        taken.add(key)


def _choice(choices: Choices, kind: FaultKind) -> Remedy:
    chosen = choices.get(kind)
    return chosen if chosen in REMEDIES[kind] else REMEDIES[kind][0]


def _note(kind: FaultKind, done: str, rows: BoolArray, labels: ShapeArray) -> str:
    names = [labels[row] or f"row {row + 1}" for row in np.flatnonzero(rows).tolist()]
    return f"Rows that {FAULTS[kind]} {done}: {quoted(names)}"
