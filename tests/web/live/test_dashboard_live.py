"""The dashboard in a real Chromium: numbers move while a judge answers, nobody reloads, and axe finds nothing."""

import pytest
from looking import look
from steps import EMAIL, sign_up

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def wait_for(page, judged: int) -> None:
    page.wait_for_function("n => document.getElementById('judged').textContent === n", arg=str(judged), timeout=60_000)


def test_numbers_move_without_a_reload(browse, server, areas):
    page = browse(viewport={"width": 1280, "height": 800})
    sign_up(page, server)
    slug = server.new_study(areas, recommended=5, maximum=30, owner=EMAIL)
    first, second = server.invite(slug, 2)
    first.agree()
    second.agree()
    page.goto(f"/studies/{slug}/dashboard")
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
