"""Links between the pages lead somewhere, down to the heading, and from the home page to every page."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"
PAGES = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]


def headings(path):
    """Return the anchors of a page, as GitHub and mkdocs make them from its headings."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    names = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    return {re.sub(r"[ ]", "-", re.sub(r"[^\w\- ]", "", name.lower()).strip()) for name in names}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor:
            assert anchor in headings(path), f"{page.name} links to {target}, but the page has no such heading"


def test_every_page_is_three_clicks_from_the_home_page():
    """By links in the text alone, without the navigation."""
    found = {DOCS / "index.md"}
    for _ in range(3):
        texts = [path.read_text(encoding="utf-8") for path in found if path.suffix == ".md"]
        targets = {name for text in texts for name in re.findall(r"\]\(([\w./-]+\.(?:md|py))", text)}
        found |= {DOCS / name for name in targets}
    assert {*DOCS.glob("*.md"), *DOCS.glob("notebooks/*.py")} <= found
