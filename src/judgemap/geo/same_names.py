"""Distinguish areas that share a name: by what they belong to, by a neighbour, or by where they are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import shapely

from judgemap.geo.csvfiles import quoted
from judgemap.geo.maps import Areas

COMPASS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")
MOST_NOTED = 6


def told_apart(areas: Areas, columns: Mapping[str, Sequence[str]]) -> Areas:
    """Give areas that share a name different names.

    A column that says what an area belongs to is tried first ("Monroe, Indiana"), then a neighbour that only one of
    them has ("Monroe, near Brown"), then their direction from one another ("Monroe, north"), then the id.
    """
    count = Counter(areas.names)
    shared = [name for name, number in count.items() if number > 1]
    if not shared:
        return areas
    names = list(areas.names)
    parents = _parents(areas.names, shared, columns)
    for name in shared:
        rows = [row for row, each in enumerate(areas.names) if each == name]
        ways = (_by_parent(rows, parents), _by_neighbour(rows, areas, count), _by_direction(rows, areas))
        taken = set(names) - {name}
        for words in (*ways, [areas.ids[row] for row in rows]):
            called = [f"{name}, {word}" for word in words]
            if words and len(set(called)) == len(rows) and not taken & set(called):
                for row, each in zip(rows, called, strict=True):
                    names[row] = each
                break
    new = [each for row, each in enumerate(names) if each != areas.names[row]]
    note = f"Areas with the same name are distinguished: {quoted(new[:MOST_NOTED])}"
    more = f" and {len(new) - MOST_NOTED:,} more" if len(new) > MOST_NOTED else ""
    return replace(areas, names=tuple(names), notes=(*areas.notes, f"{note}{more}."))


def _parents(names: Sequence[str], shared: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Choose a column that says what areas belong to: words that several areas share but namesakes do not."""
    namesakes = [[row for row, each in enumerate(names) if each == name] for name in shared]

    def fits(texts: Sequence[str]) -> bool:
        wordy = all(any(map(str.isalpha, text)) for rows in namesakes for text in (texts[row] for row in rows))
        return wordy and all(len({texts[row] for row in rows}) == len(rows) for rows in namesakes)

    found = {column: texts for column, texts in columns.items() if len(set(texts)) < len(texts) and fits(texts)}
    # Prefer names to codes such as IN for Indiana, and then the widest division, which most people know.
    best = min(found, key=lambda column: (_is_code(found[column]), len(set(found[column]))), default=None)
    return [] if best is None else found[best]


def _is_code(texts: Sequence[str]) -> bool:
    return all(text.upper() == text or len(text) <= 3 for text in texts)


def _by_parent(rows: Sequence[int], parents: Sequence[str]) -> list[str]:
    return [parents[row] for row in rows] if parents else []


def _by_neighbour(rows: Sequence[int], areas: Areas, count: Counter[str]) -> list[str]:
    """For each area, name a neighbour that no namesake borders and whose own name is unique."""
    edges = areas.graph.edges
    near = [{*edges[edges[:, 0] == row, 1].tolist(), *edges[edges[:, 1] == row, 0].tolist()} for row in rows]
    words = []
    for own in near:
        others = set().union(*(each for each in near if each is not own))
        fit = sorted(areas.names[place] for place in own - others if count[areas.names[place]] == 1)
        if not fit:
            return []
        words.append(f"near {fit[0]}")
    return words


def _by_direction(rows: Sequence[int], areas: Areas) -> list[str]:
    """Say in which direction each area lies from the middle of all of them."""
    if areas.geometry is None:
        return []
    points = shapely.get_coordinates(shapely.centroid(areas.geometry.to_numpy()[list(rows)]))
    east, north = (points - points.mean(axis=0)).T
    eighths = np.rint(np.arctan2(north, east) / (np.pi / 4)).astype(int) % 8
    return [COMPASS[each] for each in eighths.tolist()]
