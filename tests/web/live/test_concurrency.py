"""Many requests at once, to several processes: limits are enforced, and no answer is lost or stored twice."""

import itertools
import json
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = pytest.mark.slow


def test_one_answer_sent_many_times_at_once_is_stored_once(server, areas):
    slug, judge = server.with_judge(areas)
    for _ in range(5):
        pair = judge.pair()["pair"]
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda _, pair=pair: judge.answer(pair, "left"), range(8)))
        assert {reply.status for reply in replies} == {200}
        assert len({reply.data for reply in replies}) == 1
    answered = [row for row in server.comparisons(slug) if row["answered_at"]]
    assert len(answered) == 5
    assert {row["revisions"] for row in answered} == {"1"}


def test_opposite_answers_at_once_store_one(server, areas):
    slug, judge = server.with_judge(areas)
    pair = judge.pair()["pair"]
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda i: judge.answer(pair, ("left", "right")[i % 2]), range(8)))
    assert Counter(reply.status for reply in replies) == {200: 4, 409: 4}
    assert len(server.table(slug, "revisions.csv")) == 1


def test_opening_the_link_many_times_at_once_draws_one_pair(server, areas):
    slug, judge = server.with_judge(areas)
    with ThreadPoolExecutor(8) as pool:
        pairs = {state["pair"] for state in pool.map(lambda _: judge.pair(), range(16))}
    assert len(pairs) == 1
    assert len(server.comparisons(slug)) == 1


def test_the_maximum_holds_for_one_judge_in_many_windows(server, areas):
    slug, judge = server.with_judge(areas, recommended=20, maximum=20)

    def window(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(20):
            state = judge.pair()
            if state["place"] != "pair":
                return
            judge.answer(state["pair"], rng.choice(["left", "right", "tie", "skipped"]))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(window, range(6)))
    rows = server.comparisons(slug)
    assert len(rows) == 20
    assert sorted(int(row["position"]) for row in rows) == list(range(1, 21))


def test_kill_nine_under_load_loses_no_acknowledged_answer(server, areas):
    slug = server.new_study(areas, recommended=5000, maximum=5000)
    judges = server.invite(slug, 6)
    for judge in judges:
        judge.agree()
    acknowledged: list[tuple[str, int]] = []
    counted = itertools.count()
    enough = threading.Event()

    def play(judge) -> None:
        try:
            pair = judge.pair()["pair"]
            for position in itertools.count(1):
                reply = judge.answer(pair, "left")
                if reply.status != 200:
                    return
                acknowledged.append((judge.name, position))
                if next(counted) > 150:
                    enough.set()
                pair = json.loads(reply.data)["pair"]
        except OSError:
            return

    threads = [threading.Thread(target=play, args=(judge,)) for judge in judges]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    server.stop(9)
    for thread in threads:
        thread.join(60)
    server.start()
    revisions = server.table(slug, "revisions.csv")
    stored = Counter((row["judge"], int(row["position"])) for row in revisions)
    assert set(acknowledged) <= set(stored)
    assert set(stored.values()) == {1}
    assert len(stored) - len(acknowledged) <= len(judges), "at most one in flight for each judge"
    for judge in judges:
        assert judge.pair()["place"] == "pair"
