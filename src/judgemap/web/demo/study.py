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
from judgemap.study.data.definition import OwnWords, StudyDefinition
from judgemap.study.data.example import PER_JUDGE, SimulatedStudy, chicago, simulate_study
from judgemap.study.fit.settings import FitSettings
from judgemap.web.accounts.models import Researcher
from judgemap.web.judge.joining import invite
from judgemap.web.judge.models import Answer, Consent, Judge, Pair
from judgemap.web.results.actions import ask_for_fit, set_words
from judgemap.web.server.tokens import make_token
from judgemap.web.studies.editing import close_study, open_study
from judgemap.web.studies.making import create_study
from judgemap.web.studies.models import Area, Study

EMAIL = "demo@example.org"
TRUTH = "true-risk.txt"
"""The file with the simulated risk, one area per line."""
HASTY = 6
"""The judge, counted from 0, who answers at random within a second: the judges' page should notice."""
NOTE = (
    "Everything about this study is simulated: the judges, their answers and the risk. It says nothing about Chicago."
)
NEXT_STEPS = "Nothing: the study is simulated. In a real one, say here what follows from the map, and who does it."
FINISHED = StudyDefinition(
    title="Simulated risk in Chicago",
    question="Which area has the LOWER rate?",
    direction="lower",
    example=NOTE,
    design="uniform",
    recommended=50,
    maximum=max(PER_JUDGE),
    thanks="Thank you.",
)
TRANSLATIONS = {
    "fr": {
        "title": "Essayer de juger",
        "question": "Dans quel quartier les loyers sont-ils plus BAS ?",
        "example": "Une étude pour essayer. Si vous pensez que les loyers sont plus bas à **Pullman** qu’au **Loop**, "
        "choisissez Pullman.",
        "consent": "La participation est volontaire et vous pouvez arrêter à tout moment. Nous conservons vos réponses "
        "et le temps qu’elles ont pris, sous un nom tiré au hasard ; nous ne demandons et ne conservons ni votre nom, "
        "ni votre adresse e-mail, ni votre adresse internet. Vous recevrez un code avec lequel supprimer vos réponses.",
        "thanks": "Merci.",
    },
    "es": {
        "title": "Probar a juzgar",
        "question": "¿En qué zona son más BAJOS los alquileres?",
        "example": "Un estudio de prueba. Si cree que los alquileres son más bajos en **Pullman** que en el **Loop**, "
        "elija Pullman.",
        "consent": "La participación es voluntaria y puede dejarlo en cualquier momento. Guardamos sus respuestas y el "
        "tiempo que ha tardado en darlas, con un nombre al azar; no pedimos ni guardamos su nombre, su correo "
        "electrónico ni su dirección de internet. Recibirá un código con el que puede eliminar sus respuestas.",
        "thanks": "Gracias.",
    },
    "ar": {
        "title": "جرّب المقارنة",
        "question": "في أي منطقة تكون الإيجارات أقل؟",
        "example": "دراسة للتجربة. إذا كنت ترى أن الإيجارات في **Pullman** أقل منها في **Loop** فاختر Pullman.",
        "consent": "المشاركة طوعية، ويمكنك التوقف في أي وقت. نحتفظ بإجاباتك وبالوقت الذي استغرقته تحت اسم عشوائي، ولا "
        "نطلب اسمك أو بريدك الإلكتروني أو عنوانك على الإنترنت ولا نحتفظ بها. ستحصل على رمز يمكنك به حذف إجاباتك.",
        "thanks": "شكرًا لك.",
    },
}
OPEN = replace(
    FINISHED,
    title="Try judging",
    question="Which area has the LOWER rent?",
    example="A study to try. If you think that rents are lower in **Pullman** than in the **Loop**, choose Pullman.",
    recommended=10,
    maximum=200,
    design="principal",
    languages=("en", *TRANSLATIONS),
    translations=TRANSLATIONS,
    access="open",
)


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
    study = open_study(create_study(FINISHED, simulated.areas, owner), owner)
    store_answers(rng, study, data)
    study = close_study(study, owner)
    open_study(create_study(OPEN, simulated.areas, owner), owner)
    set_words(study, OwnWords(author="A. Example", next_steps=NEXT_STEPS), owner)
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
