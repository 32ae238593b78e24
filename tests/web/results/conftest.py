"""A study that judges have answered, and its fits: made once, and stored in each test's database as a worker would."""

import copy
import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from html import unescape
from typing import Any

import numpy as np
import pytest
from django.urls import reverse
from django.utils import timezone

from judgemap.study.assess.explain import Explanation, parameters
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.record import json_value
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import FitSettings
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.results import files, running
from judgemap.web.results.models import FitFiles, FitPicture, FitRun, FitView
from judgemap.web.server.tokens import make_token
from judgemap.web.studies.models import Imprint, Study

BEGAN = datetime(2026, 5, 4, 9, tzinfo=UTC)
JUDGES = ("anna000000", "ben0000000", "cleo000000")
EACH = 60
QUICK = {"chains": 2, "warmup": 60, "draws": 120, "seed": 1}
# Attention is not compiled: a transition takes a hundred times as long.
ATTENTIVE = {"judges": "differ", "attention": True, "chains": 2, "warmup": 20, "draws": 40, "seed": 1}
SETTINGS = {
    "spatial": FitSettings(**QUICK, as_in_paper=True),
    "without": FitSettings(**QUICK, as_in_paper=True),
    "clusters": FitSettings(model="clusters", thin=2, **QUICK),
    "differ": FitSettings(**ATTENTIVE, as_in_paper=True),
}


@dataclass(frozen=True)
class Made:
    """A fit, and what a worker stores of it: the run's fields, the maps of the panel and of each judge, the files."""

    fit: Fit
    fields: dict[str, Any]
    views: list[FitView]
    archive: bytes


@pytest.fixture(scope="session")
def said(areas) -> Comparisons:
    """What three judges said about the grid, with some ties and skips: risk falls from the first ward to the last."""
    rng = np.random.default_rng(5)
    count = len(JUDGES) * EACH
    pairs = np.array([rng.choice(len(areas), 2, replace=False) for _ in range(count)])
    risk = np.linspace(2, -2, len(areas))
    left_lower = rng.random(count) < 1 / (1 + np.exp(-(risk[pairs[:, 1]] - risk[pairs[:, 0]])))
    outcome = np.where(left_lower, "left", "right").tolist()
    outcome[::17], outcome[1::29] = ["tie"] * len(outcome[::17]), ["skipped"] * len(outcome[1::29])
    judges = tuple(judge for judge in JUDGES for _ in range(EACH))
    return Comparisons.from_words(areas.ids, judges, pairs[:, 0], pairs[:, 1], tuple(outcome), np.full(count, 2.0))


@pytest.fixture(scope="session")
def made(areas, said) -> dict[str, Made]:
    """Fits of what was said, each made when it is first asked for."""

    class Fits(dict[str, Made]):
        def __missing__(self, name: str) -> Made:
            settings, left_out = SETTINGS[name], [JUDGES[0]] if name == "without" else []
            data = said.without(left_out)
            fit = settings.run(data, areas)
            info = json_value(fit.info)
            known = {"warnings": fit.warnings, "parameters": json_value([asdict(each) for each in parameters(fit)])}
            fields = {
                "status": FitRun.Status.DONE, "progress": 1.0, "settings": settings.to_dict(), "info": info,
                "rows": running.table_of(fit), "left_out": left_out, "data_sha256": info["data"]["sha256"],
                "started_at": BEGAN, "finished_at": BEGAN, "explained_at": BEGAN,
                "findings": known | running.findings_of(fit, Explanation(fit, data)),
            }  # fmt: skip
            self[name] = Made(fit, fields, list(running.views_of(FitRun(), fit, data)), files.pack(fit))
            return self[name]

    return Fits()


@pytest.fixture
def store():
    """Store answers, as many of each judge, all given now or at another moment."""

    def stored(study: Study, judges, left, right, outcomes, at: datetime | None = None) -> None:
        areas, each, at = list(study.areas.order_by("position")), len(judges) // len(set(judges)), at or timezone.now()
        pairs = [
            Pair(judge_id=judge, version=study.version, token=make_token(), left=areas[a], right=areas[b],
                 position=place % each + 1, design="uniform", probability=0.01, open=False, issued_at=at)
            for place, (judge, a, b) in enumerate(zip(judges, left, right, strict=True))
        ]  # fmt: skip
        Pair.objects.bulk_create(pairs)
        Answer.objects.bulk_create(
            Answer(pair=pair, revision=1, outcome=outcome, answered_at=at, seen_ms=2000)
            for pair, outcome in zip(pairs, outcomes, strict=True)
        )
        Judge.objects.filter(name__in=set(judges)).update(judged=each, maximum=each)

    return stored


@pytest.fixture
def answered(owned, said, store) -> Study:
    """The study with all these answers."""
    Judge.objects.bulk_create(
        Judge(name=judge, study=owned, token_hash=judge, withdrawal_hash=judge, maximum=EACH) for judge in JUDGES
    )
    store(owned, said.judge_names, said.left, said.right, said.outcome_words, BEGAN)
    return owned


@pytest.fixture
def keep(made):
    """Store a fit in the database."""

    def in_database(study: Study, name: str = "spatial", **fields) -> FitRun:
        each, number = made[name], study.fits.count() + 1
        fields = copy.deepcopy(each.fields) | fields  # tests change what they get
        run = FitRun.objects.create(study=study, version=study.version, number=number, **fields)
        FitFiles.objects.create(fit=run, archive=each.archive, briefing="<style>p{color:red}</style><p>Briefing")
        FitPicture.objects.create(fit=run, name="traces", svg="<svg/>", alt="Traces of chains.", caption="Chains.")
        FitView.objects.bulk_create(
            FitView(fit=run, judge=view.judge, rows=view.rows, findings=view.findings) for view in each.views
        )
        Imprint.objects.get_or_create(study=study, defaults={"next_steps": "Visit."})
        files._open_fit.cache_clear()
        return run

    return in_database


@pytest.fixture
def run(answered, keep) -> FitRun:
    """The first fit of the study."""
    return keep(answered)


@pytest.fixture
def differ_run(answered, keep) -> FitRun:
    """A fit of the study in which judges differ."""
    return keep(answered, "differ")


@pytest.fixture
def page(clients):
    """Get a page of a fit as its owner."""

    def got(run: FitRun, name: str = "map", *args, **query):
        address = reverse(f"results:{name}", args=[run.study.slug, run.number, *args])
        return clients["owner"].get(address, query)

    return got


@pytest.fixture(scope="session")
def text_of():
    """What a fragment of a page says."""

    def read(html: str) -> str:
        return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html))).strip()

    return read


@pytest.fixture(scope="session")
def table_rows(text_of):
    """The cells in the body of a page's first table, by row, as people read them."""

    def read(html: str) -> list[list[str]]:
        body = re.search(r"<tbody>(.*?)</tbody>", html, re.S)[1]
        return [
            [text_of(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)]
            for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.S)
        ]

    return read
