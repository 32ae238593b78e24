"""Acts of many threads in one commit: each succeeds or fails by itself, and none is told before it is safe."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection, connections

from judgemap.web.judge.fastpath import in_one_commit
from judgemap.web.studies.models import Act

pytestmark = pytest.mark.django_db(transaction=True)


@in_one_commit
def write(verb: str) -> str:
    Act.objects.create(verb=verb)
    if verb.startswith("bad"):
        raise ValueError(verb)
    return verb


def at_once(acts: list) -> list:
    """Run each act in a thread of its own, all let go at the same moment; return results and errors."""
    gate = threading.Barrier(len(acts))

    def run(act):
        gate.wait()
        try:
            return act()
        except Exception as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def test_every_act_gets_its_own_result_and_errors_undo_only_themselves():
    verbs = [f"good {i}" if i % 3 else f"bad {i}" for i in range(24)]
    results = at_once([lambda verb=verb: write(verb) for verb in verbs])
    for verb, result in zip(verbs, results, strict=True):
        assert result == verb or (verb.startswith("bad") and str(result) == verb)
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
