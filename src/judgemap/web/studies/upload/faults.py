"""Rows of a boundary file that cannot be used as areas, and what can be done about them.

`find_faults` lists them by kind; `settle` applies the remedy chosen for each kind and records it in notes. `read_areas`
settles nothing: it refuses such a file with one sentence. The study server asks the researcher first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import geopandas
import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray

from judgemap.core.types import BoolArray, IntArray
from judgemap.geo.boundaries import ShapeArray, repaired
from judgemap.geo.csvfiles import quoted
from judgemap.web.studies.upload.records import FaultKind, Remedy
from judgemap.web.studies.upload.records import gettext_noop as _

FARTHEST = 1e12
"""Coordinates beyond this are not on Earth in any unit."""
TINY = 1e-3
"""A sliver is smaller than this share of the median area …"""
THIN = 0.02
"""… and at most this round: 4πA/P² is 1 for a circle, 0.02 for a strip 150 times as long as it is wide."""


class Wording(NamedTuple):
    """What a fault is called in notes, and on the page for one row and for several; its remedies, the default first."""

    fault: str
    one: str
    several: str
    remedies: dict[Remedy, str]


OUT = {Remedy.LEAVE_OUT: _("Leave them out")}
KEEP = {Remedy.KEEP: _("Keep them as separate areas")}
WORDING: dict[FaultKind, Wording] = {
    FaultKind.NO_OUTLINE: Wording(
        "have no outline",
        _("1 row has no outline: %(rows)s."),
        _("%(count)s rows have no outline: %(rows)s."),
        OUT,
    ),
    FaultKind.NOT_POLYGONS: Wording(
        "are points or lines, not areas",
        _("1 row is a point or a line, not an area: %(rows)s."),
        _("%(count)s rows are points or lines, not areas: %(rows)s."),
        OUT,
    ),
    FaultKind.NOWHERE: Wording(
        "have coordinates that are nowhere on Earth",
        _("1 row has coordinates that are nowhere on Earth: %(rows)s."),
        _("%(count)s rows have coordinates that are nowhere on Earth: %(rows)s."),
        OUT,
    ),
    FaultKind.NO_SURFACE: Wording(
        "have an outline that encloses nothing",
        _("1 row has an outline that encloses nothing: %(rows)s."),
        _("%(count)s rows have an outline that encloses nothing: %(rows)s."),
        OUT,
    ),
    FaultKind.NO_ID: Wording(
        "have no id",
        _("1 row has no id: %(rows)s."),
        _("%(count)s rows have no id: %(rows)s."),
        {Remedy.REPAIR: _("Give each one its own id, such as row-12")} | OUT,
    ),
    FaultKind.SAME_ID: Wording(
        "share an id with an earlier row",
        _("1 id is in more than one row: %(rows)s."),
        _("%(count)s ids are in more than one row: %(rows)s."),
        {
            Remedy.REPAIR: _("Join the rows of one id into one area, such as an island and its mainland"),
            Remedy.LEAVE_OUT: _("Keep the first row of each id, and leave out the others"),
        },
    ),
    FaultKind.SAME_OUTLINE: Wording(
        "have the same outline as an earlier row",
        _("1 row has the same outline as an earlier row: %(rows)s."),
        _("%(count)s rows have the same outline as an earlier row: %(rows)s."),
        OUT | KEEP,
    ),
    FaultKind.SLIVER: Wording(
        "are slivers, too small and thin to see",
        _("1 row is a sliver, too small and thin to see: %(rows)s."),
        _("%(count)s rows are slivers, too small and thin to see: %(rows)s."),
        {Remedy.REPAIR: _("Join each one to the neighbour it shares most border with")} | OUT | KEEP,
    ),
}
"""English, which pages translate: the reader's process has no languages."""
Choices = Mapping[FaultKind, Remedy]


@dataclass(frozen=True, slots=True)
class Fault:
    """Rows with one kind of fault, numbered from 0 in file order."""

    kind: FaultKind
    rows: tuple[int, ...]


def find_faults(geometry: geopandas.GeoSeries, ids: Sequence[str] | None = None) -> list[Fault]:
    """List what is wrong with the rows of a file, by kind; without ids, only what is wrong with the outlines.

    >>> square = shapely.box(0, 0, 1, 1)
    >>> rows = geopandas.GeoSeries([square, None, shapely.Point(0, 0), shapely.box(1, 0, 2, 1), square])
    >>> for fault in find_faults(rows, ids=["a", "b", "c", "", "a"]):
    ...     print(fault.kind, fault.rows)
    no outline (1,)
    not polygons (2,)
    no id (3,)
    same id (4,)
    same outline (4,)
    """
    shapes, sound, found = _outline_faults(geometry)
    if ids is not None:
        labels = np.array(ids, dtype=object)
        found[FaultKind.NO_ID] = sound & (labels == "")
        found[FaultKind.SAME_ID] = sound & (labels != "") & _seen_before(labels, sound & (labels != ""))
    found[FaultKind.SAME_OUTLINE] = _same_outline(shapes, sound)
    found[FaultKind.SLIVER] = _slivers(shapes, sound & ~found[FaultKind.SAME_OUTLINE])
    return [Fault(kind, tuple(np.flatnonzero(rows).tolist())) for kind, rows in found.items() if rows.any()]


def settle(
    frame: geopandas.GeoDataFrame, ids: Sequence[str], choices: Choices
) -> tuple[geopandas.GeoDataFrame, list[str], list[str]]:
    """Apply the remedy chosen for each kind of fault; return the remaining rows, their ids and notes.

    A kind without a choice gets its default remedy, the first in `WORDING`.

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
    """Repair what can be repaired automatically; return the outlines, which are sound, and the faults of the rest."""
    shapes = shapely.force_2d(geometry.to_numpy().astype(object))
    missing = shapely.is_missing(shapes) | shapely.is_empty(shapes)
    corners, of = shapely.get_coordinates(shapes, return_index=True)
    nowhere = np.zeros(len(shapes), dtype=bool)
    nowhere[np.unique(of[~(np.abs(corners) < FARTHEST).all(axis=1)])] = True
    nowhere &= ~missing
    usable = ~missing & ~nowhere
    flat = usable & (shapely.get_dimensions(shapes) < 2)
    usable &= ~flat
    shapes[usable] = repaired(shapes[usable])
    collapsed = usable & ~(shapely.area(shapes) > 0)
    return shapes, usable & ~collapsed, {
        FaultKind.NO_OUTLINE: missing,
        FaultKind.NOT_POLYGONS: flat,
        FaultKind.NOWHERE: nowhere,
        FaultKind.NO_SURFACE: collapsed,
    }  # fmt: skip


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
    remedies = WORDING[kind].remedies
    chosen = choices.get(kind)
    return chosen if chosen in remedies else next(iter(remedies))


def _note(kind: FaultKind, done: str, rows: NDArray[np.bool_], labels: ShapeArray) -> str:
    names = [labels[row] or f"row {row + 1}" for row in np.flatnonzero(rows).tolist()]
    return f"Rows that {WORDING[kind].fault} {done}: {quoted(names)}"
