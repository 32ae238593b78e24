"""The audit log: every act, by whom, never changed."""

import random
from copy import copy
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction

from judgemap.web.studies.editing import definition_of
from judgemap.web.studies.log import broken_links, digest_of, log_head, record, verify_log
from judgemap.web.studies.models import Act, LogHead


def test_acts_are_listed_with_who_and_when(owned, clients):
    clients["teammate"].post(f"/studies/{owned.slug}/status", {"act": "pause"})
    clients["owner"].post(f"/studies/{owned.slug}/status", {"act": "open"})
    page = clients["owner"].get(f"/studies/{owned.slug}/log").text
    assert page.index("<strong>open</strong>") < page.index("<strong>paused</strong>")
    assert "teammate@example.org" in page
    assert "the server or its command line" in page
    assert str(log_head()) in page


@pytest.mark.parametrize("change", [{"verb": "nothing"}, {"detail": {"a": 1}}, {"at": "2020-01-01T00:00:00Z"}])
def test_the_database_refuses_to_change_an_act(owned, people, change):
    with pytest.raises(DatabaseError, match="only ever added"), transaction.atomic():
        Act.objects.update(**change)


def test_an_act_is_not_given_to_somebody_else_but_outlives_its_researcher(owned, people):
    act = record(owned, people["stranger"], "tried", {})
    with pytest.raises(DatabaseError, match="only ever added"), transaction.atomic():
        Act.objects.filter(pk=act.pk).update(researcher=people["teammate"])
    people["stranger"].delete()
    act.refresh_from_db()
    assert act.researcher is None
    assert verify_log() == []


def test_the_definition_is_handed_out_as_it_is_read(owned, clients):
    import tomllib

    from judgemap.study.data.definition import parse_definition

    response = clients["owner"].get(f"/studies/{owned.slug}/study.toml")
    assert parse_definition(tomllib.loads(response.text)) == definition_of(owned)


@pytest.fixture
def acts(owned, people):
    """Twelve acts by several people on several studies."""
    for number in range(12):
        record(
            owned if number % 3 else None, people["owner"] if number % 2 else None, "tried", {"n": number, "é": [1.5]}
        )
    return list(Act.objects.order_by("number"))


def test_a_log_that_nobody_touched_is_whole(acts):
    assert verify_log() == []
    assert str(log_head()) == f"{acts[-1].number}-{acts[-1].digest}"
    assert verify_log(LogHead(number=acts[4].number, digest=acts[4].digest)) == []


def changed_act(act: Act, **changes) -> Act:
    forged = copy(act)
    for name, value in changes.items():
        setattr(forged, name, value)
    return forged


def edited(rng: random.Random, chain: list[Act]) -> list[Act]:
    """Change, remove or insert an act in one of many ways."""
    place = rng.randrange(len(chain))
    act, before = chain[place], chain[place - 1].digest if place else ""
    other = rng.choice([each for each in chain if each.number != act.number])
    forged = changed_act(act, verb="forged")
    changed = {
        "at": lambda: {"at": act.at + timedelta(microseconds=rng.choice([-1, 1, 10**9]))},
        "verb": lambda: {"verb": act.verb + rng.choice(["", " "]) + "x"},
        "detail": lambda: {"detail": {**act.detail, rng.choice(["n", "x"]): rng.random()}},
        "study": lambda: {"study_key": (act.study_key or 0) + 1},
        "researcher": lambda: {"researcher_key": (act.researcher_key or 0) + 1},
        "digest": lambda: {"digest": "".join(rng.choices("0123456789abcdef", k=64))},
        "number": lambda: {"number": act.number + rng.choice([-1, 1, 100])},
        "again": lambda: {"verb": "forged", "digest": digest_of(forged, before)},
    }
    kind = rng.choice(["remove", "cut", "insert", "append", "swap", *changed])
    if kind == "remove":
        return chain[:place] + chain[place + 1 :]
    if kind == "cut":
        return chain[:place]
    if kind == "insert":
        return [*chain[:place], changed_act(forged, digest=digest_of(forged, before)), *chain[place:]]
    if kind == "append":
        forged = changed_act(chain[-1], number=chain[-1].number + 1, verb="forged")
        return [*chain, changed_act(forged, digest=digest_of(forged, chain[-1].digest))]
    new = changed_act(other, number=act.number) if kind == "swap" else changed_act(act, **changed[kind]())
    return [*chain[:place], new, *chain[place + 1 :]]


def test_a_thousand_random_edits_are_all_found(acts):
    rng, head = random.Random(1), log_head()
    assert not list(broken_links(acts, head))
    missed = [number for number in range(1000) if not list(broken_links(edited(rng, acts), head))]
    assert missed == []


EDITS = {
    "changed": "UPDATE studies_act SET verb = 'nothing' WHERE number = 5",
    "later": "UPDATE studies_act SET at = '2020-01-01 00:00:00+00:00' WHERE number = 5",
    "given away": "UPDATE studies_act SET researcher_id = (SELECT max(id) FROM accounts_researcher) WHERE number = 6",
    "nobody's": "UPDATE studies_act SET researcher_id = NULL WHERE number = 6",
    "unhung": "UPDATE studies_act SET study_id = NULL WHERE study_id IS NOT NULL",
    "removed": "DELETE FROM studies_act WHERE number = 5",
    "cut off": "DELETE FROM studies_act WHERE number > 9",
    "slipped in": "INSERT INTO studies_act (verb, detail, at, digest) VALUES ('x', '{}', '2026-01-01 00:00:00Z', '')",
    "head": "UPDATE studies_loghead SET number = number - 1",
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_in_the_database_is_found(acts, edit):
    with connection.cursor() as cursor:
        table = " ON studies_act" if connection.vendor == "postgresql" else ""
        cursor.execute(f"DROP TRIGGER act_append_only{table}")
        cursor.execute(EDITS[edit])
    assert verify_log()


def test_a_log_rewritten_from_its_beginning_is_found_by_a_head_kept_elsewhere(acts):
    kept = log_head()
    Act.objects.all().delete()
    LogHead.objects.all().delete()
    for number in range(acts[-1].number):
        record(None, None, "forged", {"n": number})
    assert verify_log() == []
    assert verify_log(kept) == [
        f"entry {kept.number} is not the one recorded in the head you kept: the log was rewritten"
    ]
