"""Pages in a real browser: they fit a phone, load nothing, pass axe, and the first sheet stands on its own."""

from datetime import date

import pytest

from judgemap.report.pages.briefing import About, briefing

pytestmark = [pytest.mark.slow, pytest.mark.browser]

A4 = {"width": 673, "height": 1017}
"""A4 without its margins of 16 and 14 mm, in dots."""


@pytest.fixture(scope="module")
def pages(fit, study, clustered, bare_fit):
    """One with a notice; a full briefing with a warning; one without a map, a title or anything else."""
    about = About("Wards", "Which of the two has the LOWER rate?", study.data, date(2026, 3, 2), date(2026, 4, 17))
    return {
        "noticed": briefing(fit, About(notice="All of this is simulated.")),
        "full": briefing(fit, about, clustered),
        "bare": briefing(bare_fit),
    }


@pytest.mark.parametrize("which", ["noticed", "full", "bare"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_page_can_be_read(chromium, pages, tmp_path, which, width):
    from axe_playwright_python.sync_playwright import Axe

    path = tmp_path / "page.html"
    path.write_text(pages[which], encoding="utf-8")
    asked = []
    view = chromium.new_page(viewport={"width": width, "height": 800})
    view.on("request", lambda request: asked.append(request.url))
    view.goto(path.as_uri())
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    assert view.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    assert [url for url in asked if not url.startswith(("data:", "file:"))] == []
    found = Axe().run(view)
    assert found.violations_count == 0, found.generate_report()
    view.close()


@pytest.mark.parametrize("which", ["noticed", "full", "bare"])
def test_the_first_printed_page_stands_alone(chromium, pages, tmp_path, which):
    path = tmp_path / "page.html"
    path.write_text(pages[which], encoding="utf-8")
    view = chromium.new_page(viewport=A4)
    view.emulate_media(media="print")
    view.goto(path.as_uri())
    bottom = "document.querySelector('{}').getBoundingClientRect().bottom"
    foot = view.evaluate("document.querySelector('.foot').getBoundingClientRect().top")
    assert view.evaluate(bottom.format(".foot")) <= A4["height"]
    assert view.evaluate(bottom.format(".map-and-table table")) <= foot
    assert view.evaluate(bottom.format(".map-and-table figure")) <= foot
    assert view.evaluate("document.querySelector('.map-and-table img').getBoundingClientRect().height") > 150
    assert view.evaluate("getComputedStyle(document.querySelector('.sheet')).breakAfter") == "page"
    second = view.evaluate("document.querySelectorAll('.sheet')[1].scrollHeight")
    assert second <= A4["height"], "the second page is one page"
    view.close()
