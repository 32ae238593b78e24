"""Files are read at arm's length: limits on size, count and expansion, few drivers, no network."""

import io
import json
import multiprocessing
import random
import re
import resource
import socket
import subprocess
import sys
import threading
import zipfile
from unittest.mock import Mock

import geopandas
import numpy as np
import pytest
import shapely
from django.core.files.uploadedfile import SimpleUploadedFile

from judgemap.errors import StudyError
from judgemap.web.dashboard.counting import ROW
from judgemap.web.server import readers
from judgemap.web.server.sandbox import Limits
from judgemap.web.studies.upload import drafts, reading
from judgemap.web.studies.upload.records import Chosen


@pytest.fixture
def frame():
    squares = [shapely.box(450_000 + x, 340_000, 451_000 + x, 341_000) for x in (0, 1000, 2000, 6000)]
    labels = {"code": ["a", "b", "c", "d"], "name": ["A", "B", "C\x01", "Isle"]}
    return geopandas.GeoDataFrame(labels, geometry=squares, crs="EPSG:27700")


def zipped(**members) -> bytes:
    text = io.BytesIO()
    with zipfile.ZipFile(text, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return text.getvalue()


def shapefile(frame, folder) -> bytes:
    frame.to_file(folder / "wards.shp")
    return zipped(**{path.name: path.read_bytes() for path in folder.iterdir()})


@pytest.mark.parametrize("kind", ["gpkg", "geojson", "zip"])
def test_the_three_formats_give_the_same_areas_and_news_on_the_way(frame, tmp_path, kind, request):
    """The Shapefile at arm's length, as on a server; the others in this process."""
    if kind == "zip":
        content = shapefile(frame, tmp_path)
    else:
        request.getfixturevalue("read_here")
        frame.to_file(tmp_path / f"wards.{kind}")
        content = (tmp_path / f"wards.{kind}").read_bytes()
    chosen, news = Chosen(id="code", name="name"), []
    areas, _ = drafts.read_file(f"wards.{kind}", content, chosen, lambda *each: news.append(each))
    assert areas.ids == ("a", "b", "c", "d")
    assert areas.names == ("A", "B", "C", "Isle")
    assert areas.graph.edges.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert [(each.a, each.b) for each in areas.bridges] == [("d", "c")]
    assert areas.geometry.crs == "EPSG:4326"
    assert [share for share, _ in news] == sorted({share for share, _ in news})
    assert "Finding out which areas are neighbours." in [doing for _, doing in news]


def test_zip_files_that_unpack_into_too_much_are_not_unpacked(monkeypatch):
    monkeypatch.setattr(drafts, "LARGEST_UNZIPPED", 2_000_000)
    bomb = zipped(**{f"{i}.shp": bytes(300_000) for i in range(7)})
    assert len(bomb) < 10_000
    for content, words in ((bomb, "more than 2 MB"), (zipped(**{f"{i}.txt": "" for i in range(61)}), "holds 61 files")):
        with pytest.raises(StudyError, match=words):
            drafts.take_file(SimpleUploadedFile("wards.zip", content))


def test_only_three_drivers_are_there(tmp_path):
    code = "import pyogrio, json; print(json.dumps(sorted(pyogrio.list_drivers())))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=readers.reader_environment(str(tmp_path), drafts.DRIVERS),
        capture_output=True,
        check=True,
    )
    drivers = set(json.loads(done.stdout))
    assert drivers >= drafts.DRIVERS
    assert drivers - drafts.DRIVERS <= {"ESRIJSON", "GeoJSONSeq", "TopoJSON"}


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("link", {"href": "{}", "type": "proj4"}),
        # Each starts a program, and what keeps a link from being followed keeps these, too.
        pytest.param("url", {"url": "{}"}, marks=pytest.mark.slow),
        pytest.param("name", {"name": "{}"}, marks=pytest.mark.slow),
    ],
)
def test_a_file_cannot_make_the_reader_call_anybody(frame, tmp_path, kind, properties):
    """GDAL fetches a linked reference system; here it reaches nobody."""
    called = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: (server.accept()[0].close(), called.set()), daemon=True).start()
        frame.to_crs("EPSG:4326").to_file(tmp_path / "wards.geojson")
        collection = json.loads((tmp_path / "wards.geojson").read_text())
        link = f"http://127.0.0.1:{server.getsockname()[1]}/crs"
        collection["crs"] = {"type": kind, "properties": {name: text.format(link) for name, text in properties.items()}}
        drafts.inspect_file("wards.geojson", json.dumps(collection).encode())
        assert not called.wait(0.2)
        socket.create_connection(server.getsockname(), timeout=2).close()
        assert called.wait(2)


def test_too_many_areas_are_refused(read_here, monkeypatch):
    monkeypatch.setattr(reading, "MOST_AREAS", 100)
    content = geopandas.GeoSeries([shapely.box(i, 0, i + 1, 1) for i in range(101)]).to_json(drop_id=True).encode()
    with pytest.raises(StudyError, match="has 101 areas; up to 100 can be judged"):
        drafts.inspect_file("wards.geojson", content)


def test_every_area_that_is_read_can_be_counted():
    """Tallies keep an area's position in two bytes."""
    assert np.iinfo(ROW["left"]).max >= reading.MOST_AREAS - 1


def test_who_hears_the_news_can_end_the_reader(frame, tmp_path):
    """As a draft that a researcher has stopped does."""
    frame.to_file(tmp_path / "wards.gpkg")

    def stop(share, doing):
        raise InterruptedError(doing)

    with pytest.raises(InterruptedError):
        drafts.read_file("wards.gpkg", (tmp_path / "wards.gpkg").read_bytes(), Chosen(), stop)


def test_a_reader_that_takes_too_long_is_ended(frame, tmp_path, monkeypatch):
    frame.to_file(tmp_path / "wards.gpkg")
    monkeypatch.setattr(readers, "SECONDS", 0.01)
    with pytest.raises(StudyError, match="too large or too complex"):
        drafts.inspect_file("wards.gpkg", (tmp_path / "wards.gpkg").read_bytes())


def test_a_busy_machine_is_no_reason_to_refuse_a_map():
    """A reader that gets a tenth of a processor can still use up the processor time that it has."""
    assert 10 * Limits().seconds <= readers.SECONDS


def test_a_reader_that_breaks_down_gives_a_sentence_and_logs_why(frame, tmp_path, monkeypatch, capsys, caplog):
    """No map may end in a server error, and whoever runs the server has to learn what happened."""
    frame.to_file(tmp_path / "wards.gpkg")
    monkeypatch.setattr(reading, "confine", lambda *_: [])
    monkeypatch.setattr(reading, "inspect", lambda path, layer: {}[path.name])
    reading.main(["inspect", str(tmp_path / "wards.gpkg"), "{}"])
    written = capsys.readouterr().out.encode()
    monkeypatch.setattr(drafts, "run_reader", lambda *_: written)
    with pytest.raises(StudyError, match="this map cannot be read; run “Fix geometries”"):
        drafts.inspect_file("wards.gpkg", b"")
    assert "KeyError: 'wards.gpkg'" in caplog.text


@pytest.mark.parametrize("error", [MemoryError(), shapely.GEOSException("std::bad_alloc")])
def test_a_reader_that_runs_out_of_memory_says_so(error, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reading, "confine", lambda *_: [])
    monkeypatch.setattr(reading, "inspect", Mock(side_effect=error))
    (tmp_path / "wards.gpkg").touch()
    reading.main(["inspect", str(tmp_path / "wards.gpkg"), "{}"])
    said = json.loads(capsys.readouterr().out)
    assert (said["error"], said["values"]) == (reading.NO_MEMORY, {"file": "wards.gpkg"})


def refusal_and_memory(*given):
    """What is said about a file that is refused, and the most memory that the reader used, in kilobytes."""
    with pytest.raises(StudyError) as refused:
        drafts.read_file(*given)
    return str(refused.value), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


@pytest.mark.slow  # it takes the reader half a minute to fill its memory; tests/web/server/test_sandbox.py is quick
def test_a_small_file_that_asks_for_much_memory_is_refused():
    """An outline that crosses itself everywhere has as many corners as crossings, here millions."""
    rng = random.Random(1)
    ring = [(round(rng.random(), 4), round(rng.random(), 4)) for _ in range(3300)]
    shapes = [shapely.Polygon(ring), *(shapely.box(x, 2, x + 1, 3) for x in (0, 1))]
    content = geopandas.GeoDataFrame({"id": range(3)}, geometry=shapes).to_json(drop_id=True).encode()
    assert len(content) < 70_000
    # In a process of its own, whose only child is the reader: earlier tests' servers and browsers do not count.
    with multiprocessing.get_context("fork").Pool(1) as alone:
        said, memory = alone.apply(refusal_and_memory, ["wards.geojson", content, Chosen(id="id", name="id")])
    assert re.search("too large or too complex|too much memory|crosses itself", said)
    assert memory < 1_300_000


def test_names_of_files_lead_nowhere():
    for name in ("../../etc/passwd.geojson", "..\\x.geojson", "/a/b.geojson", "\x00.geojson", "." * 300):
        safe = readers.safe_name(name)
        assert not set(safe) & set("/\\\0"), name
        assert safe not in ("", ".", ".."), name
        assert len(safe) <= 90, name


def detailed(path, areas, points):
    """Write squares in a row whose borders have about so many points in all, with a column that is called fid."""
    squares = [shapely.box(x, 0, x + 1000, 1000) for x in range(0, 1000 * areas, 1000)]
    labels = {"fid": [f"a{number}" for number in range(areas)]}
    fine = shapely.segmentize(squares, 4000 * areas / points)
    geopandas.GeoDataFrame(labels, geometry=fine, crs="EPSG:27700").to_file(path, driver="GPKG", FID="row")


def test_outlines_of_many_points_are_simplified_alike_on_both_sides(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_POINTS", 1000)
    detailed(tmp_path / "fine.gpkg", 4, 4000)
    found = reading.inspect(tmp_path / "fine.gpkg", "")
    assert found.points[0] > 3900
    assert found.points[1] == 20
    assert (found.id, found.layers) == ("fid", ["map"])
    kept = geopandas.read_file(tmp_path / reading.KEPT)
    assert kept["fid"].tolist() == ["a0", "a1", "a2", "a3"]
    assert kept.area.tolist() == pytest.approx([1e6] * 4)
    areas = reading.read(tmp_path / reading.KEPT, Chosen(id="fid", name="fid"))
    assert areas.edges == [[0, 1], [1, 2], [2, 3]]


def test_a_reader_may_use_more_for_a_larger_file(tmp_path):
    usual = Limits()
    small, large, packed = tmp_path / "a.gpkg", tmp_path / "b.gpkg", tmp_path / "c.zip"
    small.write_bytes(b"x")
    with large.open("wb") as file:
        file.truncate(100_000_000)
    packed.write_bytes(zipped(**{"a.shp": bytes(200_000_000)}))
    assert reading.limits_for(small) == usual
    assert reading.limits_for(large).memory == usual.memory + 40 * 75_000_000
    assert reading.limits_for(large).seconds == 210
    assert reading.limits_for(packed).memory == usual.memory + 40 * 75_000_000, "by its size when unpacked, to a limit"


@pytest.mark.slow
def test_a_large_file_is_read_in_the_sandbox_and_kept_as_a_small_one(tmp_path, django_user_model, db):
    detailed(tmp_path / "fine.gpkg", 400, 3_200_000)
    content = (tmp_path / "fine.gpkg").read_bytes()
    assert len(content) > 50_000_000
    owner = django_user_model.objects.create_user("a@example.org", "a password of many words")
    upload = drafts.keep_upload(owner, SimpleUploadedFile("fine.gpkg", content), "")
    assert upload.inspection["points"][1] < 100_000
    assert len(upload.content) < 5_000_000
    areas, _ = drafts.read_file(upload.name, bytes(upload.content), Chosen(id="fid", name="fid"))
    assert areas.graph.edges.tolist() == [[place, place + 1] for place in range(399)]
