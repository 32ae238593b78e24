"""Notes on what was found and done when areas were joined to their neighbours, one sentence each."""

from collections.abc import Sequence

import numpy as np

from judgemap.core.graph import AreaGraph
from judgemap.core.types import IntArray
from judgemap.geo.adjacency import Bridge
from judgemap.geo.csvfiles import quoted

MOST_LISTED = 20


def hairline_notes(hairline: IntArray, overlaps: IntArray, names: Sequence[str]) -> list[str]:
    """Say which borders nearly meet, and which areas overlap."""
    notes = []
    if len(hairline):
        notes.append(f"Borders that nearly meet, or overlap, were treated as shared: {pair_words(hairline, names)}.")
    if len(overlaps):
        notes.append(f"These areas overlap; check them on the map: {pair_words(overlaps, names)}.")
    return notes


def bridge_notes(bridges: Sequence[Bridge], names: dict[str, str]) -> list[str]:
    """Say which areas were joined to the nearest one outside their part of the map."""
    notes = [
        f"{names[each.a]!r} borders nothing outside its part of the map, so it was joined to the nearest area, "
        f"{names[each.b]!r}, {each.km:.2f} km away."
        for each in bridges[:MOST_LISTED]
    ]
    if len(bridges) > MOST_LISTED:
        notes.append(f"{len(bridges) - MOST_LISTED:,} more areas were joined to their nearest area in the same way.")
    if len(bridges) > max(5, len(names) // 10):
        notes.append("So many parts suggest that the borders in the file do not meet; check them, or repair the map.")
    return notes


def parts_notes(graph: AreaGraph, names: Sequence[str]) -> list[str]:
    """Say which areas have no neighbour, and how many parts the map is in."""
    parts = graph.components()
    sizes = np.bincount(parts)
    if len(sizes) == 1:
        return []
    alone = [names[i] for i in np.flatnonzero(sizes[parts] == 1).tolist()]
    notes = [f"These areas have no neighbour: {quoted(alone)}."] if alone else []
    shown = ", ".join(f"{size:,}" for size in sorted(sizes.tolist(), reverse=True)[:10])
    more = " …" if len(sizes) > 10 else ""
    notes.append(
        f"The map is in {len(sizes):,} separate parts, with {shown}{more} areas: one part tells us nothing about "
        "another."
    )
    return notes


def pair_words(pairs: IntArray, names: Sequence[str]) -> str:
    """List pairs of areas by name."""
    return quoted([f"{names[a]} – {names[b]}" for a, b in pairs.tolist()], most=MOST_LISTED)
