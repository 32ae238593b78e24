"""Streets under the areas, in a real Chromium: what judges see, what their browsers ask for, and from whom."""

import io
import re

import pytest
from steps import agree
from town_making import CREDIT, town

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="install axe-playwright-python")

pytestmark = [pytest.mark.slow, pytest.mark.browser]  # starts a server and a browser
WIDTHS = (320, 390, 1280)
PINK = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><path fill="#f0f" d="M0 0h9v9H0z"/></svg>'


@pytest.fixture(scope="module")
def server(lasting_servers):
    return lasting_servers("base-map").start()


@pytest.fixture(scope="module")
def slug(server, areas):
    name = server.new_study(areas)
    said = server.study("basemap", name, str(town().write(server.folder / "town.osm")))
    assert "Found 48 roads" in said
    return name


@pytest.fixture(scope="module")
def invited(server, slug):
    return iter(server.invite(slug, 20))


@pytest.fixture
def at_pair(invited, browse):
    """Open the page of a judge's first pair; return it with every address that it asked for."""

    def go(width: int, **more):
        page = browse(viewport={"width": width, "height": 844}, **more)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"/j/{next(invited).token}/")
        agree(page)
        return page, asked

    return go


def colours(page, selector: str) -> set[tuple[int, ...]]:
    """The colours of a part of the page, as it is on the screen."""
    from PIL import Image

    picture = Image.open(io.BytesIO(page.locator(selector).screenshot())).convert("RGB")
    return {colour for _, colour in picture.getcolors(1 << 20)}


def rgb(text: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(text.removeprefix("#")))


@pytest.mark.parametrize("width", WIDTHS)
def test_judges_see_streets_around_both_areas(at_pair, server, width):
    page, asked = at_pair(width)
    page.wait_for_timeout(1500)
    for side in ("left", "right"):
        seen = colours(page, f".side[data-side={side}] .map")
        assert rgb("#f6f5f1") in seen  # the ground
        assert {rgb("#d3cec4"), rgb("#c2bbae"), rgb("#b3a996")} & seen, side  # streets and roads
        assert page.inner_text(f".side[data-side={side}] .credit") == CREDIT
    assert any("/tiles/" in each for each in asked)
    assert all(each.startswith((f"{server.address}/", "data:", "blob:")) for each in asked)
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_the_outline_is_there_before_the_streets(at_pair):
    """Over slow 3G, tiles take seconds; the area is drawn at once."""
    page, _ = at_pair(390)
    held = []
    page.route("**/tiles/**", lambda route: held.append(route))  # noqa: PLW0108 - takes no built-in function
    page.reload()
    page.wait_for_selector(".side[data-side=left] .live path.own")
    page.wait_for_timeout(500)
    assert held
    seen = colours(page, ".side[data-side=left] .map")
    assert rgb("#7a4b00") in seen  # the edge of the area
    assert not {rgb("#f6f5f1"), rgb("#d3cec4")} & seen
    for each in held:
        each.continue_()
    page.unroute("**/tiles/**")
    page.wait_for_timeout(1500)
    assert rgb("#f6f5f1") in colours(page, ".side[data-side=left] .map")


@pytest.mark.parametrize("width", WIDTHS)
def test_names_lie_neither_under_the_small_map_nor_under_the_buttons(at_pair, width):
    page, _ = at_pair(width)
    page.wait_for_timeout(800)
    assert page.locator(".place").count() >= 2
    hidden = page.evaluate(
        """() => [...document.querySelectorAll('.side')].flatMap((side) => {
          const things = side.querySelectorAll('.locator, .zoom, .credit');
          const lying = [...things].map((each) => each.getBoundingClientRect());
          return [...side.querySelectorAll('.place')].filter((name) => {
            const a = name.getBoundingClientRect();
            return lying.some((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom);
          }).map((name) => name.textContent);
        })"""
    )
    assert hidden == []


def test_another_servers_pictures_lie_under_the_areas(server, areas, chromium):
    """Nobody is asked but the host that the researcher named, and it is not told where the judge comes from."""
    definition = server.new_study(areas)
    text = (server.folder / "study.toml").read_text()
    tiles = '[base_map]\ntiles = "https://{s}.tiles.example.org/{z}/{x}/{y}.png"\ncredit = "Somebody"\n'
    (server.folder / "tiles.toml").write_text(text + tiles)
    slug = re.search(r"Study (\S+):", server.study("new", "tiles.toml"))[1]
    assert slug != definition
    server.study("open", slug)
    page = chromium.new_context(base_url=server.address, viewport={"width": 390, "height": 844}).new_page()
    asked = []

    def hand_out(route):
        asked.append(route.request)
        route.fulfill(content_type="image/svg+xml", body=PINK)

    page.route("https://*/**", hand_out)
    page.goto(f"/j/{server.invite(slug, 1)[0].token}/")
    agree(page)
    page.wait_for_timeout(1000)
    assert asked
    for each in asked:
        assert re.fullmatch(r"https://[abc]\.tiles\.example\.org/\d+/\d+/\d+\.png", each.url)
        assert "referer" not in each.all_headers()
    assert (255, 0, 255) in colours(page, ".side[data-side=left] .map")
    assert page.inner_text(".side[data-side=left] .credit") == "Somebody"
    page.context.close()
