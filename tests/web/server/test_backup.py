"""A backup is checked in every way before anything is touched: damaged, edited, cut short, or of a later version."""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import call_command

from judgemap.errors import StudyError
from judgemap.web.accounts.actions import check_key
from judgemap.web.accounts.models import ServerKey
from judgemap.web.judge import joining
from judgemap.web.judge.models import Answer, Judge
from judgemap.web.server import backup
from judgemap.web.server.backup import Key, make_key
from judgemap.web.studies.models import Study

pytestmark = pytest.mark.usefixtures("scratch")


@pytest.fixture
def made(scratch, judge, tmp_path):
    """A backup of a study with a judge and two answers, from a server that has started."""
    check_key()
    for outcome in ("left", "tie"):
        judge.answer(outcome)
    backup.back_up(tmp_path / "made.sqlite3")
    return tmp_path / "made.sqlite3"


def refusal(path: Path, key: Key | None = None) -> str:
    before = path.read_bytes()
    with pytest.raises(StudyError) as refused, backup.opened(path, key or Key()):
        pass
    assert path.read_bytes() == before
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


def sealed_again(path: Path, folder: Path, *statements: str) -> Path:
    """Change a copy of a backup with SQL, past the database's own rules, and seal it as if nothing had happened."""
    copy = Path(shutil.copy(path, folder / "changed.sqlite3"))
    backup._break_seal(copy, copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as database:
        database.execute("PRAGMA ignore_check_constraints = ON")
        database.execute("PRAGMA writable_schema = ON")
        for each in statements:
            database.execute(each)
    text = backup.MARK + b'{"began": "2026-11-17T00:00:00+00:00", "entry": 1} '
    with copy.open("ab") as file:
        file.write(text + backup._digest(copy, file.tell(), text) + b"\n")
    return copy


def test_a_backup_is_restored_whole_and_only_into_an_empty_database(made):
    before = backup.fingerprints("default")
    with backup.opened(made) as (copy, seal):
        with pytest.raises(StudyError, match="the database is not empty"):
            backup.restore(made, copy)
        call_command("flush", interactive=False, verbosity=0)
        backup.restore(made, copy)
    assert not ServerKey.objects.exists(), "the next server has its own"
    check_key()
    assert backup.fingerprints("default") == before
    assert seal.entry > 0
    joining.invite(Study.objects.get(), 1)  # the next keys are free


def test_every_cut_and_every_changed_byte_breaks_the_seal(made, tmp_path):
    """In the header, the tables, unused parts of pages and the seal alike."""
    whole, rng, path = made.read_bytes(), random.Random(1), tmp_path / "changed.sqlite3"
    seal = whole.rindex(backup.MARK)

    def check(content: bytes) -> None:
        path.write_bytes(content)
        with pytest.raises(StudyError, match="is damaged"):
            backup._break_seal(path, path)

    for size in {0, 1, 15, 16, 100, 4096, len(whole) // 2, len(whole) - 4096, *range(seal - 20, len(whole))}:
        check(whole[:size])
    check(whole + b"\0")
    places = [*range(100), *rng.sample(range(100, seal), 150), *rng.sample(range(seal, len(whole)), 60)]
    for place in places:
        for byte in {whole[place] ^ 1 << rng.randrange(8), 0} - {whole[place]}:
            check(whole[:place] + bytes([byte]) + whole[place + 1 :])
    for begin, end in ((0, 4096), (4096, 8192), (seal, len(whole))):
        check(whole[:begin] + bytes(end - begin) + whole[end:])
    path.write_bytes(whole[:-4096])
    assert "its end is missing" in refusal(path)
    path.write_bytes(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])
    assert "does not match its seal" in refusal(path)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("DROP TABLE judge_unknownarea", "its table judge_unknownarea is missing"),
        ("DROP TABLE django_migrations", "no such table"),
        ("ALTER TABLE studies_study RENAME COLUMN outline TO shape", "its column outline of studies_study is missing"),
        ("DELETE FROM judge_pair", "orphaned rows"),
        ("UPDATE studies_study SET status = 'gone'", "its pages are inconsistent"),
        ("INSERT INTO django_migrations (app, name, applied) VALUES ('judge', '9999_later', '')", "a later version"),
    ],
)
def test_a_database_that_was_wrong_when_it_was_sealed(made, tmp_path, statement, why):
    assert why in refusal(sealed_again(made, tmp_path, statement))


def test_rows_that_only_other_rules_allow_are_not_restored(made, tmp_path):
    looser = """UPDATE sqlite_master SET sql = replace(sql, '''skipped''', '''skipped'', ''both''')
        WHERE name = 'judge_answer'"""
    either = "UPDATE judge_answer SET outcome = 'both', unknown_side = ''"
    path = sealed_again(made, tmp_path, looser, "DROP TRIGGER IF EXISTS answer_append_only", either)
    call_command("flush", interactive=False, verbosity=0)
    with backup.opened(path) as (copy, _), pytest.raises(StudyError, match=r"is damaged .*answer_outcome"):
        backup.restore(path, copy)
    assert not Study.objects.exists()
    assert not Judge.objects.exists()


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0", bytes(5000), b"age-encryption.org/v1\n"])
def test_a_file_that_is_no_backup(tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    make_key(tmp_path / "key")
    assert "other" in refusal(tmp_path / "other", Key(tmp_path / "key"))


def test_a_sqlite_database_that_is_no_backup(tmp_path):
    with closing(sqlite3.connect(tmp_path / "other")) as database:
        database.execute("CREATE TABLE judge_answer (outcome text)")
    assert "its end is missing" in refusal(tmp_path / "other")


def test_a_copy_that_lost_a_row_is_not_written(judge, tmp_path, monkeypatch):
    judge.answer("left")
    read = backup._rows
    monkeypatch.setattr(
        backup, "_rows", lambda model, using: () if (model, using) != (Answer, "default") else read(model, using)
    )
    with pytest.raises(StudyError, match=r"does not match the database \(judge\.Answer\)"):
        backup.back_up(tmp_path / "copy.sqlite3", verify=True)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["data"]


def test_fingerprints_tell_databases_apart(judge):
    before = backup.fingerprints("default")
    judge.answer("left")
    after = backup.fingerprints("default")
    changes = {name for name in before if before[name] != after[name]}
    assert {"judge.Answer", "judge.Pair", "judge.Judge"} <= changes
    assert not changes & {"studies.Study", "studies.Area", "studies.Edge", "accounts.Researcher"}


def test_a_file_system_without_nameless_files(judge, tmp_path, monkeypatch):
    """There, what a dead process left goes with the next backup, and what a living one holds stays."""
    monkeypatch.delattr(backup.os, "O_TMPFILE")
    (tmp_path / f"{backup.PART}dead").write_bytes(b"SQLite format 3")
    backup.back_up(tmp_path / "copy.sqlite3")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.sqlite3", "data"]
    with backup.opened(tmp_path / "copy.sqlite3"):
        assert list((tmp_path / "data").iterdir()) == []
