"""Figures and districts on a fit's page: uploaded, matched, held against the map by a worker, and kept."""

import io
import zipfile

import geopandas
import pandas as pd
import pytest
import shapely
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.models import CharField
from django.db.models.functions import Cast
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judgemap.geo.figures import REGION
from judgemap.study.assess.beside import beside, results_by
from judgemap.web.people.export import export_study
from judgemap.web.results import actions, files
from judgemap.web.results.models import Beside
from judgemap.web.studies.areas import load_areas
from judgemap.web.studies.models import Act, StudyFigures
from judgemap.web.studies.upload.records import ReadFigures


@pytest.fixture(autouse=True)
def _read_here(request):
    """Start the reader's own program in only one test."""
    if request.function is not test_a_table_is_read_in_the_sandbox_and_held_against_the_map:
        request.getfixturevalue("read_here")


@pytest.fixture
def with_figures(run):
    """A fit that a worker has held against a town and a number for each area."""
    ids = files.open_fit(run).map.ids
    cells = {
        "town": ["East" if place % 2 else "West" for place in range(len(ids))],
        "income": [str(place) for place in range(len(ids))],
    }
    actions.keep_figures(run.study, ReadFigures(cells, ["One row is of another area."]), "imd.csv")
    return hold(run)


def hold(run):
    job = Beside.objects.get(fit=run)
    assert Beside.claim(job.pk).carry_out() is None
    job.refresh_from_db()
    assert job.status == "done", job.said
    return run


def upload(client, run, name: str, content: bytes):
    sent = SimpleUploadedFile(name, content)
    return client.post(reverse("results:add_figures", args=[run.study.slug, run.number]), {"file": sent})


def test_a_table_is_read_in_the_sandbox_and_held_against_the_map(clients, run, page):
    ids = files.open_fit(run).map.ids
    table = pd.DataFrame({"code": ids, "income": range(len(ids)), "town": ["A", "B"] * (len(ids) // 2)})
    response = upload(clients["owner"], run, "imd.csv", table.iloc[1:].to_csv(index=False).encode())
    assert response.status_code == 302, response.content
    kept = StudyFigures.objects.get(study=run.study)
    assert list(kept.cells) == ["income", "town"]
    assert kept.cells["income"][:3] == ["", "1", "2"]
    assert len(kept.notes) == 1
    assert Act.objects.filter(verb="figures added", detail__file="imd.csv").exists()
    assert page(run, "figures").context["waiting"]
    told = Beside.objects.get(fit=hold(run)).told
    expected = beside(files.open_fit(run), load_areas(run.version).figures)
    assert told.follows["income"].median == pytest.approx(expected.follows["income"].median)
    assert [row["group"] for row in told.groups["town"]] == [row["group"] for row in expected.groups["town"]]


def test_districts_come_as_boundaries(clients, run):
    areas = load_areas(run.version)
    west, south, east, north = areas.geometry.total_bounds
    middle = (west + east) / 2
    boxes = [shapely.box(west - 1, south - 1, middle, north + 1), shapely.box(middle, south - 1, east + 1, north + 1)]
    frame = geopandas.GeoDataFrame({"code": ["W", "E"], "name": ["West", "East"]}, geometry=boxes, crs="EPSG:4326")
    assert upload(clients["owner"], run, "districts.geojson", frame.to_json().encode()).status_code == 302
    assert set(StudyFigures.objects.get(study=run.study).cells["districts"]) == {"West", "East"}


@pytest.mark.parametrize(
    ("name", "content"),
    [("imd.csv", b"ward,income\nNowhere,1\n"), ("imd.csv", b""), ("imd.csv", b"\xff\xfe\x00\x00"),
     ("imd.xlsx", b"PK\x03\x04 and so on"), ("imd.docx", b"x")],
)  # fmt: skip
def test_what_cannot_be_matched_is_refused_in_a_sentence(clients, run, name, content):
    response = upload(clients["owner"], run, name, content)
    assert response.status_code == 400
    assert response.context["form"].errors["file"]
    assert not StudyFigures.objects.exists()


def test_the_page_shows_groups_and_figures(with_figures, page):
    shown = page(with_figures, "figures", by="town", column="income")
    fit = files.open_fit(with_figures)
    expected = results_by(fit, ["East" if place % 2 else "West" for place in range(len(fit.map))])
    assert [row["group"] for row, _ in shown.context["groups"]] == expected["group"].tolist()
    [picture] = shown.context["pictures"]
    assert picture.alt.startswith(f"Scatter of the risk of {len(fit.map)} areas against income.")
    assert page(with_figures, "picture", picture.name).status_code == 200
    assert shown.context["not_cause"] in shown.text
    assert page(with_figures, "figures", by="nothing", column="<b>").context["by"] == "town"
    with CaptureQueriesContext(connection) as queries:
        page(with_figures, "figures")
    assert len(queries) < len(fit.map), "no query for every area"


def test_each_figure_has_its_own_picture(run, page):
    run.study.areas.update(region=Cast("position", CharField()))
    numbers = [str(place) for place in range(len(run.rows))]
    actions.keep_figures(run.study, ReadFigures({"unemployed": numbers, "age": numbers[::-1]}, []), "census.csv")
    hold(run)
    for column in (REGION, "unemployed", "age"):
        [picture] = page(run, "figures", column=column).context["pictures"]
        assert f"against {column}." in picture.alt


def test_what_is_chosen_is_shown_in_the_briefing(with_figures, clients, page):
    run = with_figures
    where = reverse("results:choose_figures", args=[run.study.slug, run.number])
    given = {"weighted_by": "income", "in_briefing": ["town", "income"]}
    assert clients["owner"].post(where, given).status_code == 302
    hold(run)
    files.FitFiles.objects.filter(fit=run).update(briefing='<p>Two pages.</p><nav aria-labelledby="contents">')
    briefing = page(run, "briefing").text
    assert "Results by town" in briefing
    assert "Beside income" in briefing
    assert clients["owner"].post(where, {"weighted_by": "equal", "remove": ["income"]}).status_code == 302
    assert list(StudyFigures.objects.get(study=run.study).cells) == ["town"]
    assert clients["owner"].post(where, {"weighted_by": "surface"}).status_code == 400


def choose_counts(run, client, cases, **given):
    """Add counts and people, choose them for rates, and let a worker work them out."""
    ids = files.open_fit(run).map.ids
    cells = {"cases": cases, "people": [str(1000 + place) for place in range(len(ids))]}
    actions.keep_figures(run.study, ReadFigures(cells, []), "cases.csv")
    where = reverse("results:choose_figures", args=[run.study.slug, run.number])
    given = {"weighted_by": "equal", "counts": "cases", "expected": "people", **given}
    response = client.post(where, given)
    return hold(run).beside.told if response.status_code == 302 else response


def test_rates_rest_on_counts(run, clients, page, tmp_path):
    risk = files.open_fit(run).areas["risk_median"]
    told = choose_counts(
        run, clients["owner"], [str(int(20 * 2**each)) for each in risk], missed_low=10, missed_high=30
    )
    assert told.rates.missed == (0.1, 0.3)
    shown = page(run, "figures")
    assert [each[0] for each in shown.context["rates"]][:1] == [int(risk.argmax())]
    assert told.rates.sentence in shown.context["told"].rates.sentence
    path = tmp_path / "rates.csv"
    path.write_bytes(page(run, "download", "csv", rates="").getvalue())
    assert pd.read_csv(path)["rate_median"].tolist() == pytest.approx([each[0] for each in told.rates.rates])


def test_counts_that_say_nothing(run, clients, page):
    few = [str(place) if place < 7 else "" for place in range(len(run.rows))]
    assert "7 areas" in choose_counts(run, clients["owner"], few).no_rates
    assert page(run, "figures").status_code == 200
    assert page(run, "download", "csv", rates="").status_code == 409
    assert choose_counts(run, clients["owner"], few, expected="").status_code == 400


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_downloads_by_group(with_figures, page, tmp_path, kind):
    response = page(with_figures, "download", kind, by="town")
    assert response.status_code == 200
    path = tmp_path / f"towns.{kind}"
    path.write_bytes(response.getvalue())
    read = pd.read_csv(path) if kind == "csv" else geopandas.read_file(path, layer="results")
    assert read["group"].tolist() == [row["group"] for row in with_figures.beside.told.groups["town"]]
    assert page(with_figures, "download", kind, by="village").status_code == 409


def test_figures_are_kept_in_archives_and_later_fits(with_figures, tmp_path):
    archive = export_study(with_figures.study, tmp_path / "study.zip")
    with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as packed:
        assert packed.read("figures.csv").startswith(b"id,town,income\n")
    assert load_areas(with_figures.version).figures.numeric == ["income"]
