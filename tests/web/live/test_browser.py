"""A bot in a real Chromium plays whole studies, as judges do. axe looks at every state of every page."""

import signal

import pytest
from steps import agree

from judgemap.study.data.example import chicago

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="install axe-playwright-python")

pytestmark = [pytest.mark.slow, pytest.mark.browser]
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
DESKTOP = {"viewport": {"width": 1280, "height": 800}}
ZOOMED = {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2}


@pytest.fixture(scope="module")
def server(lasting_servers):
    return lasting_servers("browser").start()


@pytest.fixture(scope="module")
def slug(server, areas):
    return server.new_study(areas, recommended=6, maximum=8)


@pytest.fixture(scope="module")
def invited(server, slug):
    return iter(server.invite(slug, 40))


@pytest.fixture
def judge(invited):
    return next(invited)


@pytest.fixture
def link(judge):
    return f"/j/{judge.token}/"


@pytest.fixture
def stored(server, slug, judge):
    """Read what is stored of this judge."""

    def read(name: str = "comparisons.csv"):
        return [row for row in server.table(slug, name) if row["judge"] == judge.name]

    return read


def names(page) -> tuple[str, str]:
    return page.inner_text("#name-left"), page.inner_text("#name-right")


def better(page) -> str:
    """The planted ranking: the ward that comes first by name has the lower rate."""
    left, right = names(page)
    return "left" if left < right else "right"


def begin(page, link: str, how: str = "now") -> None:
    page.goto(link)
    agree(page, how)


def token(page) -> str:
    return page.input_value("input[name=pair]")


def after(page, act) -> None:
    """Do something that answers, and wait for the next pair or page."""
    before = token(page)
    page.wait_for_timeout(650)  # the script takes a second tap so soon for a slip
    act()
    page.wait_for_function(
        "before => (document.querySelector('input[name=pair]')?.value ?? '') !== before", arg=before, timeout=15_000
    )


def assert_accessible(page) -> None:
    report = axe.Axe().run(page)
    assert report.violations_count == 0, report.generate_report()


def outcomes(rows) -> list[str]:
    return [row["outcome"] for row in rows]


@pytest.mark.parametrize("kind", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_whole_study_by_tapping_names(browse, link, stored, kind):
    page = browse(**kind)
    page.goto(link)
    assert_accessible(page)
    begin(page, link, "practice")
    assert "Practice 1 of 2" in page.inner_text("#counter")
    assert_accessible(page)
    for _ in range(2):
        after(page, lambda: page.click(".choose[value=left]"))
    for _ in range(6):
        side = better(page)
        after(page, lambda side=side: page.click(f".choose[value={side}]"))
    page.wait_for_selector("text=That is all we asked for")
    assert_accessible(page)
    page.click("text=Carry on judging")
    page.wait_for_selector("#answer")
    for _ in range(2):
        after(page, lambda: page.click(f".choose[value={better(page)}]"))
    page.wait_for_selector("text=You are done")
    assert_accessible(page)
    rows = stored()
    assert len(rows) == 8
    assert all((row["left"] < row["right"]) == (row["outcome"] == "left") for row in rows)
    assert all(0.2 < float(row["seconds"]) < 60 for row in rows)


def test_axe_would_find_what_is_wrong(browse):
    page = browse(**DESKTOP)
    page.set_content("<main><img src='data:,'><button></button></main>")
    assert axe.Axe().run(page).violations_count >= 2


def test_keyboard_only(browse, link, stored):
    page = browse(**DESKTOP)
    page.goto(link)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "agree":
            break
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer")
    for key in ("ArrowLeft", "ArrowRight", "ArrowDown", "s"):
        after(page, lambda key=key: page.keyboard.press(key))
    after(page, lambda: page.keyboard.press("u"))
    assert "Changing" in page.inner_text("#counter")
    assert page.locator("#said").inner_text()
    assert_accessible(page)
    after(page, lambda: page.click("#keep"))
    after(page, lambda: page.keyboard.press("u"))
    after(page, lambda: page.keyboard.press("ArrowLeft"))
    assert outcomes(stored()) == ["left", "right", "tie", "left", "unknown"]
    assert len(stored("revisions.csv")) == 5


def test_without_a_script(browse, link, stored):
    page = browse(**PHONE, java_script_enabled=False)
    begin(page, link)
    assert page.locator(".still svg path.own").count() == 2
    for _ in range(6):
        page.click(f".choose[value={better(page)}]")
    assert "That is all we asked for" in page.content()
    page.click("text=Change my last answer")
    assert "You chose Ward" in page.inner_text("#said")
    assert page.locator(".side.before").count() == 1
    page.click(".choose[value=left]")
    page.click("text=Carry on judging")
    page.click(".unknown[value=unknown-left]")
    page.click("text=Areas I don't know")
    assert page.locator("input:checked").count() == 1
    page.locator("input:checked").uncheck()
    page.click("text=Save")
    assert sorted(outcomes(stored()))[-1] == "unknown"
    assert len([each for each in outcomes(stored()) if each in ("left", "right")]) == 6


def test_two_tabs_and_the_back_button(browse, link, stored):
    one = browse(**DESKTOP)
    begin(one, link)
    two = one.context.new_page()
    two.goto(link)
    assert token(one) == token(two)
    first = token(one)
    after(one, lambda: one.click(".choose[value=left]"))
    two.wait_for_timeout(650)
    two.click(".choose[value=right]")
    two.wait_for_selector("text=You have already answered that pair")
    assert token(two) == token(one) != first
    two.goto("/withdraw")
    two.go_back()
    two.wait_for_selector("#answer")
    assert token(two) == token(one)
    assert len(stored("revisions.csv")) == 1


def test_a_double_click_is_one_answer(browse, link, stored):
    page = browse(**DESKTOP)
    begin(page, link)
    for _ in range(3):
        after(page, lambda: page.dblclick(".choose[value=left]"))
        page.wait_for_timeout(400)
    assert len(stored("revisions.csv")) == 3


def test_a_slow_network_and_one_that_fails(browse, link, stored):
    page = browse(**PHONE)
    begin(page, link)
    devtools = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 800, "downloadThroughput": 20_000, "uploadThroughput": 20_000}
    devtools.send("Network.emulateNetworkConditions", slow)
    after(page, lambda: page.click(".choose[value=left]"))
    failed = []

    def lose_twice(route):
        if len(failed) < 2:
            failed.append(route.request.url)
            route.abort()
        else:
            route.continue_()

    page.route("**/answer", lose_twice)
    before = token(page)
    page.wait_for_timeout(650)
    page.click(".choose[value=right]")
    page.wait_for_selector("text=No connection")
    page.wait_for_function("before => document.querySelector('input[name=pair]').value !== before", arg=before)
    assert outcomes(stored())[:2] == ["left", "right"]


def test_the_server_restarted_in_the_middle(browse, server, link, stored):
    page = browse(**PHONE)
    begin(page, link)
    after(page, lambda: page.click(".choose[value=left]"))
    server.stop(signal.SIGKILL)
    before = token(page)
    page.wait_for_timeout(650)
    page.click(".choose[value=right]")
    page.wait_for_selector("text=No connection")
    server.start()
    page.wait_for_function(
        "before => document.querySelector('input[name=pair]').value !== before", arg=before, timeout=40_000
    )
    assert outcomes(stored())[:2] == ["left", "right"]


def test_unknown_areas_on_the_pair_and_on_the_map(browse, link, stored):
    page = browse(**DESKTOP)
    begin(page, link)
    gone = names(page)[0]
    page.wait_for_timeout(650)
    page.click(".unknown[value=unknown-left]")
    assert gone in page.inner_text("[data-side=left] .sure")
    assert_accessible(page)
    page.click("[data-side=left] .sure >> text=Cancel")
    assert names(page)[0] == gone
    page.click(".unknown[value=unknown-left]")
    after(page, lambda: page.click("[data-side=left] .sure >> text=Leave it out"))
    page.click("text=Areas I don't know")
    assert_accessible(page)
    assert page.locator("li:has(input:checked)").inner_text() == gone
    page.locator("#all path").nth(3).click()
    assert page.locator("input:checked").count() in (0, 2)
    page.fill("#find input", "Ward 1.")
    assert page.locator("li:visible").count() == 4
    page.click("text=Save")
    page.wait_for_selector("#answer")


@pytest.mark.parametrize("kind", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_judge_taps_the_part_that_they_know(browse, server, areas, kind):
    slug = server.new_study(areas, more="asks_places = true\n")
    judge = server.invite(slug, 1)[0]
    page = browse(**kind)
    page.goto(f"/j/{judge.token}/")
    agree(page, shows="#tap path")
    corner, opposite = (page.locator("#tap path").nth(at) for at in (0, 15))
    corner.click()
    opposite.click()
    assert page.locator("#tap path.known").count() == 8
    assert_accessible(page)
    opposite.click()
    assert page.locator("#tap path.known").count() == 4
    page.fill("#q", "Ward 4.4")
    page.click("#search button")
    assert page.locator("#tap path.known").count() == 4, "a search keeps what was tapped"
    page.click("text=Save")
    page.wait_for_selector("#answer")
    assert set(names(page)) <= {"Ward 1.1", "Ward 1.2", "Ward 2.1", "Ward 2.2"}
    assert [row["places"] for row in server.table(slug, "judges.csv")] == ["around:W00"]


@pytest.mark.parametrize("kind", [PHONE, DESKTOP, ZOOMED], ids=["phone", "desktop", "zoomed"])
@pytest.mark.parametrize("language", ["en", "ar"])
def test_axe_finds_nothing_and_nothing_overflows(browse, link, kind, language):
    page = browse(**kind, locale=language)
    for visit in ("consent", "pair", "last", "areas", "link", "withdraw", "wrong", "nowhere"):
        if visit == "pair":
            begin(page, link)
            after(page, lambda: page.click(".choose[value=right]"))
            page.click("summary")
        elif visit == "consent":
            page.goto(link)
        else:
            page.goto({"withdraw": "/withdraw", "wrong": "/j/wrong/", "nowhere": "/no"}.get(visit, f"{link}{visit}"))
        assert_accessible(page)
        width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert width <= 0, f"{visit} is {width} pixels too wide"
        if visit in ("consent", "pair", "last", "areas", "link"):
            assert page.get_attribute("html", "dir") == ("rtl" if language == "ar" else "ltr")


def seen(page) -> list[float]:
    """What the left map shows of its scene: left, top, width and height."""
    return [float(each) for each in page.get_attribute("[data-side=left] .live svg", "viewBox").split()]


def test_the_map_answers_nothing_and_moves_but_is_never_lost(browse, link, stored):
    page = browse(**DESKTOP)
    begin(page, link)
    page.wait_for_timeout(650)
    map_of = page.locator("[data-side=left] .live")
    box, before, was = map_of.bounding_box(), token(page), seen(page)

    def drag(x: float, y: float) -> None:
        page.mouse.move(box["x"] + 40, box["y"] + 120)
        page.mouse.down()
        page.mouse.move(box["x"] + 40 + x, box["y"] + 120 + y, steps=4)
        page.mouse.up()
        page.wait_for_timeout(300)

    map_of.click(position={"x": 150, "y": 60})
    assert seen(page) == was
    assert not page.locator("[data-side=left] .tapped").is_visible()
    page.click("[data-side=left] [aria-label='Zoom in']")
    closer = seen(page)
    assert closer[2] == pytest.approx(was[2] / 2**0.5)
    drag(40, 20)
    unit = closer[2] / box["width"]
    assert seen(page) == pytest.approx([closer[0] - 40 * unit, closer[1] - 20 * unit, closer[2], closer[3]], abs=unit)
    for label in ("Zoom in", "Zoom out"):
        button = page.locator(f"[data-side=left] [aria-label='{label}']")
        button.focus()
        for _ in range(30):
            page.keyboard.press("Enter")
        assert button.get_attribute("aria-disabled") == "true"
    for _ in range(5):
        drag(400, 0)
    left, top, width, height = seen(page)
    assert min(left, top) >= -1, "beyond the scene, land would seem to end"
    assert max(left + width, top + height) <= 1001
    assert token(page) == before
    assert not [row for row in stored() if row["answered_at"]]


@pytest.mark.parametrize("kind", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_tap_on_the_area_asks_before_it_answers(browse, link, stored, kind):
    page = browse(**kind)
    begin(page, link)
    before = token(page)
    own = page.locator("[data-side=right] .live .own").bounding_box()
    page.mouse.click(own["x"] + own["width"] / 2, own["y"] + own["height"] / 2)
    asks = page.locator("[data-side=right] .tapped")
    assert asks.is_visible()
    assert token(page) == before
    after(page, asks.click)
    assert outcomes(stored())[0] == "right"
    assert not asks.is_visible()


def test_two_fingers_zoom_the_map_and_not_the_page(browse, link):
    page = browse(**PHONE)
    begin(page, link)
    box, before = page.locator("[data-side=left] .live").bounding_box(), seen(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    devtools = page.context.new_cdp_session(page)
    for kind, apart in (("touchStart", 30), ("touchMove", 45), ("touchMove", 60), ("touchEnd", None)):
        fingers = [] if apart is None else [{"x": x + way * apart, "y": y, "id": way + 1} for way in (-1, 1)]
        devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    page.wait_for_timeout(300)
    assert seen(page)[2] == pytest.approx(before[2] / 2, rel=0.05)
    assert page.evaluate("visualViewport.scale") == 1


@pytest.mark.parametrize("size", [(390, 844), (844, 390), (320, 640)], ids=["phone", "landscape", "narrow"])
def test_question_names_and_answers_are_in_view_on_small_screens(browse, link, size):
    page = browse(viewport={"width": size[0], "height": size[1]}, has_touch=True, is_mobile=True)
    begin(page, link)
    upright = size[0] < size[1]
    for selector in (".question", "#name-left", "#name-right", *(["button[value=tie]"] if upright else [])):
        box = page.locator(selector).first.bounding_box()
        assert min(box["x"], box["y"]) >= 0, selector
        assert box["x"] + box["width"] <= size[0], selector
        assert box["y"] + box["height"] <= size[1], selector
    page.evaluate("document.getElementById('name-left').textContent = 'x'.repeat(58)")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_a_second_tap_at_once_does_not_answer_the_next_pair(browse, link, stored):
    page = browse(**PHONE)
    begin(page, link)
    # The page itself taps again: on a busy machine a tap from here could come after the 600 ms.
    page.evaluate(
        """before => {
          const button = document.querySelector(".choose[value=left]");
          const again = () => { button.click(); window.tappedAgain = true; };
          const timer = setInterval(() => {
            if (document.querySelector("input[name=pair]").value === before) return;
            clearInterval(timer);
            setTimeout(again, 200);
          }, 10);
        }""",
        token(page),
    )
    after(page, lambda: page.tap(".choose[value=left]"))
    page.wait_for_function("() => window.tappedAgain")
    page.wait_for_timeout(600)
    assert len(stored("revisions.csv")) == 1
    border = "getComputedStyle(document.querySelector('[data-side=left]')).borderColor"
    assert page.evaluate(border) == page.evaluate(border.replace("left", "right"))


def test_a_first_view_is_at_most_50_kilobytes(server, browse):
    """Chicago's areas, in a browser that has nothing yet; the consent page before it is counted."""
    page = browse(**PHONE)
    came = []
    page.on("requestfinished", lambda request: came.append(request.sizes()))
    begin(page, f"/j/{server.invite(server.new_study(chicago()), 1)[0].token}/")
    page.wait_for_selector(".live path.own")
    page.wait_for_load_state("networkidle")
    assert len(came) > 5
    assert sum(each["responseBodySize"] + each["responseHeadersSize"] for each in came) <= 50_000
