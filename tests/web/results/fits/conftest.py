"""A study that judges have answered, and fits of it that take a second."""

import numpy as np
import pytest
from django.utils import timezone

from judgemap.study.fit.settings import FitSettings
from judgemap.web.judge import joining
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.results import actions, running
from judgemap.web.server import jobs, worker
from judgemap.web.server.tokens import make_token

QUICK = FitSettings(chains=2, warmup=5, draws=20, seed=1, alpha=2.0, as_in_paper=True)


@pytest.fixture
def answers():
    """Let new judges answer a study: the area that comes later on the list has the lower rate; returns their names."""

    def give(study, judges=3, each=20, outcomes=None, areas=None):
        rng = np.random.default_rng(1)
        rows = list(study.areas.order_by("position"))[:areas]
        names = [invited.name for invited in joining.invite(study, judges)]
        now = timezone.now()
        pairs, said = [], []
        for name in names:
            for position in range(1, each + 1):
                left, right = rng.choice(len(rows), 2, replace=False)
                pairs.append(
                    Pair(judge_id=name, version=study.version, token=make_token(), left=rows[left], right=rows[right],
                         position=position, design="uniform", probability=0.01, issued_at=now, open=False)
                )  # fmt: skip
                said.append(outcomes[position % len(outcomes)] if outcomes else "left" if left > right else "right")
        Pair.objects.bulk_create(pairs)
        Answer.objects.bulk_create(
            Answer(pair=pair, revision=1, outcome=outcome, answered_at=now, seen_ms=2000)
            for pair, outcome in zip(pairs, said, strict=True)
        )
        Judge.objects.filter(name__in=names).update(judged=each, maximum=each)
        return names

    return give


@pytest.fixture
def judged(owned, answers, rows):
    """The study, answered by three judges."""
    owned.judge_names = rows.once("judged", lambda: answers(owned))
    return owned


@pytest.fixture
def ask():
    """Ask for a quick fit."""

    def asked(study, settings=QUICK, **more):
        return actions.ask_for_fit(study, settings, **more)

    return asked


@pytest.fixture
def packed():
    """Have `make` pack the fit's files, for tests that open them."""


@pytest.fixture
def make(request, monkeypatch, carry_out):
    """Make a fit that waits, as a worker would, but for the pictures and files, which take long; and return it."""
    for step in ("_find", "_draw", "_brief"):
        monkeypatch.setattr(running, step, lambda subject: None)
    if "packed" not in request.fixturenames:
        monkeypatch.setattr(running, "pack", lambda fit: b"")

    def made(run):
        carry_out(run)
        return run

    return made


@pytest.fixture(autouse=True)
def _nobody_is_stopping():
    jobs.STOPPING.clear()
    yield
    jobs.STOPPING.clear()
    jobs.HERE.clear()
    worker.LEFT.clear()
