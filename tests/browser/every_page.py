"""Take every page of the application, at the width of a phone and of a desktop, into a folder: `make pages`.

Without an address the demonstration is started, fitted and visited; with one, a server that is already running. Every
page is also checked by axe and for anything that sticks out sideways; problems are printed, and then the exit status is
1.
"""

import argparse
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import geopandas
import shapely
from looking import look
from playwright.sync_api import Error, Page, sync_playwright
from steps import agree
from visits import Server, demonstration, visit_as_researcher

WIDTHS = {390: 844, 1280: 900}
SKIPPED = re.compile(r"/(download|pictures|static|log(in|out))/|\.(toml|svg|css|js|png|json|csv)$|\?")
ALIKE = re.compile(r"(/areas/)\d+$|(/dashboard/judges/)[^/]+$")
"""Kinds of pages of which there are many: only the first of each kind is visited."""


@dataclass
class Camera:
    """A page at one width, the folder for its pictures, and what was found wrong."""

    page: Page
    folder: Path
    width: int
    wrong: list[str] = field(default_factory=list)

    def take(self, name: str) -> None:
        """Take a picture of the page as it is now, including what is further down, and check it."""
        self.page.evaluate(
            "document.querySelectorAll('img[loading=lazy]').forEach(each => { each.loading = 'eager'; })"
        )
        self.page.wait_for_load_state("networkidle")
        self.page.wait_for_timeout(400)
        self.page.screenshot(path=self.folder / f"{name}-{self.width}.png", full_page=True)
        if name.endswith("-briefing"):
            return  # it may run no script, axe's neither; tests/web/live/test_story.py looks at the file itself
        try:
            look(self.page, name, (self.width,))
        except AssertionError as error:
            self.wrong.append(str(error))
        self.page.set_viewport_size({"width": self.width, "height": WIDTHS[self.width]})

    def visit(self, path: str) -> None:
        """Go to a page and take a picture of it; downloads are left out."""
        try:
            self.page.goto(path, wait_until="load")
        except Error:
            return
        self.take(re.sub(r"[^a-z0-9]+", "-", urlsplit(path).path.lower()).strip("-") or "home")


def addresses(address: str, email: str, password: str) -> list[str]:
    """Return the path of every page that a researcher can reach, one for each kind."""
    visited = visit_as_researcher(address, email, password, SKIPPED.pattern).visited
    paths = sorted(each.removeprefix(address) for each, status in visited.items() if status < 400)
    kinds = {ALIKE.sub(r"\1\2", path): path for path in reversed(paths) if not SKIPPED.search(path)}
    return sorted(kinds.values())


def take_judge_pages(camera: Camera, join: str) -> None:
    """Join as a judge, agree, practise, and look at the first pair."""
    page = camera.page
    page.goto(join)
    camera.take("judge-join")
    page.click("main form button")
    camera.take("judge-consent")
    agree(page, "practice")
    camera.take("judge-practice")
    for name in ("areas", "link"):
        before = page.url
        page.goto(f"{before}{name}")
        camera.take(f"judge-{name}")
        page.goto(before)
    page.goto("/withdraw")
    camera.take("judge-withdraw")


def take_wizard_pages(camera: Camera) -> None:
    """Upload a file with every fault that the wizard asks about, make mistakes on the way, and check each step."""
    page = camera.page
    page.goto("/new/")
    with tempfile.TemporaryDirectory() as folder:
        write_faulty_map(Path(folder, "wards.geojson"))
        page.set_input_files("#id_boundaries", Path(folder, "wards.geojson"))
        page.click("main form button")
        page.wait_for_url("**/new/*/", timeout=60_000)
    camera.take("new-columns")
    page.click("main form.stack button.primary")
    camera.take("new-columns-mistaken")
    page.fill("#id_title", f"A study of wards, {camera.width}")
    page.fill("#id_question", "Which ward has the LOWER rate?")
    page.click("main form.stack button.primary")
    page.wait_for_url("**/making/*/")
    camera.take("new-making")
    page.wait_for_url("**/map", timeout=120_000)
    camera.take("new-map")
    page.goto(page.url.removesuffix("map"))
    camera.take("new-overview")


def write_faulty_map(path: Path) -> None:
    """Write 16 wards and five faulty rows: without an outline, a point, a repeated one, a sliver, without a code."""
    squares = [shapely.box(1000 * x, 1000 * y, 1000 * x + 1000, 1000 * y + 1000) for x in range(4) for y in range(4)]
    outlines = [*squares, None, shapely.Point(500, 500), squares[0], shapely.box(0, 4000, 900, 4000.2), squares[3]]
    moved = geopandas.GeoSeries(outlines, crs="EPSG:27700").translate(450_000, 340_000)
    codes = [f"W{row + 1:02}" for row in range(len(moved) - 1)]
    names = [f"Ward {row + 1}" for row in range(len(moved))]
    frame = geopandas.GeoDataFrame({"code": [*codes, None], "name": names}, geometry=moved)
    frame.to_crs("EPSG:4326").to_file(path)


def take_full_screen(camera: Camera, path: str) -> None:
    """Take the risk map over the whole screen."""
    camera.page.goto(path)
    camera.page.click("text=Full screen")
    camera.page.wait_for_timeout(400)
    camera.page.screenshot(path=camera.folder / f"full-screen-{camera.width}.png")
    look(camera.page, "the full screen", (camera.width,))


def take_all(server: Server, folder: Path, only: str) -> list[str]:
    """Take every page whose address matches ``only``, at every width; return what was found wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    address, email, password, join = server
    paths = [path for path in addresses(address, email, password) if re.search(only, path)]
    wrong: list[str] = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=_chromium(), args=["--no-sandbox", "--disable-gpu"])
        for width, height in WIDTHS.items():
            size = {"width": width, "height": height}
            if join and re.search(only, "judge"):
                judge = browser.new_context(base_url=address, viewport=size)  # type: ignore[arg-type]
                take_judge_pages(Camera(judge.new_page(), folder, width, wrong), join)
            page = browser.new_context(base_url=address, viewport=size).new_page()  # type: ignore[arg-type]
            page.set_default_timeout(120_000)
            camera = Camera(page, folder, width, wrong)
            camera.visit("/account/login/")
            camera.visit("/nothing-here")
            page.goto("/account/login/")
            page.fill("#id_login", email)
            page.fill("#id_password", password)
            page.click("main form button")
            for path in paths:
                camera.visit(path)
            for path in [path for path in paths if path.endswith("fits/1/map")]:
                take_full_screen(camera, path)
            if re.search(only, "/new/"):
                take_wizard_pages(camera)
        browser.close()
    return wrong


def _chromium() -> str | None:
    from shutil import which

    return next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome"))), None)


def main() -> int:
    """Read the arguments, start the demonstration if no server is named, and take the pages."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("folder", type=Path)
    given.add_argument("--address", default="")
    given.add_argument("--email", default="")
    given.add_argument("--password", default="")
    given.add_argument("--join", default="")
    given.add_argument("--only", default="", help="take only addresses that match this, such as 'dashboard'")
    asked = given.parse_args()
    if asked.address:
        server = Server(asked.address, asked.email, asked.password, asked.join)
        wrong = take_all(server, asked.folder, asked.only)
    else:
        wrong = take_demonstration(asked.folder, asked.only)
    sys.stdout.write("\n\n".join([*wrong, f"{len(wrong)} faults found"]) + "\n")
    return 1 if wrong else 0


def take_demonstration(folder: Path, only: str) -> list[str]:
    """Start the demonstration, and take its pages."""
    with demonstration([sys.executable, "-m", "judgemap"], folder / "demo") as server:
        return take_all(server, folder, only)


if __name__ == "__main__":
    sys.exit(main())
