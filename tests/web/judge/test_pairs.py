"""Which pair comes next: areas and sides are spaced out in every design, no small map asks for ever, and draws end."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from judgemap.core.model.graph import AreaGraph
from judgemap.geo.maps import Areas
from judgemap.web.judge import answering, pairs
from judgemap.web.judge.answering import find_judge
from judgemap.web.judge.models import Judge, Pair
from judgemap.web.studies.editing import open_study
from judgemap.web.studies.making import create_study


def shown(judge) -> list[tuple[int, int]]:
    rows = Pair.objects.filter(judge_id=judge.name, practice=False).order_by("position")
    return list(rows.values_list("left__position", "right__position"))


@pytest.fixture
def on_a_map(visit, definition, settings, monkeypatch):
    """A judge of a map with some areas in a row."""
    settings.ANSWERS_PER_SECOND = 1e9
    rng = np.random.default_rng(1)
    monkeypatch.setattr(answering, "next_pair", lambda _, judge: pairs.next_pair(rng, judge))

    def make(n_areas: int, design: str = "uniform", **fields):
        names = tuple(f"Area {number}" for number in range(n_areas))
        edges = [[number, number + 1] for number in range(n_areas - 1)]
        areas = Areas(names, names, AreaGraph(n_areas, edges))
        wanted = replace(definition, design=design, **({"recommended": 39, "maximum": 39} | fields))
        return visit(of=open_study(create_study(wanted, areas)))

    return make


@pytest.mark.parametrize("design", ["uniform", "principal", "naive", "adaptive"])
@pytest.mark.parametrize("n_areas", [16, 40])
def test_an_area_comes_again_only_later_and_on_the_other_side(on_a_map, design, n_areas):
    judge = on_a_map(n_areas, design)
    for _ in range(39):
        judge.answer("left")
    drawn = shown(judge)
    apart = 3 if n_areas == 16 else 5
    sides: dict[int, list[str]] = {}
    for number, pair in enumerate(drawn):
        assert not set(pair) & {area for earlier in drawn[max(0, number - apart) : number] for area in earlier}
        for area, side in zip(pair, ("left", "right"), strict=True):
            sides.setdefault(area, []).append(side)
    again = [(a, b) for each in sides.values() for a, b in itertools.pairwise(each)]
    assert np.mean([a != b for a, b in again]) > 0.6, "half would be chance"
    assert not any(each[i : i + 4] == 4 * each[i : i + 1] for each in sides.values() for i in range(len(each) - 3))


@pytest.mark.parametrize("n_areas", [2, 5])
@pytest.mark.parametrize("design", ["uniform", "adaptive"])
def test_a_small_map_asks_every_pair_once_and_then_ends(on_a_map, n_areas, design):
    judge = on_a_map(n_areas, design)
    n_pairs = n_areas * (n_areas - 1) // 2
    for _ in range(n_pairs):
        judge.answer("left")
    assert judge.pair() == {"place": "elsewhere"}
    assert len({frozenset(pair) for pair in shown(judge)}) == n_pairs
    page = judge.get()
    assert page.status_code == 200
    assert page.templates[0].name == "judge/end.html"
    assert judge.last()["follows"] == 1, "the last answer can still be changed"


def test_marking_areas_unknown_and_known_again_draws_no_pairs_without_end(on_a_map, monkeypatch):
    monkeypatch.setattr(pairs, "MOST_SHOWN", (4, 2))
    judge, every = on_a_map(40, recommended=3, maximum=3), ",".join(map(str, range(40)))
    for _ in range(20):
        if "pair" in judge.pair():
            for unknown in (map(str, shown(judge)[-1]), ()):
                judge.client.post(f"/j/{judge.token}/areas", {"unknown": [*unknown], "listed": every})
    assert Pair.objects.count() == 4 + 2 * 3
    assert judge.get().status_code == 200


def test_the_probability_is_that_of_the_pairs_that_could_come(on_a_map):
    """After some pairs, every pair that is apart from them is equally likely, and no other comes."""
    judge = on_a_map(40)
    for _ in range(5):
        judge.answer("left")
    Pair.objects.filter(open=True).delete()
    recent = {area for pair in shown(judge) for area in pair}
    rng, row = np.random.default_rng(1), find_judge(judge.token)
    drawn = [pairs.next_pair(rng, row) for _ in range(600)]
    left = 40 - len(recent)
    assert [pair.probability for pair in drawn] == pytest.approx(600 * [2 / (left * (left - 1))])
    assert {area for pair in drawn for area in pair[:2]} == set(range(40)) - recent
    assert Judge.objects.count() == 1
