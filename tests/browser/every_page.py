"""Take every page of the application, at the width of a phone and of a desk, into a folder: `make pages`.

Without an address the demonstration is started, fitted and visited; with one, a server that runs already.
"""

import argparse
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Error, Page, sync_playwright

from judgemap.web.demo.visits import visit_as_researcher

WIDTHS = {390: 844, 1280: 900}
EMAIL, PASSWORD = "demo@example.org", "demonstration"
SKIPPED = re.compile(r"/(download|pictures|static|logout)|\.(toml|svg|css|js|png|json)$|\?")


def addresses(address: str, email: str, password: str) -> list[str]:
    """Return the path of every page that a researcher can reach, one for each address."""
    visited = visit_as_researcher(address, email, password).visited
    paths = {each.removeprefix(address) for each, status in visited.items() if status < 400}
    return sorted(path for path in paths if not SKIPPED.search(path))


def take(page: Page, path: str, folder: Path, width: int) -> None:
    """Take one page; what is a download is left out."""
    try:
        page.goto(path, wait_until="load")
    except Error:
        return
    page.wait_for_timeout(400)
    name = re.sub(r"[^a-z0-9]+", "-", urlsplit(path).path.lower()).strip("-") or "home"
    page.screenshot(path=folder / f"{name}-{width}.png", full_page=True)


def judge_pages(page: Page, join: str, folder: Path, width: int) -> None:
    """Join as a judge, agree, and look at the first pairs."""
    page.goto(join)
    for step in ("join", "consent", "practice", "pair"):
        page.wait_for_timeout(300)
        page.screenshot(path=folder / f"judge-{step}-{width}.png", full_page=True)
        if page.locator("input[name=agree]").count():
            page.check("input[name=agree]")
        page.locator("main form button, form button").first.click()


def take_all(address: str, email: str, password: str, join: str, folder: Path) -> None:
    """Take every page at every width."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = addresses(address, email, password)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=_chromium(), args=["--no-sandbox", "--disable-gpu"])
        for width, height in WIDTHS.items():
            page = browser.new_context(base_url=address, viewport={"width": width, "height": height}).new_page()
            take(page, "/account/login/", folder, width)
            take(page, "/nothing-here", folder, width)
            if join:
                judge_pages(browser.new_context(base_url=address).new_page(), join, folder, width)
            page.goto("/account/login/")
            page.fill("#id_login", email)
            page.fill("#id_password", password)
            page.click("main form button")
            for path in paths:
                take(page, path, folder, width)
        browser.close()


def _chromium() -> str | None:
    from shutil import which

    return next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome"))), None)


def main() -> None:
    """Read the arguments, start the demonstration where no server is named, and take the pages."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("folder", type=Path)
    given.add_argument("--address", default="")
    given.add_argument("--email", default="")
    given.add_argument("--password", default="")
    given.add_argument("--join", default="")
    asked = given.parse_args()
    if asked.address:
        take_all(asked.address, asked.email, asked.password, asked.join, asked.folder)
        return
    words = [sys.executable, "-m", "judgemap", "demo", "--data", str(asked.folder / "demo"), "--port", "8219"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        said = ""
        try:
            while "seconds, its clusters" not in said:
                said += process.stdout.readline() if process.stdout else ""
            _until_fitted(asked.folder / "demo", "http://127.0.0.1:8219")
            email, password = re.search(r"sign in as (\S+) with the password (\S+)", said).groups()  # type: ignore[union-attr]
            join = re.search(r"Judge\s+(\S+)", said)[1]  # type: ignore[index]
            take_all("http://127.0.0.1:8219", email, password, join, asked.folder)
        finally:
            process.terminate()


def _until_fitted(data: Path, address: str) -> None:
    """Wait until the server answers and every fit of the demonstration is explained."""
    import sqlite3

    database = next(data.glob("*.sqlite3"), data / "judgemap.sqlite3")
    for _ in range(1800):
        try:
            urllib.request.urlopen(f"{address}/healthz", timeout=5).close()  # noqa: S310 - our own server
            with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
                if not connection.execute("select count(*) from fits_fitrun where explained_at is null").fetchone()[0]:
                    return
        except (OSError, sqlite3.Error):
            pass
        time.sleep(1)
    raise SystemExit("the demonstration's fits took longer than half an hour")


if __name__ == "__main__":
    main()
