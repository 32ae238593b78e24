"""Whose view a map is: the population's, the panel's and each judge's, on pages and in files."""

import io
import re
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from django.urls import reverse

from judgemap.study.assess import checks
from judgemap.study.assess.findings import DIFFER
from judgemap.study.fit.settings import FitSettings, View
from judgemap.web.judge import pairs as scheduling
from judgemap.web.judge.models import PopulationMap
from judgemap.web.results.forgetting import forget
from judgemap.web.results.models import FitRun, FitView
from judgemap.web.results.pages import REMEDIES

JUDGES = ("anna000000", "ben0000000", "cleo000000")
JUDGE = JUDGES[1]


def risks(html: str, table_rows) -> dict[str, str]:
    """Risk of each area, as the table shows it."""
    return {cells[1]: cells[2].split()[0] for cells in table_rows(html)}


def written(table: pd.DataFrame) -> dict[str, str]:
    values = table["risk_median"].round(2) + 0.0
    return dict(zip(table["name"], [f"{value:.2f}".replace("-", "−") for value in values], strict=True))


@pytest.mark.parametrize("view", [View.POPULATION, View.PANEL])
def test_the_map_is_the_populations_until_another_is_asked_for(differ_run, page, made, table_rows, view):
    html = page(differ_run, **({"view": "panel"} if view is View.PANEL else {})).text
    assert risks(html, table_rows) == written(made["differ"].fit.seen_by(view).areas)
    assert view.shows in html


def test_a_judges_map(differ_run, page, made, table_rows):
    html = page(differ_run, judge=JUDGE).text
    assert risks(html, table_rows) == written(made["differ"].fit.judge_map(JUDGE))
    assert f"the view of judge {JUDGE} alone" in html
    assert f"judge={JUDGE}&amp;k=10&amp;area=3" in html, "links keep the view"


@pytest.mark.parametrize("query", [{"judge": "nobody"}, {"judge": "a\0b"}, {"view": "pooled"}, {"judge": "x" * 500}])
def test_a_view_that_is_not_there_is_left_out_of_the_map_and_refused_as_a_file(differ_run, page, query):
    assert View.POPULATION.shows in page(differ_run, **query).text
    assert page(differ_run, "download", "csv", **query).status_code == 404


def test_an_area_is_described_on_the_map_that_is_shown(differ_run, page, made):
    fit = made["differ"].fit
    for query, table in (({}, fit.areas), ({"view": "panel"}, fit.seen_by("panel").areas)):
        html = page(differ_run, "area", 3, **query).text
        assert written(table)[fit.map.names[3]] in html
        assert re.search(r'class="bell" d="M', html)
    html = page(differ_run, "area", 3, judge=JUDGE).text
    assert written(fit.judge_map(JUDGE))[fit.map.names[3]] in html
    assert f"?judge={JUDGE}&amp;area=" in html


def test_judges_maps_small_and_one_beside_the_populations(differ_run, page, made, text_of):
    fit = made["differ"].fit
    html = page(differ_run, "judge_maps").text
    assert len(re.findall(r'<figure class="small-map">', html)) == 2 + len(fit.judges)
    order = re.findall(r"\?judge=(\w+)\">Judge", html)
    distance = dict(zip(fit.judges, np.median(fit.posterior["distance"], axis=(0, 1)), strict=True))
    assert order == sorted(fit.judges, key=lambda name: -distance[name])
    assert f"distance {distance[order[0]]:.2f}" in html
    assert "Judges’ views differ from the population’s by" in html
    beside = text_of(page(differ_run, "judge_maps", judge=JUDGE).text)
    assert f"Judge {JUDGE} beside the population" in beside
    correlation = np.corrcoef(fit.areas["risk_median"], fit.judge_map(JUDGE)["risk_median"])[0, 1]
    assert f"Correlation {correlation:.3f}" in beside
    assert page(differ_run, "judge_maps", judge="nobody").status_code == 404


def test_a_fit_of_judges_alike_has_no_judges_maps(run, page):
    html = page(run, "judge_maps").text
    assert "all judges share one map" in html
    assert "small-map" not in html


def test_judges_maps_that_are_not_made_yet(differ_run, page):
    FitView.objects.all().delete()
    assert "missing" in page(differ_run, "judge_maps").text
    assert "Whose view" not in page(differ_run).text
    FitRun.objects.update(explained_at=None)
    assert "come back in a minute" in page(differ_run, "judge_maps").text


def test_files_say_whose_view_they_are(differ_run, run, page, made):
    fit = made["differ"].fit
    views = {"panel": {"view": "panel"}, JUDGE: {"judge": JUDGE}, "population": {}}
    tables = (fit.seen_by("panel").areas, fit.judge_map(JUDGE), fit.areas)
    for (view, query), expected in zip(views.items(), tables, strict=True):
        table = pd.read_csv(io.BytesIO(page(differ_run, "download", "csv", **query).getvalue()))
        assert set(table["view"]) == {view}
        assert table["risk_median"].tolist() == pytest.approx(expected["risk_median"].tolist(), 1e-4)
    for kind, ending in (("parquet", "panel.parquet"), ("draws", "panel.draws.parquet")):
        response = page(differ_run, "download", kind, view="panel")
        assert ending in response["Content-Disposition"]
        assert set(pd.read_parquet(io.BytesIO(response.getvalue()))["view"]) == {"panel"}
    assert page(differ_run, "download", "parquet", judge=JUDGE).status_code == 404
    assert page(differ_run, "download", "replication", view="panel").status_code == 404
    assert "?view=panel" in page(differ_run, "files").text
    assert b"view" not in page(run, "download", "csv").getvalue().splitlines()[0]


def test_what_a_verdict_advises_is_a_button(answered, keep, made, clients, page):
    ground = {"subject": "judges", "grade": "care", "text": "Judges differ.", "remedies": [asdict(DIFFER)]}
    run = keep(answered, findings=made["spatial"].fields["findings"] | {"verdict": {"grounds": [ground]}})
    address = reverse("fits:remedy", args=[answered.slug, run.number])
    html = page(run).text
    assert f'action="{address}"' in html
    assert f'name="remedy" value="{DIFFER.option}"' in html
    response = clients["teammate"].post(address, {"remedy": DIFFER.option})
    asked = FitRun.objects.get(number=run.number + 1)
    assert response["Location"] == reverse("fits:progress", args=[answered.slug, asked.number])
    assert asked.settings == {**run.settings, "judges": "differ"}
    again = clients["owner"].post(address, {"remedy": DIFFER.option})
    assert again["Location"] == response["Location"], "the same fit is not asked for twice"
    FitRun.objects.filter(pk=asked.pk).update(data_sha256="of other answers")
    clients["owner"].post(address, {"remedy": DIFFER.option})
    assert FitRun.objects.count() == 3
    assert clients["owner"].post(address, {"remedy": "--seed 1"}).status_code == 404


def test_every_remedy_has_a_button():
    assert {remedy for each in checks.REMEDIES.values() for remedy in each} | {DIFFER} == set(REMEDIES)


def test_a_remedy_that_does_not_suit_the_model_says_so(answered, keep, clients):
    run = keep(answered, "clusters")
    address = reverse("fits:remedy", args=[answered.slug, run.number])
    assert len(clients["owner"].post(address, {"remedy": DIFFER.option}, follow=True).context["messages"]) == 1
    assert FitRun.objects.count() == 1


def test_a_worker_makes_the_judges_maps(answered, edit, ask_fit, make_fit, page):
    settings = FitSettings(judges="differ", chains=2, warmup=20, draws=20, seed=1, as_in_paper=True)
    run = make_fit(ask_fit(edit(design="adaptive"), settings), "views")
    assert run.status == FitRun.Status.DONE
    assert "views made" in run.log
    assert set(run.views.values_list("judge", flat=True)) == {"", *JUDGES}
    assert len(page(run, "judge_maps").context["maps"].drawn) == 2 + len(JUDGES)
    assert answered.population_map.fit_number == run.number, "the adaptive design goes by it"
    known = scheduling._population(answered.pk)
    assert known.mean.shape == (len(run.rows),)
    np.testing.assert_allclose(np.corrcoef(known.mean, [row["risk_mean"] for row in run.rows])[0, 1], -1, atol=1e-5)
    forget(run, JUDGE)
    run.refresh_from_db()
    assert run.status == FitRun.Status.FAILED
    assert not FitView.objects.exists()
    assert not PopulationMap.objects.exists()
