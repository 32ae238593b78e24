"""The demonstration: a finished study of simulated judges, an open one to try, and a researcher who owns both."""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from django.db import transaction
from django.utils import timezone

from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.study.data.comparisons import Comparisons, Outcome
from judgemap.study.data.definition import read_definition
from judgemap.study.data.example import SimulatedStudy, chicago, simulate_study
from judgemap.study.fit.settings import FitSettings
from judgemap.web.accounts.models import Researcher
from judgemap.web.judge.joining import invite
from judgemap.web.judge.models import Answer, Consent, Judge, Pair
from judgemap.web.results.actions import ask_for_fit
from judgemap.web.server.tokens import make_token
from judgemap.web.studies.editing import close_study, open_study
from judgemap.web.studies.making import create_study
from judgemap.web.studies.models import Area, Study

EMAIL = "demo@example.org"
TRUTH = "true-risk.txt"
"""The file with the simulated risk, one area per line."""
HASTY = 6
"""The judge, counted from 0, who answers at random within a second: the judges' page should notice."""
FINISHED, OPEN = (Path(__file__).with_name(f"{name}.toml") for name in ("finished", "open"))


@dataclass(frozen=True, slots=True)
class Demo:
    """Who signs in with which password, and the two studies."""

    email: str
    password: str
    finished: Study
    open: Study


def prepare_demo(data: Path, seed: int, say: Callable[[str], None]) -> Demo:
    """Make the demonstration, or find the one that is already in the data folder."""
    researcher = Researcher.objects.filter(email=EMAIL).first()
    if researcher is None and (Researcher.objects.exists() or Study.objects.exists()):
        raise StudyError(f"{data} holds a server that is not a demonstration; name another folder with --data")
    password = _password(data / "demo-password", researcher)
    if researcher is None:
        say("Making two studies on Chicago's map …")
        with transaction.atomic():
            researcher = Researcher(email=EMAIL, name="Demo")
            researcher.set_password(password)
            researcher.save()
            simulated = _make_studies(researcher, seed)
        np.savetxt(data / TRUTH, simulated.true_risk)
    finished, opened = Study.objects.filter(owner=researcher).select_related("current").order_by("pk")[:2]
    return Demo(EMAIL, password, finished, opened)


def _make_studies(owner: Researcher, seed: int) -> SimulatedStudy:
    rng = np.random.default_rng(seed)
    simulated = simulate_study(rng, chicago())
    data = with_ties(rng, simulated)
    study = open_study(create_study(read_definition(FINISHED), simulated.areas, owner), owner)
    store_answers(rng, study, data)
    study = close_study(study, owner)
    open_study(create_study(read_definition(OPEN), simulated.areas, owner), owner)
    ask_for_fit(study, FitSettings(seed=seed), owner, note="all answers")
    ask_for_fit(study, FitSettings(model="clusters", seed=seed), owner, note="clusters of areas")
    return simulated


def with_ties(rng: np.random.Generator, study: SimulatedStudy) -> Comparisons:
    """Let judges call similar areas a tie and skip a few pairs, and let one of them answer at random."""
    data, risk = study.data, study.true_risk
    near = np.abs(risk[data.left] - risk[data.right]) < 0.1
    hasty = data.judge_names == str(HASTY + 1)
    skipped = rng.random(len(data)) < 0.01
    guesses = np.where(rng.choice(["left", "right"], len(data)) == "left", Outcome.LEFT, Outcome.RIGHT)
    outcome = np.select([near, skipped, hasty], [Outcome.TIE, Outcome.SKIPPED, guesses], data.outcome)
    seconds: FloatArray = np.where(hasty, np.round(rng.uniform(0.4, 1.0, len(data)), 2), data.seconds)
    return replace(data, outcome=outcome, seconds=seconds)


def store_answers(rng: np.random.Generator, study: Study, data: Comparisons) -> None:
    """Store comparisons as if judges had given them, in one sitting each, on the days before today."""
    places = dict(Area.objects.filter(study=study).values_list("position", "pk"))
    chance = 2 / (len(places) * (len(places) - 1))
    version, words = study.version, data.outcome_words
    for number, invited in enumerate(invite(study, len(data.judges))):
        judge, rows = Judge(name=invited.name), np.flatnonzero(data.judge == number).tolist()
        began = _sitting(rng, timezone.now())
        ends = began + np.cumsum(data.seconds[rows] + 0.3) * np.array(timedelta(seconds=1))
        pairs = [
            Pair(judge=judge, version=version, token=make_token(), left_id=places[int(data.left[row])],
                 right_id=places[int(data.right[row])], position=position, design=version.design, probability=chance,
                 issued_at=end - timedelta(seconds=float(data.seconds[row])), open=False)
            for position, (row, end) in enumerate(zip(rows, ends, strict=True), start=1)
        ]  # fmt: skip
        Consent.objects.create(judge=judge, version=version, language="en", text_digest=version.consent_digest)
        Pair.objects.bulk_create(pairs, batch_size=500)
        Answer.objects.bulk_create(
            [
                Answer(pair=pair, revision=1, outcome=words[row], answered_at=end,
                       seen_ms=round(1000 * data.seconds[row]))
                for pair, row, end in zip(pairs, rows, ends, strict=True)
            ],
            batch_size=500,
        )  # fmt: skip
        Judge.objects.filter(pk=judge.pk).update(judged=len(rows), language="en", went_on=True)


def _sitting(rng: np.random.Generator, now: datetime) -> datetime:
    """Draw when a judge sat down: in the morning or afternoon of one of the five days before today."""
    day = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=int(rng.integers(1, 6)))
    return day + timedelta(minutes=int(rng.integers(9 * 60, 16 * 60)))


def _password(path: Path, researcher: Researcher | None) -> str:
    """Return the demonstration's password, which only the folder's owner can read; if it is lost, set a new one."""
    if not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(9))
        if researcher is not None:
            researcher.set_password(path.read_text(encoding="ascii"))
            researcher.save(update_fields=["password"])
    return path.read_text(encoding="ascii")
