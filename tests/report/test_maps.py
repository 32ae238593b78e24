"""Maps and network drawings: the right colour in the right place, north up, small files, clear errors."""

import io
import sqlite3
from contextlib import closing
from dataclasses import replace
from xml.etree import ElementTree as ET

import geopandas
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from PIL import Image

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import independent
from judgemap.geo.adjacency import Bridge
from judgemap.report.figures import maps
from judgemap.report.figures.colours import CHANCE, RISK, Scale
from judgemap.report.figures.layout import layout
from judgemap.report.figures.maps import ground
from judgemap.report.figures.picture import MISSED
from judgemap.report.figures.qgis import add_style
from judgemap.study.export import write_download

MAPS = {
    "risk": (maps.risk_map, "← lower risk", "higher risk →"),
    "uncertainty": (maps.uncertainty_map, "← more certain", "less certain →"),
    "p_top": (lambda fit: maps.p_top_map(fit, k=3), "← unlikely", "nearly certain →"),
    "prior": (
        lambda fit: maps.prior_correlation_map(fit.map, jm.prior_covariance(fit.map), fit.map.names[1]),
        "← tells nothing",
        "tells much →",
    ),
    "adjacency": (lambda fit: maps.adjacency_map(fit.map), "", ""),
}


def squares(width, height, crs="EPSG:32616"):
    """A chessboard of kilometre squares, row by row from the south-west, without edges."""
    cells = [shapely.box(x, y, x + 1000, y + 1000) for y in 1000 * np.arange(height) for x in 1000 * np.arange(width)]
    ids = tuple(str(cell) for cell in range(len(cells)))
    return jm.Areas(ids, ids, AreaGraph(len(cells), []), geopandas.GeoSeries(cells, crs=crs))


def pixels(picture, dpi=144):
    """Return the picture's colours, in rows from the top, and how many rows and columns make a point."""
    return np.asarray(Image.open(io.BytesIO(picture.png(dpi))).convert("RGB")) / 255, dpi / 72


def colour_at(picture, place):
    """Return the colour of a point (x, y) of the map, y upward from the foot of the map."""
    image, dots = pixels(picture)
    x, y = place
    return image[int(image.shape[0] - (y + maps.LEGEND) * dots), int(x * dots)]


def numbers_of(picture):
    """Return where the numbers on the areas stand; those of the legend stand below the map."""
    texts = picture.figure.axes[0].texts
    return {int(text.get_text()): text.get_position() for text in texts if text.get_position()[1] > 0}


@pytest.mark.parametrize(("draw", "low", "high"), MAPS.values(), ids=MAPS)
def test_every_map_draws_on_maps_and_edge_lists(draw, low, high, any_fit, words):
    picture = draw(any_fit)
    assert {low, high} - {""} <= set(words(picture)), "the legend says which end is which"
    assert len(picture.svg()) < 100_000
    kind = "Map of" if any_fit.map.geometry is not None else "Network drawing of"
    assert picture.alt.startswith(f"{kind} {len(any_fit.map)} areas")
    assert ("no boundary file" in picture.caption) == (any_fit.map.geometry is None)


def test_words_and_values_agree(fit):
    table = fit.areas
    highest, lowest = table.nlargest(3, "risk_median")["name"], table.nsmallest(3, "risk_median")["name"]
    assert maps.risk_map(fit).alt.endswith(f"Highest: {', '.join(highest)}; lowest: {', '.join(lowest)}.")
    assert table["name"][table["risk_sd"].idxmax()] in maps.uncertainty_map(fit).alt
    assert fit.map.names[int(fit.p_top(3).to_numpy().argmax())] in maps.p_top_map(fit, k=3).alt


@pytest.mark.parametrize("kind", ["map", "network"])
def test_every_area_has_the_colour_of_its_value(kind):
    """Read the colours back from the pixels, for a different value in every area."""
    areas = squares(3, 3)
    if kind == "network":
        areas = replace(areas, geometry=None, graph=AreaGraph(9, [[i, i + 1] for i in range(8)]))
    values = np.random.default_rng(1).permutation(9) / 9 + 0.01
    scale = Scale("YlOrRd", "value", "low", "high", tuple(np.arange(10) / 9))
    picture, place = maps.choropleth(areas, values, scale), ground(areas)
    colours = scale.colours(9)
    for point, value in zip(place.points, values, strict=True):
        assert np.allclose(colour_at(picture, point), to_rgb(colours[int(value * 9)]), atol=0.01)


def test_north_is_up_and_east_is_right():
    place = ground(squares(2, 2))
    (south_west, south_east, north_west, _) = place.points
    assert north_west[1] > south_west[1] + 50
    assert south_east[0] > south_west[0] + 50
    assert np.allclose(north_west[0], south_west[0], atol=1)


def test_degrees_are_projected():
    """At 60° north a degree of longitude is half as long as one of latitude."""
    cells = [shapely.box(x, 59.5, x + 1, 60.5) for x in (10, 11)]
    areas = jm.Areas(("a", "b"), ("a", "b"), AreaGraph(2, [[0, 1]]), geopandas.GeoSeries(cells, crs="EPSG:4326"))
    extents = ground(areas).shapes[0].get_extents()
    assert extents.width / extents.height == pytest.approx(0.5, abs=0.02)


def test_a_hole_stays_open():
    ring = shapely.box(0, 0, 3000, 3000) - shapely.box(1000, 1000, 2000, 2000)
    outlines = geopandas.GeoSeries([ring, shapely.box(3000, 0, 6000, 3000)], crs="EPSG:32616")
    areas = jm.Areas(("a", "b"), ("a", "b"), AreaGraph(2, [[0, 1]]), outlines)
    picture, place = maps.choropleth(areas, [1.0, 1.0], CHANCE), ground(areas)
    middle = place.shapes[0].get_extents()
    hole = ((middle.x0 + middle.x1) / 2, (middle.y0 + middle.y1) / 2)
    assert np.allclose(colour_at(picture, hole), 1.0)
    assert not np.allclose(colour_at(picture, (middle.x0 + 10, middle.y0 + 10)), 1.0)


def test_kilometres_are_to_scale(words):
    """Squares of one kilometre: the bar of the legend is as long as the number below it says."""
    picture = maps.choropleth(squares(10, 4), np.arange(40.0), RISK)
    bar = max((line.get_xdata() for line in picture.figure.axes[0].lines), key=np.ptp)
    width = np.diff(ground(squares(10, 4)).points[:2, 0])[0]
    assert f"{np.ptp(bar) / width:.3g} km" in words(picture)


def test_numbers_stand_on_the_highest_areas(bare_fit):
    order = np.argsort(-bare_fit.areas["risk_median"].to_numpy())[:10]
    places = ground(bare_fit.map).points
    spots = numbers_of(maps.risk_map(bare_fit))
    assert list(spots) == list(range(1, 11))
    for number, area in enumerate(order, start=1):
        assert np.allclose(spots[number], places[area])


def test_crowded_numbers_move_apart():
    """Ten tiny areas in a corner of a large one: every number can be read, and none leaves the paper."""
    tiny = [shapely.box(x, 0, x + 100, 100) for x in range(0, 1000, 100)]
    outlines = geopandas.GeoSeries([*tiny, shapely.box(0, 100, 50_000, 50_000)], crs="EPSG:32616")
    ids = tuple("abcdefghijk")
    areas = jm.Areas(ids, ids, AreaGraph(11, []), outlines)
    picture = maps.choropleth(areas, np.arange(11.0), RISK, numbered=range(10))
    spots = np.array(list(numbers_of(picture).values()))
    assert apart(spots).min() > 2 * maps.BADGE
    assert spots.min() >= maps.BADGE
    assert len(spots) == 10


def test_the_prior_is_drawn_around_its_area(fit):
    covariance = jm.prior_covariance(fit.map)
    picture = maps.prior_correlation_map(fit.map, covariance, "35")
    sd = np.sqrt(np.diagonal(covariance.matrix))
    correlated = np.argsort(-covariance.matrix[fit.map.lookup["35"]] / sd)[:3]
    assert ", ".join(fit.map.names[area] for area in correlated) in picture.alt
    assert "Douglas (outlined)" in picture.caption


def test_unknown_areas_and_wrong_sizes_are_named(fit):
    areas = fit.map
    for draw, said in {
        lambda: maps.prior_correlation_map(areas, fit.covariance, "Hide Park"): "'Hide Park' is not .*mean 'Hyde Park'",
        lambda: maps.prior_correlation_map(areas, independent(5), "Hyde Park"): "prior is of 5 areas and the map of 77",
        lambda: maps.choropleth(areas, [1, 2, 3], RISK): "needs one value each, not 3",
        lambda: maps.choropleth(areas, np.full(77, np.nan), RISK): "has no finite value",
        lambda: maps.p_top_map(fit, 0): "k must be between 1 and 77, not 0",
        lambda: maps.p_top_map(fit, 78): "k must be between 1 and 77, not 78",
    }.items():
        with pytest.raises(jm.StudyError, match=said):
            draw()


def test_bridges_are_dashed_and_counted():
    areas = replace(squares(3, 1), graph=AreaGraph(3, [[0, 1], [1, 2]]), bridges=(Bridge("2", "1", 3.0),))
    picture = maps.adjacency_map(areas)
    dashed = [patch for patch in picture.figure.axes[0].patches if patch.get_linestyle() not in ("solid", "-")]
    assert len(dashed) == 1
    assert np.allclose(dashed[0].get_edgecolor()[:3], to_rgb(MISSED))
    assert "3 areas and 1 border between them, and 1 across a gap" in picture.caption


def test_a_large_detailed_map_stays_small(dar_es_salaam):
    """452 subwards of 4.9 MB."""
    areas = jm.read_areas(dar_es_salaam / "areas.geojson", id="id")
    values = np.linspace(-2, 2, len(areas))
    assert len(maps.choropleth(areas, values, RISK, numbered=range(10)).svg()) < 300_000
    assert len(maps.choropleth(replace(areas, geometry=None), values, RISK).svg()) < 300_000


def grid(width, height):
    place = np.arange(width * height).reshape(height, width)
    across = np.column_stack([place[:, :-1].ravel(), place[:, 1:].ravel()])
    down = np.column_stack([place[:-1].ravel(), place[1:].ravel()])
    return AreaGraph(width * height, np.concatenate([across, down]))


def apart(points):
    distance = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    np.fill_diagonal(distance, np.inf)
    return distance


def test_a_grid_is_drawn_as_one():
    """Neighbours lie about one edge apart, the long side lies across, and nothing crosses over."""
    graph = grid(6, 3)
    points = layout(graph)
    i, j = graph.edges.T
    assert np.allclose(np.hypot(*(points[i] - points[j]).T), 1, atol=0.35)
    assert np.ptp(points[:, 0]) > 1.5 * np.ptp(points[:, 1])
    columns = points[:, 0].reshape(3, 6).mean(axis=0)
    assert np.all(np.diff(columns) > 0.7)


@pytest.mark.parametrize("leaves", [2, 3, 5, 12])
def test_leaves_of_a_star_do_not_coincide(leaves):
    points = layout(AreaGraph(leaves + 1, [[0, leaf] for leaf in range(1, leaves + 1)]))
    assert apart(points).min() > 0.3


def test_parts_stand_side_by_side():
    graph = AreaGraph(9, [[0, 1], [1, 2], [2, 0], [3, 4], [5, 6]])
    points, parts = layout(graph), graph.components()
    for part in range(parts.max() + 1):
        assert apart(points)[parts == part][:, parts != part].min() > 1


@given(st.integers(1, 15), st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=40))
def test_any_graph_can_be_drawn_and_is_drawn_alike_again(size, pairs):
    graph = AreaGraph(size, [[a, b] for a, b in pairs if a != b and max(a, b) < size])
    points = layout(graph)
    assert np.all(np.isfinite(points))
    assert size == 1 or apart(points).min() > 0.05
    assert np.array_equal(points, layout(graph))


def test_the_style_has_the_classes_of_the_risk_map(fit, tmp_path):
    path = add_style(write_download(fit, "gpkg", tmp_path / "wards.gpkg"))
    table = geopandas.read_file(path, layer="areas")
    assert len(table) == len(fit.map)
    with closing(sqlite3.connect(path)) as file:
        asked = "SELECT f_table_name, f_geometry_column, styleQML, useAsDefault FROM layer_styles"
        *layer, qml, default = file.execute(asked).fetchone()
        columns = file.execute("SELECT table_name, column_name FROM gpkg_geometry_columns").fetchone()
    assert (tuple(layer), default) == (columns, 1)
    style = ET.fromstring(qml)  # noqa: S314 - written by us
    limits = RISK.limits_for(fit.areas["risk_median"].to_numpy())
    np.testing.assert_allclose([float(each.get("lower")) for each in style.iter("range")], limits[:-1])
    colours = [each.get("value") for each in style.iter("Option") if each.get("name") == "color"]
    shades = [",".join(str(int(shade[at : at + 2], 16)) for at in (1, 3, 5)) for shade in RISK.shades(limits)]
    assert colours == [f"{each},255" for each in shades]
