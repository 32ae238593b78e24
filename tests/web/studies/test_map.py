"""The map of a study, and its edges."""

import re
from pathlib import Path

import pytest

from judgemap.web import studies
from judgemap.web.studies.areas import load_graph
from judgemap.web.studies.editing import close_study
from judgemap.web.studies.models import Act, Drawing, Edge

SCRIPTS = Path(studies.__file__).parent / "static" / "studies"


def edges(study) -> set[tuple[int, int]]:
    study.refresh_from_db()
    return {tuple(edge) for edge in load_graph(study.version).edges.tolist()}


def url(study):
    return f"/studies/{study.slug}/map"


def test_it_draws_every_area_and_edge_without_a_script(owned, clients):
    page = clients["owner"].get(url(owned)).content.decode()
    assert page.count('class="area"') == 16
    assert sum(line.count("L") for line in clients["owner"].get(url(owned)).context["map"].lines.values()) == 24
    assert page.count("<option value=") == 2 * 17
    assert "16 areas and 24 pairs of neighbours" in " ".join(page.split())


def test_points_of_areas_lie_inside_their_squares(owned, clients):
    drawn = clients["owner"].get(url(owned)).context["map"]
    points = [tuple(map(float, each.split())) for each in drawn.dots.removeprefix("M").split("h0M")[:-1]]
    assert len({round(x / 50) for x, _ in points}) == 4
    assert all(0 < x < 1000 and 0 < y < 1000 for x, y in points)
    assert points[-1][1] < points[0][1]


def test_the_areas_are_drawn_once(owned, clients):
    assert Drawing.objects.get(study=owned).paths in clients["owner"].get(url(owned)).content.decode()


def test_two_areas_are_joined_and_parted(draft, clients):
    assert (0, 5) not in edges(draft)
    response = clients["owner"].post(url(draft), {"a": "0", "b": "5"}, follow=True)
    assert "Ward 1.1 and Ward 2.2 are now neighbours." in response.content.decode()
    assert (0, 5) in edges(draft)
    clients["owner"].post(url(draft), {"a": "5", "b": "0"})
    assert (0, 5) not in edges(draft)
    clients["owner"].post(url(draft), {"a": "0", "b": "1"})
    assert (0, 1) not in edges(draft)


def test_the_script_gets_json(draft, clients):
    response = clients["owner"].post(url(draft), {"a": "0", "b": "5"}, headers={"Accept": "application/json"})
    told = response.json()
    assert (told["said"], told["joined"]) == ("Ward 1.1 and Ward 2.2 are now neighbours.", True)
    assert told["lines"]["added"].count("L") == 1
    assert told["lines"]["border"].count("L") == 24


def test_an_open_study_gets_a_new_version_and_keeps_the_old_edges(owned, clients, people):
    clients["teammate"].post(url(owned), {"a": "0", "b": "1"})
    owned.refresh_from_db()
    assert owned.version.number == 2
    assert (0, 1) not in edges(owned)
    first = owned.versions.get(number=1)
    assert [0, 1] in load_graph(first).edges.tolist()
    assert Act.objects.filter(verb="edge removed", researcher=people["teammate"]).exists()


def test_parts_without_a_line_between_them_are_named(draft, clients):
    for neighbour in ("1", "4"):
        clients["owner"].post(url(draft), {"a": "0", "b": neighbour})
    page = " ".join(clients["owner"].get(url(draft)).content.decode().split())
    assert "The map is in 2 separate parts; without any neighbour: Ward 1.1." in page


@pytest.mark.parametrize("fields", [{}, {"a": "0"}, {"a": "0", "b": "0"}, {"a": "0", "b": "99"}, {"a": "x", "b": "1"}])
def test_anything_but_two_areas_is_refused(owned, clients, fields):
    before = Edge.objects.count()
    response = clients["owner"].post(url(owned), fields or {"c": "1"})
    assert response.status_code == 400
    assert Edge.objects.count() == before


def test_a_closed_study_keeps_its_edges(owned, clients):
    close_study(owned)
    before = edges(owned)
    assert clients["owner"].post(url(owned), {"a": "0", "b": "5"}).status_code == 400
    assert edges(owned) == before


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.js")), ids=lambda path: path.name)
def test_scripts_say_only_what_the_page_translated(script):
    literals = re.findall(r'"[^"\n]*"|`[^`\n]*`', re.sub(r"//.*", "", script.read_text(encoding="utf-8")))
    assert [each for each in literals if re.search(r"[A-Z][a-z]+ [a-z]+ [a-z]+", each)] == []
