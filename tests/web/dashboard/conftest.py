"""A study that was played, and a fit of it as a worker leaves it."""

import numpy as np
import pytest
from django.utils import timezone

from judgemap.study.explain import Explanation
from judgemap.study.record import json_value
from judgemap.study.settings import FitSettings
from judgemap.web.judge import actions as judging
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.results.files import keep_files, open_fit
from judgemap.web.results.models import FitRun
from judgemap.web.results.running import findings_of, table_of
from judgemap.web.server.tokens import withdrawal_code
from judgemap.web.studies.areas import load_areas

OUTCOMES = ["left", "right", "tie", "skipped", "unknown"]
SHARES = [0.4, 0.35, 0.1, 0.1, 0.05]


def play(study, rng: np.random.Generator, pairs: int) -> str:
    """Let a new judge answer so many pairs, change some answers, and leave one pair open; return the link's token."""
    token = judging.invite(study, 1)[0].token
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
        judging.answer(token, judging.GivenAnswer(pair.token, outcome, side, seen_ms=seen))
        if number % 5 == 1:
            judging.answer(token, judging.GivenAnswer(pair.token, "left", follows=1, seen_ms=99 + number))
    return token


@pytest.fixture(autouse=True)
def _fast_judges(settings):
    settings.ANSWERS_PER_SECOND = 1e6


@pytest.fixture
def played(owned, edit):
    """The study with five judges who judged, one with a link only, and one who withdrew."""
    edit(recommended=20, maximum=40)
    owned.refresh_from_db()
    rng = np.random.default_rng(5)
    for pairs in (40, 25, 20, 8, 3):
        play(owned, rng, pairs)
    judging.withdraw(withdrawal_code(play(owned, rng, 6)))
    judging.invite(owned, 1)
    return owned


def fit_of(study, **more) -> FitRun:
    """Make a short fit, kept as a worker keeps one."""
    settings = FitSettings(chains=2, draws=50, seed=1)
    data, areas = load_comparisons(study), load_areas(study.version)
    fit = settings.run(data, areas)
    run = FitRun.objects.create(
        study=study, number=study.fits.count() + 1, version=study.version, settings=settings.to_dict(),
        status=FitRun.Status.DONE, answers=sum(study.judges.values_list("judged", flat=True)), rows=table_of(fit),
        info=json_value(fit.info), explained_at=timezone.now(), **more,
    )  # fmt: skip
    keep_files(run, fit)
    return run


def explain(run: FitRun) -> FitRun:
    """Work out what a worker works out after a fit."""
    fit, data = open_fit(run), load_comparisons(run.study)
    run.findings = findings_of(fit, Explanation(fit, data))
    run.save()
    return run


@pytest.fixture
def fitted(played) -> FitRun:
    return fit_of(played)


@pytest.fixture
def explained(fitted) -> FitRun:
    return explain(fitted)


@pytest.fixture
def let_play():
    """The function that lets a new judge play."""
    return play


@pytest.fixture
def let_fit():
    """The function that makes a fit, with all that is worked out of it."""
    return lambda study: explain(fit_of(study))
