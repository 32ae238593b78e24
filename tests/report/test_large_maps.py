"""Maps whose areas are too many to see: regions first, no borders but theirs, towns drawn larger, bounded files."""

from dataclasses import replace

import geopandas
import numpy as np
import pytest
import shapely
from matplotlib.colors import to_rgb
from tests.report.test_maps import colour_at

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.report.figures import maps
from judgemap.report.figures.colours import CHANCE, RISK
from judgemap.report.figures.maps import INSET, WINDOW, ground
from judgemap.report.pages.briefing import briefing
from judgemap.study.assess import explain
from judgemap.study.assess.beside import by_region, group_areas, results_by

PLACES = ("judgemap.report.figures.maps", "judgemap.report.pages.briefing.about", "judgemap.geo.drawing")


@pytest.fixture
def small_is_large(monkeypatch):
    """Treat every map with more than a few areas as a large one."""
    for place in (*PLACES, "judgemap.study.assess.explain"):
        monkeypatch.setattr(f"{place}.LARGE", 10)
    monkeypatch.setattr(explain, "PART", 30)
    ground.cache_clear()
    yield
    ground.cache_clear()


@pytest.fixture
def country():
    """Wide squares in the north, and a town of 20 × 20 small ones in the south-west corner."""
    wide = [shapely.box(x, y, x + 1, y + 1) for y in range(2, 24) for x in range(24)]
    town = [shapely.box(x / 20, y / 20, (x + 1) / 20, (y + 1) / 20) for y in range(20) for x in range(20)]
    names = (*(f"North {each}" for each in range(len(wide))), *(f"Town {each}" for each in range(len(town))))
    cells = shapely.transform(np.array(wide + town), lambda at: at * 10_000)
    ids = tuple(map(str, range(len(cells))))
    return jm.Areas(ids, names, AreaGraph(len(cells), []), geopandas.GeoSeries(cells, crs="EPSG:32616"))


@pytest.mark.usefixtures("small_is_large")
def test_the_town_is_drawn_larger_in_the_same_colours(country):
    values = np.random.default_rng(1).permutation(len(country)) / len(country)
    picture, place = maps.choropleth(country, values, CHANCE), ground(country)
    (town,) = place.insets
    assert town.name == "A  Town"
    classes, limits = CHANCE.classify(values)
    colours = CHANCE.shades(limits)
    for area in town.members[::40]:
        where = (place.points[area] - town.middle) * INSET / WINDOW + town.place
        if np.abs(where - town.place).max() < INSET / 2 - 5:
            where[1] += place.below
            assert np.allclose(colour_at(picture, where), to_rgb(colours[classes[area]]), atol=0.02)
    assert "drawn larger" in picture.caption
    assert "borders of regions" in picture.caption


@pytest.mark.usefixtures("small_is_large")
def test_an_even_map_has_no_part_to_enlarge(country):
    north = sum(name.startswith("North") for name in country.names)
    even = jm.Areas(country.ids[:north], country.names[:north], AreaGraph(north, []), country.geometry[:north])
    assert ground(even).insets == ()


def test_a_picture_of_many_areas_does_not_grow_with_them(country, monkeypatch):
    values = np.random.default_rng(1).normal(size=len(country))
    lines = maps.choropleth(country, values, RISK).svg()
    monkeypatch.setattr("judgemap.report.figures.picture.MOST_POINTS", 100)
    dots = maps.choropleth(country, values, RISK).svg()
    assert "<image" in dots
    assert "<image" not in lines
    assert dots.count("<path") < lines.count("<path")


@pytest.fixture
def in_sides(fit):
    sides = ["A to L" if name < "M" else "M to Z" for name in fit.map.names]
    return replace(fit, map=fit.map.with_figures(jm.Figures(fit.map.ids, {"side": tuple(sides)})))


@pytest.mark.usefixtures("small_is_large")
def test_regions_come_first_each_with_its_highest_areas(in_sides):
    told = by_region(in_sides)
    by = group_areas(in_sides.map, "side")
    assert told.by.name == "side"
    assert told.table.equals(results_by(in_sides, by))
    risk, labels = in_sides.areas["risk_median"].to_numpy(), np.array(by.labels)
    for group, highest in zip(told.table["group"], told.highest, strict=True):
        members = np.flatnonzero(labels == group)
        assert highest.tolist() == members[np.argsort(-risk[members])][:3].tolist()


@pytest.mark.usefixtures("small_is_large")
def test_a_briefing_begins_with_the_regions(in_sides, read_page):
    page = read_page(briefing(in_sides))
    first = by_region(in_sides).table["group"][0]
    words = page.words.replace("\u2068", "").replace("\u2069", "")
    assert f"By side, {first} comes out with the highest mean risk" in words
    assert page.tables[0][1][1] == first
    assert "Results by side" in page.headings
    assert "of 30 areas" in " ".join(image["alt"] for image in page.all("img"))


def test_a_small_map_is_told_by_area(in_sides):
    assert by_region(in_sides) is None
