"""The pages of a fit in a real Chromium: map and table, layers, keyboard, comparison of fits; axe checks them all."""

import pytest
from looking import look
from steps import EMAIL, sign_up

pytestmark = [pytest.mark.slow, pytest.mark.browser]
PATIENCE = 300_000
DESKTOP = {"viewport": {"width": 1280, "height": 800}}


@pytest.fixture(scope="module")
def server(lasting_servers):
    return lasting_servers("results", processes=1, workers=1).start()


@pytest.fixture(scope="module")
def signed_in(chromium, server):
    """What the browser of a researcher keeps."""
    context = chromium.new_context(base_url=server.address)
    sign_up(context.new_page(), server)
    state = context.storage_state()
    context.close()
    return {"storage_state": state}


def answer(judge, count: int) -> None:
    for _ in range(count):
        pair = judge.pair()
        judge.answer(pair["pair"], "left" if pair["left"] > pair["right"] else "right")


def test_a_fit_is_watched_without_a_reload(browse, server, areas, signed_in):
    page = browse(**DESKTOP, **signed_in)
    slug = server.new_study(areas, owner=EMAIL)
    [judge] = server.invite(slug, 1)
    judge.agree()
    page.goto(f"/studies/{slug}/fits/")
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


@pytest.fixture(scope="module")
def fitted(chromium, server, areas, signed_in):
    """A study with answers, a spatial fit, one of clusters, and one of judges who differ; the address of its fits."""
    context = chromium.new_context(base_url=server.address, **signed_in)
    page = context.new_page()
    slug = server.new_study(areas, owner=EMAIL)
    for judge in server.invite(slug, 2):
        judge.agree()
        answer(judge, 40)
    fits = f"/studies/{slug}/fits/"
    for number, (model, judges) in enumerate((("spatial", "alike"), ("clusters", "alike"), ("spatial", "differ")), 1):
        page.goto(f"{fits}new")
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        page.check(f"input[name=model][value={model}]")
        page.select_option("select[name=judges]", judges)
        page.fill("#id_draws", "200")
        page.click("button:text('Fit now')")
        page.wait_for_url(f"**/fits/{number}/map", timeout=PATIENCE)
    page.goto(f"{fits}1/files")
    page.fill("#id_next_steps", "Visit the first three.")
    page.click("button:text('Save')")
    for number in (1, 2, 3):
        for _ in range(300):
            page.goto(f"{fits}{number}/files")
            if page.locator("text=Open the briefing").count():
                break
            page.wait_for_timeout(1000)
    context.close()
    return fits


@pytest.fixture
def open_page(browse, fitted, signed_in):
    """Open a page of a fit, signed in."""

    def opened(path: str):
        page = browse(**DESKTOP, **signed_in)
        page.goto(fitted + path)
        return page

    return opened


def wait_for_detail(page, name: str) -> None:
    page.wait_for_function("name => document.querySelector('#detail h2')?.textContent === name", arg=name)


def names(page) -> list[str]:
    return page.locator("#table tbody tr:not([hidden]) a").all_inner_texts()


def colours(page) -> list[str]:
    return page.locator("#areas path").evaluate_all("paths => paths.map((path) => path.getAttribute('fill'))")


LEFT = "cells => cells.map(cell => cell.getBoundingClientRect().left)"


def test_map_and_table_point_at_each_other(open_page):
    page = open_page("1/map")
    assert names(page)[0] in page.inner_text(".lead")
    look(page, "the map")
    headings, cells = (
        page.locator(each).evaluate_all(LEFT) for each in ("#table thead th", "#table [data-row='0'] > *")
    )
    assert headings == cells, "every heading is above its column"
    page.evaluate("window.sameDocument = true")
    page.hover("#areas a[data-area='5']")
    assert page.inner_text("#table tr.near a") == "Ward 2.2"
    assert page.inner_text("#tip").startswith("Ward 2.2")
    page.hover("#table tr[data-row='0']")
    path = page.locator("#areas a[data-area='0'] path").get_attribute("d")
    assert page.locator("#near").get_attribute("d") == path

    page.click("#areas a[data-area='5']")
    wait_for_detail(page, "Ward 2.2")
    assert page.inner_text("#table tr.chosen a") == "Ward 2.2"
    assert page.locator("#table tr.chosen").evaluate("""row => {
        const box = document.getElementById('scroll').getBoundingClientRect(), at = row.getBoundingClientRect();
        return at.top >= box.top - 1 && at.bottom <= box.bottom + 1;
    }""")
    assert page.locator("#detail .posterior .bell").get_attribute("d")
    look(page, "the map with an area")
    page.click("#table tr[data-row='10'] a")
    wait_for_detail(page, "Ward 3.3")
    neighbour = page.locator("#detail .near-by a").first
    name = neighbour.inner_text()
    neighbour.click()
    wait_for_detail(page, name)
    page.click("#detail summary")
    look(page, "an area with all that it met")
    page.click("#detail details a >> nth=0")
    assert page.evaluate("window.sameDocument") is True
    chosen = page.inner_text("#table tr.chosen a")
    page.reload()
    assert page.inner_text("#detail h2") == chosen, "the address leads to the same area"


def test_layers_order_and_filter_need_no_reload(open_page):
    page = open_page("2/map")
    page.evaluate("window.sameDocument = true")
    seen = {tuple(colours(page))}
    for layer in ("Uncertainty", "Rank", "Rank interval", "Cluster", "Cluster certainty"):
        page.click(f".chips label:text-is('{layer}')")
        seen.add(tuple(colours(page)))
        assert page.locator(".legend-of:not([hidden])").count() == 1
        look(page, layer)
        page.select_option("#k", "3")
    assert page.is_checked("input[value=top]")
    assert "3 highest" in page.inner_text(".legend-of:not([hidden])")
    assert page.inner_text("thead .chance") == "P(top 3)"
    look(page, "chances")
    seen.add(tuple(colours(page)))
    assert len(seen) >= 4

    page.click("thead .name a")
    assert names(page) == sorted(names(page))
    page.click("thead .name a")
    assert names(page) == sorted(names(page), reverse=True)
    page.click("thead .chance a")
    chances = [text.replace("> ", "1").replace("< ", "0.") for text in page.locator("td.chance").all_inner_texts()]
    shares = [float(text.removesuffix(" %")) for text in chances]
    assert shares == sorted(shares, reverse=True)
    assert page.locator("thead .chance").get_attribute("aria-sort") == "descending"
    page.fill("#q", "ward 2")
    assert names(page) == page.locator("#table tbody tr:not([hidden]) a").all_inner_texts()
    assert len(names(page)) == 4
    assert page.inner_text("#counted") == "4 of 16 areas"
    assert page.locator("#areas a.out").count() == 12
    look(page, "filtered")
    assert page.evaluate("window.sameDocument") is True
    shown = names(page)
    page.reload()
    assert names(page) == shown, "the address keeps order and filter"
    assert page.is_checked("input[value=top]")


def test_the_map_by_keyboard(open_page):
    page = open_page("1/map")
    page.focus("#k")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('#areas') !== null"):
            break
    first = page.evaluate("document.activeElement.dataset.area")
    assert first == page.locator("#table tbody tr").first.get_attribute("data-row")
    assert page.inner_text("#tip").startswith(names(page)[0])
    page.focus("#areas a[data-area='0']")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    at = page.evaluate("document.activeElement.dataset.area")
    assert at == "5", "right along the row, and up to the next one: the grid's rows go north"
    assert page.inner_text("#table tr.near a") == "Ward 2.2"
    page.keyboard.press("Enter")
    wait_for_detail(page, "Ward 2.2")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#areas')") is None, "one stop for the whole map"


@pytest.mark.parametrize("tab", ["convergence", "checks", "files"])
@pytest.mark.parametrize("number", [1, 2])
def test_words_and_pictures(open_page, number, tab):
    page = open_page(f"{number}/{tab}")
    for image in page.locator("main img").all():
        image.scroll_into_view_if_needed()
        page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=image.element_handle())
    assert page.locator("main img").count() >= (0 if tab == "files" else 1)
    look(page, f"{tab} of fit {number}")


def test_the_briefing_opens_in_its_sandbox(open_page):
    page = open_page("1/files")
    page.click("text=Open the briefing")
    page.wait_for_url("**/briefing")
    assert page.locator("h1").count() == 1
    assert page.locator("img").first.evaluate("image => image.naturalWidth") > 0
    assert page.evaluate("self.origin") == "null"


def test_fits_beside_each_other_and_other_priors(open_page):
    page = open_page("1/compare")
    look(page, "nothing to compare with yet")
    page.check("input[name=with][value='2']")
    page.click("button:text('Compare')")
    assert page.locator(".small-maps svg").count() == 2
    assert page.locator(".scatter circle").count() == 16
    assert page.locator(".against .numbers-table tbody tr").count() == 10
    look(page, "two models")
    page.click("text=Try other priors")
    page.wait_for_url("**/compare?with=4&with=5&with=6")
    page.evaluate("window.sameDocument = true")
    look(page, "fits under way")
    page.wait_for_function("() => document.querySelectorAll('.small-maps svg').length === 4", timeout=PATIENCE)
    page.wait_for_function("() => !document.querySelector('#compared .waiting')", timeout=PATIENCE)
    assert page.evaluate("window.sameDocument") is True
    assert page.locator("#compared").get_attribute("hx-trigger") is None
    assert "χ = 0.1, ω = 0.1" in page.inner_text("#compared")
    look(page, "other priors")


def test_whose_view_the_map_is(open_page):
    page = open_page("3/map")
    assert "the population of judges" in page.inner_text(".whose")
    population = page.inner_text("#table tr[data-row='0'] td:nth-child(3)")
    page.click(".views a:text-is('These judges’')")
    assert "these judges, each with equal weight" in page.inner_text(".whose")
    assert page.inner_text("#table tr[data-row='0'] td:nth-child(3)") != population
    page.click("#table tr[data-row='0'] a")
    wait_for_detail(page, "Ward 1.1")
    risk = page.inner_text("#table tr[data-row='0'] td:nth-child(3)").split()[0]
    assert page.inner_text("#detail .verdict strong >> nth=0") == risk, "the area is described on the map that is shown"
    look(page, "the panel's map")
    page.click(".views a:text-is('Each judge’s')")
    assert page.locator(".small-map").count() == 4
    look(page, "judges' maps")
    page.click(".small-map a >> nth=0")
    assert page.locator(".small-map").count() == 4  # two maps, the scatter and the change
    look(page, "a judge beside the population")
    page.click("text=This judge’s map with its table")
    assert "alone, as far as the answers show it" in page.inner_text(".whose")
    for path in ("3/convergence", "3/files", "../dashboard/judges", "../dashboard/reliability", "new"):
        look(open_page(path), path)
