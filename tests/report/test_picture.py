"""Pictures and pages as files: well-formed, the same each time, and printed by a real browser if there is one."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

import judgemap as jm
from judgemap.report.figures.fit import risk_intervals
from judgemap.report.figures.maps import risk_map
from judgemap.report.figures.picture import Picture
from judgemap.report.pages.briefing import About, briefing
from judgemap.report.pages.finish import annex_alone, find_renderer, two_pages, write_pdf


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


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Return a function that puts a program called chromium on an otherwise empty PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def install(script):
        (folder / "chromium").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "chromium").chmod(0o755)

    return install


def test_no_browser_is_said_in_a_sentence(programs, tmp_path):
    assert find_renderer() is None
    with pytest.raises(jm.StudyError, match=r"report\.pdf cannot be made: no Chromium, Chrome or Edge"):
        write_pdf("<p>", tmp_path / "report.pdf")
    assert not (tmp_path / "report.pdf").exists()


def test_a_browser_that_fails(programs, tmp_path):
    programs("exit 3")
    assert find_renderer().name == "chromium"
    with pytest.raises(jm.StudyError, match=r"chromium ended with status 3"):
        write_pdf("<p>", tmp_path / "report.pdf")
    assert not (tmp_path / "report.pdf").exists()


def test_a_browser_that_never_ends(programs, tmp_path):
    programs("exec /bin/sleep 30")
    with pytest.raises(jm.StudyError, match=r"took more than 0\.3 seconds"):
        write_pdf("<p>", tmp_path / "report.pdf", limit=0.3)


@pytest.mark.slow
@pytest.mark.browser
def test_a_real_browser_prints_the_briefing(fit, study, tmp_path):
    if find_renderer() is None:
        pytest.skip("there is no Chromium on this machine")
    about = About("Wards", "Which of the two has the LOWER rate?", study.data)
    html = briefing(fit, about)
    front = write_pdf(two_pages(html), tmp_path / "two.pdf").read_bytes()
    assert len(re.findall(rb"/Type /Page\b", front)) == 2
    pdf = write_pdf(annex_alone(html), tmp_path / "annex.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    sizes = {
        tuple(round(float(side)) for side in box) for box in re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    }
    assert sizes == {(595, 842)}, "A4 throughout"
    assert 4 <= len(re.findall(rb"/Type /Page\b", pdf)) <= 12
