"""A study that judges have answered, and a fit of it as a worker leaves it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.db import transaction
from django.test import override_settings
from django.utils import timezone

from judgemap.study.assess.explain import Explanation
from judgemap.study.data.definition import StudyDefinition
from judgemap.study.fit.record import json_value
from judgemap.study.fit.settings import FitSettings
from judgemap.web.accounts.models import Researcher
from judgemap.web.judge import answering as judging
from judgemap.web.judge import joining, pairs
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.judge.models import Pair
from judgemap.web.results.files import open_fit, pack
from judgemap.web.results.models import FitFiles, FitRun
from judgemap.web.results.running import findings_of, table_of
from judgemap.web.server.tokens import withdrawal_code
from judgemap.web.studies import editing, making
from judgemap.web.studies.areas import load_areas
from judgemap.web.studies.models import Study

OUTCOMES = ["left", "right", "tie", "skipped", "unknown"]
NAMES = ("owner", "teammate", "stranger")
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


@dataclass(frozen=True)
class Shared:
    """What the tests of a module start with: the study, its fit, and what is worked out from the fit."""

    study: Study
    fit: FitRun
    findings: dict[str, Any]


@pytest.fixture(scope="module")
def shared(django_db_setup, django_db_blocker, areas, rows) -> Iterator[Shared]:
    """The study with five judges who judged, one with a link only, and one who withdrew, and a fit of it.

    It is there for a whole module, in a transaction around those of its tests: what a test changes is undone after it.
    """
    definition = StudyDefinition(
        title="Wards", question="Which ward has the LOWER rate?", direction="lower", design="uniform",
        recommended=20, maximum=40, languages=("en",),
    )  # fmt: skip
    rng = np.random.default_rng(5)
    judging._version.cache_clear()  # keys start again after each test, so a cache may hold another study
    pairs._design.cache_clear()

    def make() -> Shared:
        people = {name: Researcher.objects.create_user(f"{name}@example.org") for name in NAMES}
        study = editing.open_study(making.create_study(definition, areas, people["owner"]))
        study.colleagues.add(people["teammate"])
        for count in (40, 25, 20, 8, 3):
            play(study, rng, count)
        joining.withdraw(withdrawal_code(play(study, rng, 6)))
        joining.invite(study, 1)
        fit = fit_of(study)
        return Shared(study, fit, explain(fit).findings)

    with django_db_blocker.unblock(), transaction.atomic(), override_settings(ANSWERS_PER_SECOND=1e6):
        yield rows.once("shared", make)
        transaction.set_rollback(True)


@pytest.fixture
def people(db) -> dict[str, Researcher]:
    """The researchers in every test, who already exist if the module shares a study."""
    return {name: Researcher.objects.get_or_create(email=f"{name}@example.org")[0] for name in NAMES}


@pytest.fixture
def played(request, shared, db) -> Study:
    """The study with five judges who judged, one with a link only, and one who withdrew."""
    if "fitted" not in request.fixturenames:
        shared.study.fits.all().delete()
    return Study.objects.get(pk=shared.study.pk)


def fit_of(study, **more) -> FitRun:
    """Make a short fit, stored as a worker stores one."""
    settings = FitSettings(chains=2, warmup=20, draws=50, seed=1, alpha=2.0, as_in_paper=True)
    data, areas = load_comparisons(study), load_areas(study.version)
    fit = settings.run(data, areas)
    run = FitRun.objects.create(
        study=study, number=study.fits.count() + 1, version=study.version, settings=settings.to_dict(),
        status=FitRun.Status.DONE, answers=sum(study.judges.values_list("judged", flat=True)), rows=table_of(fit),
        info=json_value(fit.info), explained_at=timezone.now(), **more,
    )  # fmt: skip
    FitFiles.objects.create(fit=run, archive=pack(fit))
    return run


def explain(run: FitRun) -> FitRun:
    """Work out what a worker works out after a fit."""
    fit, data = open_fit(run), load_comparisons(run.study)
    run.findings = findings_of(fit, Explanation(fit, data))
    run.save()
    return run


@pytest.fixture
def fitted(shared, db) -> FitRun:
    FitRun.objects.filter(pk=shared.fit.pk).update(findings={})
    return FitRun.objects.get(pk=shared.fit.pk)


@pytest.fixture
def explained(fitted, shared) -> FitRun:
    fitted.findings = shared.findings
    fitted.save()
    return fitted


@pytest.fixture
def let_play():
    """The function that lets a new judge play."""
    return play


@pytest.fixture
def let_fit():
    """The function that makes a fit, with everything worked out from it."""
    return lambda study: explain(fit_of(study))
