"""Counts of studies with very many answers: the same numbers, kept in one row."""

import numpy as np
import pytest
from django.urls import reverse

from judgemap.web.dashboard import numbers
from judgemap.web.dashboard.counting import Upkeep, count
from judgemap.web.dashboard.models import StudyCounts
from judgemap.web.dashboard.numbers import Numbers, add_up, keep_numbers, numbers_of
from judgemap.web.server.tokens import withdrawal_code


@pytest.fixture
def many(monkeypatch):
    """Treat a few answers as very many."""
    monkeypatch.setattr(numbers, "MANY", 1)


def test_packed_counts_are_the_same(played):
    counted = add_up(count(played), 16)
    again = Numbers.unpack(counted.pack())
    assert all(np.array_equal(getattr(again, name), getattr(counted, name)) for name in Numbers.__slots__)
    assert counted.outcomes.sum() == len(count(played).data)
    assert counted.in_hour.sum() == counted.at_position.sum()


def test_counts_of_few_answers_are_not_kept(played):
    assert keep_numbers(played)
    assert not StudyCounts.objects.exists()


def test_the_page_reads_what_the_worker_kept(played, clients, visit, many):
    keep_up = Upkeep(keep_numbers)
    keep_up()
    before = numbers_of(played, 16).outcomes.tolist()
    judge = visit(of=played)
    judge.answer("left")
    assert numbers_of(played, 16).outcomes.tolist() == before, "kept a moment ago"
    keep_up()
    assert numbers_of(played, 16).outcomes.tolist() == before
    StudyCounts.objects.update(kept_at="2026-01-01T00:00:00Z")
    keep_up()  # no answer has come since, but this study was behind
    assert numbers_of(played, 16).outcomes[0] == before[0] + 1
    assert clients["owner"].get(reverse("dashboard:live", args=[played.slug])).status_code == 200


def test_a_judge_who_withdraws_takes_the_counts_along(played, client, visit, many):
    judge = visit(of=played)
    judge.answer("left")
    keep_numbers(played)
    client.post("/withdraw", {"code": withdrawal_code(judge.token)})
    assert not StudyCounts.objects.exists()
