"""The adaptive design: its state depends only on the database."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from judgemap.core.design import adaptive
from judgemap.core.design.adaptive import Known, gains, state_among
from judgemap.core.model.car import intrinsic_car
from judgemap.core.model.counts import count_pairs
from judgemap.core.model.prior import Model
from judgemap.web.judge import pairs
from judgemap.web.judge.answering import find_judge
from judgemap.web.judge.models import Answer, Judge, Pair, PopulationMap
from judgemap.web.studies import areas as geography
from judgemap.web.studies import editing, making
from judgemap.web.studies.areas import load_graph


@pytest.fixture
def asked(edit):
    return edit(design="adaptive", recommended=100, maximum=100).version


def assert_same(one, other):
    assert np.allclose(one.mode, other.mode, atol=1e-8)
    assert np.allclose(one.covariance, other.covariance, atol=1e-8)


def followed(version, part=None):
    """The state that a process has followed, which must be that of a process which has just started."""
    state = pairs._state(version, part)
    pairs._STATES.clear()
    assert_same(state, pairs._state(version, part))
    return state


def test_after_a_restart_the_state_is_the_same(judge, asked):
    pairs._state(asked)
    for outcome in ("left", "right", "tie", "skipped", "left"):
        judge.answer(outcome)
    assert followed(asked).model.counts.total == 3


def test_a_changed_answer_and_a_withdrawal_are_taken_in(judge, visit, asked):
    other = visit()
    for visitor in (judge, other):
        visitor.answer("left")
    before = pairs._state(asked)
    judge.answer("right", pair=judge.last()["pair"], follows="1")
    assert not np.allclose(followed(asked).mode, before.mode)
    other.withdraw()
    assert followed(asked).model.counts.total == 1


@pytest.mark.parametrize("seconds", [5, 0])
def test_an_answer_that_is_committed_after_later_ones_is_taken_in(judge, visit, asked, monkeypatch, seconds):
    """Without waiting, its key would be passed by: the planted bug."""
    monkeypatch.setattr(pairs, "COMMITTED_AFTER", timedelta(seconds=seconds))
    other = visit()
    other.answer("left")
    judge.answer("left")
    late = Answer.objects.order_by("pk")[0]
    Answer.objects.filter(pk=late.pk).delete()
    pairs._STATES.clear()
    for commits in (False, True):
        if commits:
            late.save(force_insert=True)
        for _ in range(2):
            assert pairs._state(asked).model.counts.total == 1 + (commits and seconds > 0)
    pairs._STATES.clear()
    assert pairs._state(asked).model.counts.total == 2


def test_an_answer_whose_transaction_was_undone_is_forgotten(judge, asked):
    judge.answer("left")
    (undone,) = Answer.objects.all()
    undone.delete()
    assert pairs._state(asked).model.counts.total == 0
    undone.save(force_insert=True)
    before = pairs._state(asked)
    undone.delete()
    undone.outcome = "right"  # another answer gets the key
    undone.save(force_insert=True)
    assert not np.allclose(followed(asked).mode, before.mode)


@pytest.mark.parametrize("many", [0, 4])
def test_old_and_many_answers_are_read_once(judge, asked, monkeypatch, many):
    monkeypatch.setattr(pairs, "COMMITTED_AFTER", timedelta(0))
    monkeypatch.setattr(pairs, "MANY", many)
    for given in range(1, 5):
        judge.answer("left")
        assert pairs._state(asked).model.counts.total == given
        assert_same(pairs._state(asked), state_of(judge, asked))
    assert not next(iter(pairs._STATES.values())).later


def state_of(judge, version):
    winners, losers = pairs._own_answers(Judge.objects.get(name=judge.name))
    counts = count_pairs(winners, losers, 16)
    return adaptive.init(Model(counts, intrinsic_car(load_graph(version)), pairs.VARIANCE))


def test_unknown_areas_are_not_asked(judge, asked):
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": [str(i) for i in range(13)]})
    for _ in range(3):
        shown = judge.pair()
        assert {shown["left"], shown["right"]} <= {"Ward 4.2", "Ward 4.3", "Ward 4.4"}
        judge.answer("left")
    assert judge.pair() == {"place": "elsewhere"}, "all pairs of three areas were asked"


@pytest.fixture
def population(asked, areas):
    """What a fit said: areas alike, and judges who differ area by area."""
    known = Known(np.zeros(len(areas)), 4 * np.eye(len(areas)), np.eye(len(areas)))
    PopulationMap.objects.create(study=asked.study, fit_number=1, packed=pairs.pack_population(known))
    return known


def test_each_judge_is_asked_by_the_population_and_their_own_answers(judge, visit, asked, population):
    other = visit()
    for outcome in ("left", "tie", "right", "skipped"):
        judge.answer(outcome)
    judge.answer("left", pair=judge.last()["pair"], follows="1")
    winners, losers = pairs._own_answers(Judge.objects.get(name=judge.name))
    shown = Pair.objects.filter(judge_id=judge.name, open=False).order_by("position")
    sides = [(pair.left.position, pair.right.position) for pair in shown]
    expected = [sides[0], sides[2][::-1], sides[3]]
    assert list(zip(winners.tolist(), losers.tolist(), strict=True)) == expected
    assert [len(each) for each in pairs._own_answers(Judge.objects.get(name=other.name))] == [0, 0]
    mine = gains(state_among(population, winners, losers))
    theirs = gains(state_among(population, winners[:0], losers[:0]))
    assert mine[sides[0]] < theirs[sides[0]], "a pair that this judge has answered tells less"
    drawn = [pairs.next_pair(np.random.default_rng(1), find_judge(each.token)) for each in (judge, other)]
    assert all(0 < pair.probability < 1 for pair in drawn)
    Pair.objects.filter(pk=shown[0].pk).update(practice=True)
    assert [len(each) for each in pairs._own_answers(Judge.objects.get(name=judge.name))] == [2, 2], "without practice"


def test_unknown_areas_are_not_asked_by_the_population_either(judge, population):
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": [str(i) for i in range(14)]})
    assert {judge.pair()["left"], judge.pair()["right"]} == {"Ward 4.3", "Ward 4.4"}
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": [str(i) for i in range(15)]})
    assert "left" not in judge.pair()


def test_without_a_fit_of_judges_who_differ_all_are_asked_alike(judge, asked, population, monkeypatch):
    monkeypatch.setattr(adaptive, "state_among", None)
    PopulationMap.objects.all().delete()
    assert judge.answer("left").status_code == 200


@pytest.fixture
def parts(monkeypatch, areas, definition):
    """Sixteen wards in two towns, on a server that takes no map of so many areas whole; pieces are of four areas."""

    def make(design, most=8):
        monkeypatch.setattr(geography, "WHOLE", {design: 10})
        monkeypatch.setattr(geography, "PARTS", {design: most})
        regions = ["North" if i < 8 else "South" for i in range(16)]
        asking = replace(definition, recommended=100, maximum=100, asks_places=True, design=design)
        return editing.open_study(making.create_study(asking, areas, regions=regions))

    return make


def asked_of(judge, *places, times=12):
    judge.client.post(f"/j/{judge.token}/places", {"place": places})
    for _ in range(times):
        judge.answer("left")
    return list(Pair.objects.filter(judge_id=judge.name).select_related("left", "right").order_by("position"))


@pytest.mark.parametrize("design", ["adaptive", "optimal", "principal"])
def test_on_a_large_map_a_design_works_within_what_a_judge_knows(parts, visit, design):
    study = parts(design)
    shown = asked_of(visit(of=study), "region:North")
    assert {area.position for pair in shown for area in (pair.left, pair.right)} == set(range(8))
    assert {pair.design for pair in shown} == {design}
    assert all(0 < pair.probability < 1 for pair in shown)
    assert len({round(pair.probability, 9) for pair in shown}) > 3, "the design has its say"


def test_the_state_of_a_part_is_that_of_a_map_of_its_own(parts, visit):
    version = parts("adaptive").version
    south, north = visit(of=version.study), visit(of=version.study)
    asked_of(south, "region:South", times=6)
    asked_of(north, "region:North", times=3)
    part = pairs._part(version, Judge.objects.get(name=south.name))
    assert part.areas.tolist() == list(range(8, 16))
    state = pairs._state(version, part)
    assert (state.model.counts.total, len(state.mode)) == (6, 8)
    apart = adaptive.init(
        Model(state.model.counts, intrinsic_car(load_graph(version).among(part.areas)), pairs.VARIANCE)
    )
    assert_same(state, apart)
    south.answer("right")
    followed(version, part)
    south.withdraw()
    assert pairs._state(version, part).model.counts.total == 0


def test_a_judge_who_knows_more_is_asked_about_a_piece_and_now_and_then_about_the_rest(parts, visit, settings):
    settings.ANSWERS_PER_SECOND = 1e9
    study = parts("adaptive", most=4)
    shown = asked_of(visit(of=study), "all", times=30)
    piece = {area for pair in shown if pair.design == "adaptive" for area in (pair.left, pair.right)}
    assert len(piece) == 4
    within = [{pair.left, pair.right} for pair in shown if {pair.left, pair.right} <= piece]
    assert len(within) == 6, "all pairs of the piece, each once, though a uniform pair may happen to be one of them"
    assert {pair.design for pair in shown} == {"adaptive", "uniform"}
    assert len({area.position for pair in shown for area in (pair.left, pair.right)}) > 8


def test_few_states_are_kept(parts, visit, monkeypatch):
    monkeypatch.setattr(pairs, "KEPT", 100)
    study = parts("adaptive")
    asked_of(visit(of=study), "region:North", times=1)
    asked_of(visit(of=study), "region:South", times=1)
    assert [part.areas[0] for _, part in pairs._STATES] == [8]
