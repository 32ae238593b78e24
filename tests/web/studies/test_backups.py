"""Backups by schedule: drills, rotation, and what becomes of those with answers that had to go."""

import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.judge.models import Answer
from judgemap.web.people import retention
from judgemap.web.server import backup
from judgemap.web.server.backup import Key, Lock, is_encrypted, make_key
from judgemap.web.studies import backups, making
from judgemap.web.studies.backups import DELETED, WRITTEN, kept, make_backup, stale_backups
from judgemap.web.studies.editing import set_end
from judgemap.web.studies.log import verify_log
from judgemap.web.studies.models import Act, BaseMap, BaseMapTile, Study

pytestmark = pytest.mark.usefixtures("scratch")
WORDS = "nine plain words that nobody else would think of"


@pytest.fixture(autouse=True)
def _folder(tmp_path):
    (tmp_path / "backups").mkdir()
    backups._TRY_AGAIN.clear()


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
    told = {"file": str(path), "encrypted": "no", "recipients": [], "verified": True, "deleted": []}
    assert act.detail == told | {key: act.detail[key] for key in ("began", "entry", "host")}
    assert act.detail["entry"] == act.number - 1
    assert verify_log() == []
    assert list(path.parent.iterdir()) == [path]
    assert list((tmp_path / "data").iterdir()) == []


def test_an_encrypted_backup_leaves_nothing_plain_behind(judge, tmp_path):
    judge.answer("left")
    recipient = make_key(tmp_path / "key")
    path = make_backup(tmp_path / "backups", Lock((recipient,)))
    assert path.suffixes == [".sqlite3", ".age"]
    assert is_encrypted(path)
    assert answers_in(path, Key(tmp_path / "key")) == 1
    assert list(path.parent.iterdir()) == [path]
    assert list((tmp_path / "data").iterdir()) == []


def test_a_folder_keeps_days_and_weeks_and_what_is_not_ours(study, tmp_path, later):
    folder = tmp_path / "backups"
    (folder / "judgemap-notes.txt").write_text("ours to keep")
    for _ in range(12):
        make_backup(folder, daily=3, weekly=2)
        later(1)
    backups = sorted(path.name for path in folder.glob("*.sqlite3"))
    assert len(backups) in (3, 4)
    assert len({name[:17] for name in backups}) == len(backups)
    assert (folder / "judgemap-notes.txt").exists()


@pytest.mark.parametrize(("daily", "weekly", "count"), [(1, 0, 1), (7, 0, 7), (7, 4, 10), (1, 52, 14)])
def test_the_rotation(daily, weekly, count):
    moments = [datetime(2026, 8, 30, 2, tzinfo=UTC) + timedelta(hours=12 * each) for each in range(183)]
    chosen = kept(moments, daily, weekly)
    assert len(chosen) == count
    assert max(moments) in chosen


def test_backups_with_answers_that_had_to_go_go_too(owned, judge, tmp_path, later):
    judge.answer("left")
    set_end(owned, timezone.now().date() + timedelta(days=3))
    folder = tmp_path / "backups"
    old = [make_backup(folder)]
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
    gone = Act.objects.filter(study=owned, verb=DELETED).values_list("detail__deleted", flat=True)
    assert sorted(gone) == sorted([str(path)] for path in old)
    lines = list(retention.retention_lines(owned))
    assert f"  {old[0]} had them, and was deleted" in lines
    assert verify_log() == []


def test_the_new_backup_is_encrypted_to_the_same_key(owned, judge, tmp_path, later):
    judge.answer("left")
    set_end(owned, timezone.now().date())
    make_backup(tmp_path / "backups", Lock((make_key(tmp_path / "key"),)))
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


def test_backups_from_before_the_study_or_after_the_removal_stay(tmp_path, later, areas, definition):
    before = make_backup(tmp_path / "before.sqlite3")
    set_end(making.create_study(definition, areas), timezone.now().date())
    later(1)
    retention.keep_promises()
    after = make_backup(tmp_path / "after.sqlite3")
    assert before.exists()
    assert after.exists()


@pytest.mark.parametrize("hidden", [False, True])
def test_a_backup_that_began_before_the_end_of_a_removal_goes(owned, judge, tmp_path, later, monkeypatch, hidden):
    judge.answer("left")
    set_end(owned, timezone.now().date())
    path, close = tmp_path / "backups" / "slow.sqlite3", Lock.close
    if hidden:
        later(1)
        retention.remove_due()

    def slowly(lock, source, target):
        monkeypatch.setattr(Lock, "close", close)
        later(1)
        retention.keep_promises()
        close(lock, source, target)

    monkeypatch.setattr(Lock, "close", slowly)
    make_backup(path)
    assert not Answer.objects.exists()
    assert not path.exists()
    (fresh,) = path.parent.iterdir()
    assert answers_in(fresh) == 0


def test_a_backup_written_while_hidden_answers_were_being_deleted_goes(owned, judge, tmp_path, later):
    judge.answer("left")
    set_end(owned, timezone.now().date())
    later(1)
    retention.remove_due()
    path = make_backup(tmp_path / "backups" / "between.sqlite3")
    assert answers_in(path) == 1
    retention.keep_promises()
    assert not path.exists()


def test_a_backup_on_another_machine_goes_there(owned, judge, tmp_path, later, monkeypatch):
    judge.answer("left")
    set_end(owned, timezone.now().date())
    monkeypatch.setattr(backups, "gethostname", lambda: "backup-machine")
    path = make_backup(tmp_path / "backups" / "there.sqlite3")
    away = path.rename(tmp_path / "away")
    monkeypatch.setattr(backups, "gethostname", lambda: "worker-machine")
    later(1)
    retention.keep_promises()
    assert f"{path} on backup-machine" in str(retention.certificate_of(owned).detail)
    assert f"  {path} on backup-machine still has them: delete it" in list(retention.retention_lines(owned))
    away.rename(path)
    monkeypatch.setattr(backups, "gethostname", lambda: "backup-machine")
    retention.keep_promises()
    assert not path.exists()
    assert stale_backups(owned) == []


def test_a_file_of_the_same_name_on_two_machines(owned, judge, tmp_path, later, monkeypatch):
    """The one that this machine wrote after the removal stays, though another wrote its namesake before."""
    judge.answer("left")
    set_end(owned, timezone.now().date())
    monkeypatch.setattr(backups, "gethostname", lambda: "another")
    path = make_backup(tmp_path / "backups" / "copy.sqlite3")
    path.unlink()
    monkeypatch.setattr(backups, "gethostname", lambda: "this")
    later(1)
    retention.keep_promises()
    make_backup(path)
    retention.keep_promises()
    assert path.exists()
    assert [str(each) for each in stale_backups(owned)] == [f"{path} on another"]


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
    with backup.opened(made) as (copy, _):
        tile = BaseMapTile.objects.using(copy.alias).get(base_map=Study.objects.using(copy.alias).get().base_map_id)
        assert bytes(tile.content) == b"streets"
