"""Tables of text from CSV and XLSX files, with the line number of every row, and errors that say what to correct."""

import codecs
import csv
import difflib
import io
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from judgemap.errors import StudyError

DELIMITERS = (",", ";", "\t")
FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
NUMBER = re.compile(r"'*[+-]?\d+(\.\d+)?(e[+-]?\d+)?")
MOST_MISTAKES = 10
"""The most bad lines that an error lists."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The rows of a CSV file. Cells are text without surrounding white space; `lines` says where each row begins."""

    path: Path
    columns: tuple[str, ...]
    rows: list[dict[str, str]]
    lines: list[int]

    def require(self, *columns: str) -> None:
        """Raise a `StudyError` that lists the existing columns if one of `columns` is missing."""
        others = [column for column in self.columns if column not in columns]
        for column in columns:
            if column not in self.columns:
                raise StudyError(
                    f"{self.path.name}: there is no column {column!r}{did_you_mean(column, others)}; "
                    f"the columns are {quoted(self.columns)}"
                )

    def refuse(self, mistakes: Mapping[int, str | Callable[[], str]]) -> None:
        """Raise a `StudyError` listing the first ten mistakes, one per line; do nothing if there are none.

        A sentence that takes long to find, such as what may have been meant, is given as a function, called if listed.

        >>> table = Table(Path("a.csv"), ("id",), [{"id": ""}, {"id": "?"}], [2, 3])
        >>> table.refuse({0: "the id is missing", 1: "'?' is no id"})
        Traceback (most recent call last):
        judgemap.errors.StudyError: a.csv line 2: the id is missing
        line 3: '?' is no id
        >>> table.refuse({})
        """
        if not mistakes:
            return
        rows = sorted(mistakes)
        said = [(row, mistakes[row]) for row in rows[:MOST_MISTAKES]]
        lines = [f"line {self.lines[row]}: {each() if callable(each) else each}" for row, each in said]
        more = [f"and {len(rows) - MOST_MISTAKES:,} more bad lines"] if len(rows) > MOST_MISTAKES else []
        raise StudyError(f"{self.path.name} " + "\n".join(lines + more))

    def where(self, row: int) -> str:
        """Say where a row is, for the beginning of an error: ``comparisons.csv line 17``."""
        return f"{self.path.name} line {self.lines[row]}"


def read_table(path: str | Path, required: Sequence[str] = ()) -> Table:
    r"""Read a CSV file separated by commas, semicolons or tabs, in UTF-8 (or UTF-16 with a byte order mark).

    Of a spreadsheet (.xlsx), the first sheet is read. Blank lines are skipped, columns beyond the required ones are
    kept, and columns without a name are dropped.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "edges.csv")
    ...     _ = path.write_text("area_a;area_b\n1;2\n\n2;3\n")
    ...     table = read_table(path, required=["area_a", "area_b"])
    >>> table.rows, table.lines
    ([{'area_a': '1', 'area_b': '2'}, {'area_a': '2', 'area_b': '3'}], [2, 4])
    """
    path = Path(path)
    if path.suffix.lower() == ".xlsx" and path.is_file():
        return _sheet(path, required)
    text = _text(path)
    first_line = next(line for line in io.StringIO(text, newline="") if line.strip())
    delimiter = max(DELIMITERS, key=lambda each: _fit(first_line, each, required))
    records = _records(path, text, delimiter)
    columns = [cell.strip() for cell in next(records)[1]]
    table = Table(path, _named(path, columns, required), [], [])
    table.require(*required)
    for line, cells in records:
        if len(cells) != len(columns):
            raise StudyError(
                f"{path.name} line {line}: there are {len(cells)} cells where the header has {len(columns)}; "
                "add or remove cells, and check for a quotation mark left open"
            )
        table.rows.append(dict(zip(columns, (undefused(cell.strip()).strip() for cell in cells), strict=True)))
        table.lines.append(line)
    if not table.rows:
        raise StudyError(f"{path.name}: there is a header but there are no rows below it; add them")
    if "" in columns:
        for row in table.rows:
            del row[""]
    return table


def _sheet(path: Path, required: Sequence[str]) -> Table:
    """Read the first sheet of a spreadsheet, whose first row has the columns' names."""
    import pyogrio

    try:
        frame = pyogrio.read_dataframe(path, layer=0, read_geometry=False, HEADERS="FORCE", FIELD_TYPES="STRING")
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError):
        raise StudyError(f"{path.name}: this is not a spreadsheet that can be read; save the table as CSV") from None
    named = _named(path, [str(column).strip() for column in frame.columns], required)
    rows = [dict(zip(named, map(_cell, row), strict=True)) for row in frame.itertuples(index=False, name=None)]
    table = Table(path, named, rows, list(range(2, len(rows) + 2)))
    table.require(*required)
    if not rows:
        raise StudyError(f"{path.name}: there is a header but there are no rows below it; add them")
    return table


def as_table(source: object) -> Table:
    """Take what is in memory as a table of text: a data frame of pandas or polars, or a list of (winner, loser) pairs.

    >>> as_table([(3, 1), (2, 3)]).rows
    [{'winner': '3', 'loser': '1'}, {'winner': '2', 'loser': '3'}]
    """
    if hasattr(source, "to_dicts"):  # polars
        rows = source.to_dicts()
    elif hasattr(source, "to_dict"):  # pandas
        rows = source.to_dict("records")
    else:
        try:
            rows = [{"winner": winner, "loser": loser} for winner, loser in source]  # type: ignore[attr-defined]
        except (TypeError, ValueError):
            raise StudyError("give a file, a data frame, or a list of (winner, loser) pairs") from None
    if not rows:
        raise StudyError("the table has no rows; there is nothing to read")
    texts = [{str(column): _cell(value) for column, value in row.items()} for row in rows]
    return Table(Path("the table"), tuple(texts[0]), texts, list(range(1, len(texts) + 1)))


def _cell(value: object) -> str:
    """Write a value as a CSV file would have it; whole numbers have no decimals, and what is missing is empty."""
    if value is None or value != value or str(value) in ("NaT", "<NA>"):  # noqa: PLR0124 - nan is not itself
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def read_number(text: str) -> float:
    """Read a number as people write it, with a decimal point or a decimal comma.

    >>> read_number("3.5"), read_number("3,5"), read_number("1.234,5"), read_number("1,234.5")
    (3.5, 3.5, 1234.5, 1234.5)
    """
    if "," in text and "." in text:
        thousands, decimal = (",", ".") if text.rfind(".") > text.rfind(",") else (".", ",")
        text = text.replace(thousands, "").replace(decimal, ".")
    return float(text.replace(",", "."))


def defused(value: object) -> str:
    """Put an apostrophe in front of anything a spreadsheet would take for a formula; numbers stay as they are.

    >>> [defused(each) for each in ("=A1", "-2.5", "-a", None, "@x", "Castle", -1.5e-05)]
    ["'=A1", '-2.5', "'-a", '', "'@x", 'Castle', '-1.5e-05']
    """
    text = "" if value is None else str(value)
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def undefused(cell: str) -> str:
    """Remove the apostrophe that `defused` put in front of a cell, and no other.

    >>> [undefused(each) for each in ("'=A1", "''=A1", "'-2.5", "'s-Hertogenbosch")]
    ['=A1', "'=A1", "'-2.5", "'s-Hertogenbosch"]
    """
    return cell[1:] if cell.startswith("'") and defused(cell[1:]) == cell else cell


def csv_text(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    r"""Write a CSV table whose cells no spreadsheet runs as formulas; `read_table` reads it.

    >>> csv_text(("reason", "n"), [["=1+1", -2], ["a, b", None]])
    'reason,n\n\'=1+1,-2\n"a, b",\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([defused(cell) for cell in row] for row in rows)
    return text.getvalue()


def did_you_mean(word: str, known: Collection[str]) -> str:
    """Return `` (did you mean '…'?)`` with the known word closest to `word`, ignoring case, or nothing.

    >>> did_you_mean("winer", ["winner", "loser"])
    " (did you mean 'winner'?)"
    >>> did_you_mean("x", ["winner", "loser"])
    ''
    """
    by_folded = {each.casefold(): each for each in known}
    nearest = difflib.get_close_matches(word.casefold(), by_folded, n=1)
    return f" (did you mean {by_folded[nearest[0]]!r}?)" if nearest else ""


def check_known(what: str, word: str, known: Collection[str], field: str | None = None) -> None:
    """Raise a `StudyError` unless a word is one of those known.

    >>> check_known("prior", "cat", ["car", "matern32"])
    Traceback (most recent call last):
    judgemap.errors.StudyError: there is no prior 'cat' (did you mean 'car'?); choose one of 'car', 'matern32'
    """
    if word not in known:
        hint = did_you_mean(word, known)
        raise StudyError(f"there is no {what} {word!r}{hint}; choose one of {quoted(known)}", field)


def quoted(words: Collection[str], most: int = 20) -> str:
    """List words for a sentence; beyond `most`, say how many were left out.

    >>> quoted(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(word) for word in list(words)[:most])
    return f"{shown} and {len(words) - most:,} more" if len(words) > most else shown


def _text(path: Path) -> str:
    if path.is_dir():
        raise StudyError(f"{path}: this is a folder; name a CSV file in it")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise StudyError(f"{path}: there is no such file; check its name and folder") from None
    except (OSError, ValueError) as error:
        raise StudyError(f"{path}: the file cannot be read ({error}); check its name and permissions") from None
    if data.startswith(b"PK\x03\x04"):
        raise StudyError(f"{path.name}: this is a spreadsheet or a zip file; save the table as CSV")
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if b"\0" in data and not wide:
        raise StudyError(f"{path.name}: this is not a text file; save the table as CSV")
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StudyError(f"{path.name} line {line}: the text is not in UTF-8; save the table as 'CSV UTF-8'") from None
    if not text.strip():
        raise StudyError(f"{path.name}: the file is empty; it needs a header and rows")
    return text


def _fit(header: str, delimiter: str, required: Sequence[str]) -> tuple[int, int]:
    """Rate how well a delimiter fits the header: how many required columns it gives, then how many columns."""
    cells = [cell.strip() for cell in next(csv.reader([header], delimiter=delimiter))]
    return len(set(cells) & set(required)), len(cells)


def _named(path: Path, columns: Sequence[str], required: Sequence[str]) -> tuple[str, ...]:
    """Check that named columns have different names, and that there is more than one if several are required."""
    named = tuple(column for column in columns if column)
    if len(named) == 1 < len(required):
        raise StudyError(
            f"{path.name}: there is only one column, {named[0]!r}, where {quoted(required)} are needed; "
            "separate the columns by commas, semicolons or tabs"
        )
    if repeated := [column for column in named if named.count(column) > 1]:
        raise StudyError(f"{path.name}: the column {repeated[0]!r} appears more than once; rename one of them")
    return named


def _records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each record and the line it begins on, skipping blank records."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield line, cells
            # A record can span several lines.
            line = reader.line_num + 1
    except csv.Error as error:
        raise StudyError(
            f"{path.name} line {line}: the row cannot be read ({error}); check for a quotation mark left open"
        ) from None
