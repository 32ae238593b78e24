"""Every figure of the paper: it exists, is as wide as a journal column, is readable then, and is drawn as before."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.text import Text
from PIL import Image

import judgemap as jm
from judgemap.report.figures.picture import COLUMN, PAGE, SMALL, WIDTH
from judgemap.report.pages.briefing import Gallery, briefing
from judgemap.report.pages.briefing.about import HEADINGS, MARK, write_figures

OF_THE_PAPER = {
    "network", "times", "risk", "alpha", "variance", "variance-against-median", "clusters", "violins",
    "number-of-clusters", "models", "traces", "sensitivity", "sensitivity-maps",
}  # fmt: skip
POINT = 25.4 / 72
"""Millimetres."""


@pytest.fixture(scope="module")
def drawn(gallery):
    return gallery.everything


def test_every_figure_of_the_paper_is_there(drawn):
    assert set(drawn) >= OF_THE_PAPER
    assert list(drawn) == [name for name in HEADINGS if name in drawn], "in the order of the paper"
    for picture in drawn.values():
        assert len(picture.alt) > 40
        assert picture.alt.endswith(".")
        assert picture.caption.endswith(".")


def test_figures_are_drawn_alike_each_time(drawn, document, fit, about, clustered):
    assert len(document.pictures) >= 20
    assert set(document.pictures) <= {picture.svg() for picture in drawn.values()}
    again = Gallery(fit, about, clustered)
    assert [name for name in ("risk", "alpha", "models", "violins") if again[name].svg() != drawn[name].svg()] == []


def test_figures_of_judges_are_for_the_researcher_alone(drawn, fit, about, read_page, undrawn):
    """They name judges, so that the briefing has none of them."""
    gallery = Gallery(fit, about)
    of_judges = {name for name in gallery.names if name.startswith("judges-")}
    assert len(of_judges) == 4
    assert of_judges <= set(drawn)
    told = read_page(briefing(fit, about, None, gallery))
    assert not {HEADINGS[name] for name in of_judges} & set(told.headings)
    assert "traces" in vars(gallery)["_drawn"]
    assert not of_judges & set(vars(gallery)["_drawn"])


def test_what_cannot_be_drawn_is_left_out(bare_fit, fixed_fit):
    assert "times" not in Gallery(bare_fit).names
    assert {"alpha", "clusters", "models"}.isdisjoint(Gallery(fixed_fit).names)


def test_text_has_seven_points_in_a_column(drawn):
    """The smallest text times how much the figure shrinks; texts of the figure and of the file alike."""
    shrunk = COLUMN / POINT / WIDTH
    assert SMALL * shrunk > 7
    for name, picture in drawn.items():
        assert picture.figure.get_size_inches()[0] * 72 == pytest.approx(WIDTH), name
        texts = [each for each in picture.figure.findobj(Text) if each.get_visible() and each.get_text().strip()]
        assert texts or name == "network"
        written = [float(size) for size in re.findall(r"font(?:-size)?: [^;\"]*?([\d.]+)px", picture.svg())]
        assert bool(written) == bool(texts), name
        assert all(each.get_fontsize() * shrunk >= 7 for each in texts), name
        assert all(size * shrunk >= 7 for size in written), name


@pytest.mark.parametrize("millimetres", [COLUMN, PAGE])
def test_files_are_as_wide_as_a_column(drawn, tmp_path, millimetres):
    assert 85 <= COLUMN <= 90
    assert 170 <= PAGE <= 180
    picture = drawn["models"]
    width, height = picture.figure.get_size_inches()
    expected = (millimetres, millimetres * height / width)
    root = ET.fromstring(picture.save(tmp_path / "a.svg", millimetres).read_bytes())  # noqa: S314
    sizes = [float(root.attrib[side].removesuffix("mm")) for side in ("width", "height")]
    assert sizes == pytest.approx(expected, abs=0.01)
    assert root.attrib["viewBox"].split()[2] == "360"
    pdf = picture.save(tmp_path / "a.pdf", millimetres).read_bytes()
    box = re.findall(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf)[-1]
    assert [float(side) * POINT for side in box] == pytest.approx(expected, abs=0.01)
    for number, place in re.findall(rb"\n(\d+) 1\n(\d{10}) 00000 n", pdf):
        assert pdf[int(place) :].startswith(number + b" 0 obj"), "the update's table says where its objects are"
    with Image.open(picture.save(tmp_path / "a.png", millimetres)) as image:
        assert image.width == pytest.approx(millimetres / 25.4 * 300, rel=0.01)


def test_letters_of_a_pdf_are_embedded_and_alike(drawn, tmp_path):
    pdf = drawn["alpha"].save(tmp_path / "a.pdf").read_bytes()
    assert b"/FontFile2" in pdf, "as outlines of letters, not as Type 3"
    assert b"/Type3" not in pdf
    assert drawn["alpha"].save(tmp_path / "b.pdf").read_bytes() == pdf
    assert drawn["alpha"].figure.dpi == 100, "the figure is left as it was"


def test_folder_of_figures(drawn, tmp_path):
    some = {name: drawn[name] for name in ("times", "alpha")}
    folder = write_figures(some, tmp_path / "figures")
    names = {"times.svg", "times.pdf", "alpha.svg", "alpha.pdf", MARK}
    assert {path.name for path in folder.iterdir()} == names
    assert drawn["times"].alt in (folder / MARK).read_text(encoding="utf-8")
    (folder / "risk.pdf").write_text("mine")
    (folder / "notes.pdf").write_text("mine")
    (folder / MARK).write_text((folder / MARK).read_text(encoding="utf-8") + "## notes\n", encoding="utf-8")
    write_figures({"alpha": drawn["alpha"]}, folder)
    assert not (folder / "times.svg").exists(), "earlier figures are replaced"
    with pytest.raises(jm.StudyError, match=r"risk\.pdf was not written by judgemap"):
        write_figures({"risk": drawn["risk"]}, folder)
    assert {path.name for path in folder.iterdir()} == {"alpha.svg", "alpha.pdf", MARK, "risk.pdf", "notes.pdf"}
    assert [(folder / name).read_text() for name in ("risk.pdf", "notes.pdf")] == ["mine", "mine"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with pytest.raises(jm.StudyError, match="is not empty"):
        write_figures(some, tmp_path / "mine")
    with pytest.raises(jm.StudyError, match="no figures"):
        write_figures({}, tmp_path / "none")


def test_times_are_the_datas(study, drawn):
    axes = drawn["times"].figure.axes[0]
    longest = np.quantile(study.data.seconds, 0.99)
    assert sum(bar.get_height() for bar in axes.patches) == (study.data.seconds <= longest).sum()
    assert f"median {np.median(study.data.seconds):.1f} s" in [text.get_text() for text in axes.texts]


def test_the_variance_map_shows_squares(fit, drawn, words):
    variance = fit.areas["risk_sd"] ** 2
    assert fit.areas["name"][variance.idxmax()] in drawn["variance"].alt
    limits = [float(text) for text in words(drawn["variance"]) if re.fullmatch(r"[\d.]+", text)]
    assert min(limits) <= variance.min()
    assert variance.max() <= max(limits)
