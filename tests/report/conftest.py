import base64
import re
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure

import judgemap as jm
from judgemap.report.figures.picture import Picture
from judgemap.report.pages.briefing import About, Gallery, briefing
from judgemap.study.assess.explain import Explanation

QUESTION = "Which of the two has the LOWER rate?"
SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Document(HTMLParser):
    """A page as a reader sees it: its elements in order, its words, its tables, and whether every tag is closed."""

    def __init__(self, html):
        super().__init__()
        self.html, self.elements, self.open, self.said, self.tables, self.paragraphs = html, [], [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag == "p":
            self.paragraphs.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.said.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data.replace("\u00a0", " ")
        if "p" in self.open:
            self.paragraphs[-1] += data.replace("\u00a0", " ")

    @property
    def words(self):
        return re.sub(r"\s+", " ", " ".join(self.said)).replace("\u00a0", " ")

    @property
    def headings(self):
        found = re.findall(r"<h2[^>]*>(.*?)</h2>", self.html)
        return [text.replace("&#39;", "'") for text in found]

    @property
    def pictures(self):
        head = "data:image/svg+xml;base64,"
        assert all(image["src"].startswith(head) for image in self.all("img"))
        return [base64.b64decode(image["src"].removeprefix(head)).decode() for image in self.all("img")]

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="session")
def read_page():
    """Return a function that reads a page, and fails if a tag is not closed."""
    return Document


def settled(fit):
    """Return a fit as if it had many draws: nothing to warn about."""
    well = {"rhat_max": 1.002, "ess_bulk_min": 900.0, "ess_bulk_min_of": "α²", "ess_tail_min": 800.0, "clusters": None}
    return replace(fit, record=replace(fit.record, diagnostics=replace(fit.record.diagnostics, **well)))


@pytest.fixture(scope="session")
def as_settled():
    return settled


@pytest.fixture(scope="session")
def fit(rough):
    return settled(rough)


@pytest.fixture(scope="session")
def clustered(rough_clusters):
    return settled(rough_clusters)


@pytest.fixture(scope="session")
def panel(study):
    """A short fit of three judges who each have their own view."""
    few = study.data.only(study.data.judges[:3])
    return jm.fit_spatial(few, study.areas, seed=1, judges="differ", chains=2, warmup=40, draws=40, as_in_paper=True)


@pytest.fixture(scope="session")
def others(study):
    """The paper's comparison: without the busiest judge, and that judge alone."""
    parts = {"without judge 12": study.data.without(["12"]), "judge 12 alone": study.data.only(["12"])}
    return {
        name: jm.fit_spatial(part, study.areas, seed=1, chains=2, draws=60, as_in_paper=True)
        for name, part in parts.items()
    }


@pytest.fixture
def undrawn(undrawn, monkeypatch):
    """Leave a briefing's figures out: each is an empty picture that names its areas."""

    def empty(gallery, name):
        alt = f"{name}: {', '.join(gallery.fit.map.names)}"
        return gallery._drawn.setdefault(name, Picture(Figure(figsize=(1, 1)), alt))

    monkeypatch.setattr(Gallery, "__getitem__", empty)


@pytest.fixture(scope="session")
def about(fit, study, others):
    """Everything that can be known about the study."""
    days = date(2026, 3, 2), date(2026, 4, 17)
    explanation = Explanation(fit, study.data)
    return About("Wards of the town", QUESTION, study.data, *days, others=others, explanation=explanation)


@pytest.fixture(scope="session")
def gallery(fit, about, clustered):
    """Every figure of both models, each drawn when it is first asked for."""
    return Gallery(fit, about, clustered)


@pytest.fixture(scope="session")
def document(fit, about, clustered, gallery):
    """The briefing of both models, with every picture drawn."""
    return Document(briefing(fit, about, clustered, gallery))


@pytest.fixture(scope="session")
def bare_study(tmp_path_factory):
    """A simulated study of areas that come from an edge list: a ring of twelve, a pair apart, and no map."""
    folder = tmp_path_factory.mktemp("edges")
    ring = [(i, i % 12 + 1) for i in range(1, 13)] + [(1, 7), (13, 14)]
    (folder / "edges.csv").write_text("area_a,area_b\n" + "".join(f"{a},{b}\n" for a, b in ring))
    names = "".join(f"{i},Ward {i}\n" for i in range(1, 15))
    (folder / "areas.csv").write_text("id,name\n" + names)
    areas = jm.read_edges(folder / "edges.csv", folder / "areas.csv")
    return jm.simulate_study(np.random.default_rng(2), areas)


@pytest.fixture(scope="session")
def bare_fit(bare_study):
    return settled(jm.fit_spatial(bare_study.data, bare_study.areas, seed=1, chains=2, draws=200, as_in_paper=True))


@pytest.fixture(scope="session")
def fixed_fit(bare_fit):
    """The same with α fixed at 3."""
    draws = bare_fit.posterior.assign(alpha2=np.full_like(bare_fit.posterior["alpha2"], 9.0))
    record = replace(bare_fit.record, settings=replace(bare_fit.settings, alpha=3.0))
    return replace(bare_fit, posterior=draws, record=record)


@pytest.fixture(scope="session", params=["map", "edge list"])
def any_fit(request, fit, bare_fit):
    return fit if request.param == "map" else bare_fit


@pytest.fixture(scope="session")
def words():
    """Return a function that parses a picture's SVG and returns the texts in it."""

    def read(picture) -> list[str]:
        root = ET.fromstring(picture.svg())  # noqa: S314 - our own file
        assert root.tag == f"{SVG}svg"
        return ["".join(element.itertext()).strip() for element in root.iter(f"{SVG}text")]

    return read
