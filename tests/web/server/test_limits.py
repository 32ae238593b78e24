"""Rate limits are the same for every process."""

from django.core.cache import cache

from judgemap.web.accounts.models import Count
from judgemap.web.server.limits import Brake


def test_processes_share_a_limit(db):
    one, other = (Brake("test", most=3, seconds=1e6) for _ in range(2))
    assert [brake.allows() for brake in (one, other, one, other, one)] == [True, True, True, False, False]


def test_counts_stay_when_strangers_make_many(db):
    brake = Brake("joins", most=1, seconds=1e6)
    mine = Brake("api", most=1, seconds=1e6)
    assert mine.allows("me")
    for number in range(400):
        brake.allows(str(number))
    cache.set("entry", 1)
    assert not mine.allows("me")


def test_a_limit_ends_with_its_time(db, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("judgemap.web.server.limits.time.time", lambda: now[0])
    brake = Brake("test", most=1, seconds=10.0)
    assert [brake.allows(), brake.allows()] == [True, False]
    now[0] += 10
    assert brake.allows()


def test_the_refused_cost_no_statement(db, django_assert_num_queries):
    brake = Brake("test", most=1, seconds=1e6)
    brake.allows()
    brake.allows()
    with django_assert_num_queries(0):
        assert not brake.allows()


def test_a_count_is_one_statement_so_that_none_is_missed_when_many_count_at_once(db, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert Brake("test", most=1, seconds=1e6).allows()
    assert Count.objects.get().value == "1"
