"""The demonstration's page in a real browser: it fits a telephone, asks for nothing, and axe finds nothing."""

import shutil

import pytest

from judgemap.report.briefing import demo_page

pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield running
        running.close()


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_page_can_be_read(browser, fit, study, tmp_path, width):
    from axe_playwright_python.sync_playwright import Axe

    path = tmp_path / "page.html"
    path.write_text(demo_page(fit, study), encoding="utf-8")
    asked = []
    view = browser.new_page(viewport={"width": width, "height": 800})
    view.on("request", lambda request: asked.append(request.url))
    view.goto(path.as_uri())
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    assert view.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    assert [url for url in asked if not url.startswith(("data:", "file:"))] == []
    assert Axe().run(view).violations_count == 0
    view.close()
