"""What is taken away from a fit: the briefing in its sandbox, over streets, pictures, and files that others read."""

import csv
import io
import json
import zipfile
from datetime import timedelta
from html import unescape
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from django.urls import reverse
from django.utils import timezone

from judgemap.geo.basemap.tiles import WORLD, Tile, _pack
from judgemap.report.pages.briefing import Gallery
from judgemap.report.pages.finish import ANNEX
from judgemap.study.export import FORMATS, areas_table
from judgemap.study.fit.result import load_fit
from judgemap.web.judge.models import Answer, Pair
from judgemap.web.results.files import KINDS, answers_of
from judgemap.web.results.models import FitFiles, FitRun
from judgemap.web.results.running import draw
from judgemap.web.server.tokens import make_token
from judgemap.web.studies.models import BaseMap, BaseMapTile, Imprint, Study


def body(response) -> bytes:
    assert response.status_code == 200
    assert "attachment" in response["Content-Disposition"]
    return response.getvalue()


def comparisons_in(archive: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        return packed.read("comparisons.csv").decode()


def test_the_briefing_is_shown_in_a_sandbox(run, page):
    response = page(run, "briefing")
    assert "Briefing" in response.text
    policy = response["Content-Security-Policy"]
    assert "sandbox" in policy
    assert "allow-scripts" not in policy
    assert "default-src 'none'" in policy
    assert "Content-Disposition" not in response
    taken = page(run, "briefing", download="")
    assert taken["Content-Disposition"] == 'attachment; filename="wards-fit-1-briefing.html"'


def test_own_words_are_in_every_briefing_at_once(run, clients, page):
    FitFiles.objects.update(briefing="<p>Map</p><!--byline--><!--/byline--><!--next-steps-->old<!--/next-steps-->")
    words = {"author": "A. <Hill>", "next_steps": "Visit.\n\nThen decide."}
    address = reverse("results:words", args=[run.study.slug, run.number])
    assert clients["teammate"].post(address, words).status_code == 302
    html = page(run, "briefing").text
    assert "A. &lt;Hill&gt;" in html
    assert "<p>Visit.</p><p>Then decide.</p>" in html
    assert "old" not in html
    assert "A. &lt;Hill&gt;" in page(run, "files").text, "the form keeps them"


def test_no_briefing_before_what_follows_is_written(run, page):
    Imprint.objects.update(next_steps=" ")
    assert page(run, "briefing").status_code == page(run, "download", "pdf").status_code == 409
    assert not page(run, "files").context["what_follows"]


def test_a_page_that_waits_is_told_when_to_load_again(answered, keep, clients):
    run = keep(answered, explained_at=None)
    address = reverse("fits:explained", args=[run.study.slug, run.number])
    assert "HX-Refresh" not in clients["owner"].get(address)
    FitRun.objects.update(explained_at=timezone.now())
    assert clients["owner"].get(address)["HX-Refresh"] == "true"


def test_a_briefing_that_is_not_written_yet(answered, keep, page):
    run = keep(answered, explained_at=None)
    FitFiles.objects.update(briefing="")
    assert page(run, "briefing").status_code == 404
    assert page(run, "download", "pdf").status_code == 409
    assert "being written" in page(run, "files").text


def test_a_picture_is_an_image_and_no_page(run, page):
    response = page(run, "picture", "traces")
    assert response["Content-Type"] == "image/svg+xml"
    assert "sandbox" in response["Content-Security-Policy"]
    assert page(run, "picture", "nothing").status_code == 404


def test_the_kinds_are_the_librarys_and_three_more():
    assert {kind: KINDS[kind] for kind in FORMATS} == {
        kind: (each.ending, each.media_type) for kind, each in FORMATS.items()
    }
    assert set(KINDS) - set(FORMATS) == {"replication", "pdf", "annex"}


@pytest.mark.parametrize("name", ["spatial", "clusters"])
def test_the_table_as_csv(answered, keep, page, made, name):
    run = keep(answered, name)
    rows = list(csv.DictReader(io.StringIO(body(page(run, "download", "csv")).decode())))
    table = areas_table(made[name].fit)
    assert list(rows[0]) == list(table.columns)
    for column in table.columns[2:]:
        np.testing.assert_allclose([float(row[column]) for row in rows], table[column], rtol=1e-12)


def test_no_cell_is_a_formula(run, page):
    run.rows[0]["name"] = "=HYPERLINK(0)"
    run.save()
    assert "'=HYPERLINK(0)" in body(page(run, "download", "csv")).decode()


def test_draws_come_back(run, page, made, tmp_path):
    draws = pd.read_parquet(io.BytesIO(body(page(run, "download", "draws"))))
    assert len(draws) == made["spatial"].fit.risk.size
    (tmp_path / "posterior.nc").write_bytes(body(page(run, "download", "netcdf")))
    (tmp_path / "fit.json").write_text(json.dumps(run.info))
    assert np.array_equal(load_fit(tmp_path).risk, made["spatial"].fit.risk)


@pytest.mark.parametrize("name", ["spatial", "without"])
def test_a_replication_archive_has_the_answers_of_the_fit_though_more_came(answered, keep, page, said, name):
    last = Answer.objects.latest("answered_at").answered_at
    run = keep(answered, name, read_at=last + timedelta(minutes=1))
    before = comparisons_in(body(page(run, "download", "replication")))
    shown = Pair.objects.order_by("pk").last()
    later = last + timedelta(minutes=2)
    Answer.objects.create(pair=shown, revision=2, outcome="skipped", answered_at=later)
    Pair.objects.create(
        judge=shown.judge, version=shown.version, left=shown.left, right=shown.right, position=99, token=make_token(),
        design="uniform", probability=0.01, issued_at=later,
    )  # fmt: skip
    assert answers_of(run).digest() == said.without(run.left_out).digest() == run.data_sha256
    assert comparisons_in(body(page(run, "download", "replication"))) == before
    assert before.count("\n") == len(said.without(run.left_out)) + 1
    assert "anna000000" not in before, "judges are numbered"


def test_a_replication_archive_after_a_judge_withdrew(run, page):
    Answer.objects.filter(pair__judge=Pair.objects.first().judge).delete()
    response = page(run, "download", "replication")
    assert response.status_code == 409
    assert "a judge withdrew" in response.text


@pytest.mark.parametrize("kind", ["exe", "CSV", "0"])
def test_no_other_kind(run, page, kind):
    assert page(run, "download", kind).status_code == 404


ALL = ["traces", "ranks", "predictive", "variance"]
CLUSTERS = ["cluster-number", "cluster-violins", "co-clustering"]


@pytest.mark.parametrize(("name", "expected"), [("spatial", [*ALL, "alpha"]), ("clusters", ALL + CLUSTERS)])
def test_every_picture_has_its_words(made, undrawn, name, expected):
    fit = made[name].fit
    drawn = draw(Gallery(fit))
    assert list(drawn) == expected
    for picture in drawn.values():
        assert picture.svg().startswith("<svg")
        assert picture.alt.endswith(".")


CREDIT = "© OpenStreetMap contributors"
ROAD = "M0 512l1024 0"


@pytest.fixture
def streets(run) -> BaseMap:
    """A base map of one road through the study, and one name."""
    west, north, size = json.loads(run.study.outline)["box"]
    made = BaseMap.objects.create(study=run.study, file="town.osm", credit=CREDIT, status="done", progress=1.0)
    level = 11
    column = int(((west + size / 2) / WORLD + 0.5) * 2**level)
    row = int((0.5 - (north - size / 2) / WORLD) * 2**level)
    content = _pack(Tile({"primary": ROAD}, [["town", 512, 512, "A <Town>"]]))
    BaseMapTile.objects.create(base_map=made, level=level, column=column, row=row, content=content)
    Study.objects.filter(pk=run.study.pk).update(base_map=made)
    FitFiles.objects.filter(fit=run).update(briefing=f"<main>Front{ANNEX}Annex</nav></main>")
    return made


def test_a_briefing_has_streets_only_when_they_are_switched_on(run, streets, page, clients):
    assert CREDIT not in page(run, "briefing").text
    clients["owner"].post(f"/studies/{run.study.slug}/base-map", {"act": "results", "on": "on"})
    html = page(run, "briefing").text
    front, picture, annex = html.index("Front"), html.index('src="data:image/svg+xml,'), html.index("Annex")
    assert front < picture < html.index(CREDIT) < annex
    svg = unquote(unescape(html[picture:].split('"')[1]))
    assert f'd="{ROAD}"' in svg
    assert svg.count('fill="#') > len(run.rows)  # the ground, and every area
    assert svg.index(ROAD) < svg.index("fill-opacity") < svg.index("</svg>")
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert CREDIT in page(run, "briefing", download="").text


def test_a_study_without_a_base_map_has_the_briefing_as_it_was(run, streets, page):
    BaseMap.objects.update(in_results=True)
    Study.objects.update(base_map=None)
    assert page(run, "briefing").text == f"<main>Front{ANNEX}Annex</nav></main>"


def test_a_briefing_begins_its_annex_where_streets_are_put_in(made, undrawn):
    from judgemap.report.pages.briefing import briefing

    assert briefing(made["spatial"].fit).count(ANNEX) == 1
