"""From the map to the decision, on real small areas with real figures, played by a bot: one afternoon."""

import itertools
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import judgemap as jm
from judgemap.report.pages.finish import find_renderer
from judgemap.study.assess.verdict import Grade
from judgemap.study.data.definition import StudyDefinition
from judgemap.study.fit.settings import FitSettings
from judgemap.web.judge import joining
from judgemap.web.results import actions
from judgemap.web.results.models import Beside
from judgemap.web.studies import editing, making
from judgemap.web.studies.models import Study

ENGLAND = Path(__file__).resolve().parents[4] / "shared" / "data" / "england"
DISTRICTS = ("Broxtowe", "Gedling", "Nottingham", "Rushcliffe")
JUDGES, ANSWERS = 6, 100


@pytest.fixture(scope="module")
def place() -> tuple[jm.Areas, pd.DataFrame]:
    """The first small areas of Nottingham and of the districts around it, with their domains of deprivation."""
    if not (ENGLAND / "imd2019.csv").exists():
        pytest.skip("there is no ../shared/data/england")
    every = geopandas.read_file(f"zip://{ENGLAND / 'lsoa2011.zip'}")
    district, code = (every["LSOA11NM"].str.extract(r"^(.*) (\d{3})[A-Z]$")[at] for at in (0, 1))
    chosen = district.isin(DISTRICTS) & (code.astype(float) <= 6)
    figures = pd.read_csv(ENGLAND / "imd2019.csv").assign(district=None)
    figures["district"] = figures["LSOA11CD"].map(dict(zip(every["LSOA11CD"], district, strict=True)))
    areas = jm.read_areas(every[chosen].reset_index(drop=True), id="LSOA11CD", name="LSOA11NM")
    return areas, figures[["LSOA11CD", "district", "income", "health"]]


def play_judges(study: Study, areas: jm.Areas, risk: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer as judges would who know the risk, with as much doubt as the model has, one pair in five seconds."""
    clock = itertools.count(time.time() - 2 * JUDGES * ANSWERS * 5, 5)
    rng, names = np.random.default_rng(1), {name: at for at, name in enumerate(areas.names)}
    for invited in joining.invite(study, JUDGES):
        browser = Client()
        browser.post(f"/j/{invited.token}/consent", {"agree": "yes", "begin": "now"})
        for _ in range(ANSWERS):
            pair = browser.get(f"/j/{invited.token}/", headers={"Accept": "application/json"}).json()
            left, right = (risk[names[pair[side]]] for side in ("left", "right"))
            outcome = "left" if rng.random() < 1 / (1 + np.exp(left - right)) else "right"
            given = {"pair": pair["pair"], "outcome": outcome, "follows": pair["follows"]}
            moment = datetime.fromtimestamp(next(clock), UTC)
            monkeypatch.setattr(timezone, "now", lambda moment=moment: moment)
            answered = browser.post(f"/j/{invited.token}/answer", given, headers={"Accept": "application/json"})
            assert answered.status_code == 200, answered.content
    monkeypatch.undo()


@pytest.mark.slow
def test_an_afternoon(place, people, clients, carry_out, tmp_path, monkeypatch):
    areas, figures = place
    income = figures.set_index("LSOA11CD").loc[list(areas.ids), "income"].to_numpy()
    risk = 2 * (income.mean() - income) / income.std()  # rank 1 is the most deprived

    # 1. Judges compare, with income in mind.
    words = {"title": "Small areas", "question": "Which has the LOWER rate?", "direction": "lower", "design": "uniform"}
    definition = StudyDefinition(**words, recommended=ANSWERS, maximum=ANSWERS)
    study = editing.open_study(making.create_study(definition, areas, people["owner"]))
    play_judges(study, areas, risk, monkeypatch)

    # 2. The fit, and the figures beside it.
    run = actions.ask_for_fit(study, FitSettings(chains=4, draws=1000, judges="alike", seed=1), people["owner"])
    carry_out(run)
    assert run.status == "done", run.said
    owner = clients["owner"]
    sent = SimpleUploadedFile("imd.csv", figures.to_csv(index=False).encode())
    where = reverse("results:add_figures", args=[study.slug, run.number])
    assert owner.post(where, {"file": sent}).status_code == 302
    choose = {"weighted_by": "equal", "in_briefing": ["district", "income"]}
    assert owner.post(reverse("results:choose_figures", args=[study.slug, run.number]), choose).status_code == 302
    carry_out(Beside.objects.get(fit=run))
    told = Beside.objects.get(fit=run).told
    assert told.follows["income"].high < -0.6, "a low rank is deprived"
    assert abs(told.follows["income"].median) > abs(told.follows["health"].median)
    assert {row["group"] for row in told.groups["district"]} == set(DISTRICTS)
    assert told.groups["district"][0]["group"] == "Nottingham"
    page = owner.get(reverse("results:figures", args=[study.slug, run.number]), {"column": "health"})
    assert page.context["pictures"][0].alt.startswith(f"Scatter of the risk of {len(areas):,} areas")

    # 3. Covariates in the model.
    again = actions.ask_for_fit(study, FitSettings(chains=4, draws=1000, judges="alike", seed=1, covariates="income"))
    carry_out(again)
    assert again.status == "done", again.said
    effect = next(each for each in again.findings["parameters"] if each["symbol"] == "e^β income")
    assert effect["high"] < 1

    # 4. A stranger reads, a spreadsheet opens, and the briefing has two pages.
    verdict = page.context["verdict"]
    assert verdict.grade is not Grade.NO, verdict.reasons
    words = {"author": "A. Hill", "next_steps": "Visit the ten highest."}
    assert owner.post(reverse("results:words", args=[study.slug, run.number]), words).status_code == 302
    share = {"name": "Council", "shows": ["map", "table", "briefing"]}
    link = owner.post(reverse("results:share", args=[study.slug, run.number]), share).context["made"]
    stranger, path = Client(), "/r/" + link.split("/r/")[1]
    assert stranger.get(path).status_code == 200
    briefing = stranger.get(f"{path}briefing").content.decode()
    assert "Results by district" in briefing
    assert "Beside income" in briefing
    sheet = tmp_path / "districts.xlsx"
    files = reverse("results:download", args=[study.slug, run.number, "xlsx"])
    sheet.write_bytes(b"".join(owner.get(files, {"by": "district"}).streaming_content))
    assert len(geopandas.read_file(sheet, layer="results")) == len(DISTRICTS)
    if find_renderer() is None:
        return
    pdf = tmp_path / "briefing.pdf"
    printed = owner.get(reverse("results:download", args=[study.slug, run.number, "pdf"]))
    pdf.write_bytes(b"".join(printed.streaming_content))
    assert len(re.findall(rb"/Type /Page\b", pdf.read_bytes())) == 2
