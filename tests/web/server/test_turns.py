"""Judges are not kept waiting by those who read or write a lot; what was removed is gone from SQLite's files."""

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest
from django.db import connection, connections

from judgemap.errors import StudyError
from judgemap.web.people.inviting import studies_overview
from judgemap.web.server import database
from judgemap.web.server.backup import snapshot
from judgemap.web.settings import read_database
from judgemap.web.studies import editing, making
from judgemap.web.studies.models import Area, Edge, Study


@pytest.fixture
def file_database(django_db_blocker, tmp_path):
    """A database in a file, opened as the server opens its own, and the file's path."""
    connections.databases["file"] = {**connections.databases["default"], **read_database("", tmp_path)}
    with django_db_blocker.unblock():
        with connections["file"].cursor() as cursor:
            cursor.execute("CREATE TABLE answer (reason text)")
        yield tmp_path / "judgemap.sqlite3"
        connections["file"].close()
    del connections["file"], connections.databases["file"]


def test_others_write_while_a_snapshot_is_read(file_database):
    with snapshot("file"), connections["file"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM answer")
        with closing(sqlite3.connect(file_database, timeout=0)) as judge:
            judge.execute("INSERT INTO answer VALUES ('left')")
            judge.commit()
        cursor.execute("SELECT count(*) FROM answer")
        assert cursor.fetchone() == (0,)
    assert connections["file"].transaction_mode == "IMMEDIATE"


@pytest.mark.django_db(transaction=True)
def test_a_study_is_written_in_turns_and_seen_when_it_is_whole(areas, definition, monkeypatch):
    seen = []

    def look(seconds: float) -> None:
        seen.append((connection.in_atomic_block, Area.objects.count(), Edge.objects.count(), studies_overview()))
        with pytest.raises(StudyError, match="no study"):
            editing.find_study("wards")

    monkeypatch.setattr(database, "BYTES_OF_A_TURN", 5 * max(len(scene) for scene in making.draw_areas(areas).scenes))
    monkeypatch.setattr(database, "_rest", look)
    study = making.create_study(definition, areas)
    assert len(seen) >= 4
    assert all(turn[0] is False and turn[3] == [] for turn in seen)
    assert 0 < seen[0][1] < len(areas)
    assert editing.find_study("wards") == study


def test_keys_are_looked_up_once_however_many_turns_it_takes(study, django_assert_num_queries, monkeypatch):
    """Asking again in every turn made the time grow with the square of the answers."""
    edges = Edge.objects.filter(study=study)
    turns_needed = -(-edges.count() // 4)
    monkeypatch.setattr(database, "MOST_TIMES", 1)
    with django_assert_num_queries(turns_needed + 2):
        database.delete_in_turns(edges, at_once=4, alone=True)
    assert not edges.exists()


def test_what_a_killed_process_left_is_removed_by_the_next(areas, definition, monkeypatch, db):
    def killed(seconds: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(database, "_rest", killed)
        with pytest.raises(KeyboardInterrupt):
            making.create_study(definition, areas)
    assert (Study.objects.count(), Area.objects.count()) == (1, len(areas))
    Study.objects.update(created_at=Study.objects.get().created_at - timedelta(hours=2))
    study = making.create_study(definition, areas)
    assert (study.slug, Study.objects.count(), Area.objects.count()) == ("wards", 1, len(areas))


def test_a_design_made_while_somebody_else_edits_is_made_again(study, edit, monkeypatch):
    made = []
    monkeypatch.setattr(editing, "prepare_design", lambda name, graph, asked: made.append(graph) or None)
    stale = editing.find_study(study.slug)
    edit(title="Wards, again")
    first, last = study.areas.get(position=0), study.areas.get(position=15)
    assert editing.change_edge(stale, first, last).added_in == 3
    assert [len(graph.edges) for graph in made] == [24, 25, 25]


WORDS = b"a reason that was typed in confidence"


@pytest.fixture
def erased(file_database):
    """The database, with a reason in it that was removed since."""
    with connections["file"].cursor() as cursor:
        cursor.execute("INSERT INTO answer VALUES (%s)", [WORDS.decode()])
        cursor.execute("DELETE FROM answer")
    return file_database


def kept(database) -> dict[str, bool]:
    """Say of each of its files whether it still has the words."""
    return {path.name.removeprefix(database.name): WORDS in path.read_bytes() for path in database.parent.iterdir()}


def test_an_emptied_log_has_no_trace_of_what_was_removed(erased):
    assert kept(erased)["-wal"]
    assert database.empty_log("file")
    assert not any(kept(erased).values())


def test_a_reader_puts_it_off(erased, monkeypatch):
    monkeypatch.setattr(database, "PATIENCE_MS", 1)
    with closing(sqlite3.connect(erased)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM answer").fetchone()
        with connections["file"].cursor() as cursor:
            cursor.execute("INSERT INTO answer VALUES ('later')")
        assert not database.empty_log("file")
    assert database.empty_log("file")
    assert not any(kept(erased).values())


def test_a_withdrawal_empties_the_log(judge, monkeypatch, django_capture_on_commit_callbacks):
    if connections["default"].vendor != "sqlite":
        pytest.skip("PostgreSQL cleans up by itself")
    tries = []
    monkeypatch.setattr(database, "empty_log", lambda: tries.append(1) or len(tries) == 3)
    monkeypatch.setattr(database, "SECONDS_BETWEEN_TRIES", 0)
    monkeypatch.setattr(database.threading, "Thread", Now)
    with django_capture_on_commit_callbacks(execute=True):
        judge.withdraw()
    assert len(tries) == 3


class Now:
    """A thread that does its work at once."""

    def __init__(self, target, **_):
        self.start = target
