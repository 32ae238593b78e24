"""Reading comparisons.csv: every mistake is reported with its line and what to do about it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from judgemap.core.types import FloatArray, IntArray
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import Table, did_you_mean, quoted, read_number, read_table
from judgemap.geo.labels import clean_label
from judgemap.geo.maps import Areas
from judgemap.study.comparisons import ANSWERS, Comparisons, Direction


def read_comparisons(path: str | Path, areas: Areas, winner_is: Direction = "lower") -> Comparisons:
    r"""Read comparisons.csv: ``judge,left,right,outcome[,seconds,answered_at,…]``, or ``winner,loser[,judge]``.

    Areas are named by id or by exact name. An outcome is one of left, right, tie, skipped, unknown. A table of winners
    and losers may have outcomes too: tie, skipped or unknown then say that neither won.

    >>> import tempfile, judgemap as jm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "comparisons.csv")
    ...     _ = path.write_text("judge,left,right,outcome\nann,Loop,Lake View,left\nann,Loop,Uptown,tie\n")
    ...     data = jm.read_comparisons(path, jm.chicago())
    >>> len(data), data.counts().total
    (2, 1)
    """
    table = read_table(path)
    named = "winner" in table.columns or "loser" in table.columns
    if named and not {"left", "right", "outcome"} <= set(table.columns):
        table.require("winner", "loser")
        outcome = _outcomes_of_winners(table)
        left, right = _positions(table, "winner", "loser", areas)
    else:
        table.require("left", "right", "outcome")
        outcome = _outcomes(table)
        left, right = _positions(table, "left", "right", areas)
        _check_winners(table, outcome, areas)
    judge = [row.get("judge", "") for row in table.rows]
    data = Comparisons.from_words(areas.ids, judge, left, right, outcome, _seconds(table), winner_is)
    return replace(data, answered_at=np.array([_moment(row.get("answered_at", "")) for row in table.rows]))


def _outcomes(table: Table) -> list[str]:
    outcomes = [row["outcome"] for row in table.rows]
    use = f"use one of {', '.join(ANSWERS)}"
    table.refuse(
        {
            row: f"{outcome!r} is not an outcome{did_you_mean(outcome, ANSWERS)}; {use}"
            for row, outcome in enumerate(outcomes)
            if outcome not in ANSWERS
        }
    )
    return outcomes


def _outcomes_of_winners(table: Table) -> list[str]:
    """Read the outcomes of a table of winners and losers, which need not have any: the winner counts as the left area.

    'right' would be the winner's side to some and a win of the loser to others.
    """
    outcomes = [row.get("outcome") or "left" for row in table.rows]
    table.refuse(
        {
            row: f"the outcome {outcome!r} does not go with a winner and a loser; leave it empty where the winner won, "
            "and otherwise write tie, skipped or unknown"
            for row, outcome in enumerate(outcomes)
            if outcome not in ANSWERS or outcome == "right"
        }
    )
    return outcomes


def _check_winners(table: Table, outcomes: Sequence[str], areas: Areas) -> None:
    """Refuse rows that name, beside the outcome, a winner or a loser that it contradicts; cells may be empty."""
    lookup, mistakes = areas.lookup, {}
    for row, (cells, outcome) in enumerate(zip(table.rows, outcomes, strict=True)):
        sides = {"left": ("left", "right"), "right": ("right", "left")}.get(outcome)
        for column, side in zip(("winner", "loser"), sides or (None, None), strict=True):
            area = cells.get(column)
            if area and (side is None or lookup.get(clean_label(area)) != lookup[clean_label(cells[side])]):
                mistakes[row] = f"the outcome is {outcome!r}, but the {column} is {area!r}; correct one of them"
    table.refuse(mistakes)


def _moment(text: str) -> float:
    """Read a time, in UTC unless it says otherwise; nan if it is not one, because no model depends on it."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return np.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _positions(table: Table, first: str, second: str, areas: Areas) -> tuple[IntArray, IntArray]:
    """Look up both areas of every row; report those that are not on the map, or that are compared with themselves."""
    lookup = areas.lookup
    left = [lookup.get(clean_label(row[first]), -1) for row in table.rows]
    right = [lookup.get(clean_label(row[second]), -1) for row in table.rows]
    if all(place < 0 for place in (*left, *right)):
        raise StudyError(
            f"{table.path.name} and the map have no area in common: the table names {quoted(_some(table, first))}, "
            f"the map {quoted(areas.ids[:3])} ({quoted(areas.names[:3])}); "
            "check that both use the same ids, or choose the map's id column"
        )
    mistakes: dict[int, str] = {}
    for row, (a, b) in enumerate(zip(left, right, strict=True)):
        if a < 0 or b < 0:
            column = first if a < 0 else second
            area = table.rows[row][column]
            empty = f"the cell of {column!r} is empty; name an area or remove the row"
            mistakes[row] = areas.unknown(area) if area else empty
        elif a == b:
            area = table.rows[row][first]
            mistakes[row] = f"{area!r} is compared with itself; correct it or remove the row"
    table.refuse(mistakes)
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)


def _some(table: Table, column: str) -> Sequence[str]:
    return list(dict.fromkeys(row[column] for row in table.rows[:50]))[:3]


def _seconds(table: Table) -> FloatArray:
    """Read the times, allowing decimal commas: empty cells are nan, and anything else but a time is an error."""
    seconds = np.full(len(table.rows), np.nan)
    mistakes: dict[int, str] = {}
    for row, cells in enumerate(table.rows):
        if not cells.get("seconds"):
            continue
        try:
            seconds[row] = read_number(cells["seconds"])
        except ValueError:
            seconds[row] = -1.0
        if not (np.isfinite(seconds[row]) and seconds[row] >= 0):
            mistakes[row] = f"{cells['seconds']!r} is not a number of seconds; write one, or leave the cell empty"
    table.refuse(mistakes)
    return seconds
