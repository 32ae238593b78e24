"""The risk map of very many areas: the same numbers, a page of the table at a time, and pictures."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from judgemap.web.judge.places import gazetteer
from judgemap.web.results import forgetting, risk_map, running
from judgemap.web.results.models import FitArea, FitRun
from judgemap.web.results.pages import read_findings
from judgemap.web.results.risk_map import layer_makers
from judgemap.web.studies.making import small_paths
from judgemap.web.studies.models import Drawing, Tile


@pytest.fixture
def large(run):
    """A fit whose study has tiles, as those with very many areas have."""
    Tile.objects.create(study=run.study, level=3, x=0, y=0, content=b"")
    Drawing.objects.filter(study=run.study).update(paths=small_paths(run.study.areas.order_by("position")))
    return run


def test_the_table_comes_a_page_at_a_time(large, page, table_rows, monkeypatch):
    everything = table_rows(page(large).text)
    assert len(everything) == 16
    monkeypatch.setattr(risk_map, "A_PAGE", 5)
    parts = [table_rows(page(large, page=number).text) for number in (1, 2, 3, 4)]
    assert [len(each) for each in parts] == [5, 5, 5, 1]
    assert [row for part in parts for row in part] == everything
    assert table_rows(page(large, page=99).text) == parts[-1]


def test_the_numbers_are_those_of_the_other_page(run, page, table_rows):
    small = table_rows(page(run, sort="-sd").text)
    Tile.objects.create(study=run.study, level=3, x=0, y=0, content=b"")
    assert table_rows(page(run, sort="-sd").text) == small


def test_areas_are_found_by_name(large, page, table_rows):
    found = page(large, q="ward 2").text
    assert len(table_rows(found)) == 4
    assert all(row[1].startswith("Ward 2") for row in table_rows(found))
    assert "4 of 16 areas" in found


def test_the_table_can_be_that_of_one_region(large, page, table_rows):
    inside = large.study.areas.filter(position__in=(1, 4, 9))
    inside.update(region="Elm")
    large.study.areas.exclude(position__in=(1, 4, 9)).update(region="Ash")
    gazetteer.cache_clear()
    html = page(large, region="Elm", sort="-sd").text
    assert sorted(row[1] for row in table_rows(html)) == sorted(inside.values_list("name", flat=True))
    assert "region=Elm" in html.split('id="table"')[1]
    assert len(table_rows(page(large, region="Elsewhere").text)) == 16


def test_an_area_is_drawn_among_its_neighbours(large, page):
    large.study.areas.filter(position=5).update(region="Ward")
    html = page(large, area=5).text
    drawn = html.split('class="around"')[1].split("</svg>")[0]
    fills = layer_makers(large.rows, {}, read_findings(large, "between", "grouping"))["risk"]().fills
    assert re.findall(r'fill="(#\w+)"', drawn)[-1] == fills[5]
    assert set(re.findall(r"<text[^>]*>([^<]+)<", drawn)) == {"1.2", "2.1", "2.3", "3.2"}
    assert {fills[at] for at in (1, 4, 6, 9)} <= set(re.findall(r'fill="(#\w+)"', drawn))
    assert page(large).text.count('class="around"') == 0


def test_the_page_holds_no_shape_and_works_without_a_script(large, page):
    html = page(large, area=3).text
    assert "data-area" not in html
    assert re.search(r'<img id="picture" src="[^"]+map.svg\?layer=risk"', html)
    assert large.rows[3]["name"] in html.split('id="detail"')[1].split("</section>")[0]


@pytest.mark.parametrize("name", ["risk", "sd", "rank", "width", "top10"])
def test_the_picture_has_every_area_in_its_colour(large, page, name):
    layer = layer_makers(large.rows, {})[name]()
    picture = page(large, "map_picture", layer=name).text
    for shade, colour in enumerate(layer.colours):
        drawn = re.search(rf'<path d="([^"]+)" fill="{colour}"', picture)
        assert (drawn[1].count("M") if drawn else 0) == layer.classes.count(shade)
    colours = page(large, "map_colours", layer=name).json()
    assert colours == {"colours": layer.colours, "classes": layer.classes}


def test_a_layer_that_is_not_there_is_not_drawn(large, page):
    assert page(large, "map_picture", layer="nothing").status_code == 404
    assert page(large, layer="nothing").status_code == 200


def test_the_table_of_areas_is_read_once(large, page, table_rows):
    first = table_rows(page(large).text)
    with CaptureQueriesContext(connection) as queries:
        assert table_rows(page(large).text) == first
        page(large, "map_picture", layer="risk")
        page(large, "convergence")
    assert not [each["sql"] for each in queries if '"rows"' in each["sql"]]


def test_results_that_were_removed_are_not_shown_again(large, page):
    assert page(large).status_code == 200
    forgetting._remove_results(large, "Removed.")
    assert [page(large, name).status_code for name in ("map", "map_picture", "map_colours")] == [302] * 3


@pytest.fixture
def apart(large, monkeypatch):
    """The same fit, with whom each area met kept as for a large map."""
    monkeypatch.setattr(running, "EXPLAINED", 5)
    found, large.findings = large.findings, {}
    running.keep_findings(large, dict(found))
    return large


def test_whom_an_area_met_is_the_same_in_a_row_of_its_own(large, page, request):
    before = [page(large, "area", position).content for position in (0, 3, 15)]
    apart = request.getfixturevalue("apart")
    assert "met" not in FitRun.objects.get(pk=apart.pk).findings
    assert [page(apart, "area", position).content for position in (0, 3, 15)] == before
    assert b"Against" in before[0]


def test_findings_kept_again_take_the_place_of_the_earlier_ones(apart):
    running.keep_findings(apart, {"met": [[[1, 2, 0]]] * 16})
    assert list(FitArea.objects.filter(fit=apart).values_list("met", flat=True)) == [[[1, 2, 0]]] * 16


def test_whom_areas_met_goes_with_the_results_and_with_the_study(apart):
    assert FitArea.objects.filter(fit=apart).count() == 16
    forgetting._remove_results(apart, "Removed.")
    assert not FitArea.objects.exists()
    running.keep_findings(apart, {"met": [[]] * 16})
    forgetting.remove_fits(apart.study)
    assert not FitArea.objects.exists()
