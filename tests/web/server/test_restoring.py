"""A backup is checked in every way before anything is touched: damaged, edited, cut short, or of a later version."""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from judgemap.errors import StudyError
from judgemap.web.server.copying import fingerprints
from judgemap.web.server.restoring import FIRST_SEALED, checked_copy
from judgemap.web.server.seal import SEAL, seal

RELEASE = Path(__file__).parents[2] / "earlier" / "0.1.0"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A backup that version 0.1.0 made of studies, judges, answers and fits, and the same as one that has a seal."""
    folder = tmp_path_factory.mktemp("made")
    shutil.unpack_archive(RELEASE / "server.tar.xz", folder, filter="data")
    later = "INSERT INTO django_migrations (app, name, applied) VALUES ('{}', '{}', '')".format(*FIRST_SEALED)  # noqa: S608
    changed(folder / "backup.sqlite3", folder, later).rename(folder / "sealed.sqlite3")
    seal(folder / "sealed.sqlite3")
    return folder


@pytest.fixture
def _unblocked(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock():
        yield


pytestmark = pytest.mark.usefixtures("_unblocked")


def changed(source: Path, folder: Path, *statements: str) -> Path:
    """Copy a backup, and change the copy with SQL, past the database's own rules."""
    copy = Path(shutil.copy(source, folder / "changed.sqlite3"))
    with closing(sqlite3.connect(copy, isolation_level=None)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute("PRAGMA writable_schema = ON")
        for each in statements:
            database.execute(each)
    return copy


def refusal(path: Path) -> str:
    before = path.read_bytes()
    with pytest.raises(StudyError) as refused, checked_copy(path):
        pass
    assert path.read_bytes() == before
    return str(refused.value)


@pytest.mark.slow  # makes databases by all migrations
def test_a_sound_backup_is_copied_whole(made, tmp_path):
    again = tmp_path / "again.sqlite3"
    with checked_copy(made / "backup.sqlite3") as copy:
        shutil.copy(copy, again)
    seal(again)
    with checked_copy(again) as copy, closing(sqlite3.connect(copy)) as fresh:
        fresh.execute("ATTACH ? AS again", [str(again)])
        tables = [name for (name,) in fresh.execute("SELECT name FROM again.sqlite_master WHERE type = 'table'")]
        for name in set(tables) - {SEAL, "django_migrations"}:
            ours, theirs = (list(fresh.execute(f"SELECT * FROM {each}.{name}")) for each in ("main", "again"))  # noqa: S608
            assert ours == theirs
        assert fresh.execute("SELECT count(*) FROM judge_answer").fetchone()[0] > 50


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE judge_judge SET maximum = maximum + 1", "does not match its seal"),
        ("UPDATE studies_study SET closed_at = opened_at", "does not match its seal"),
        ("DELETE FROM judge_consent WHERE id = (SELECT max(id) FROM judge_consent)", "does not match its seal"),
        ("DROP TRIGGER answer_append_only", "does not match its seal"),
        ("DROP TABLE api_apitoken", "does not match its seal"),
        (f"DROP TABLE {SEAL}", "does not match its seal"),
        ("INSERT INTO django_migrations (app, name, applied) VALUES ('judge', '9999_later', '')", "a later version"),
    ],
)
def test_an_edited_backup_is_refused(made, tmp_path, statement, why):
    assert why in refusal(changed(made / "sealed.sqlite3", tmp_path, statement))


@pytest.mark.slow  # makes a database by all migrations for each
@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (["DROP TRIGGER answer_append_only"], "its trigger answer_append_only is missing"),
        (["DROP TABLE judge_unknownarea"], "its table judge_unknownarea is missing"),
        (["DELETE FROM judge_pair WHERE id = 1"], "orphaned rows"),
        (["UPDATE studies_study SET status = 'gone'"], "its pages are inconsistent"),
        (
            [
                """UPDATE sqlite_master SET sql = replace(sql, '''skipped''', '''skipped'', ''both''')
                WHERE name = 'judge_answer'""",
                "DROP TRIGGER answer_append_only",
                "UPDATE judge_answer SET outcome = 'both', unknown_side = '' WHERE id = 1",
                "CREATE TRIGGER answer_append_only BEFORE UPDATE ON judge_answer BEGIN SELECT 1; END",
            ],
            "CHECK constraint failed: answer_outcome",
        ),
    ],
    ids=["trigger", "table", "orphan", "status", "outcome"],
)
def test_a_damaged_backup_of_an_earlier_version_is_refused_too(made, tmp_path, statements, why):
    """It has no seal, so what counts is our own tables and rules."""
    assert why in refusal(changed(made / "backup.sqlite3", tmp_path, *statements))


def test_a_backup_that_was_cut_short_is_refused(made, tmp_path):
    whole = (made / "sealed.sqlite3").read_bytes()
    for share in (0.0, 0.001, 0.3, 0.9, 0.999):
        cut = tmp_path / "cut.sqlite3"
        cut.write_bytes(whole[: int(len(whole) * share)])
        assert "is damaged" in refusal(cut)


def test_a_flipped_bit_of_content_is_noticed(made, tmp_path):
    """In places that belong to a row; bits in unused parts of a page do not matter."""
    whole = (made / "sealed.sqlite3").read_bytes()
    words = [b"Which ward has the LOWER rate?", b"About the same, both ways", b"anna@example.org", b"MultiPolygon"]
    rng = random.Random(1)
    places = [whole.index(word) + rng.randrange(len(word)) for word in words if word in whole]
    assert len(places) >= 3
    for place in places:
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.randrange(7)
        path = tmp_path / "flipped.sqlite3"
        path.write_bytes(flipped)
        assert "is damaged" in refusal(path)


def test_fingerprints_tell_databases_apart(study, judge):
    before = fingerprints("default")
    judge.answer("left")
    after = fingerprints("default")
    changes = {name for name in before if before[name] != after[name]}
    assert {"judge.Answer", "judge.Pair", "judge.Judge"} <= changes
    assert not changes & {"studies.Study", "studies.Area", "studies.Edge", "accounts.Researcher"}
