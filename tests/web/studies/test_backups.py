"""Backups by schedule: drills, rotation, and what becomes of those with answers that had to go."""

import shutil
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.judge.models import Answer
from judgemap.web.people import retention
from judgemap.web.server import backup, restoring
from judgemap.web.server.copying import file_database
from judgemap.web.server.encryption import Key, Lock, is_encrypted, make_key
from judgemap.web.studies.backups import DELETED, WRITTEN, Rotation, back_up_into, make_backup, stale_backups
from judgemap.web.studies.keeping import set_end
from judgemap.web.studies.log import verify_log
from judgemap.web.studies.models import Act, BaseMap, BaseMapTile, Study

pytestmark = pytest.mark.django_db(transaction=True)
WORDS = "nine plain words that nobody else would think of"


@pytest.fixture(scope="module")
def empty(tmp_path_factory, django_db_setup, django_db_blocker):
    """A database that our migrations made: the test's own, where that is SQLite's, as they take a while."""
    path = tmp_path_factory.mktemp("empty") / "empty.sqlite3"
    with django_db_blocker.unblock():
        restoring._make_empty(path)
    return path


@pytest.fixture(autouse=True)
def _scratch(transactional_db, django_db_blocker, settings, tmp_path, monkeypatch, empty):
    """A data folder, and permission to open scratch databases besides the test's own."""
    settings.DATA = tmp_path / "data"
    settings.DATA.mkdir()
    (tmp_path / "backups").mkdir()
    monkeypatch.setattr(restoring, "_bring_up_to_date", lambda path: path.exists() or shutil.copy(empty, path))
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def later(monkeypatch):
    """Let some days pass."""

    def go(days: float) -> None:
        now = timezone.now() + timedelta(days=days)
        monkeypatch.setattr(timezone, "now", lambda: now)

    return go


def answers_in(path, key: Key | None = None) -> int:
    opened = path.parents[1] / "opened"
    (key or Key()).open(path, opened)
    with closing(sqlite3.connect(opened)) as database:
        return int(database.execute("SELECT count(*) FROM judge_answer").fetchone()[0])


def test_a_verified_backup_has_every_row_and_is_noted(judge, tmp_path):
    judge.answer("left")
    path = make_backup(tmp_path / "backups" / "copy.sqlite3", verify=True)
    assert answers_in(path) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    act = Act.objects.get(verb=WRITTEN)
    assert act.detail == {"file": str(path), "encrypted": "no", "recipients": [], "verified": True}
    assert verify_log() == []
    assert list(path.parent.iterdir()) == [path]
    assert list((tmp_path / "data").iterdir()) == []


def test_a_backup_that_lost_a_row_on_its_way_is_not_written(judge, tmp_path, monkeypatch):
    judge.answer("left")

    def lossy(path):
        copy_whole(path)
        with closing(sqlite3.connect(path)) as database:
            database.execute("DELETE FROM judge_answer")
            database.commit()

    copy_whole = backup._copy_database
    monkeypatch.setattr(backup, "_copy_database", lossy)
    with pytest.raises(StudyError, match=r"does not match the database \(judge\.Answer\)"):
        make_backup(tmp_path / "copy.sqlite3", verify=True)
    assert not (tmp_path / "copy.sqlite3").exists()
    assert not Act.objects.filter(verb=WRITTEN).exists()


def test_an_encrypted_backup_leaves_nothing_plain_behind(judge, tmp_path):
    judge.answer("left")
    recipient = make_key(tmp_path / "key")
    path = back_up_into(tmp_path / "backups", Rotation(), Lock((recipient,)))
    assert path.suffixes == [".sqlite3", ".age"]
    assert is_encrypted(path)
    assert answers_in(path, Key(tmp_path / "key")) == 1
    assert list(path.parent.iterdir()) == [path]
    assert list((tmp_path / "data").iterdir()) == []


def test_a_folder_keeps_days_and_weeks_and_what_is_not_ours(study, tmp_path, later):
    folder = tmp_path / "backups"
    (folder / "judgemap-notes.txt").write_text("ours to keep")
    for _ in range(12):
        back_up_into(folder, Rotation(daily=3, weekly=2))
        later(1)
    backups = sorted(path.name for path in folder.glob("*.sqlite3"))
    assert len(backups) in (3, 4)
    assert len({name[:17] for name in backups}) == len(backups)
    assert (folder / "judgemap-notes.txt").exists()


@pytest.mark.parametrize(("daily", "weekly", "kept"), [(1, 0, 1), (7, 0, 7), (7, 4, 10), (1, 52, 14)])
def test_the_rotation(daily, weekly, kept):
    moments = [datetime(2026, 8, 30, 2, tzinfo=UTC) + timedelta(hours=12 * each) for each in range(183)]
    chosen = Rotation(daily, weekly).kept(moments)
    assert len(chosen) == kept
    assert max(moments) in chosen


def test_backups_with_answers_that_had_to_go_go_too(owned, judge, tmp_path, later):
    judge.answer("left")
    set_end(owned, timezone.now().date() + timedelta(days=3))
    folder = tmp_path / "backups"
    old = [back_up_into(folder, Rotation())]
    later(1)
    old.append(make_backup(folder / "by-hand.sqlite3"))
    later(3)
    retention.keep_promises()
    owned.refresh_from_db()
    assert not Answer.objects.exists()
    assert not any(path.exists() for path in old)
    (fresh,) = folder.iterdir()
    assert answers_in(fresh) == 0
    assert stale_backups(owned) == []
    assert Act.objects.get(study=owned, verb=DELETED).detail == {"files": [str(path) for path in old]}
    lines = list(retention.retention_lines(owned))
    assert f"  {old[0]} had them, and was deleted" in lines
    assert verify_log() == []


def test_the_new_backup_is_encrypted_to_the_same_key(owned, judge, tmp_path, later):
    judge.answer("left")
    set_end(owned, timezone.now().date())
    back_up_into(tmp_path / "backups", Rotation(), Lock((make_key(tmp_path / "key"),)))
    later(1)
    retention.keep_promises()
    (fresh,) = (tmp_path / "backups").iterdir()
    assert answers_in(fresh, Key(tmp_path / "key")) == 0


@pytest.mark.usefixtures("quick_passphrases")
def test_one_with_a_passphrase_goes_with_the_next_backup(owned, judge, tmp_path, later, caplog):
    judge.answer("left")
    set_end(owned, timezone.now().date())
    old = make_backup(tmp_path / "old.sqlite3", Lock(passphrase=WORDS))
    later(1)
    retention.keep_promises()
    assert old.exists()
    assert "needs its passphrase" in caplog.text
    owned.refresh_from_db()
    assert f"  {old} still has them: delete it" in list(retention.retention_lines(owned))
    make_backup(tmp_path / "new.sqlite3", Lock(passphrase=WORDS))
    assert not old.exists()


def test_backups_from_before_the_study_or_after_the_removal_stay(owned, judge, tmp_path, later):
    set_end(owned, timezone.now().date())
    owned.created_at = timezone.now() + timedelta(minutes=1)
    owned.save()
    before = make_backup(tmp_path / "before.sqlite3")
    later(1)
    retention.keep_promises()
    after = make_backup(tmp_path / "after.sqlite3")
    assert before.exists()
    assert after.exists()


def test_a_backup_folder_that_cannot_be_written_stops_nothing(owned, judge, tmp_path, later, monkeypatch, caplog):
    judge.answer("left")
    set_end(owned, timezone.now().date())
    old = make_backup(tmp_path / "old.sqlite3")

    def fail(*_, **__):
        raise StudyError("the disk is full")

    monkeypatch.setattr("judgemap.web.studies.backups.back_up", fail)
    later(1)
    retention.keep_promises()
    assert not Answer.objects.exists()
    assert old.exists(), "it is the only backup that there is"
    assert "the disk is full" in caplog.text


def test_a_backup_has_the_base_map(study, tmp_path):
    base_map = BaseMap.objects.create(study=study, file="town.osm", credit="© Me", status="done", progress=1.0)
    BaseMapTile.objects.create(base_map=base_map, level=11, column=3, row=4, content=b"streets")
    Study.objects.update(base_map=base_map)
    made = make_backup(tmp_path / "backups" / "copy.sqlite3", verify=True)
    with restoring.checked_copy(made) as copy, file_database(copy) as alias:
        tile = BaseMapTile.objects.using(alias).get(base_map=Study.objects.using(alias).get().base_map_id)
        assert bytes(tile.content) == b"streets"
