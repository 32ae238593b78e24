"""Ids and names of areas: one spelling of each label everywhere, and which columns of a map hold them."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted

if TYPE_CHECKING:
    import geopandas

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
    columns = {str(column): column_texts(frame, column) for column in frame.columns if column != frame.geometry.name}
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
