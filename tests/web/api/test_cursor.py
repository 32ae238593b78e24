"""Answers through the cursor: all of them, once each, changed ones again, and never those of a judge who withdrew."""

from datetime import timedelta

import pytest
from django.utils import timezone

import judgemap as jm
from judgemap.web.api import cursor
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.judge.models import Answer, Pair
from judgemap.web.studies import editing

WARDS = "/wards/comparisons"


@pytest.fixture
def long(owned, edit):
    """Let judges do many pairs."""
    edit(recommended=50, maximum=50)


def collect(reader, limit=3, after="") -> tuple[list[dict], str]:
    """Read to the end, as the documentation says."""
    rows = []
    while True:
        page = reader.read(WARDS, after=after, limit=limit)
        assert len(page["comparisons"]) <= limit
        rows += page["comparisons"]
        after = page["next"]
        if not page["more"]:
            return rows, after


def test_every_answer_once_in_the_order_in_which_they_came(long, visit, program):
    ann, bob = visit(), visit()
    for number in range(10):
        judge = (ann, bob)[number % 2]
        pair = judge.pair()["pair"]
        Pair.objects.filter(token=pair).update(issued_at=timezone.now() - timedelta(minutes=1))
        judge.answer(("left", "right", "tie")[number % 3], pair=pair, seen_ms="1500")
    reader = program()
    for limit in (1, 3, 10, 5000):
        rows, _ = collect(reader, limit)
        assert [row["judge"] for row in rows] == [ann.name, bob.name] * 5
        assert [row["outcome"] for row in rows] == [("left", "right", "tie")[n % 3] for n in range(10)]
        assert {row["seconds"] for row in rows} == {1.5}
        assert {row["revision"] for row in rows} == {1}
    first = Pair.objects.order_by("pk").first()
    assert (rows[0]["left"], rows[0]["right"], rows[0]["pair"]) == (first.left.code, first.right.code, first.pk)


def test_a_running_study_hands_out_what_came_since(long, judge, program):
    reader = program()
    rows, after = collect(reader)
    assert rows == []
    judge.answer("left")
    more, after = collect(reader, after=after)
    assert [row["outcome"] for row in more] == ["left"]
    assert collect(reader, after=after) == ([], after)
    judge.answer("right")
    judge.answer("tie")
    more, after = collect(reader, after=after, limit=1)
    assert [row["outcome"] for row in more] == ["right", "tie"]


def test_a_changed_answer_comes_again(long, judge, program):
    reader = program()
    judge.answer("left")
    judge.answer("right", pair=judge.last()["pair"], follows="1")
    rows, _ = collect(reader)
    assert [(row["outcome"], row["revision"]) for row in rows] == [("left", 1), ("right", 2)]
    assert len({row["pair"] for row in rows}) == 1


def test_practice_is_left_out(long, visit, program):
    visitor = visit(agreed=False)
    visitor.agree(begin="practice")
    visitor.answer("left")
    assert collect(program())[0] == []


def test_after_a_withdrawal_old_cursors_are_worth_nothing(long, visit, program):
    staying, leaving = visit(), visit()
    staying.answer("left")
    leaving.answer("left")
    reader = program()
    rows, after = collect(reader)
    assert len(rows) == 2
    leaving.withdraw()
    refused = reader.get(WARDS, after=after)
    assert refused.status_code == 410
    assert "delete your copy" in refused.json()["error"]
    again, after = collect(reader)
    assert [row["judge"] for row in again] == [staying.name]
    assert leaving.name not in reader.get(WARDS, format="csv").text
    staying.answer("right")
    assert len(collect(reader, after=after)[0]) == 1


@pytest.mark.parametrize("after", ["x", "1", "0.-1", ".", "0.1.2", "0.1 ", "9.1"])
def test_what_is_no_cursor(long, judge, program, after):
    response = program().get(WARDS, after=after)
    assert response.status_code in (400, 410)


@pytest.mark.parametrize("limit", ["0", "-1", "5001", "x", ""])
def test_what_is_no_limit(long, judge, program, limit):
    response = program().get(WARDS, limit=limit)
    assert response.status_code == 400
    assert response.json()["error"].startswith("limit: ")


def test_the_table_is_what_the_library_reads(long, visit, program, areas, tmp_path):
    ann, bob = visit(), visit()
    for number in range(8):
        (ann, bob)[number % 2].answer(("left", "right", "tie")[number % 3])
    bob.answer("left", pair=bob.last()["pair"], follows="1")
    (tmp_path / "comparisons.csv").write_bytes(program().get(WARDS, format="csv").content)
    data = jm.read_comparisons(tmp_path / "comparisons.csv", areas)
    there = load_comparisons(editing.find_study("wards"))
    assert len(data) == 8, "one row a pair, the last answer"
    assert data.counts().total == there.counts().total
    for counted in ("first", "second", "n", "wins"):
        assert getattr(data.counts(), counted).tolist() == getattr(there.counts(), counted).tolist()
    assert program().get(WARDS, format="csv", after="0.1").status_code == 400


def test_the_cursor_asks_few_questions(long, judge, program, django_assert_max_num_queries):
    for _ in range(20):
        judge.answer("left")
    reader = program()
    reader.read(WARDS)
    with django_assert_max_num_queries(8):
        reader.read(WARDS)


@pytest.mark.parametrize("age", [timedelta(0), timedelta(seconds=5)])
def test_an_answer_that_is_committed_late_is_not_missed(long, visit, program, monkeypatch, age):
    """A slow writer has the lower key. Without waiting, the cursor would pass it by: the planted bug."""
    slow, quick = visit(), visit()
    monkeypatch.setattr(cursor, "COMMITTED_AFTER", age)
    first, second = (Pair.objects.get(token=each.pair()["pair"]) for each in (quick, slow))
    Answer.objects.create(pk=9, pair=first, revision=1, outcome="right", answered_at=timezone.now())
    reader = program()
    rows, after = collect(reader)
    Answer.objects.create(pk=8, pair=second, revision=1, outcome="left", answered_at=timezone.now())
    monkeypatch.setattr(cursor, "COMMITTED_AFTER", timedelta(0))
    rows += collect(reader, after=after)[0]
    assert [row["outcome"] for row in rows] == (["left", "right"] if age else ["right"])
