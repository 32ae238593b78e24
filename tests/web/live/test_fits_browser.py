"""Fits in a real Chromium: asked for, watched without a reload, cancelled; axe looks at every state."""

import re

import pytest
from looking import look

pytestmark = [pytest.mark.slow, pytest.mark.browser]
EMAIL, PASSWORD = "anna@example.org", "four plain words here"
PATIENCE = 180_000


@pytest.fixture
def server(new_server):
    new_server.fitters = 1
    return new_server.start()


@pytest.fixture
def results(browse, server, areas):
    """A researcher at the results of a study of hers, and its judge."""
    page = browse(viewport={"width": 1280, "height": 800})
    page.goto(re.search(r"http://\S+/first/\S+/", server.log)[0])
    page.fill("#id_email", EMAIL)
    page.fill("#id_password", PASSWORD)
    page.fill("#id_again", PASSWORD)
    page.click("main form button")
    page.wait_for_url("**/studies/")
    slug = server.new_study(areas, owner=EMAIL)
    judge = server.invite(slug, 1)[0]
    judge.agree()
    page.goto(f"/studies/{slug}/fits/")
    return page, slug, judge


def answer(judge, count: int) -> None:
    for _ in range(count):
        pair = judge.pair()
        judge.answer(pair["pair"], "left" if pair["left"] > pair["right"] else "right")


def test_a_fit_is_watched_without_a_reload(results):
    page, slug, judge = results
    assert "nobody has chosen" in page.inner_text("main")
    look(page, "results without answers")
    answer(judge, 30)
    page.reload()
    look(page, "results without fits")

    page.click("text=More options")
    look(page, "a new fit")
    for summary in page.locator("summary").all():
        summary.click()
    look(page, "a new fit with all options")
    page.fill("#id_chi", "-1")
    page.click("button:text('Fit now')")
    assert "must be a positive number" in page.inner_text("main")
    look(page, "a new fit with a mistake")
    page.fill("#id_chi", "0.1")
    page.fill("#id_draws", "150000")
    page.fill("#id_note", "a long one")
    page.click("button:text('Fit now')")
    page.wait_for_url("**/progress")
    page.evaluate("window.sameDocument = true")
    page.wait_for_function("() => document.querySelector('progress').value > 0", timeout=PATIENCE)
    assert page.evaluate("window.sameDocument") is True
    assert "effective sample size" in page.inner_text("#news")
    look(page, "a fit under way")
    page.goto(f"/studies/{slug}/fits/")
    look(page, "results with a fit under way")
    page.click("#fit-1")
    page.click("text=Cancel this fit")
    page.wait_for_selector(".status.cancelled", timeout=PATIENCE)
    page.goto(f"/studies/{slug}/fits/1/progress")
    look(page, "a cancelled fit")

    page.goto(f"/studies/{slug}/fits/")
    page.click("button:text('Fit now')")
    page.wait_for_url("**/fits/2/map", timeout=PATIENCE)
    page.goto(f"/studies/{slug}/fits/2/log")
    look(page, "how a fit was made")
    page.goto(f"/studies/{slug}/fits/")
    look(page, "results")


def test_everything_works_without_a_script(results, browse):
    _, slug, judge = results
    answer(judge, 10)
    plain = browse(java_script_enabled=False)
    plain.goto("/account/login/")
    plain.fill("input[name=login]", EMAIL)
    plain.fill("input[name=password]", PASSWORD)
    plain.click("main form button")
    plain.goto(f"/studies/{slug}/fits/")
    plain.click("button:text('Fit now')")
    for _ in range(PATIENCE // 500):
        if plain.url.endswith("/map"):
            break
        plain.wait_for_timeout(500)
        link = plain.locator("text=Check progress")
        link.click() if link.count() else plain.reload()
    assert plain.url.endswith("/fits/1/map")
