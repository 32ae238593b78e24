"""The page: whole in itself, readable without pictures, and its numbers are the fit's."""

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from matplotlib.figure import Figure

from judgemap.report.briefing import Section, demo_page, page
from judgemap.report.figures import recovery
from judgemap.report.picture import Picture

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Document(HTMLParser):
    """A page as a reader meets it: its elements in order, its words, and whether every tag is closed."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.open, self.said = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.said.append(data)

    @property
    def words(self):
        return re.sub(r"\s+", " ", " ".join(self.said)).replace(" %", " %")

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def html(fit, study):
    return demo_page(fit, study)


@pytest.fixture(scope="module")
def document(html):
    return Document(html)


def pictures(document):
    head = "data:image/svg+xml;base64,"
    assert all(image["src"].startswith(head) for image in document.all("img"))
    return [base64.b64decode(image["src"].removeprefix(head)).decode() for image in document.all("img")]


def test_every_picture_has_words_for_it(document):
    images = document.all("img")
    assert len(images) == 3
    assert all(len(image["alt"]) > 40 for image in images)


def test_nothing_is_fetched(html, document):
    assert not re.search(r"https?://|//[a-z]", re.sub(r"base64,[A-Za-z0-9+/=]+", "", html))
    assert {"script", "link", "iframe"}.isdisjoint(tag for tag, _ in document.elements)
    for svg in pictures(document):
        ET.fromstring(svg)  # noqa: S314
        outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", svg)
        assert not re.search(r"https?://|@import|url\((?!#)", outside)


def test_structure(document):
    assert document.all("html") == [{"lang": "en"}]
    assert document.all("meta")[1]["name"] == "viewport"
    tags = [tag for tag, _ in document.elements]
    assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
    headings = [attributes["id"] for attributes in document.all("h2")]
    assert headings == [attributes["aria-labelledby"] for attributes in document.all("section")]
    assert len(set(headings)) == len(headings)
    assert all(cell["scope"] == "col" for cell in document.all("th"))


def test_the_ten_highest_are_named(document, fit):
    cells = [text.strip() for text in document.said if text.strip()]
    for name in fit.areas.nlargest(10, "risk_median")["name"]:
        assert name in cells


def test_numbers_are_the_fits(document, fit, study):
    found, diagnostics = recovery(fit, study.true_risk), fit.info["diagnostics"]
    first = fit.areas.nlargest(1, "risk_median").iloc[0]
    sure = int((fit.areas["p_top10"] > 0.95).sum())
    for said in (
        "12 judges",
        "1,848 comparisons",
        "77 areas",
        f"{found.n_covered} of 77 intervals",
        f"Their correlation is {found.correlation:.3f}",
        f"highest risk: {first['risk_median']:.2f}, with 95 % interval {first['risk_low']:.2f} to",
        f"Of all areas, {sure} ",
        f"{fit.areas['risk_sd'].min():.2f}",
        "2 chains of 200 draws",
        f"{diagnostics['rhat_max']:.3f}",
        f"{diagnostics['ess_bulk_min']:,.0f}, for {diagnostics['ess_bulk_min_of']}",
        f"{fit.info['seconds']:.2f} seconds",
        "Hamiltonian Monte Carlo",
        fit.info["data"]["sha256"][:16],
    ):
        assert said in document.words or " ".join(reversed(said.split(" ", 1))) in document.words, said


def test_warnings_and_notes_are_told(fit, study, document):
    for note in fit.info["notes"]:
        assert note in document.words
    poor = replace(fit, info={**fit.info, "diagnostics": {**fit.info["diagnostics"], "rhat_max": 1.3}})
    assert poor.warnings
    told = Document(demo_page(poor, study)).words
    assert "found something to put right" in told
    assert all(warning in told for warning in poor.warnings)
    good = replace(
        fit, info={**fit.info, "diagnostics": {"rhat_max": 1.0, "ess_bulk_min": 900, "ess_bulk_min_of": "α²"}}
    )
    assert "found nothing wrong" in Document(demo_page(good, study)).words


def test_it_says_that_the_data_are_simulated(document):
    assert "simulated" in document.words[:300]


def test_the_same_fit_gives_the_same_bytes(fit, study, html):
    assert demo_page(fit, study) == html


def test_an_edge_list_gives_a_page_too(bare_fit, bare_study):
    document = Document(demo_page(bare_fit, bare_study))
    assert "Network drawing of 14 areas" in document.all("img")[0]["alt"]
    assert "no boundary file" in document.words


def test_names_cannot_break_the_page(bare_fit, bare_study):
    nasty = '"><script>alert("&")</script>'
    names = (nasty,) * 14
    fit = replace(bare_fit, map=replace(bare_fit.map, names=names))
    html = demo_page(fit, bare_study)
    document = Document(html)
    assert "<script" not in html
    assert nasty in document.words
    assert nasty in document.all("img")[0]["alt"]


def test_pages_of_any_sections():
    picture = Picture(Figure(figsize=(1, 1)), alt="An empty square.")
    bare = Document(page("T < U", [Section("Only words", ("One.", "Two.")), Section("A picture", picture=picture)]))
    assert "T < U" in bare.words
    assert bare.all("img")[0]["alt"] == "An empty square."
    assert not bare.all("table")
    assert not bare.all("figcaption")
