"""Planted repeats: the same pair to the same judge, later and with sides swapped."""

import pytest

from judgemap.study.data.definition import MOST_REPEATS
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.judge.models import Pair
from judgemap.web.judge.pairs import SPACING


@pytest.fixture
def shown(judge, edit, settings):
    """What a study with repeats shows to a judge who skips a pair now and then."""
    settings.ANSWERS_PER_SECOND = 1e9
    edit(repeats=MOST_REPEATS, recommended=60, maximum=60)
    for number in range(60):
        judge.answer("skipped" if number % 9 == 5 else "left")
    return list(Pair.objects.filter(judge_id=judge.name, open=False).order_by("position"))


def areas(pair):
    return frozenset((pair.left_id, pair.right_id))


def test_repeats_are_a_share_swapped_and_spaced(shown):
    again = [pair for pair in shown if pair.design == "repeat"]
    assert 12 <= len(again) <= 19, "three in ten of sixty; the last are due, not certain"
    for pair in again:
        earlier = [each for each in shown if each.position < pair.position and areas(each) == areas(pair)]
        assert len(earlier) == 1, "a pair comes again once"
        assert (earlier[0].left_id, earlier[0].right_id) == (pair.right_id, pair.left_id)
        assert pair.position - earlier[0].position > SPACING
        assert earlier[0].answers.get().outcome == "left", "skipped pairs do not come again"
        assert 0 < pair.probability <= 1


def test_consistency_is_reported(shown, study):
    """Sides are swapped, so somebody who always answers left chooses the other area the second time."""
    repeats, same = load_comparisons(study).repeats()
    assert repeats[0] >= 10
    assert same[0] < repeats[0] / 2


def test_none_by_default(judge, edit, settings):
    settings.ANSWERS_PER_SECOND = 1e9
    edit(recommended=30, maximum=30)
    for _ in range(30):
        judge.answer("left")
    assert not Pair.objects.filter(design="repeat").exists()
