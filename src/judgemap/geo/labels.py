"""Ids and names of areas: one spelling of each label, which columns hold them, and what tells namesakes apart."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted

if TYPE_CHECKING:
    import geopandas

    from judgemap.geo.maps import Areas

UNIT = "(area|ward|subward|zone|district|region|community|county|tract|parish|feature|lsoa|msoa)"
ID_COLUMNS = (
    rf"{UNIT}?_?(id|code|no|nr|number)",
    r"gid|geoid|geocode|gss_?code|uid|codigo|insee|ags|ars",
    r"[a-z]+\d{2}cd|.*_(cd|code|id)|.*code|gid_\d",
    r"objectid|fid|ogc_fid",
)
"""What id columns are called, the best first, ignoring case."""

NAME_COLUMNS = (
    rf"{UNIT}?_?name",
    r"[a-z]+\d{2}nm|.*_(nm|name)|name_\d|.*name",
    rf"{UNIT}|neighbou?rhood|label|title|nom|nombre|naam|nome",
)
"""What name columns are called, the best first, ignoring case."""


class Labels(NamedTuple):
    """The id and name of every area, and notes on what was guessed."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    notes: tuple[str, ...]


def clean_label(value: object) -> str:
    """Bring a label into the one spelling in which labels are compared; a missing value becomes the empty string.

    >>> clean_label(" E01 "), clean_label(1.0), clean_label("1.0"), clean_label(None)
    ('E01', '1', '1', '')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = unicodedata.normalize("NFC", str(value).strip())
    return text.split(".")[0] if "." in text and re.fullmatch(r"-?\d+\.0+", text) else text


def choose_labels(frame: "geopandas.GeoDataFrame", id_column: str | None, name_column: str | None) -> Labels:
    """Take ids and names from the given columns, or from those that look most like them, and note which.

    Raises
    ------
    StudyError
        If a given column does not exist, or the ids are not unique.
    """
    columns = _columns(frame)
    for column in (id_column, name_column):
        if column is not None and column not in columns:
            known = f"the columns are {quoted(columns)}" if columns else "the map has no columns at all"
            raise StudyError(f"there is no column {column!r}{did_you_mean(column, columns)}; {known}")
    notes: list[str] = []
    if id_column is None:
        id_column, note = _guess_id(columns)
        notes.append(note)
    ids = columns[id_column] if id_column else [str(row + 1) for row in range(len(frame))]
    check_ids(ids, f"the column {id_column!r}")
    if name_column is None:
        name_column, note = _guess_name(columns, id_column)
        notes.append(note)
    return complete_names(ids, columns[name_column] if name_column else ids, notes)


def complete_names(ids: Sequence[str], names: Sequence[str], notes: Sequence[str] = ()) -> Labels:
    """Use the id of an area without a name as its name; note that, and any names that several areas share.

    >>> complete_names(["1", "2"], ["Kenwood", ""])
    Labels(ids=('1', '2'), names=('Kenwood', '2'), notes=("These areas have no name, so their ids are used: '2'.",))
    """
    notes = list(notes)
    if nameless := [key for key, name in zip(ids, names, strict=True) if not name]:
        notes.append(f"These areas have no name, so their ids are used: {quoted(nameless)}.")
    names = [name or key for key, name in zip(ids, names, strict=True)]
    if shared := [name for name, count in Counter(names).items() if count > 1]:
        notes.append(f"More than one area is called {quoted(shared)}; use their ids in files.")
    return Labels(tuple(ids), tuple(names), tuple(notes))


def check_ids(ids: Sequence[str], where: str) -> None:
    """Raise a `StudyError` that names the rows without an id, or the ids that appear more than once."""
    if missing := [str(row) for row, key in enumerate(ids, start=1) if not key]:
        shown = f"{', '.join(missing[:10])} and {len(missing) - 10:,} more" if len(missing) > 10 else ", ".join(missing)
        raise StudyError(f"{where} has no id in row {shown}; fill it in, or choose another column", field="id")
    if repeated := [key for key, count in Counter(ids).items() if count > 1]:
        raise StudyError(
            f"{where} has the same id more than once: {quoted(repeated)}; "
            "every area needs its own id, and one row with all its parts",
            field="id",
        )


def column_texts(frame: "geopandas.GeoDataFrame", column: object) -> list[str]:
    """Return the values of a column as labels."""
    values = frame[column]
    return [clean_label(value) for value in values.astype(object).where(values.notna(), None)]


def has_ids(frame: "geopandas.GeoDataFrame") -> bool:
    """Whether a column looks like an id."""
    return _guess_id(_columns(frame))[0] is not None


def _columns(frame: "geopandas.GeoDataFrame") -> dict[str, list[str]]:
    return {str(column): column_texts(frame, column) for column in frame.columns if column != frame.geometry.name}


def _guess_id(columns: dict[str, list[str]]) -> tuple[str | None, str]:
    """Choose the column with the best name whose values are all present and all different."""
    for column in _called(columns, ID_COLUMNS):
        texts = columns[column]
        if column.casefold() == "id" and any(texts):
            check_ids(texts, f"the column {column!r}")
        if all(texts) and len(set(texts)) == len(texts):
            return column, f"The ids appear to be in the column {column!r}."
    return None, "No column looks like an id, so the areas are numbered from 1 in file order."


def _guess_name(columns: dict[str, list[str]], id_column: str | None) -> tuple[str | None, str]:
    """Choose the column of words with the best name, and among equals the one that distinguishes most areas."""
    wordy = {
        column: texts
        for column, texts in columns.items()
        if column != id_column and any(any(map(str.isalpha, text)) for text in texts)
    }
    for pattern in NAME_COLUMNS:
        if called := _called(wordy, [pattern]):
            best = max(called, key=lambda column: len(set(wordy[column])))
            return best, f"The names appear to be in the column {best!r}."
    return None, "No column looks like a name, so ids are used as names."


def _called(columns: dict[str, list[str]], patterns: Sequence[str]) -> list[str]:
    return [column for pattern in patterns for column in columns if re.fullmatch(pattern, column.casefold())]


COMPASS = ("east", "north-east", "north", "north-west", "west", "south-west", "south", "south-east")
MOST_NOTED = 6


def told_apart(areas: "Areas", columns: Mapping[str, Sequence[str]]) -> "Areas":
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


def _by_neighbour(rows: Sequence[int], areas: "Areas", count: Counter[str]) -> list[str]:
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


def _by_direction(rows: Sequence[int], areas: "Areas") -> list[str]:
    """Say in which direction each area lies from the middle of all of them."""
    import shapely

    if areas.geometry is None:
        return []
    points = shapely.get_coordinates(shapely.centroid(areas.geometry.to_numpy()[list(rows)]))
    east, north = (points - points.mean(axis=0)).T
    eighths = np.rint(np.arctan2(north, east) / (np.pi / 4)).astype(int) % 8
    return [COMPASS[each] for each in eighths.tolist()]
