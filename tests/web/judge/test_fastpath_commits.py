"""Acts of many threads in one commit: each succeeds or fails on its own, and none is acknowledged before it is safe."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DatabaseError, IntegrityError, OperationalError, connection, connections

from judgemap.web.judge import fastpath
from judgemap.web.judge.fastpath import in_one_commit
from judgemap.web.judge.place import Refused
from judgemap.web.studies.models import Act

pytestmark = pytest.mark.django_db(transaction=True)


@in_one_commit
def write(verb: str) -> str:
    Act.objects.create(verb=verb)
    if verb.startswith("bad"):
        raise Refused("too fast") if verb.endswith("0") else IntegrityError(verb)
    return verb


def at_once(acts: list) -> list:
    """Run each act in its own thread, all released at the same moment; return results and errors."""
    gate = threading.Barrier(len(acts))

    def run(act):
        gate.wait()
        return run_alone(act)

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def test_every_act_gets_its_own_result_and_errors_undo_only_themselves():
    verbs = [f"good {i}" if i % 3 else f"bad {i}" for i in range(24)]
    results = at_once([lambda verb=verb: write(verb) for verb in verbs])
    for verb, result in zip(verbs, results, strict=True):
        assert result == verb or (verb.startswith("bad") and str(result) in (verb, "too fast"))
    assert set(Act.objects.values_list("verb", flat=True)) == {verb for verb in verbs if verb.startswith("good")}


def test_a_commit_that_fails_is_told_to_everybody(monkeypatch):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL commits for each by itself")

    def fail(self):
        raise OperationalError("the disk is full")

    monkeypatch.setattr(type(connections["default"]), "_commit", fail)
    results = at_once([lambda i=i: write(f"good {i}") for i in range(6)])
    assert {str(result) for result in results} == {"the disk is full"}
    monkeypatch.undo()
    assert not Act.objects.exists()
    assert write("good again") == "good again"


@in_one_commit
def end_the_transaction() -> None:
    """Make SQLite undo the whole transaction by itself, as it does after a bad read or on a full disk."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT OR ROLLBACK INTO django_migrations SELECT * FROM django_migrations")


def in_one_batch(*acts) -> list:
    """Run acts in threads that all wait until the disk is free, so that they share a transaction, in this order."""
    with ThreadPoolExecutor(len(acts)) as pool:
        with fastpath._DISK:
            running = []
            for number, act in enumerate(acts, start=1):
                running.append(pool.submit(run_alone, act))
                while len(fastpath._WAITING) < number:
                    time.sleep(0.001)
        return [each.result() for each in running]


def run_alone(act):
    try:
        return act()
    except BaseException as error:
        return error
    finally:
        connections.close_all()


def test_nobody_is_told_of_success_when_sqlite_undoes_the_transaction():
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL commits for each by itself")
    results = in_one_batch(lambda: write("good 1"), end_the_transaction, lambda: write("good 2"))
    assert all(isinstance(each, DatabaseError) for each in results), results
    assert not Act.objects.exists()
    assert write("good again") == "good again"


def test_nobody_is_told_of_success_when_the_leader_is_interrupted():
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL commits for each by itself")

    @in_one_commit
    def interrupted() -> None:
        raise KeyboardInterrupt

    results = in_one_batch(lambda: write("good 1"), interrupted, lambda: write("good 2"))
    assert all(isinstance(each, KeyboardInterrupt) for each in results), results
    assert not Act.objects.exists()
    assert write("good again") == "good again"
