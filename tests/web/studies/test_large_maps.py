"""Maps of very many areas: a picture of the whole, tiles to look closer, and areas chosen by name."""

import gzip
import json

import numpy as np
import pytest
import shapely
from django.urls import reverse

from judgemap.geo.drawing import Square
from judgemap.geo.drawing import outlines as display
from judgemap.geo.drawing import squares as tiles
from judgemap.web.studies import making
from judgemap.web.studies.models import Edge, Tile


@pytest.fixture(scope="module")
def drawn(areas):
    """The grid of sixteen wards, drawn as a large map is, with its tiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(display, "LARGE", 10)
        patch.setattr(tiles, "LEVELS", (3,))
        return display.draw_areas(areas)


@pytest.fixture
def large(monkeypatch, people, definition, areas, drawn, rows):
    """The grid, taken for a large map."""
    monkeypatch.setattr(display, "LARGE", 10)
    monkeypatch.setattr(making, "draw_areas", lambda *_: drawn)
    return rows.once("large", lambda: making.create_study(definition, areas, people["owner"]))


def test_progress_covers_drawing_and_storing(monkeypatch, people, definition, areas):
    """No stage that takes long at a nation's size is silent, and progress never goes back."""
    monkeypatch.setattr(display, "LARGE", 10)
    monkeypatch.setattr(tiles, "LEVELS", (3,))
    monkeypatch.setattr(making, "draw_areas", display.draw_areas)
    told = []
    making.create_study(definition, areas, people["owner"], lambda *each: told.append(each))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[-1] < 1
    stages = {doing: max(share for share, words in told if words == doing) for _, doing in told}
    assert list(stages) == ["Drawing the areas.", "Preparing the choice of pairs.", "Storing the areas."]
    assert stages["Drawing the areas."] <= making.DRAWN < stages["Storing the areas."]
    assert [words for _, words in told].count("Storing the areas.") == len(areas)


def get(client, name, *args, **query):
    return client.get(reverse(f"studies:{name}", args=args), query)


def hexagons(side):
    """Hexagons that share their borders, in a plane."""
    turns = np.pi / 6 + np.arange(6) * np.pi / 3
    corners = np.column_stack([np.cos(turns), np.sin(turns)])
    middles = [(np.sqrt(3) * (x + (y % 2) / 2), 1.5 * y) for y in range(side) for x in range(side)]
    return np.array([shapely.Polygon(np.round((corners + middle) * 1000)) for middle in middles])


def test_tiles_cover_every_area_and_leave_no_gaps(monkeypatch):
    monkeypatch.setattr(tiles, "LEVELS", (3, 4))  # level 6 has thousands of tiles, made alike
    shapes = hexagons(7)
    frame = Square.around(shapely.total_bounds(shapes), 0.02)
    made = list(tiles.make_tiles(shapes, frame))
    assert {each.level for each in made} == set(tiles.LEVELS)
    for level in tiles.LEVELS:
        size = frame.size / 2**level
        drawn = {}
        for each in (tile for tile in made if tile.level == level):
            for area, *rings in json.loads(gzip.decompress(each.content)):
                corner = np.array([frame.west + each.x * size, frame.north - each.y * size])
                outline = np.reshape(rings[0], (-1, 2)) * [size / 1000, -size / 1000] + corner
                drawn[area] = shapely.Polygon(outline)
        assert set(drawn) == set(range(len(shapes)))
        whole = shapely.union_all([shapely.buffer(each, size / 1000) for each in drawn.values()])
        assert not whole.interiors, "borders of neighbours meet, to a unit"
        assert abs(sum(each.area for each in drawn.values()) / shapely.area(shapes).sum() - 1) < 0.02


def test_areas_that_lie_over_each_other_have_tiles_all_the_same(monkeypatch):
    def refuse(*_):
        raise shapely.errors.GEOSException("not a coverage")

    monkeypatch.setattr(shapely, "coverage_simplify", refuse)
    monkeypatch.setattr(tiles, "LEVELS", (3, 4))
    shapes = np.array([shapely.box(0, 0, 100, 100), shapely.box(50, 50, 150, 150)])
    made = list(tiles.make_tiles(shapes, Square.around(shapely.total_bounds(shapes), 0.02)))
    assert {area for each in made for area, *_ in json.loads(gzip.decompress(each.content))} == {0, 1}


def test_tiles_are_handed_out_to_those_who_may_see_the_study(large, clients):
    first = Tile.objects.filter(study=large, level=3).first()
    response = get(clients["owner"], "shapes", large.slug, large.pk, 3, first.x, first.y)
    assert response.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(response.content))
    assert "immutable" in response.headers["Cache-Control"]
    assert get(clients["stranger"], "shapes", large.slug, large.pk, 3, first.x, first.y).status_code == 404
    assert get(clients["anonymous"], "shapes", large.slug, large.pk, 3, 0, 0).status_code == 302
    assert get(clients["owner"], "shapes", large.slug, large.pk, 3, 8, 0).status_code == 404
    assert get(clients["owner"], "shapes", large.slug, large.pk, 99, 0, 0).status_code == 404
    Tile.objects.all().delete()
    assert get(clients["owner"], "shapes", large.slug, large.pk, 3, 0, 0).content == b"[]"


def test_the_page_of_a_large_map_is_small(large, clients):
    page = get(clients["owner"], "map", large.slug)
    assert "16 areas and 24 pairs of neighbours" in page.content.decode()
    assert b"data-area=" not in page.content
    assert b"<option" not in page.content
    assert b"studies/extract.js" in page.content, "a base map is uploaded here in parts, too"
    picture = get(clients["owner"], "picture", large.slug, large.pk)
    assert picture.headers["Content-Type"] == "image/svg+xml"
    assert picture.content.decode().count("<path") == 1


def test_two_areas_of_a_large_map_are_joined_by_name_or_id(large, clients):
    address = reverse("studies:map", args=[large.slug])
    clients["owner"].post(address, {"a": "ward 1.1", "b": "W15"})
    assert Edge.objects.filter(study=large, origin=Edge.Origin.ADDED).count() == 1
    near = get(clients["owner"], "area", large.slug, 0).json()
    assert near["name"] == "Ward 1.1"
    assert "Ward 4.4" in near["neighbours"]
    clients["owner"].post(address, {"a": "Ward 1.1", "b": "Ward 4.4"})
    assert not Edge.objects.filter(study=large, origin=Edge.Origin.ADDED, removed_in=None).exists()


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [("Ward 1", "W15", "Did you mean Ward 1.1"), ("W00", "ward 1.1", "two different"), ("xyzzy", "W15", "Check the")],
)
def test_what_is_no_area_is_said_beside_the_field(large, clients, a, b, words):
    page = clients["owner"].post(reverse("studies:map", args=[large.slug]), {"a": a, "b": b})
    assert page.status_code == 400
    assert words in page.content.decode()
