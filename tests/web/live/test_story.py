"""The whole story in a real Chromium: a boundary file, judges with a ranking in mind, a fit, a briefing.

With JUDGEMAP_SCREENSHOTS=FOLDER the tutorial's pictures are written on the way: `make screenshots`.
"""

import csv
import io
import os
import re
import signal
import zipfile
from pathlib import Path

import numpy as np
import pytest
from looking import look
from town_making import town

import judgemap as jm

pytestmark = [pytest.mark.slow, pytest.mark.browser]
PASSWORD = "four plain words here"  # noqa: S105
DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
JUDGES, ANSWERS = 12, 50


@pytest.fixture(scope="module")
def server(long_path, server_class):
    live = server_class(long_path / "story", workers=1, fitters=1).start()
    yield live
    live.stop(signal.SIGKILL)


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
    links = invite(page, study)
    judge_by_hand(browse(**PHONE), links[0], planted)
    judge_the_rest(server, links[1:], planted)
    watch(page, study)
    fit(page, study, planted)
    explore(page, study)
    brief(page, study, tmp_path)
    take_away(page, study, tmp_path, chicago)


def make_study(page, server, chicago, tmp_path) -> str:
    page.goto(re.search(r"http://\S+/first/\S+/", server.log)[0])
    page.fill("#id_email", "anna@example.org")
    page.fill("#id_password", PASSWORD)
    page.fill("#id_again", PASSWORD)
    page.click("main form button")
    page.goto("/new/")
    chicago.to_frame().to_file(tmp_path / "chicago.gpkg")
    page.set_input_files("#id_boundaries", tmp_path / "chicago.gpkg")
    snap(page, "upload")
    page.click("main form button")
    page.wait_for_url("**/new/*/")
    page.fill("#id_title", "Hidden harm in Chicago")
    page.fill("#id_question", "Which area has the LOWER rate?")
    snap(page, "columns")
    page.click("main form button")
    page.wait_for_url("**/map", timeout=60_000)
    snap(page, "map")
    study = page.url.removesuffix("map")
    add_streets(page, tmp_path)
    page.goto(f"{study}judging")
    page.fill("#id_recommended", "50")
    page.click("main form button.primary")
    page.wait_for_url(study)
    page.click("button[value=open]")
    return study


def add_streets(page, tmp_path) -> None:
    """Upload an extract, and wait until a worker has made a base map of it."""
    page.set_input_files("#extract-file", town((-87.7, 41.83), reach=0.25).write(tmp_path / "streets.osm"))
    page.click("#extract button")
    page.wait_for_selector("#base-map >> text=Judges see streets", timeout=120_000)
    assert "Found 48 roads" in page.inner_text("#base-map")


def invite(page, study: str) -> list[str]:
    page.goto(f"{study}judges")
    page.fill("#id_judges", str(JUDGES + 1))
    page.check("#id_anyway")  # the server is at 127.0.0.1, and says so
    page.click("main form button")
    snap(page, "links")
    links = page.locator(".tickets a.address").all_inner_texts()
    assert len(set(links)) == JUDGES + 1
    return links


def judge_by_hand(page, link: str, planted: dict[str, float]) -> None:
    """One judge, on a phone, by tapping."""
    page.goto(link)
    snap(page, "consent")
    page.check("input[name=agree]")
    with page.expect_response(lambda answer: "/tiles/" in answer.url and answer.ok):
        page.click("button[value=now]")
    page.wait_for_selector("#answer")
    snap(page, "pair")
    for _ in range(5):
        pair = page.input_value("input[name=pair]")
        left, right = page.inner_text("#name-left"), page.inner_text("#name-right")
        page.wait_for_timeout(650)
        page.click("#name-left" if planted[left] < planted[right] else "#name-right")
        page.wait_for_function("before => document.querySelector('input[name=pair]').value !== before", arg=pair)


def judge_the_rest(server, links: list[str], planted: dict[str, float]) -> None:
    """The other judges, who are right as often as the model says."""
    rng = np.random.default_rng(1)
    for link in links:
        judge = server.judge(link)
        judge.agree()
        shown = judge.pair()
        for _ in range(ANSWERS):
            surplus = planted[shown["right"]] - planted[shown["left"]]
            outcome = "left" if rng.random() < 1 / (1 + np.exp(-surplus)) else "right"
            shown = judge.answer_and_next(shown["pair"], outcome, rng.lognormal(np.log(4), 0.6))


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
    names = page.locator("#table tbody tr .name, #table tbody tr th").all_inner_texts()
    order = [planted[name] for name in names]
    assert len(order) == len(planted)
    ranks = np.argsort(np.argsort([-risk for risk in order]))
    assert np.corrcoef(ranks, np.arange(len(ranks)))[0, 1] > 0.9


def explore(page, study: str) -> None:
    """Click the area of highest risk in the table; the panel says what is known of it."""
    page.locator("#table tbody tr a").first.click()
    page.wait_for_function("() => !document.querySelector('#detail .empty')")
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
    page.goto(f"{study}fits/1/files")
    for _ in range(60):
        if page.locator("text=Download it (HTML)").count():
            break
        page.wait_for_timeout(1000)
        page.reload()
    look(page, "the files")
    with page.expect_download() as download:
        page.click("text=Download it (HTML)")
    download.value.save_as(tmp_path / "briefing.html")
    text = (tmp_path / "briefing.html").read_text(encoding="utf-8")
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
