"""The export of the comparative-judgement interface (HiddenHarmsHub): a zip file of its database tables.

This reads ``comparison`` and ``item``, as written by version 2 of the interface: in the folder ``database_tables``, as
CSV or TSV, with ``participant_id`` or, before that was renamed, ``user_id``. The table of participants, which may name
people, is never opened.
"""

import tempfile
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import Literal

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import Table, quoted, read_table
from judgemap.study.exchange import Answer, Imported, guess_columns, read_answers

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
