"""From a boundary file to a draft: what works, whose it is, and what is refused beside the field."""

import html
import io
import json
import tomllib
import warnings
import zipfile
from dataclasses import replace
from datetime import timedelta

import geopandas
import msgspec
import pytest
import shapely
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from judgemap.study.data.definition import parse_definition
from judgemap.web.judge.joining import invite
from judgemap.web.judge.models import Answer
from judgemap.web.people.inviting import keep_group
from judgemap.web.server import jobs
from judgemap.web.studies.access import share_study
from judgemap.web.studies.areas import load_graph
from judgemap.web.studies.editing import change_edge, change_study, definition_of, find_study, open_study
from judgemap.web.studies.models import BaseMap, BaseMapTile, Draft, Study, Upload
from judgemap.web.studies.upload import drafts
from judgemap.web.studies.upload.drafts import MOST_KEPT, inspect_file

CHOSEN = {
    "id": "code",
    "name": "ward",
    "contiguity": "queen",
    "crs": "",
    "title": "Hidden harm",
    "question": "Which has the LOWER rate?",
    "direction": "lower",
}
TOML = """
title = "From a file"
question = "Which has the HIGHER rate?"
direction = "higher"
recommended = 7
maximum = 9
ties = false
[areas]
file = "wards.geojson"
id = "code"
name = "ward"
contiguity = "rook"
[texts]
thanks = "Thank you"
"""


BOXES = ((0, 0), (1, 0), (2, 0), (9, 0))


def collection(boxes=BOXES) -> bytes:
    """Squares of a hundredth of a degree; the last lies apart."""
    squares = [shapely.box(x / 100, 52 + y / 100, (x + 1) / 100, 52 + (y + 1) / 100) for x, y in boxes]
    codes, names = ([word % i for i in range(len(boxes))] for word in ("W%d", "Ward <%d>"))
    return (
        geopandas.GeoDataFrame({"code": codes, "ward": names, "same": "x"}, geometry=squares)
        .to_json(drop_id=True)
        .encode()
    )


def send(client, content, name="wards.geojson", **more):
    """Send a boundary file; return the page, or the address of the second step if the file is taken."""
    response = client.post("/new/", {"boundaries": SimpleUploadedFile(name, content), **more})
    return response.headers.get("Location", response)


@pytest.fixture
def owner(clients):
    return clients["owner"]


@pytest.fixture(autouse=True)
def _read_here(request):
    """Start the reader's own program in only one test."""
    if request.function is not test_a_draft_is_made_in_two_steps:
        request.getfixturevalue("read_here")


@pytest.fixture(scope="session")
def inspection() -> dict:
    return msgspec.to_builtins(inspect_file("wards.geojson", collection()))


@pytest.fixture
def uploaded(people, inspection) -> str:
    """The address of the second step, with the file uploaded."""
    fields = {"name": "wards.geojson", "content": collection(), "inspection": inspection}
    return f"/new/{Upload.objects.create(researcher=people['owner'], **fields).pk}/"


@pytest.fixture
def make(owner, carry_out):
    """Fill in the second step, and have a worker make the draft; return the last page."""

    def made(step, **changed):
        asked = owner.post(step, CHOSEN | changed)
        assert asked.status_code == 302, asked.context["form"].errors
        carry_out(Draft.objects.latest("pk"))
        return owner.get(asked["Location"], follow=True)

    return made


def test_a_draft_is_made_in_two_steps(owner, people, make, monkeypatch):
    monkeypatch.setattr(jobs, "SECONDS_BETWEEN_NEWS", 0.0)
    uploaded = send(owner, collection())
    page = owner.get(uploaded)
    assert "4 areas in wards.geojson" in page.text
    assert "Ward &lt;0&gt;" in page.text
    assert '<path d="M' in page.text
    assert page.context["form"].initial == {"id": "code", "name": "ward"}
    response = make(uploaded)
    study = Study.objects.get()
    assert response.redirect_chain[-1][0] == f"/studies/{study.slug}/map"
    assert (study.owner, study.status, study.version.title) == (people["owner"], "draft", "Hidden harm")
    assert [area.code for area in study.areas.order_by("position")] == ["W0", "W1", "W2", "W3"]
    assert sorted(edge.origin for edge in study.edges.all()) == ["border", "border", "bridge"]
    assert "was joined to the nearest" in response.text
    assert "Storing the areas" not in response.text, "what was told last on the way is no result"
    assert study.version.source["id"] == "code"
    assert [act.verb for act in study.acts.order_by("pk")] == ["created", "map read"]


def test_a_button_pressed_twice_makes_one_draft(owner, uploaded, carry_out):
    first, second = (owner.post(uploaded, CHOSEN)["Location"] for _ in range(2))
    assert first == second
    page = owner.get(first)
    assert "Next in the queue." in page.text
    assert owner.get(first, headers={"HX-Request": "true"}).status_code == 200
    carry_out(Draft.objects.get())
    assert Study.objects.count() == 1
    live = owner.get(first, headers={"HX-Request": "true"})
    assert live["HX-Redirect"] == f"/studies/{Study.objects.get().slug}/map"


def test_nobody_else_sees_an_upload_or_sees_or_stops_its_draft(clients, owner, uploaded):
    address = owner.post(uploaded, CHOSEN)["Location"]
    pages = (("get", uploaded), ("post", uploaded), ("get", address), ("post", f"{address}cancel"))
    for who, status in (("stranger", 404), ("anonymous", 302)):
        for method, page in pages:
            assert getattr(clients[who], method)(page, CHOSEN).status_code == status, (who, page)
    assert send(clients["anonymous"], collection()).startswith("/account/login/")
    assert (Upload.objects.count(), Draft.objects.get().status) == (1, "waiting")
    assert owner.post(f"{address}cancel")["Location"] == uploaded
    assert Draft.objects.get().status == "cancelled"
    assert "Cancelled" in owner.get(address).text


@pytest.mark.parametrize(
    ("content", "crs", "words"),
    [(b"no longer a map", "", "is not what its ending"), (collection(), "EPSG:999999", "EPSG:999999")],
)
def test_a_draft_that_fails_says_why_and_leads_back(owner, uploaded, carry_out, content, crs, words):
    address = owner.post(uploaded, CHOSEN | {"crs": crs})["Location"]
    Upload.objects.update(content=content)
    carry_out(Draft.objects.get())
    page = owner.get(address).text
    assert "The draft was not made" in page
    assert words in page
    assert f'href="{uploaded}"' in page
    assert owner.get(uploaded).context["form"].initial["title"] == "Hidden harm"
    assert not Study.objects.exists()


def test_one_can_go_back_from_the_map_and_make_the_draft_again(owner, uploaded, make):
    page = make(uploaded).text
    assert f'href="{uploaded}"' in page
    first = Study.objects.get()
    owner.post(
        f"/studies/{first.slug}/texts",
        {"title": "Hidden harm", "question": "Which?", "direction": "lower", "consent": "My own words"},
    )
    make(uploaded, contiguity="rook", name="code")
    again = Study.objects.get()
    assert (again.slug, again.version.consent) == (first.slug, "My own words")
    assert again.areas.get(position=0).name == "W0"
    assert not Study.objects.filter(pk=first.pk).exists()


def test_all_that_people_made_in_a_draft_moves_to_the_one_made_again(owner, uploaded, make, people):
    first = make(uploaded).context["study"]
    share_study(first, people["teammate"].email, people["owner"])
    share_study(first, people["stranger"].email, people["owner"], to_read=True)
    change_study(first, people["owner"], replace(definition_of(first), access="open", thanks="Ta"))
    first.refresh_from_db()
    group = keep_group(first, "Police", 5)
    invited = invite(first, 2, group=group)
    joined = change_edge(first, first.areas.get(code="W0"), first.areas.get(code="W2"))
    assert joined is not None
    study = make(uploaded, contiguity="rook", name="code").context["study"]
    assert study.pk != first.pk
    assert (study.slug, study.join_code, study.version.thanks) == (first.slug, first.join_code, "Ta")
    assert (list(study.colleagues.all()), list(study.readers.all())) == ([people["teammate"]], [people["stranger"]])
    assert {each.name for each in study.judges.filter(group=group)} == {each.name for each in invited}
    assert study.judge_groups.get().join_code == group.join_code
    assert [0, 2] in load_graph(study.version).edges.tolist()


@pytest.fixture
def meanwhile(monkeypatch):
    """Let something happen while a draft is being made again: just after its map was read."""
    read = drafts.read_file

    def let(happens) -> None:
        monkeypatch.setattr(drafts, "read_file", lambda *given: (read(*given), happens())[0])

    return let


def test_a_study_that_is_opened_meanwhile_stays_with_its_answers(uploaded, make, visit, meanwhile):
    first = make(uploaded).context["study"]

    def happens() -> None:
        judge = visit(of=open_study(first))
        assert judge.answer("left").status_code == 200

    meanwhile(happens)
    page = make(uploaded, contiguity="rook")
    assert page.context["study"].pk != first.pk
    assert "so it stays as it is, and this is a separate draft." in page.text
    first.refresh_from_db()
    assert (first.status, first.slug, Answer.objects.filter(pair__judge__study=first).count()) == (
        "open",
        "hidden-harm",
        1,
    )


def test_judges_invited_while_a_draft_is_made_again_are_kept(uploaded, make, meanwhile):
    first = make(uploaded).context["study"]
    meanwhile(lambda: invite(first, 1))
    study = make(uploaded, question="Mine?").context["study"]
    assert (study.slug, study.judges.count(), Study.objects.count()) == (first.slug, 1, 1)


@pytest.mark.parametrize("what", ["texts", "neighbours"])
def test_a_draft_that_is_changed_while_it_is_made_again_stays(owner, uploaded, make, carry_out, meanwhile, what):
    first = make(uploaded).context["study"]

    def happens() -> None:
        if what == "neighbours":
            change_edge(first, first.areas.get(code="W0"), first.areas.get(code="W2"))
        else:
            again = find_study(first.slug)
            change_study(again, again.owner, replace(definition_of(again), consent="Their words"))

    meanwhile(happens)
    owner.post(uploaded, CHOSEN)
    job = Draft.objects.latest("pk")
    carry_out(job)
    job.refresh_from_db()
    assert (job.status, job.said[:27]) == ("failed", "Somebody changed the draft ")
    assert Study.objects.get().pk == first.pk


@pytest.mark.parametrize(
    ("status", "boxes", "kept", "words"),
    [
        ("done", BOXES, 1, "Judges see streets and places from <strong>town.osm</strong>"),
        ("done", (*BOXES[:3], (30, 0)), 0, "base map from town.osm no longer covers all the areas. Upload"),
        ("waiting", BOXES, 0, "base map from town.osm was still being made. Upload"),
    ],
)
def test_a_draft_that_is_made_again_keeps_its_base_map_or_says_why_not(uploaded, make, status, boxes, kept, words):
    study = make(uploaded).context["study"]
    base_map = BaseMap.objects.create(study=study, file="town.osm", credit="© Me", status=status)
    if status == "done":
        BaseMapTile.objects.create(base_map=base_map, level=11, column=3, row=4, content=b"streets")
        Study.objects.update(base_map=base_map)
    Upload.objects.update(content=collection(boxes))
    page = make(uploaded, name="code", title="Second thoughts")
    assert words in page.text
    assert Study.objects.exclude(base_map=None).count() == BaseMapTile.objects.count() == kept


def test_rows_that_are_no_areas_are_listed_and_settled(owner, make):
    """As in real files: a row without an outline, one twice, one without an id, an id in two rows, a sliver."""
    rows = {
        "a": shapely.box(0, 52, 0.1, 52.1),
        "b": shapely.box(0.1, 52, 0.2, 52.1),
        "b ": shapely.box(0.5, 52, 0.6, 52.1),
        "": shapely.box(0.2, 52, 0.3, 52.1),
        "twin": shapely.box(0, 52, 0.1, 52.1),
        "gone": None,
        "sliver": shapely.box(0, 52.1, 0.1, 52.10002),
    }
    frame = geopandas.GeoDataFrame({"code": [code.strip() or None for code in rows]}, geometry=list(rows.values()))
    step = send(owner, frame.to_json(drop_id=True).encode())
    page = owner.get(step).text
    assert "1 row has no outline" in page
    assert "1 row has the same outline as an earlier row" in page
    assert "1 row is a sliver" in page or "slivers" in page
    refused = owner.post(step, CHOSEN | {"id": "code", "name": ""})
    assert refused.status_code == 400
    assert "1 id is in more than one row: b." in str(refused.context["form"].errors["id"])
    assert "1 row has no id: row 4." in str(refused.context["form"].errors["id"])
    settled = {"fault_no_id": "repair", "fault_same_id": "repair", "fault_same_outline": "leave out"}
    make(step, id="code", name="", fault_sliver="leave out", **settled)
    study = Study.objects.get()
    assert [area.code for area in study.areas.order_by("position")] == ["a", "b", "row-4"]
    notes = study.acts.get(verb="map read").detail["notes"]
    assert any("joined into one area: 'b'" in note for note in notes)
    assert any("slivers" in note and "were left out: 'sliver'" in note for note in notes), "not joined, which is usual"


def topology(width: int, height: int, *corners: tuple[int, int]) -> bytes:
    """Rectangles in a TopoJSON file, which never states its reference system."""
    rings = [[[x, y], [x + width, y], [x + width, y + height], [x, y + height], [x, y]] for x, y in corners]
    shapes = [
        {"type": "Polygon", "arcs": [[i]], "properties": {"code": f"W{i}", "ward": f"Ward {i}"}}
        for i in range(len(rings))
    ]
    objects = {"wards": {"type": "GeometryCollection", "geometries": shapes}}
    return json.dumps({"type": "Topology", "arcs": rings, "objects": objects}).encode()


def test_a_file_without_a_place_gets_guesses(owner, make):
    content = topology(1000, 4000, (450_000, 340_000), (452_000, 340_000))
    step = send(owner, content, "wards.topojson")
    page = owner.get(step)
    assert page.context["form"].initial["place"] == "EPSG:27700"
    assert "United Kingdom" in page.text
    assert "Is this the right place?" in page.text
    refused = owner.post(step, CHOSEN | {"place": ""})
    assert list(refused.context["form"].errors) == ["crs"]
    make(step, place="EPSG:27700")
    outline = json.loads(Study.objects.get().areas.get(position=0).outline)
    assert -1.3 < outline["coordinates"][0][0][0] < -1.2


def test_the_coordinates_of_a_drawing_are_called_that(owner):
    """As in us-atlas's counties-albers-10m.json, whose coordinates are pixels of a picture 975 by 610 wide."""
    content = topology(300, 600, (0, 0), (300, 0), (600, 0))
    step = send(owner, content, "drawing.json")
    assert "it may be a drawing" in owner.get(step).text
    assert list(owner.post(step, CHOSEN).context["form"].errors) == ["crs"]


def test_another_layer_can_be_chosen(owner, make, tmp_path):
    path = tmp_path / "map.gpkg"
    for name, count in (("wards", 3), ("districts", 2)):
        squares = [shapely.box(x, 52, x + 1, 53) for x in range(count)]
        codes = [f"{name}-{x}" for x in range(count)]
        frame = geopandas.GeoDataFrame({"code": codes, "ward": codes}, geometry=squares, crs="EPSG:4326")
        frame.to_file(path, layer=name)
    step = send(owner, path.read_bytes(), "map.gpkg")
    assert "3 areas in map.gpkg" in owner.get(step).text
    owner.post(step, {"look": "yes", "layer": "districts"})
    assert "2 areas in map.gpkg" in owner.get(step).text
    make(step)
    assert Study.objects.get().areas.count() == 2


def test_a_study_toml_fills_in_the_rest(owner, make):
    toml = SimpleUploadedFile("study.toml", TOML.encode())
    step = send(owner, collection(), definition=toml)
    first = owner.get(step).context["form"].initial
    assert (first["title"], first["direction"], first["contiguity"]) == ("From a file", "higher", "rook")
    make(step, title="Renamed", question="Which has the HIGHER rate?", direction="higher")
    version = Study.objects.get().version
    assert (version.title, version.recommended, version.maximum, version.ties) == ("Renamed", 7, 9, False)
    assert version.thanks == "Thank you"
    back = owner.get(f"/studies/{Study.objects.get().slug}/study.toml").text
    assert parse_definition(tomllib.loads(back)).recommended == 7


def test_edges_by_hand_travel_with_the_study_toml(owner, make):
    """Joined and parted in the file and in the browser, downloaded, and made again: the same neighbours."""
    hand = TOML.replace("[areas]", '[areas]\nextra_edges = [["W0", "W2"]]\nremoved_edges = [["W1", "W0"]]')
    step = send(owner, collection(), definition=SimpleUploadedFile("study.toml", hand.encode()))
    make(step)
    first = Study.objects.get()
    assert neighbours(first) == {("W0", "W2"), ("W1", "W2"), ("W2", "W3")}
    owner.post(f"/studies/{first.slug}/map", {"a": "1", "b": "2"})
    owner.post(f"/studies/{first.slug}/map", {"a": "0", "b": "3"})
    first.refresh_from_db()
    assert neighbours(first) == {("W0", "W2"), ("W2", "W3"), ("W0", "W3")}
    toml = owner.get(f"/studies/{first.slug}/study.toml").content
    step = send(owner, collection(), definition=SimpleUploadedFile("study.toml", toml))
    make(step)
    second = Study.objects.exclude(pk=first.pk).get()
    assert neighbours(second) == neighbours(first)


def neighbours(study) -> set[tuple[str, str]]:
    codes = [area.code for area in study.areas.order_by("position")]
    return {(codes[a], codes[b]) for a, b in load_graph(study.version).edges.tolist()}


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("wards.geojson", b"", "is empty"),
        ("wards.geojson", b'{"type": "FeatureCollection", "features": [', "cannot be read"),
        ("wards.html", b"<script>", "Choose a .geojson"),
        ("wards.zip", b"PK\x03\x04 broken", "zip"),
        ("points.csv", b"code,x,y", "This is a table, which has no outlines."),
        ("codes.xlsx", b"PK", "export the layer as a GeoPackage"),
        ("wards.shp", b"x", "into one .zip file"),
        ("one_lux.geojson", collection(((0, 0),)), "one_lux.geojson has 1 rows, of which 1 are areas"),
    ],
)
def test_what_cannot_be_a_map_is_refused_beside_the_field_with_what_to_do(owner, name, content, words):
    response = send(owner, content, name)
    assert response.status_code == 400
    ((field, (said,)),) = response.context["form"].errors.items()
    assert field == "boundaries"
    assert words in said
    assert html.escape(said) in response.text
    assert not Upload.objects.exists()


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        (b"title =", "not toml"),
        (b"\xff\xfe", "utf-8"),
        (b'title = "a"\nquestion = "b"\ndirection = "down"', "direction"),
        (b"a = " + b"[" * 5000 + b"]" * 5000, "not toml"),
        (b'title = "a"\nquestion = "b"\ndirection = "lower"\nmaximum = 99999999999999999999', "maximum"),
        (b'title = "a\\u0000"\nquestion = "b"\ndirection = "lower"', "cannot be shown"),
    ],
)
def test_a_bad_study_toml_is_refused_beside_its_field(owner, toml, words):
    response = send(owner, collection(), definition=SimpleUploadedFile("study.toml", toml))
    assert response.status_code == 400
    assert words in str(response.context["form"].errors["definition"]).lower()


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"id": "same"}, "id"),
        ({"name": "none"}, "name"),
        ({"title": ""}, "title"),
        ({"question": "x" * 301}, "question"),
        ({"direction": "down"}, "direction"),
        ({"contiguity": "king"}, "contiguity"),
        ({"title": "\x07"}, "title"),
        ({"answers_until": "2020-01-01"}, "answers_until"),
    ],
)
def test_the_second_step_says_what_is_wrong_beside_the_field(uploaded, owner, changed, field):
    response = owner.post(uploaded, CHOSEN | changed)
    assert response.status_code == 400
    assert list(response.context["form"].errors) == [field]
    assert not Study.objects.exists()


def test_only_the_latest_uploads_are_kept(owner, people, inspection):
    fields = {"name": "a", "content": b"", "inspection": inspection, "researcher": people["owner"]}
    Upload.objects.bulk_create([Upload(**fields) for _ in range(MOST_KEPT)])
    send(owner, collection())
    assert Upload.objects.filter(researcher=people["owner"]).count() == MOST_KEPT


def test_a_request_that_sends_too_much_is_refused_before_it_is_read(owner):
    response = owner.post("/new/", CONTENT_LENGTH="99999999999")
    assert response.status_code == 413
    assert owner.post("/new/", CONTENT_LENGTH="x").status_code == 413


def test_the_last_day_of_answers_can_be_chosen_with_the_map(owner, uploaded, make):
    day = timezone.now().date() + timedelta(days=90)
    make(uploaded, answers_until=day.isoformat())
    assert Study.objects.get().answers_until == day
    assert owner.get(uploaded).context["form"]["answers_until"].value() == day


def frame(tmp_path, name="map.gpkg", crs="EPSG:32616", corner=(635_000, 3_401_000), size=100_000, **columns) -> bytes:
    """Four squares in a row, in a file of their own."""
    west, south = corner
    squares = [shapely.box(west + i * size, south, west + (i + 1) * size, south + size) for i in range(4)]
    table = {"code": [f"W{i}" for i in range(4)], "ward": [f"Ward {i}" for i in range(4)]} | columns
    path = tmp_path / name
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "'crs' was not provided")
        geopandas.GeoDataFrame(table, geometry=squares, crs=crs).to_file(path)
    return path.read_bytes()


def test_a_map_that_does_not_say_where_it_is_may_be_in_several_places(owner, tmp_path):
    """As in the counties of Georgia, which come without a .prj file."""
    step = send(owner, frame(tmp_path, "map.gpkg", crs=None), "map.gpkg")
    assert len(owner.get(step).context["form"].fields["place"].choices) > 4


def test_a_map_that_says_where_it_is_is_shown_on_the_world(owner, tmp_path):
    step = send(owner, frame(tmp_path), "map.gpkg")
    page = owner.get(step)
    assert page.context["form"].places[0][1:] == (96.5, 58.9)
    assert page.context["found"].stated.km == pytest.approx(400, rel=0.05)
    assert "31.1° north, 83.5° west" in page.text


def test_degrees_in_a_file_that_says_metres_are_asked_about(owner, tmp_path):
    """Egypt would be 10 metres wide."""
    step = send(owner, frame(tmp_path, crs="EPSG:3857", corner=(25, 22), size=2), "map.gpkg")
    form = owner.get(step).context["form"]
    assert [crs for crs, _ in form.fields["place"].choices] == ["EPSG:4326", "EPSG:3857", ""]
    assert form.initial["place"] == "EPSG:4326"


def test_one_missing_name_keeps_the_names(owner, make, tmp_path):
    step = send(owner, frame(tmp_path, ward=["North", None, "South", "West"]), "map.gpkg")
    assert owner.get(step).context["form"].initial["name"] == "ward"
    page = make(step).text
    assert sorted(area.name for area in Study.objects.get().areas.all()) == ["North", "South", "W1", "West"]
    assert "These areas have no name, so their ids are used" in page


def test_a_kmz_is_read_like_a_kml(owner, make):
    placemarks = "".join(
        f"<Placemark><name>Ward {i}</name><Polygon><outerBoundaryIs><LinearRing><coordinates>"
        f"{i},52 {i + 1},52 {i + 1},53 {i},53 {i},52</coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark>"
        for i in range(3)
    )
    kml = f'<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document>{placemarks}</Document></kml>'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("doc.kml", kml)
    step = send(owner, packed.getvalue(), "wards.kmz")
    assert "3 areas in wards.kmz" in owner.get(step).text
    make(step, id="", name="Name")
    assert [area.name for area in Study.objects.get().areas.order_by("position")] == ["Ward 0", "Ward 1", "Ward 2"]
