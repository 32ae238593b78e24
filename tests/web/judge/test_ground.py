"""The base map on judges' pages: tiles by link, pictures without a script, and the words around them."""

import gzip
import json

import pytest
from town_making import CREDIT, town

from judgemap.geo.drawing import draw_areas
from judgemap.web.studies.making import create_study
from judgemap.web.studies.models import BaseMap, BaseMapTile

GZIP = {"accept-encoding": "gzip, deflate, br"}
TILES = "https://tiles.example.org/{z}/{x}/{y}.png"


@pytest.fixture(scope="session")
def tiles(tmp_path_factory, areas):
    """The tiles of a town around the study's areas, made once."""
    from judgemap.geo.basemap.extract import read_extract
    from judgemap.geo.basemap.tiles import box_of, cut_tiles, needed_tiles

    folder = tmp_path_factory.mktemp("town")
    boxes = [tuple(json.loads(scene)["box"]) for scene in draw_areas(areas).scenes]
    needed = needed_tiles(boxes)
    extract = read_extract(town().write(folder / "town.osm"), box_of(needed), folder, lambda share, doing: None)
    return cut_tiles(extract, needed, lambda share, doing: None).tiles


@pytest.fixture
def grounded(study, tiles):
    """The study with a base map."""
    base_map = BaseMap.objects.create(study=study, file="town.osm", credit=CREDIT, status="done", progress=1)
    BaseMapTile.objects.bulk_create(
        BaseMapTile(base_map=base_map, level=n, column=x, row=y, content=tile) for (n, x, y), tile in tiles.items()
    )
    study.base_map = base_map
    study.save()
    return study


def a_tile(study) -> str:
    tile = BaseMapTile.objects.filter(base_map=study.base_map).order_by("-level").first()
    return f"{study.base_map_id}/{tile.level}/{tile.column}/{tile.row}"


def test_a_judges_link_gets_tiles_and_a_wrong_one_nothing(grounded, judge, client, visit, areas, definition):
    response = judge.get(f"tiles/{a_tile(grounded)}")
    assert response.status_code == 200
    assert response["Cache-Control"] == "private, max-age=2592000, immutable"
    (tile,) = response.json().values()
    assert "names" in tile
    assert client.get(f"/j/{22 * 'x'}/tiles/{a_tile(grounded)}").status_code == 404
    assert judge.get(f"tiles/{grounded.base_map_id + 1}/3/1/1").status_code == 404
    other = visit(agreed=False, of=create_study(definition, areas))
    assert other.get(f"tiles/{a_tile(grounded)}").status_code == 404
    judge.withdraw()
    assert judge.get(f"tiles/{a_tile(grounded)}").status_code == 404


def test_one_request_and_two_queries_bring_the_tiles_of_a_pair(grounded, judge, tiles, django_assert_num_queries):
    wanted = sorted(tiles)[:4]
    places = ",".join("/".join(map(str, place)) for place in [*wanted, (3, 1, 1)])
    address = f"tiles/{grounded.base_map_id}/{places}"
    judge.get()
    with django_assert_num_queries(2):
        response = judge.get(address, **GZIP)
    there = {"/".join(map(str, place)): json.loads(gzip.decompress(tiles[place])) for place in wanted}
    expected = there | {"3/1/1": {}}
    assert json.loads(gzip.decompress(response.content)) == expected
    assert judge.get(address).json() == expected  # from a browser that cannot unpack


@pytest.mark.parametrize(
    "places", ["3/1", "3/1/1,", "3/1/1;3/1/2", "-3/1/1", ",".join(17 * ["3/1/1"]), "3/1/9999999999"]
)
def test_places_that_are_none_are_not_found(grounded, judge, places):
    assert judge.get(f"tiles/{grounded.base_map_id}/{places}").status_code == 404
    assert judge.get(f"tiles/{grounded.base_map_id}/3/1/1").json() == {"3/1/1": {}}


def test_the_page_is_compressed_and_says_the_same(judge):
    plain, packed = judge.get(), judge.get(**GZIP)
    assert packed["Content-Encoding"] == "gzip"
    assert len(packed.content) < len(plain.content) / 2
    # Only the two tokens against forged requests are masked differently each time.
    lines = zip(gzip.decompress(packed.content).splitlines(), plain.content.splitlines(), strict=True)
    assert all(b"csrf" in a for a, b in lines if a != b)


def test_the_page_says_how_to_draw_and_whose_map_it_is(grounded, judge, edit):
    page = judge.get()
    assert CREDIT in page.text
    ground = json.loads(page.context["ground"])
    assert ground["tiles"] == f"/j/{judge.token}/tiles/{grounded.base_map_id}/"
    assert ground["finest"] == 14
    assert "img-src 'self' data:;" in page["Content-Security-Policy"] + ";"
    edit(base_map=TILES)
    page = judge.get()
    assert "example.org" not in page.text
    assert "example.org" not in page["Content-Security-Policy"]


def test_a_page_without_a_script_shows_a_picture(grounded, judge, study):
    page = judge.get()
    address = page.context["sides"][0].ground
    assert f'<noscript><img class="ground" src="{address}" alt=""></noscript>' in page.text
    response = judge.client.get(address)
    assert (response.status_code, response["Content-Type"]) == (200, "image/svg+xml")
    assert b'stroke="#' in response.content
    # Which pair is drawn is left to chance, and not every area has room for a name.
    pictures = [judge.get(f"ground/{grounded.base_map_id}/{area.position}.svg") for area in study.areas.all()]
    svg = "".join(each.text for each in pictures)
    assert 'stroke="#b3a996"' in svg
    assert 'stroke="#d3cec4"' in svg
    assert "North Road" in svg
    assert "East Road" in svg
    assert judge.get(f"ground/{grounded.base_map_id}/999.svg").status_code == 404


def test_names_in_a_picture_are_only_words(grounded, judge, study):
    """The town has a suburb whose name would be markup."""
    pictures = [judge.get(f"ground/{grounded.base_map_id}/{area.position}.svg") for area in study.areas.all()]
    assert not any(b"<b>" in each.content for each in pictures)
    assert any(b"Sherwood &lt;b&gt;" in each.content for each in pictures)


def test_the_preview_shows_it_to_the_researcher_alone(grounded, owned, clients):
    owned.base_map = grounded.base_map
    owned.save()
    home = clients["owner"].get(f"/try/{owned.slug}/")["Location"]
    clients["owner"].post(f"{home}consent", {"agree": "yes", "begin": "now"})
    page = clients["owner"].get(home)
    address = json.loads(page.context["ground"])["tiles"]
    assert address == f"{home}tiles/{grounded.base_map_id}/"
    place = a_tile(grounded).partition("/")[2]
    assert clients["owner"].get(address + place).status_code == 200
    assert clients["stranger"].get(home).status_code == 404
    assert clients["owner"].get(page.context["sides"][0].ground).status_code == 200


def test_people_who_hear_the_page_are_told_the_real_neighbours(judge, study):
    page = judge.get()
    side = page.context["sides"][0]
    name = study.areas.get(position=side.area).name
    row, column = (int(each) for each in name.removeprefix("Ward ").split("."))
    around = {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)}
    wanted = {f"Ward {r}.{c}" for r, c in around if 1 <= r <= 4 and 1 <= c <= 4}
    assert set(side.neighbours.split(", ")) == wanted
    assert set(judge.pair()["scenes"][0]["near"]) == wanted
