"""A study that judges have answered, and its fits: made once, and stored in each test's database as a worker would."""

import re
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import numpy as np
import pytest
from django.urls import reverse

from judgemap.study.assess.explain import Explanation, parameters
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.record import json_value
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import FitSettings
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.results import files, running
from judgemap.web.results.models import FitFiles, FitPicture, FitRun, FitView
from judgemap.web.results.running import findings_of
from judgemap.web.studies.models import Imprint, Study

BEGAN = datetime(2026, 5, 4, 9, tzinfo=UTC)
JUDGES = ("anna000000", "ben0000000", "cleo000000")
EACH = 60
QUICK = {"chains": 2, "warmup": 60, "draws": 120, "seed": 1}
SETTINGS = {
    "spatial": FitSettings(**QUICK, as_in_paper=True),
    "without": FitSettings(**QUICK, as_in_paper=True),
    "clusters": FitSettings(model="clusters", thin=2, **QUICK),
}


@dataclass(frozen=True)
class Made:
    """A fit as a worker stores it."""

    settings: FitSettings
    fit: Fit
    findings: dict[str, Any]
    left_out: tuple[str, ...] = ()
    whole: dict[str, Any] = field(default_factory=dict)
    """All that a worker finds; the rest is what pages of maps need."""


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
    """Fits of what was said."""
    found = {}
    for name, settings in SETTINGS.items():
        left_out = (JUDGES[0],) if name == "without" else ()
        data = said.without(left_out)
        fit = settings.run(data, areas)
        findings = findings_of(fit, Explanation(fit, data))
        assessed = ("verdict", "checks", "reliability", "judges")
        parts = ("top", "met", "sampling", "layout", "between", "grouping", *assessed)
        on_the_map = {key: findings[key] for key in parts if key in findings}
        found[name] = Made(settings, fit, on_the_map, left_out, findings)
    return found


@pytest.fixture
def answered(owned, said) -> Study:
    """The study with all these answers."""
    areas = list(owned.areas.order_by("position"))
    for judge in JUDGES:
        Judge.objects.create(
            name=judge, study=owned, token_hash=judge, withdrawal_hash=judge, judged=EACH, maximum=EACH
        )
    pairs = [
        Pair(judge_id=judge, version=owned.version, token=f"pair{place}", left=areas[left], right=areas[right],
             position=place % EACH + 1, design="uniform", probability=0.01, open=False,
             issued_at=BEGAN + timedelta(seconds=10 * place))
        for place, (judge, left, right) in enumerate(zip(said.judge_names, said.left, said.right, strict=True))
    ]  # fmt: skip
    Pair.objects.bulk_create(pairs)
    Answer.objects.bulk_create(
        Answer(pair=pair, revision=1, outcome=outcome, answered_at=pair.issued_at + timedelta(seconds=2), seen_ms=2000)
        for pair, outcome in zip(pairs, said.outcome_words, strict=True)
    )
    return owned


@pytest.fixture(scope="session")
def archives() -> dict[str, bytes]:
    """The packed files of each fit, once it has been stored."""
    return {}


@pytest.fixture
def keep(made, archives):
    """Store a fit in the database."""

    def in_database(study: Study, name: str = "spatial", **fields) -> FitRun:
        each = made[name]
        info = json_value(each.fit.info)
        fields = {
            "status": FitRun.Status.DONE, "progress": 1.0, "settings": each.settings.to_dict(), "info": info,
            "rows": running.table_of(each.fit), "left_out": list(each.left_out), "explained_at": BEGAN,
            "data_sha256": info["data"]["sha256"], "finished_at": BEGAN, "started_at": BEGAN,
            "findings": {"warnings": each.fit.warnings, **each.findings}, **fields,
        }  # fmt: skip
        run = FitRun.objects.create(study=study, version=study.version, number=study.fits.count() + 1, **fields)
        if name not in archives:
            archives[name] = files.pack(each.fit)
        kept = {"archive": archives[name], "briefing": "<style>p{color:red}</style><p>Briefing"}
        FitFiles.objects.create(fit=run, **kept)
        FitPicture.objects.create(fit=run, name="traces", svg="<svg/>", alt="Traces of chains.", caption="Chains.")
        Imprint.objects.get_or_create(study=study, defaults={"next_steps": "Visit."})
        files._open_fit.cache_clear()
        return run

    return in_database


@pytest.fixture
def run(answered, keep) -> FitRun:
    """The first fit of the study."""
    return keep(answered)


@pytest.fixture(scope="session")
def differing(areas, said) -> tuple[Made, list[FitView]]:
    """A fit of what was said in which judges differ, and its maps of the panel and of each judge."""
    quick = QUICK | {"warmup": 20, "draws": 40}  # attention is not compiled: a transition takes a hundred times as long
    settings = FitSettings(judges="differ", attention=True, **quick, as_in_paper=True)
    fit = settings.run(said, areas)
    findings = findings_of(fit, Explanation(fit, said))
    findings["parameters"] = json_value([asdict(each) for each in parameters(fit)])
    return Made(settings, fit, findings), list(running.views_of(FitRun(), fit, said))


@pytest.fixture
def differ_run(answered, keep, made, differing) -> FitRun:
    """A fit of the study in which judges differ."""
    made["differ"] = differing[0]
    run = keep(answered, "differ")
    FitView.objects.bulk_create(
        FitView(fit=run, judge=each.judge, rows=each.rows, findings=each.findings) for each in differing[1]
    )
    return run


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
