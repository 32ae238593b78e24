"""The whole story in a real Chromium: a boundary file, judges with a ranking in mind, a fit, a briefing.

With JUDGEMAP_SCREENSHOTS=FOLDER the tutorial's pictures are written on the way: `make screenshots`.
"""

import contextlib
import csv
import io
import os
import re
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import pytest
from looking import look
from steps import agree, answer, answer_by_hand, invite, open_study, recovered, save_briefing, sign_up
from town_making import town

import judgemap as jm

pytestmark = [pytest.mark.slow, pytest.mark.browser]
DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
JUDGES, ANSWERS = 12, 50
STREETS = not os.environ.get("JUDGEMAP_SCREENSHOTS")
"""Those of the test are made up: pictures for people show none."""


@pytest.fixture(scope="module")
def server(lasting_servers):
    return lasting_servers("story", processes=1, workers=1).start()


@pytest.fixture(scope="module")
def chicago():
    return jm.chicago()


@pytest.fixture(scope="module")
def planted(chicago) -> dict[str, float]:
    """The ranking that the judges have in mind: the nearer to Englewood, the higher the rate."""
    points = chicago.geometry.to_crs("EPSG:3435").representative_point()
    away = points.distance(points.iloc[chicago.names.index("Englewood")]).to_numpy()
    risk = 2 * (away.mean() - away) / away.std()
    return dict(zip(chicago.names, risk.tolist(), strict=True))


def snap(page, name: str) -> None:
    """Keep a picture for the tutorial, in few colours so that it is small, where somebody asked for them."""
    if folder := os.environ.get("JUDGEMAP_SCREENSHOTS"):
        from PIL import Image

        page.wait_for_timeout(400)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(96, dither=Image.Dither.NONE)
        picture.save(Path(folder, f"{name}.png"), optimize=True)


def test_from_boundary_file_to_briefing(browse, server, chicago, planted, tmp_path):
    page = browse(**DESKTOP, accept_downloads=True)
    study = make_study(page, server, chicago, tmp_path)
    links = invite(page, study, JUDGES + 1)
    snap(page, "links")
    judge_by_hand(browse(**PHONE), links[0], planted)
    answer(server, links[1:], planted, ANSWERS, lambda: pass_time(server))
    watch(page, study)
    fit(page, study, planted)
    explore(page, study)
    brief(page, study, tmp_path)
    take_away(page, study, tmp_path, chicago)


def make_study(page, server, chicago, tmp_path) -> str:
    sign_up(page, server)
    page.goto("/new/")
    chicago.to_frame().to_file(tmp_path / "chicago.gpkg")
    page.set_input_files("#id_boundaries", tmp_path / "chicago.gpkg")
    snap(page, "upload")
    page.click("main form button")
    page.wait_for_url("**/new/*/")
    page.fill("#id_title", "Hidden harm in Chicago")
    page.fill("#id_question", "Which area has the LOWER rate?")
    page.evaluate("scrollTo(0, 0)")
    snap(page, "columns")
    page.click("main form button")
    page.wait_for_url("**/map", timeout=60_000)
    snap(page, "map")
    if STREETS:
        add_streets(page, tmp_path)
    return open_study(page, ANSWERS)


def add_streets(page, tmp_path) -> None:
    """Upload an extract, and wait until a worker has made a base map of it."""
    page.set_input_files("#extract-file", town((-87.7, 41.83), reach=0.25).write(tmp_path / "streets.osm"))
    page.click("#extract button")
    page.wait_for_selector("#base-map >> text=Judges see streets", timeout=120_000)
    assert "Found 48 roads" in page.inner_text("#base-map")
    page.goto(page.url.partition("#")[0])


def pass_time(server) -> None:
    """Show the open pair a minute earlier, so that pictures have the times of people: the server believes no other."""
    if os.environ.get("JUDGEMAP_SCREENSHOTS"):
        with (
            contextlib.closing(sqlite3.connect(server.folder / "data" / "judgemap.sqlite3", timeout=20)) as database,
            database,
        ):
            database.execute("UPDATE judge_pair SET issued_at = datetime(issued_at, '-1 minute') WHERE open")


def judge_by_hand(page, link: str, planted: dict[str, float]) -> None:
    """One judge, on a phone, by tapping."""
    page.goto(link)
    snap(page, "consent")
    agree(page, shows="text=Which places do you know?")
    snap(page, "places")
    streets = page.expect_response(lambda answer: "/tiles/" in answer.url and answer.ok)
    with streets if STREETS else contextlib.nullcontext():
        page.click("button[value=all]")
    page.wait_for_selector("#answer")
    snap(page, "pair")
    answer_by_hand(page, planted)


def watch(page, study: str) -> None:
    page.goto(f"{study}dashboard")
    assert f"{JUDGES * ANSWERS + 5}" in page.inner_text("main").replace(",", "")
    look(page, "the dashboard")
    page.set_viewport_size(DESKTOP["viewport"])
    snap(page, "dashboard")


def fit(page, study: str, planted: dict[str, float]) -> None:
    page.goto(f"{study}fits/")
    snap(page, "fit")
    page.click("button:has-text('Fit now')")
    page.wait_for_url("**/fits/1/map", timeout=60_000)
    look(page, "the risk map")
    page.set_viewport_size(DESKTOP["viewport"])
    assert recovered(page, planted) > 0.9


def explore(page, study: str) -> None:
    """Click the area of highest risk in the table; the panel says what is known of it."""
    page.locator("#table tbody tr a").first.click()
    page.wait_for_function("() => !document.querySelector('#detail .empty')")
    page.locator(".mapside").evaluate("each => each.scrollIntoView()")
    snap(page, "area")
    for name in ("fits/1/convergence", "fits/1/checks", "dashboard/judges", "dashboard/reliability"):
        page.goto(study + name)
        page.wait_for_timeout(200)
        if "being" in page.inner_text("main"):
            page.wait_for_timeout(15_000)
            page.reload()
        look(page, name)
    page.goto(f"{study}dashboard/judges")
    page.set_viewport_size(DESKTOP["viewport"])
    snap(page, "judges")


def brief(page, study: str, tmp_path) -> None:
    text = save_briefing(page, study, tmp_path / "briefing.html")
    assert "Which area has the LOWER rate?" in text
    assert "anna@example.org" not in text
    briefing = page.context.new_page()
    briefing.goto((tmp_path / "briefing.html").as_uri())
    look(briefing, "the briefing")
    briefing.set_viewport_size(DESKTOP["viewport"])
    snap(briefing, "briefing")
    briefing.close()


def take_away(page, study: str, tmp_path, chicago) -> None:
    """The table of the export gives the numbers of the page, with the command that the page names."""
    page.goto(study)
    with page.expect_download() as download:
        page.click("text=Download all answers (zip)")
    download.value.save_as(tmp_path / "answers.zip")
    with zipfile.ZipFile(tmp_path / "answers.zip") as archive:
        archive.extractall(tmp_path / "answers")
    page.goto(f"{study}fits/1/files")
    seed = int(re.search(r"--seed (\d+)", page.inner_text("main"))[1])
    with page.expect_download() as download:
        page.click("text=CSV")
    download.value.save_as(tmp_path / "areas.csv")
    shown = list(csv.DictReader(io.StringIO((tmp_path / "areas.csv").read_text(encoding="utf-8-sig"))))
    areas = jm.read_areas(tmp_path / "answers" / "areas.geojson", id="id", name="name")
    data = jm.read_comparisons(tmp_path / "answers" / "comparisons.csv", areas)
    again = jm.fit_spatial(data, areas, seed=seed).areas
    assert [row["id"] for row in shown] == again["id"].tolist()
    np.testing.assert_allclose([float(row["risk_median"]) for row in shown], again["risk_median"], atol=1e-6)
