"""The briefing over streets: only when switched on, with the credit, and without a second file."""

import json
from html import unescape
from urllib.parse import unquote

import pytest

from judgemap.geo.basemap.tiles import WORLD, Tile, _pack
from judgemap.report.pages.finish import ANNEX
from judgemap.web.results.models import FitFiles
from judgemap.web.studies.models import BaseMap, BaseMapTile, Study

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
    assert CREDIT not in page(run, "briefing").content.decode()
    clients["owner"].post(f"/studies/{run.study.slug}/base-map", {"act": "results", "on": "on"})
    html = page(run, "briefing").content.decode()
    front, picture, annex = html.index("Front"), html.index('src="data:image/svg+xml,'), html.index("Annex")
    assert front < picture < html.index(CREDIT) < annex
    svg = unquote(unescape(html[picture:].split('"')[1]))
    assert f'd="{ROAD}"' in svg
    assert svg.count('fill="#') > len(run.rows)  # the ground, and every area
    assert svg.index(ROAD) < svg.index("fill-opacity") < svg.index("</svg>")
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert CREDIT in page(run, "briefing", download="").content.decode()


def test_a_study_without_a_base_map_has_the_briefing_as_it_was(run, streets, page):
    BaseMap.objects.update(in_results=True)
    Study.objects.update(base_map=None)
    assert page(run, "briefing").content.decode() == f"<main>Front{ANNEX}Annex</nav></main>"


def test_a_briefing_begins_its_annex_where_streets_are_put_in(made, undrawn):
    from judgemap.report.pages.briefing import briefing

    assert briefing(made["spatial"].fit).count(ANNEX) == 1
