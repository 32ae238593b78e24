"""Data from other tools: tables of comparisons with any column names, written to a folder that `judgemap fit` reads."""

import re
import shlex
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import Table, csv_text, did_you_mean, quoted, read_table
from judgemap.geo.maps import numbers_first
from judgemap.study.data.comparisons import Direction
from judgemap.study.fit.folder import new_folder

if TYPE_CHECKING:
    import geopandas

MARK = "import.md"
"""The file that distinguishes an imported folder from somebody's other files."""
FILES = (MARK, "comparisons.csv", "areas.csv", "edges.csv", "areas.geojson")
Side = Literal["first", "second"]
Cells = Mapping[str, str]

NAMES: dict[str, tuple[str, ...]] = {
    "winner": ("winner", "win", "won", "winner_id", "chosen_area"),
    "loser": ("loser", "lost", "lose", "loser_id"),
    "left": ("left", "item_1_id", "item1", "player1", "object1", "subward1", "ward1", "area1", "area_1", "item_1"),
    "right": ("right", "item_2_id", "item2", "player2", "object2", "subward2", "ward2", "area2", "area_2", "item_2"),
    "outcome": ("outcome", "result", "y"),
    "chosen": ("selected_item_id", "chosen", "selected", "choice", "selected_item"),
    "state": ("state",),
    "judge": ("judge", "user", "user_id", "participant_id", "participant", "judge_id", "rater"),
    "seconds": ("seconds", "time_taken", "duration"),
    "time": ("answered_at", "created", "time", "created_at", "timestamp"),
}
"""What each column is called in other tools, the likeliest first."""
NOTHING = ("", "NA", "NaN", "nan", "None", "NULL", "<NA>")
WORDS = {
    "left": "left", "right": "right", "tie": "tie", "tied": "tie", "draw": "tie", "equal": "tie", "2": "tie",
    "skipped": "skipped", "skip": "skipped", "unknown": "unknown",
}  # fmt: skip
"""Outcomes in other tools' words; what 0 and 1 mean depends on the tool."""


class Answer(NamedTuple):
    """A comparison as written to comparisons.csv."""

    judge: str
    left: str
    right: str
    outcome: str
    seconds: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column of a table holds what; None if the table does not have it."""

    winner: str | None = None
    loser: str | None = None
    left: str | None = None
    right: str | None = None
    outcome: str | None = None
    chosen: str | None = None
    state: str | None = None
    judge: str | None = None
    seconds: str | None = None
    time: str | None = None

    @property
    def enough(self) -> bool:
        """Whether the columns say who was compared with whom, and with what result."""
        return self.sides or (self.winner is not None and self.loser is not None)

    @property
    def sides(self) -> bool:
        """Whether the columns give two areas and which of them was chosen, not just winners and losers."""
        pair = self.left is not None and self.right is not None
        return pair and (self.outcome is not None or self.chosen is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Imported:
    """What was found in another tool's file: the areas, their neighbours if it lists them, and every comparison."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    answers: tuple[Answer, ...]
    edges: tuple[tuple[str, str], ...] = ()
    geometry: "geopandas.GeoSeries | None" = None
    winner_is: Direction | None = None
    notes: tuple[str, ...] = ()


def guess_columns(columns: Iterable[str]) -> Columns:
    """Guess what each column of a table holds, from its name."""
    # Reversed, so that the first of two columns that differ only in case wins.
    by_folded = {column.casefold(): column for column in reversed(list(columns))}
    guessed = {
        what: next((by_folded[name] for name in names if name in by_folded), None) for what, names in NAMES.items()
    }
    return Columns(**guessed)


def read_answers(rows: Sequence[Cells], columns: Columns, where: Sequence[str], ones: Side = "first") -> list[Answer]:
    """Read comparisons from the rows of a table.

    If outcomes are numbers, 2 is a tie and ``ones`` says which area an outcome of 1 stands for; 0 is the other.
    ``where`` says where each row is, for errors.
    """
    numbers = {"1": "left", "0": "right"} if ones == "first" else {"1": "right", "0": "left"}
    answers = []
    for cells, place in zip(rows, where, strict=True):
        first, second = (columns.left, columns.right) if columns.sides else (columns.winner, columns.loser)
        left, right = _cell(cells, first), _cell(cells, second)
        if not left or not right:
            raise StudyError(f"{place}: an area is missing; fill it in, or remove the row")
        if left == right:
            raise StudyError(f"{place}: {left!r} is compared with itself; correct it, or remove the row")
        if columns.sides and columns.chosen:
            outcome = _chosen(cells, columns, left, right, place)
        else:
            said = _cell(cells, columns.outcome)
            outcome = _worded(said, numbers, place) if said or columns.sides else "left"
        won = {"left": left, "right": right}.get(outcome)
        if (winner := _cell(cells, columns.winner)) and winner != won and (columns.sides or outcome == "right"):
            raise StudyError(f"{place}: the outcome is {outcome!r}, but the winner is {winner!r}; correct one of them")
        seconds, time = _cell(cells, columns.seconds), _cell(cells, columns.time)
        answers.append(Answer(_cell(cells, columns.judge), left, right, outcome, seconds, time))
    return answers


def _cell(cells: Cells, column: str | None) -> str:
    text = "" if column is None else cells[column].strip()
    return "" if text in NOTHING else text


def _chosen(cells: Cells, columns: Columns, left: str, right: str, place: str) -> str:
    """Determine the outcome from the area that was chosen, or from the state if none was."""
    chosen, state = _cell(cells, columns.chosen), _cell(cells, columns.state)
    if state and state != "selected":
        return _worded(state, {}, place)
    if not chosen:
        return "skipped"
    if chosen not in (left, right):
        raise StudyError(f"{place}: {chosen!r} was chosen, but {left!r} and {right!r} were shown; remove the row")
    return "left" if chosen == left else "right"


def _worded(text: str, numbers: dict[str, str], place: str) -> str:
    known = WORDS | numbers
    outcome = known.get(text.casefold().removesuffix(".0"))
    if outcome is None:
        raise StudyError(
            f"{place}: {text!r} is not an outcome{did_you_mean(text, known)}; it is one of {quoted(known)}"
        )
    return outcome


def import_table(path: str | Path, columns: Columns | None = None, ones: Side = "first") -> Imported:
    r"""Read a plain table of comparisons; columns that are not given are guessed from their names.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "games.csv")
    ...     _ = path.write_text("home,away,score\nAsh,Elm,1\nElm,Fir,0\n")
    ...     imported = import_table(path, Columns(left="home", right="away", outcome="score"))
    >>> imported.ids, [answer.outcome for answer in imported.answers]
    (('Ash', 'Elm', 'Fir'), ['left', 'right'])
    """
    table = read_table(path)
    given = columns or Columns()
    table.require(*(getattr(given, each.name) for each in fields(given) if getattr(given, each.name)))
    guessed = guess_columns(table.columns)
    told = replace(guessed, **{each.name: value for each in fields(given) if (value := getattr(given, each.name))})
    if given.left or given.right:
        told = replace(told, winner=given.winner, loser=given.loser)
    if not told.enough:
        raise StudyError(
            f"{table.path.name}: the columns are {quoted(table.columns)}; say which hold the winner and the loser "
            "(--winner, --loser), or the two areas and the outcome (--left, --right, --outcome or --chosen)"
        )
    answers = read_answers(table.rows, told, [table.where(row) for row in range(len(table.rows))], ones)
    ids = sorted({area for answer in answers for area in (answer.left, answer.right)}, key=numbers_first)
    used = [f"{value!r} as {each.name}" for each in fields(told) if (value := getattr(told, each.name))]
    return Imported(tuple(ids), tuple(ids), tuple(answers), notes=(f"Columns were read as: {', '.join(used)}.",))


def save_import(imported: Imported, folder: str | Path) -> str:
    """Write comparisons.csv, areas.csv, edges.csv and areas.geojson as far as known; return the next command to run."""
    folder = Path(folder)
    if len(imported.ids) < 2:
        raise StudyError("there are fewer than two areas in the comparisons; a study needs two")
    command = next_command(imported, folder)
    with new_folder(folder, FILES) as draft:
        dated = all(re.match(r"\d{4}-\d\d-\d\d", answer.time) for answer in imported.answers if answer.time)
        header = ("judge", "left", "right", "outcome", "seconds", "answered_at" if dated else "time_of_day")
        (draft / "comparisons.csv").write_text(csv_text(header, imported.answers), encoding="utf-8")
        (draft / "areas.csv").write_text(
            csv_text(("id", "name"), zip(imported.ids, imported.names, strict=True)), encoding="utf-8"
        )
        if imported.edges:
            (draft / "edges.csv").write_text(csv_text(("area_a", "area_b"), imported.edges), encoding="utf-8")
        if imported.geometry is not None:
            import geopandas

            columns = {"id": imported.ids, "name": imported.names}
            frame = geopandas.GeoDataFrame(columns, geometry=imported.geometry).to_crs("EPSG:4326")
            frame.to_file(draft / "areas.geojson", driver="GeoJSON")
        notes = "".join(f"- {note}\n" for note in all_notes(imported))
        (draft / MARK).write_text(f"# Imported\n\n{notes}\nNext:\n\n    {command}\n", encoding="utf-8")
    return command


def all_notes(imported: Imported) -> list[str]:
    """Say, in one sentence each, what was found, and what the file leaves open."""
    notes = list(imported.notes)
    if imported.winner_is is None:
        notes.append("The file does not say whether the chosen area has the lower or the higher rate: set --winner-is.")
    if not imported.edges and imported.geometry is None:
        notes.append("The file does not list neighbours: give your map with --areas for a spatial model.")
    return notes


def next_command(imported: Imported, folder: Path) -> str:
    """Return the command that fits what was imported."""
    if imported.geometry is not None:
        places = ["--areas", f"{folder / 'areas.geojson'}", "--id", "id", "--name", "name"]
        places += ["--edges", f"{folder / 'edges.csv'}"] if imported.edges else []
    elif imported.edges:
        places = ["--edges", f"{folder / 'edges.csv'}", "--area-names", f"{folder / 'areas.csv'}"]
    else:
        places = ["--area-names", f"{folder / 'areas.csv'}", "--model", "standard"]
    words = ["judgemap", "fit", f"{folder / 'comparisons.csv'}", *places, "--winner-is", imported.winner_is or "lower"]
    return shlex.join([*words, "-o", "results"])


MOST_FILES = 1000
MOST_BYTES = 200_000_000
"""The most bytes unpacked from one table."""
BAD_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, UnicodeDecodeError, OSError)
ItemId = Literal["item_id", "name", "display_name"]


def import_interface(path: str | Path, item_id: ItemId = "item_id") -> Imported:
    """Read the zip file written by the interface's ``export``; ``item_id`` is the column that identifies an area."""
    path = Path(path)
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        comparisons, items = (_table(path, name, Path(folder)) for name in ("comparison", "item"))
    comparisons.require("item_1_id", "item_2_id", "selected_item_id", "state")
    items.require("item_id", item_id)
    labels = {row["item_id"]: row[item_id] for row in items.rows}
    repeated = [label for label, times in Counter(labels.values()).items() if times > 1]
    if repeated:
        raise StudyError(f"{path.name}: several items have the {item_id} {repeated[0]!r}; choose --id item_id")
    names = tuple(row.get("display_name") or row.get("name") or row["item_id"] for row in items.rows)
    answers, notes = _answers(comparisons, labels)
    if not answers:
        raise StudyError(f"{path.name}: it has no comparisons; export it again once people have judged")
    return Imported(tuple(labels.values()), names, tuple(answers), notes=tuple(notes))


def _answers(table: Table, labels: dict[str, str]) -> tuple[list[Answer], list[str]]:
    """Read the comparisons; leave out, and report, rows that the interface stored unchecked and no judge can mean."""
    sound = [row for row in table.rows if _sound(row, labels)]
    refused = [row.get("comparison_id", "?") for row in table.rows if not _sound(row, labels)]
    read = read_answers(
        sound, guess_columns(table.columns), [f"comparison {row.get('comparison_id')}" for row in sound]
    )
    answers = [answer._replace(left=labels[answer.left], right=labels[answer.right]) for answer in read]
    note = f"{len(refused):,} comparisons name an unknown item, or the same item twice, and were left out: "
    return answers, [f"{note}{quoted(refused, most=5)}."] if refused else []


def _sound(row: dict[str, str], labels: dict[str, str]) -> bool:
    first, second, chosen = row["item_1_id"], row["item_2_id"], row["selected_item_id"]
    two = first != second and first in labels and second in labels
    return two and (row["state"] in ("tied", "skipped") or (row["state"] == "selected" and chosen in (first, second)))


def _table(path: Path, name: str, folder: Path) -> Table:
    """Unpack one table from the zip file, under our own file name, and read it."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_FILES:
                raise StudyError(f"{path.name}: the zip file holds {len(entries):,} files; an export has a dozen")
            tables = [each for each in entries if Path(each.filename).stem == name and _is_table(each.filename)]
            if not tables:
                there = quoted([each.filename for each in entries])
                raise StudyError(
                    f"{path.name}: there is no {name}.csv in it, which the interface's export should "
                    f"have; it holds {there}"
                )
            if len(tables) > 1:
                raise StudyError(f"{path.name}: there are several tables {name!r} in it; zip one export alone")
            with archive.open(tables[0]) as packed:
                data = packed.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise StudyError(f"{path}: there is no such file; check its name and folder") from None
    except BAD_ZIP as error:
        raise StudyError(f"{path.name}: the zip file cannot be opened ({error}); export it again") from None
    if len(data) > MOST_BYTES:
        raise StudyError(
            f"{path.name}: {name}.csv has more than {MOST_BYTES // 1_000_000} MB, which is too large for an export"
        )
    target = folder / f"{name}.csv"
    target.write_bytes(data)
    return read_table(target)


def _is_table(filename: str) -> bool:
    inner = Path(filename)
    return inner.suffix.casefold() in (".csv", ".tsv") and "__MACOSX" not in inner.parts
