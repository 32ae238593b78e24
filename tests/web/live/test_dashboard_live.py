"""The dashboard in a real Chromium: numbers move while a judge answers, nobody reloads, and axe finds nothing."""

import re

import pytest
from looking import look

pytestmark = [pytest.mark.slow, pytest.mark.browser]
PASSWORD = "four plain words here"  # noqa: S105
EMAIL = "anna@example.org"


@pytest.fixture
def begun(browse, server, areas):
    """A researcher at the dashboard of a study of hers, and its judges."""
    page = browse(viewport={"width": 1280, "height": 800})
    page.goto(re.search(r"http://\S+/first/\S+/", server.log)[0])
    page.fill("#id_email", EMAIL)
    page.fill("#id_password", PASSWORD)
    page.fill("#id_again", PASSWORD)
    page.click("main form button")
    page.wait_for_url("**/studies/")
    slug = server.new_study(areas, recommended=5, maximum=30, owner=EMAIL)
    judges = server.invite(slug, 2)
    for judge in judges:
        judge.agree()
    page.goto(f"/studies/{slug}/dashboard")
    return page, slug, judges


def wait_for(page, judged: int) -> None:
    page.wait_for_function("n => document.getElementById('judged').textContent === n", arg=str(judged), timeout=60_000)


def test_numbers_move_without_a_reload(begun):
    page, slug, (first, second) = begun
    look(page, "the dashboard of a study without answers")
    page.evaluate("window.sameDocument = true")
    first.answer(first.pair()["pair"], "left")
    wait_for(page, 1)
    page.click("#over-time-open")
    first.answer(first.pair()["pair"], "tie")
    wait_for(page, 2)
    assert page.evaluate("window.sameDocument") is True
    assert page.locator("#over-time-numbers").get_attribute("open") is not None
    assert page.evaluate("document.activeElement.id") == "over-time-open"
    assert "Live" in page.inner_text("#pulse")
    look(page, "the dashboard with answers")

    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true, configurable: true})")
    page.wait_for_load_state("networkidle")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    second.answer(second.pair()["pair"], "right")
    page.wait_for_timeout(9000)
    assert asked == []
    page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    wait_for(page, 3)

    page.click("#layer-shown")
    page.wait_for_url("**map=shown")
    look(page, "the dashboard with another map")
    for place in ("areas", "judges", f"judges/{first.name}", "reliability"):
        page.goto(f"/studies/{slug}/dashboard/{place}")
        look(page, place)


def test_without_a_script_there_is_a_plain_page(begun, browse):
    page, slug, (judge, _) = begun
    judge.answer(judge.pair()["pair"], "left")
    plain = browse(java_script_enabled=False)
    plain.goto("/account/login/")
    plain.fill("input[name=login]", EMAIL)
    plain.fill("input[name=password]", PASSWORD)
    plain.click("main form button")
    plain.goto(f"/studies/{slug}/dashboard")
    assert plain.inner_text("#judged") == "1"
    assert "reload the page" in plain.inner_text("#pulse")
    plain.goto(f"/studies/{slug}/dashboard/judges")
    plain.check(f"input[value='{judge.name}']")
    plain.fill("#reason", "a slip")
    plain.click("button[value='leave out']")
    assert "Left out of fits from now on" in plain.inner_text("[role=status]")
    assert "a slip" in plain.inner_text("table")
    page.goto(f"/studies/{slug}/dashboard/judges")
    look(page, "a judge who is left out")
