"""The map of a study, and its edges; of very many areas: a picture, tiles to look closer, areas by name."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
import shapely
from django.urls import reverse

from judgemap.geo import drawing
from judgemap.geo.drawing import Square
from judgemap.web import studies
from judgemap.web.studies import making
from judgemap.web.studies.areas import load_graph
from judgemap.web.studies.editing import close_study
from judgemap.web.studies.models import Drawing, Edge, Tile

PAGE = "/studies/wards/map"
SCRIPTS = Path(studies.__file__).parent / "static" / "studies"


def edges(study) -> set[tuple[int, int]]:
    study.refresh_from_db()
    return {tuple(edge) for edge in load_graph(study.version).edges.tolist()}


def test_it_draws_every_area_and_edge_without_a_script(owned, clients):
    page = clients["owner"].get(PAGE).text
    assert page.count('class="area"') == 16
    assert Drawing.objects.get(study=owned).paths in page
    assert sum(line.count("L") for line in clients["owner"].get(PAGE).context["map"].lines.values()) == 24
    assert page.count("<option value=") == 2 * 17
    assert "16 areas and 24 pairs of neighbours" in " ".join(page.split())


def test_points_of_areas_lie_inside_their_squares(owned, clients):
    drawn = clients["owner"].get(PAGE).context["map"]
    points = [tuple(map(float, each.split())) for each in drawn.dots.removeprefix("M").split("h0M")[:-1]]
    assert len({round(x / 50) for x, _ in points}) == 4
    assert all(0 < x < 1000 and 0 < y < 1000 for x, y in points)
    assert points[-1][1] < points[0][1]


def test_two_areas_are_joined_and_parted(draft, clients):
    assert (0, 5) not in edges(draft)
    response = clients["owner"].post(PAGE, {"a": "0", "b": "5"}, follow=True)
    assert "Ward 1.1 and Ward 2.2 are now neighbours." in response.text
    assert (0, 5) in edges(draft)
    clients["owner"].post(PAGE, {"a": "5", "b": "0"})
    assert (0, 5) not in edges(draft)
    clients["owner"].post(PAGE, {"a": "0", "b": "1"})
    assert (0, 1) not in edges(draft)


def test_the_script_gets_json(draft, clients):
    response = clients["owner"].post(PAGE, {"a": "0", "b": "5"}, headers={"Accept": "application/json"})
    told = response.json()
    assert (told["said"], told["joined"]) == ("Ward 1.1 and Ward 2.2 are now neighbours.", True)
    assert told["lines"]["added"].count("L") == 1
    assert told["lines"]["border"].count("L") == 24


def test_parts_without_a_line_between_them_are_named(draft, clients):
    for neighbour in ("1", "4"):
        clients["owner"].post(PAGE, {"a": "0", "b": neighbour})
    page = " ".join(clients["owner"].get(PAGE).text.split())
    assert "The map is in 2 separate parts; without any neighbour: Ward 1.1." in page


@pytest.mark.parametrize("fields", [{}, {"a": "0"}, {"a": "0", "b": "0"}, {"a": "0", "b": "99"}, {"a": "x", "b": "1"}])
def test_anything_but_two_areas_is_refused(owned, clients, fields):
    before = Edge.objects.count()
    response = clients["owner"].post(PAGE, fields or {"c": "1"})
    assert response.status_code == 400
    assert Edge.objects.count() == before


def test_a_closed_study_keeps_its_edges(owned, clients):
    close_study(owned)
    before = edges(owned)
    assert clients["owner"].post(PAGE, {"a": "0", "b": "5"}).status_code == 400
    assert edges(owned) == before


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.js")), ids=lambda path: path.name)
def test_scripts_say_only_what_the_page_translated(script):
    literals = re.findall(r'"[^"\n]*"|`[^`\n]*`', re.sub(r"//.*", "", script.read_text(encoding="utf-8")))
    assert [each for each in literals if re.search(r"[A-Z][a-z]+ [a-z]+ [a-z]+", each)] == []


@pytest.fixture(scope="module")
def drawn(areas):
    """The grid of sixteen wards, drawn as a large map is, with its tiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "LARGE", 10)
        patch.setattr(drawing, "LEVELS", (3,))
        return drawing.draw_areas(areas)


@pytest.fixture
def large(monkeypatch, people, definition, areas, drawn):
    """The grid, taken for a large map."""
    monkeypatch.setattr(drawing, "LARGE", 10)
    monkeypatch.setattr(making, "draw_areas", lambda *_: drawn)
    return making.create_study(definition, areas, people["owner"])


def test_progress_covers_drawing_and_storing(monkeypatch, people, definition, areas):
    """No stage that takes long at a nation's size is silent, and progress never goes back."""
    monkeypatch.setattr(drawing, "LARGE", 10)
    monkeypatch.setattr(drawing, "LEVELS", (3,))
    monkeypatch.setattr(making, "draw_areas", drawing.draw_areas)
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
    monkeypatch.setattr(drawing, "LEVELS", (3, 4))  # level 6 has thousands of tiles, made alike
    shapes = hexagons(7)
    frame = Square.around(shapely.total_bounds(shapes), 0.02)
    made = list(drawing.make_tiles(shapes, frame))
    assert {each.level for each in made} == set(drawing.LEVELS)
    for level in drawing.LEVELS:
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
    monkeypatch.setattr(drawing, "LEVELS", (3, 4))
    shapes = np.array([shapely.box(0, 0, 100, 100), shapely.box(50, 50, 150, 150)])
    made = list(drawing.make_tiles(shapes, Square.around(shapely.total_bounds(shapes), 0.02)))
    assert {area for each in made for area, *_ in json.loads(gzip.decompress(each.content))} == {0, 1}


def test_tiles_are_handed_out(large, clients):
    first = Tile.objects.filter(study=large, level=3).first()
    response = get(clients["owner"], "shapes", large.slug, large.pk, 3, first.x, first.y)
    assert response.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(response.content))
    assert "immutable" in response.headers["Cache-Control"]
    assert get(clients["owner"], "shapes", large.slug, large.pk, 3, 8, 0).status_code == 404
    assert get(clients["owner"], "shapes", large.slug, large.pk, 99, 0, 0).status_code == 404
    Tile.objects.all().delete()
    assert get(clients["owner"], "shapes", large.slug, large.pk, 3, 0, 0).content == b"[]"


def test_the_page_of_a_large_map_is_small(large, clients):
    page = get(clients["owner"], "map", large.slug)
    assert "16 areas and 24 pairs of neighbours" in page.text
    assert b"data-area=" not in page.content
    assert b"<option" not in page.content
    assert b"studies/extract.js" in page.content, "a base map is uploaded here in parts, too"
    picture = get(clients["owner"], "picture", large.slug, large.pk)
    assert picture.headers["Content-Type"] == "image/svg+xml"
    assert picture.text.count("<path") == 1


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
    assert words in page.text
