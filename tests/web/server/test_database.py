"""What was removed is gone from SQLite's files, log and all."""

import sqlite3
from contextlib import closing

import pytest
from django.db import connections

from judgemap.web.server import database
from judgemap.web.settings import read_database

WORDS = b"a reason that was typed in confidence"


@pytest.fixture
def file_database(tmp_path):
    """A SQLite file as the server opens it, with a reason in it that was removed since."""
    connections.databases["file"] = {**connections.databases["default"], **read_database("", tmp_path)}
    with connections["file"].cursor() as cursor:
        cursor.execute("CREATE TABLE answer (reason text)")
        cursor.execute("INSERT INTO answer VALUES (%s)", [WORDS.decode()])
        cursor.execute("DELETE FROM answer")
    yield tmp_path
    connections["file"].close()
    del connections["file"], connections.databases["file"]


def kept(folder) -> dict[str, bool]:
    """Say of each file whether it still has the words."""
    return {path.name.removeprefix("judgemap.sqlite3"): WORDS in path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def _unblocked(django_db_blocker):
    with django_db_blocker.unblock():
        yield


@pytest.mark.usefixtures("_unblocked")
def test_an_emptied_log_has_no_trace_of_what_was_removed(file_database):
    assert kept(file_database)["-wal"]
    assert database.empty_log("file")
    assert not any(kept(file_database).values())


@pytest.mark.usefixtures("_unblocked")
def test_a_reader_puts_it_off(file_database, monkeypatch):
    monkeypatch.setattr(database, "PATIENCE_MS", 1)
    with closing(sqlite3.connect(file_database / "judgemap.sqlite3")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM answer").fetchone()
        with connections["file"].cursor() as cursor:
            cursor.execute("INSERT INTO answer VALUES ('later')")
        assert not database.empty_log("file")
    assert database.empty_log("file")
    assert not any(kept(file_database).values())


def test_a_withdrawal_empties_the_log(judge, client, monkeypatch, django_capture_on_commit_callbacks):
    if connections["default"].vendor != "sqlite":
        pytest.skip("PostgreSQL cleans up by itself")
    tries = []
    monkeypatch.setattr(database, "empty_log", lambda: tries.append(1) or len(tries) == 3)
    monkeypatch.setattr(database, "SECONDS_BETWEEN_TRIES", 0)
    monkeypatch.setattr(database.threading, "Thread", Now)
    code = judge.get("link").text.partition('class="code">')[2].partition("<")[0]
    with django_capture_on_commit_callbacks(execute=True):
        client.post("/withdraw", {"code": code})
    assert len(tries) == 3


class Now:
    """A thread that does its work at once."""

    def __init__(self, target, **_):
        self.start = target
