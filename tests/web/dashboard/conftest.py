"""A study that judges have answered, and a fit of it as a worker leaves it."""

from datetime import timedelta

import numpy as np
import pytest

from judgemap.web.judge import answering as judging
from judgemap.web.judge import joining
from judgemap.web.judge.models import Pair
from judgemap.web.results.models import FitRun
from judgemap.web.server.tokens import withdrawal_code
from judgemap.web.studies import editing
from judgemap.web.studies.models import Study

OUTCOMES = ["left", "right", "tie", "skipped", "unknown"]
SHARES = [0.4, 0.35, 0.1, 0.1, 0.05]


def play(study, rng: np.random.Generator, pairs: int) -> str:
    """Let a new judge answer ``pairs`` pairs, change some answers, and leave one pair open; return the link's token."""
    token = joining.invite(study, 1)[0].token
    judging.give_consent(token, "en", 0)
    for number in range(pairs):
        pair = judging.current_pair(token)
        if pair is None:
            judging.go_on(token)
            pair = judging.current_pair(token)
        if pair is None:
            break
        outcome = str(rng.choice(OUTCOMES, p=SHARES))
        side = str(rng.choice(["left", "right"])) if outcome == "unknown" else ""
        seen = None if number % 7 == 3 else int(rng.lognormal(8, 0.6))
        Pair.objects.filter(pk=pair.pk).update(issued_at=pair.issued_at - timedelta(minutes=5))
        judging.answer(token, judging.GivenAnswer(pair.token, outcome, side, seen_ms=seen))
        if number % 5 == 1:
            judging.answer(token, judging.GivenAnswer(pair.token, "left", follows=1, seen_ms=99 + number))
    return token


@pytest.fixture(autouse=True)
def _fast_judges(settings):
    settings.ANSWERS_PER_SECOND = 1e6


@pytest.fixture
def played(owned, edit) -> Study:
    """The study with five judges who judged, one with a link only, and one who withdrew."""
    study, rng = edit(recommended=20, maximum=40), np.random.default_rng(5)
    for count in (40, 25, 20, 8, 3):
        play(study, rng, count)
    joining.withdraw(withdrawal_code(play(study, rng, 6)))
    joining.invite(study, 1)
    return editing.find_study(owned.slug)


@pytest.fixture
def fitted(played, ask_fit, make_fit) -> FitRun:
    """A fit of it, with its figures."""
    return make_fit(ask_fit(played), "figures")


@pytest.fixture
def let_play():
    """The function that lets a new judge play."""
    return play
