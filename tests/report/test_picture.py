"""Pictures as files: well-formed, the same each time, whatever settings and names they meet."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

import judgemap as jm
from judgemap.report.figures.fit import risk_intervals
from judgemap.report.figures.maps import risk_map
from judgemap.report.figures.picture import Picture


@pytest.fixture
def picture(bare_fit):
    return risk_map(bare_fit)


def test_svg_carries_its_description(picture):
    root = ET.fromstring(picture.svg())  # noqa: S314
    assert root.attrib["role"] == "img"
    assert root[0].tag.endswith("desc")
    assert root[0].text == picture.alt


def test_users_settings_change_nothing_and_stay(bare_fit):
    plain = risk_map(bare_fit).svg()
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "savefig.facecolor": "black", "text.color": "red"}):
        assert risk_map(bare_fit).svg() == plain
        assert mpl.rcParams["font.size"] == 30
        assert mpl.rcParams["svg.fonttype"] == "path"


@pytest.mark.parametrize(
    ("name", "begins"), [("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("A.SVG", b"<svg")]
)
def test_save_writes_by_the_names_ending(picture, tmp_path, name, begins):
    written = picture.save(tmp_path / name).read_bytes()
    assert written.startswith(begins)
    assert picture.save(tmp_path / name).read_bytes() == written


def test_save_says_what_is_wrong(picture, tmp_path):
    with pytest.raises(jm.StudyError, match=r"map\.gif: a picture can be"):
        picture.save(tmp_path / "map.gif")
    with pytest.raises(jm.StudyError, match="cannot be written"):
        picture.save(tmp_path / "absent" / "map.svg")


def test_names_are_drawn_as_they_are(bare_fit, words):
    """Neither dollar signs nor letters that the measuring font lacks are trouble."""
    names = ("Five $ and <ten> $", "东城区 & Co", *bare_fit.map.names[2:])
    fit = replace(bare_fit, map=replace(bare_fit.map, names=names))
    assert {names[0], names[1]} <= set(words(risk_intervals(fit, top=20)))


def test_description_is_escaped():
    assert ET.fromstring(Picture(Figure(figsize=(1, 1)), "a < b & c").svg())[0].text == "a < b & c"  # noqa: S314
