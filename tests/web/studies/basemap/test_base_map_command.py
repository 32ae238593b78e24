"""`judgemap study basemap`: what it says of good extracts and of bad ones, a sentence each."""

from functools import partial

import pytest
from town_making import CREDIT, pbf_bomb, town

from judgemap.cli.study import app
from judgemap.errors import StudyError
from judgemap.web.studies.models import BaseMap, BaseMapTile


@pytest.fixture
def basemap(owned, read_here, run_command):
    """Run the command on the study."""
    return partial(run_command, app, "basemap", owned.slug)


def test_a_base_map_is_made_and_removed(basemap, tmp_path):
    said = basemap(str(town().write(tmp_path / "town.osm")))
    assert "Found 48 roads" in said
    assert CREDIT in said
    assert BaseMapTile.objects.exists()
    assert "has no base map" in basemap("--remove")
    assert not BaseMap.objects.exists()


@pytest.mark.parametrize(
    ("name", "write", "match"),
    [
        ("large.osm.pbf", lambda path: _sparse(path, 2 << 30), r"is 2\.1 GB; the limit is 1\.0 GB"),
        ("zip.osm.pbf", lambda path: path.write_bytes(b"PK\x03\x04" + bytes(300)), "neither an OpenStreetMap extract"),
        ("bomb.osm.pbf", lambda path: path.write_bytes(pbf_bomb()), "damaged or cut short"),
        ("cut.osm", lambda path: path.write_bytes(b"<?xml version='1.0'?><osm version='0.6'><nod"), "damaged or cut"),
        ("sydney.osm", town((151.2, -33.9)).write, "33.9° south.*choose another extract"),
        ("bare.osm", town(roads=False).write, "no roads around the study"),
        ("nothing.osm", lambda path: None, "there is no file"),
    ],
    ids=lambda each: each if isinstance(each, str) and "." in each else "",
)
def test_a_bad_extract_is_refused_in_a_sentence(basemap, tmp_path, judge, name, write, match):
    write(tmp_path / name)
    with pytest.raises(StudyError, match=match):
        basemap(str(tmp_path / name))
    assert not BaseMap.objects.filter(status="done").exists()
    assert judge.get().status_code == 200


def _sparse(path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)
