"""Figures of the areas from elsewhere, such as deprivation or population: a table, matched to a study's areas.

Cells stay the text that the file has. A column of numbers can be held against the map or weight areas; a column of
text that areas share, such as their district, groups them. A boundary file of larger places becomes such a column.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from judgemap.core.types import FloatArray, frozen_floats
from judgemap.errors import StudyError
from judgemap.geo.adjacency import in_metres
from judgemap.geo.csvfiles import Table, as_table, csv_text, did_you_mean, quoted, read_number, read_table
from judgemap.geo.maps import Areas, clean_label, read_areas

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Figures", "read_figures"]

UNKNOWN = {"", "-", "–", "*", "..", ":", "na", "n/a", "nan", "null", "none", "c", "x", "z"}
"""What tables have in place of a number that is missing or suppressed, in lower case."""
THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
MAPS = (".geojson", ".json", ".topojson", ".gpkg", ".kml", ".kmz", ".shp", ".zip")
"""The endings of boundary files."""
SLIVER = 0.1
"""A smaller share of an area than this does not count as lying in a place: borders of two files rarely meet."""
MOSTLY = 0.9
"""An area of which less than this share lies in one larger place is named as divided."""
NAMED = 5
"""How many areas a note names."""


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Columns by name, each with a cell of text for every area, empty where nothing is known; and notes on the match.

    >>> figures = Figures(("1", "2", "3"), {"people": ("1,200", "900", ".."), "town": ("Ash", "Ash", "Elm")})
    >>> figures.numeric, figures.groupings, figures.numbers("people")
    (['people'], ['town'], array([1200.,  900.,   nan]))
    """

    ids: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(len(cells) != len(self.ids) for cells in self.cells.values()):
            raise ValueError("every column needs one cell for each area")

    @property
    def numeric(self) -> list[str]:
        """The columns of numbers that differ between areas."""
        read = {name: _numbers(cells) for name, cells in self.cells.items()}
        return [name for name, values in read.items() if values is not None and len(np.unique(_known(values))) > 1]

    @property
    def groupings(self) -> list[str]:
        """The columns of text that put the areas into two or more groups, most of them of several areas."""
        return [
            name
            for name, cells in self.cells.items()
            if _numbers(cells) is None and 1 < len(set(filter(None, cells))) <= 2 * len(self.ids) / 3
        ]

    def numbers(self, column: str) -> FloatArray:
        """Return a column as numbers, nan where there is none; raise a `StudyError` if it has something else.

        Parameters
        ----------
        column
            The column's name.
        """
        cells = self._column(column)
        values = _numbers(cells)
        if values is None:
            wrong = next(cell for cell in cells if _number(cell, thousands=False) is None)
            raise StudyError(f"the column {column!r} has {wrong!r}, which is not a number; correct it, or leave it out")
        return values

    def groups(self, column: str) -> tuple[str, ...]:
        """Return the group of each area by a column, empty where there is none.

        Parameters
        ----------
        column
            The column's name.
        """
        return self._column(column)

    def _column(self, column: str) -> tuple[str, ...]:
        if column not in self.cells:
            hint = did_you_mean(column, self.cells)
            raise StudyError(f"the figures have no column {column!r}{hint}; they have {quoted(list(self.cells))}")
        return self.cells[column]

    def to_csv(self) -> str:
        """Write the figures as a table that `read_figures` reads."""
        return csv_text(["id", *self.cells], zip(self.ids, *self.cells.values(), strict=True))


def read_figures(source: "str | Path | pd.DataFrame", areas: Areas, *, id: str | None = None) -> Figures:  # noqa: A002
    """Read a table of figures and match its rows to areas.

    Parameters
    ----------
    source
        A CSV file or the first sheet of a spreadsheet (.xlsx), or a data frame: a column that says which area a row is
        of, and any number of others. Or a boundary file: if it has these areas, its other columns are read; if it has
        larger places, such as districts, the column, with the file's name, says in which of them each area lies.
    areas
        The areas of the study.
    id
        The column with the areas' ids or exact names; by default the one that matches most.

    Returns
    -------
    Figures
        The other columns, in the order of the areas. `Figures.notes` lists the areas that have no row, and says how
        many rows are of other areas.

    Examples
    --------
    >>> import pandas as pd
    >>> areas = Areas(("1", "2", "3"), ("Ash", "Beech", "Cedar"), AreaGraph(3, []))
    >>> table = pd.DataFrame({"ward": ["Cedar", "Ash", "Oak"], "income": [0.3, 0.1, 0.2]})
    >>> figures = read_figures(table, areas)
    >>> figures.cells, figures.notes[0]
    ({'income': ('0.1', '', '0.3')}, "The figures have no row for 1 of 3 areas: 'Beech'.")
    """
    drawn = Path(source) if isinstance(source, str | Path) and Path(source).suffix.lower() in MAPS else None
    if drawn is not None:
        from judgemap.geo import boundaries  # slow to load

        try:
            frame = boundaries.load(drawn)[0]
        except StudyError as error:
            raise StudyError(f"{drawn.name}: {error}") from None
        table = as_table(frame.drop(columns=frame.geometry.name))
    else:
        table = read_table(source) if isinstance(source, str | Path) else as_table(source)
    lookup = areas.lookup
    places = {column: [lookup.get(clean_label(row[column]), -1) for row in table.rows] for column in table.columns}
    if id is not None:
        table.require(id)
    key = id or max(places, key=lambda column: len({place for place in places[column] if place >= 0}))
    if drawn is not None and max(places[key]) < 0:
        return larger_places(areas, drawn)
    rows = _rows(table, areas, places[key], key)
    others = [column for column in table.columns if column != key]
    if not others:
        raise StudyError(f"{table.path.name}: there is no column beside {key!r}; add the figures")
    cells = {
        column: tuple(table.rows[row][column] if row >= 0 else "" for row in rows)
        for column in others
        if any(table.rows[row][column] for row in rows if row >= 0)
    }
    return Figures(areas.ids, cells, tuple(_notes(areas, rows, places[key])))


def _rows(table: Table, areas: Areas, places: Sequence[int], key: str) -> list[int]:
    """Return the row of each area, −1 for none; raise a `StudyError` if an area has two, or none has any."""
    repeated = Counter(place for place in places if place >= 0)
    table.refuse(
        {
            row: f"there is another row for {areas.names[place]!r}; keep one"
            for row, place in enumerate(places)
            if place >= 0 and repeated[place] > 1
        }
    )
    if not repeated:
        raise StudyError(
            f"{table.path.name}: no column has the areas' ids or names, such as {quoted(areas.ids[:2])} or "
            f"{quoted(areas.names[:2])}; add one (the columns are {quoted(table.columns)}; {key!r} begins with "
            f"{quoted([row[key] for row in table.rows[:2]])})"
        )
    found = {place: row for row, place in enumerate(places) if place >= 0}
    return [found.get(place, -1) for place in range(len(areas))]


def _notes(areas: Areas, rows: Sequence[int], places: Sequence[int]) -> list[str]:
    notes = []
    if missing := [areas.names[place] for place, row in enumerate(rows) if row < 0]:
        named = quoted(missing, NAMED)
        notes.append(f"The figures have no row for {len(missing):,} of {len(areas):,} areas: {named}.")
    if others := sum(place < 0 for place in places):
        notes.append(f"{others:,} of {len(places):,} rows are not of these areas, and were left out.")
    return notes


def larger_places(areas: Areas, path: Path) -> Figures:
    """Find the larger place, such as a district, that has most of each area's surface, from a boundary file."""
    import shapely

    own = in_metres(areas.outlines())
    larger = read_areas(path, bridge="none")
    shapes, others = own.to_numpy(), larger.outlines().to_crs(own.crs).to_numpy()
    area, place = shapely.STRtree(others).query(shapes, predicate="intersects")
    shared = shapely.area(shapely.intersection(shapes[area], others[place]))
    shared[shared < SLIVER * shapely.area(shapes)[area]] = 0.0
    if not shared.any():
        raise StudyError(f"{path.name}: no area lies in any of its places; check that it is of the same region")
    order = np.argsort(shared, kind="stable")[-np.count_nonzero(shared) :]  # the largest comes last, and stays
    best, most = np.full(len(areas), -1), np.zeros(len(areas))
    best[area[order]], most[area[order]] = place[order], shared[order]
    divided = (best >= 0) & (most < MOSTLY * shapely.area(shapes))
    notes = []
    for which, words in (
        (best < 0, "lie in none of the places"),
        (divided, "are divided, and count where most of each is"),
    ):
        if which.any():
            named = quoted([areas.names[each] for each in np.flatnonzero(which)], NAMED)
            notes.append(f"{int(which.sum()):,} of {len(areas):,} areas {words}: {named}.")
    return Figures(areas.ids, {path.stem: tuple("" if each < 0 else larger.names[each] for each in best)}, tuple(notes))


@lru_cache(maxsize=64)  # a page asks several times what each column is
def _numbers(cells: tuple[str, ...]) -> FloatArray | None:
    """Return a column's numbers, nan where there are none; None if it has other text, or nothing at all."""
    written = [cell for cell in cells if "," in cell]
    # 1,234 is a thousand and more if every comma of the column stands before three digits, and else a decimal comma.
    thousands = bool(written) and all(THOUSANDS.fullmatch(cell.rstrip(" %")) for cell in written)
    values = [_number(cell, thousands=thousands) for cell in cells]
    if None in values or all(value != value for value in values):  # noqa: PLR0124 - nan is not itself
        return None
    return frozen_floats(np.array(values, dtype=np.float64))


def _number(cell: str, *, thousands: bool) -> float | None:
    if cell.lower() in UNKNOWN:
        return math.nan
    text = cell.rstrip(" %")
    try:
        value = read_number(text.replace(",", "") if thousands else text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _known(values: FloatArray) -> FloatArray:
    return values[np.isfinite(values)]


REGION = "region"
"""What the larger place of each area is called, if names give it."""
MOST_REGIONS = 400
"""A column with more groups than this is no help to somebody who reads a large map."""
NUMBERED = re.compile(r"^(?P<region>.*?\w.*?)[\s,.–-]+(?:\d[\w/.-]*|[A-Z])$")
"""A name that ends in a number or a letter, such as "Nottingham 012A", and what comes before."""
LEAST_SHARE = 0.9
"""Names are taken to contain regions if at least this share of the areas is in a region with others."""


def regions_in(names: Sequence[str]) -> list[str]:
    """Return the region that each area's name gives, or only empty strings if names have no such form.

    >>> regions_in(["Nottingham 012A", "Nottingham 012B", "West Berkshire 001C", "West Berkshire 002A"])
    ['Nottingham', 'Nottingham', 'West Berkshire', 'West Berkshire']
    >>> regions_in(["Castle", "Trent", "Hyde Park"])
    ['', '', '']
    """
    found = [match["region"] if (match := NUMBERED.match(name)) else "" for name in names]
    count = Counter(found)
    # Regions help to choose if there are several of them, nearly all with more than one area.
    shared = sum(areas for region, areas in count.items() if region and areas > 1)
    helpful = len(count.keys() - {""}) > 1 and shared >= LEAST_SHARE * len(found)
    return found if helpful else [""] * len(found)


def regions_of(areas: Areas) -> tuple[str, tuple[str, ...]] | None:
    """Return what the regions of a map are called and the region of each area; None if nothing says.

    They are the first column of its figures that has few enough groups, or else part of the areas' names.

    >>> regions_of(Areas(("1", "2", "3", "4"), ("Ash 1", "Ash 2", "Elm 1", "Elm 2"), AreaGraph(4, [])))
    ('region', ('Ash', 'Ash', 'Elm', 'Elm'))
    """
    figures = areas.figures
    columns = () if figures is None else [(name, figures.groups(name)) for name in figures.groupings]
    named = (REGION, tuple(regions_in(areas.names)))
    return next((each for each in (*columns, named) if 1 < len(set(each[1]) - {""}) <= MOST_REGIONS), None)
