"""Base maps: the upload, the worker's making, the tiles, and who gets them."""

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from town_making import CREDIT, town

from judgemap.errors import StudyError
from judgemap.geo.basemap.tiles import unpack
from judgemap.web.studies.basemap import making as actions
from judgemap.web.studies.keeping import GRACE, delete_study, remove_due
from judgemap.web.studies.models import Act, BaseMap, BaseMapTile, Extract, ExtractPart, Study
from judgemap.web.studies.upload.drafts import ask_for_copy


@pytest.fixture(scope="session")
def osm(tmp_path_factory) -> bytes:
    return town().write(tmp_path_factory.mktemp("town") / "town.osm").read_bytes()


@pytest.fixture
def upload(owned, clients):
    """Upload an extract as a browser without scripts does."""

    def send(content: bytes, name: str = "town.osm", who: str = "owner", **fields):
        fields |= {"content": SimpleUploadedFile(name, content)}
        return clients[who].post(f"/studies/{owned.slug}/base-map", fields, follow=True)

    return send


@pytest.fixture
def made(owned, upload, osm, carry_out, read_here) -> Study:
    """The study with a base map."""
    upload(osm)
    carry_out(BaseMap.objects.get())
    owned.refresh_from_db()
    return owned


def news(response) -> list[str]:
    return [str(each) for each in response.context["messages"]]


def test_an_extract_becomes_a_base_map(made):
    base_map = made.base_map
    assert base_map.status == "done"
    assert base_map.said.startswith("Found 48 roads, 1 railway line, 2 waters, 1 park and wood and 3 named places.")
    assert "Footpaths, service roads and buildings are never drawn." in base_map.said
    assert base_map.credit == CREDIT
    assert base_map.size == sum(len(tile.content) for tile in BaseMapTile.objects.all()) > 1000
    tiles = [unpack(bytes(tile.content)) for tile in BaseMapTile.objects.all()]
    kinds = {kind for tile in tiles for kind in tile.paths}
    assert kinds == {"primary", "secondary", "street", "river", "rail", "green", "water", "built"}
    assert any(tile.names for tile in tiles)
    assert not Extract.objects.exists()
    assert not ExtractPart.objects.exists()
    assert Act.objects.get(verb="base map made").detail["tiles"] == BaseMapTile.objects.count()


def test_the_page_shows_progress_while_a_worker_makes_it(owned, upload, osm, clients):
    page = upload(osm).text
    assert "Next in the queue." in page
    BaseMap.objects.update(status="running", progress=0.4, said="Reading the lines.", heard_at=timezone.now())
    part = clients["teammate"].get(f"/studies/{owned.slug}/base-map/news").text
    assert "Reading the lines." in part
    assert 'value="0.400"' in part
    assert "another base map for this study is being made" in news(upload(osm))[0].lower()
    clients["owner"].post(f"/studies/{owned.slug}/base-map", {"act": "stop"})
    assert BaseMap.objects.get().cancel_asked


def test_parts_are_put_together_in_whatever_way_they_come(owned, clients, osm, carry_out, read_here, monkeypatch):
    monkeypatch.setattr(actions, "PART", 5000)
    page, common = f"/studies/{owned.slug}/base-map", {"name": "town.osm", "size": len(osm), "credit": "© Me"}
    headers, extract = {"Accept": "application/json"}, ""
    numbers = [0, 1, 1, *range(2, -(-len(osm) // 5000))]  # one is sent twice, as after a lost connection
    for number in numbers:
        content = SimpleUploadedFile("blob", osm[5000 * number : 5000 * (number + 1)])
        fields = common | {"number": number, "extract": extract, "content": content}
        answer = clients["owner"].post(page, fields, headers=headers).json()
        extract = answer.get("extract")
    assert answer["go"].endswith("/map#base-map")
    carry_out(BaseMap.objects.get())
    assert BaseMap.objects.get().status == "done"
    assert BaseMap.objects.get().credit == "© Me"


def test_a_part_that_is_too_long_or_of_nobody_is_refused(owned, clients, osm):
    page, headers = f"/studies/{owned.slug}/base-map", {"Accept": "application/json"}
    fields = {"name": "town.osm", "size": 10, "number": 0}
    answer = clients["owner"].post(page, fields | {"content": SimpleUploadedFile("b", osm)}, headers=headers)
    assert (answer.status_code, answer.json()["said"]) == (400, "The parts do not fit together; upload the file again.")
    fields |= {"number": 1, "extract": 999, "content": SimpleUploadedFile("b", b"x")}
    assert "upload has started since" in clients["owner"].post(page, fields, headers=headers).json()["said"]


@pytest.mark.parametrize(
    ("name", "size", "match"),
    [
        ("town.osm.pbf", 2_000_000_000, r"is 2\.0 GB; the limit is 250 MB"),
        ("town.osm.bz2", 5, "unzip it first"),
        ("wards.geojson", 5, "choose an .osm.pbf"),
        ("town.osm", 0, "is empty"),
    ],
)
def test_what_cannot_be_an_extract_is_refused_before_it_is_sent(owned, name, size, match):
    with pytest.raises(StudyError, match=match):
        actions.begin_extract(owned, name, size)


@pytest.mark.usefixtures("read_here")
def test_a_bad_extract_leaves_the_study_as_it_was(made, upload, carry_out, clients):
    """Other bad extracts are in test_base_map_command.py."""
    before = made.base_map_id
    upload(b"<?xml version='1.0'?><osm version='0.6'><node id='1' la", "cut.osm")
    job = BaseMap.objects.latest("pk")
    carry_out(job)
    assert job.status == "failed"
    assert "damaged or cut short" in job.said
    made.refresh_from_db()
    assert made.base_map_id == before
    assert "damaged or cut short" in clients["owner"].get(f"/studies/{made.slug}/map").text
    assert not ExtractPart.objects.exists()


def test_a_process_of_its_own_reads_the_extract(owned, upload, osm, carry_out):
    """The whole way, through the sandbox, once."""
    upload(osm)
    carry_out(BaseMap.objects.get())
    assert BaseMap.objects.get().status == "done", BaseMap.objects.get().said


def test_a_new_base_map_takes_the_place_of_the_old(made, upload, osm, carry_out):
    old = made.base_map_id
    BaseMap.objects.update(in_results=True)
    upload(osm)
    carry_out(BaseMap.objects.latest("pk"))
    made.refresh_from_db()
    assert made.base_map_id != old
    assert made.base_map.in_results
    assert not BaseMapTile.objects.exclude(base_map=made.base_map_id).exists()


def test_the_switch_and_the_removal(made, clients):
    page = f"/studies/{made.slug}/base-map"
    clients["owner"].post(page, {"act": "results", "on": "on"})
    assert BaseMap.objects.get().in_results
    clients["owner"].post(page, {"act": "results"})
    assert not BaseMap.objects.get().in_results
    clients["owner"].post(page, {"act": "remove"})
    assert not BaseMap.objects.exists()
    assert not BaseMapTile.objects.exists()
    assert "choose a file first" in str(clients["owner"].post(page, {"act": "?"}, follow=True).content).lower()


def test_copies_have_it_and_deleted_studies_do_not(made, people, carry_out):
    draft = ask_for_copy(made, people["owner"])
    carry_out(draft)
    assert draft.study.base_map.tiles.count() == made.base_map.tiles.count() > 0
    assert draft.study.base_map_id != made.base_map_id
    delete_study(made, "Wards", people["owner"])
    Study.objects.filter(pk=made.pk).update(deleted_at=timezone.now() - GRACE - timedelta(minutes=1))
    remove_due()
    assert BaseMap.objects.get() == draft.study.base_map
    assert BaseMapTile.objects.exclude(base_map=draft.study.base_map).count() == 0


def test_what_the_reader_writes_is_checked(monkeypatch):
    from judgemap.geo.basemap.tiles import Tile, _pack
    from judgemap.web.studies.basemap.making import _check

    _check(_pack(Tile({"primary": "M0 0l5-3"}, [["town", 1, 2, "<b>"]])))
    for bad in (Tile({"primary": '"/><script>'}, []), Tile({"strange": "M0 0"}, []), Tile({}, [["town", 1, 2, 3]])):
        with pytest.raises(StudyError):
            _check(_pack(bad))


def test_the_dashboard_and_the_results_show_it_only_when_switched_on(made, clients):
    page = f"/studies/{made.slug}/dashboard"
    address = f"/studies/{made.slug}/base-map/{made.base_map_id}.svg"
    assert address not in clients["owner"].get(page).text
    clients["owner"].post(f"/studies/{made.slug}/base-map", {"act": "results", "on": "on"})
    shown = clients["owner"].get(page).text
    assert f'href="{address}"' in shown
    assert CREDIT in shown
    picture = clients["teammate"].get(address)
    assert picture["Content-Type"] == "image/svg+xml"
    assert b'stroke="#b3a996"' in picture.content  # main roads
    assert clients["stranger"].get(address).status_code == 404
    assert clients["owner"].get(f"/studies/{made.slug}/base-map/{made.base_map_id + 1}.svg").status_code == 404
