"""England in a real Chromium: 32,844 areas, judges who know one district each, a fit, a briefing. It takes minutes."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pyogrio
import pytest
from looking import look
from scipy.special import ndtri
from steps import agree, answer, answer_by_hand, invite, open_study, save_briefing, sign_up

pytestmark = [pytest.mark.slow, pytest.mark.browser]
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
JUDGES, ANSWERS = 30, 100
MINUTES = 60_000


@pytest.fixture(scope="module")
def server(lasting_servers):
    return lasting_servers("england", processes=1, workers=1).start()


@pytest.fixture(scope="module")
def crime(england) -> pd.Series:
    """The risk that judges have in mind: the normal score of each area's rank by crime, where 1 is the most."""
    names = pyogrio.read_dataframe(england / "lsoa2011.zip", read_geometry=False).set_index("LSOA11CD")["LSOA11NM"]
    rank = pd.read_csv(england / "imd2019.csv").set_index("LSOA11CD")["crime"].loc[names.index]
    return pd.Series(-2 * ndtri((rank.to_numpy() - 0.5) / len(rank)), names.to_numpy())


def district_of(name: str) -> str:
    return name.rsplit(" ", 1)[0]


def test_england(browse, server, england, crime, tmp_path):
    page = browse(viewport=DESKTOP, accept_downloads=True)
    districts = sorted(set(map(district_of, crime.index)))
    known = ["Nottingham", *districts[:: len(districts) // (JUDGES - 1)]][:JUDGES]
    study = make_study(page, server, england / "lsoa2011.zip", len(districts))
    links = invite(page, study, JUDGES)
    judge_by_hand(browse(viewport=PHONE, has_touch=True, is_mobile=True), links[0], crime)
    answer(server, links[1:], crime, ANSWERS, places=[f"region:{each}" for each in known[1:]])
    watch(page, study)
    fit(page, study)
    explore(page, study)
    recover(page, study, crime, known[1:])
    brief(page, study, tmp_path)


def make_study(page, server, file, districts: int) -> str:
    """Upload the map; the names of areas say which district each is in, and nothing is chosen but what is asked."""
    sign_up(page, server)
    page.goto("/new/")
    page.set_input_files("#id_boundaries", file)
    page.click("main form button")
    page.wait_for_url("**/new/*/", timeout=5 * MINUTES)
    assert page.input_value("#id_id") == "LSOA11CD"
    assert page.input_value("#id_name") == "LSOA11NM"
    page.fill("#id_title", "Crime in England")
    page.fill("#id_question", "Which area has the LOWER rate of crime?")
    look(page, "what is asked")
    page.click("main form.stack button.primary")
    page.wait_for_url("**/making/*/")
    look(page, "a draft in the making")
    page.wait_for_url("**/map", timeout=15 * MINUTES)
    look(page, "the map")
    return open_study(page, ANSWERS)


def judge_by_hand(page, link: str, crime: pd.Series) -> None:
    """One judge, on a phone: finds a district, and compares its areas."""
    page.goto(link)
    agree(page, shows="text=Which places do you know?")
    look(page, "places", (PHONE["width"],))
    page.fill("#find input", "nottingham")
    page.check("text=Nottingham >> visible=true")
    page.click("button.primary")
    page.wait_for_selector("#answer")
    look(page, "a pair")
    assert {district_of(name) for name in answer_by_hand(page, crime)} == {"Nottingham"}


def watch(page, study: str) -> None:
    page.goto(f"{study}dashboard")
    assert f"{(JUDGES - 1) * ANSWERS + 5:,}" in page.inner_text("main")
    look(page, "the dashboard")
    for name in ("", "dashboard/judges", "dashboard/areas"):
        page.goto(study + name)
        look(page, name or "the overview")


def fit(page, study: str) -> None:
    """Make the plain fit with a few draws; nobody has judged most of England, and the verdict says so.

    All draws that it asks for would take a quarter of an hour and more.
    """
    page.set_viewport_size(DESKTOP)
    page.goto(f"{study}fits/new")
    page.click("summary:has-text('More options')")
    for name, value in {"chains": 4, "draws": 100}.items():
        page.fill(f"#id_{name}", str(value))
    page.click("button:has-text('Fit now')")
    page.wait_for_url("**/fits/1/map", timeout=30 * MINUTES)
    look(page, "a risk map that is not explained yet")
    while "<strong>Verdict:" not in page.request.get(page.url).text():
        page.wait_for_timeout(3_000)
    page.reload()
    page.wait_for_selector("#verdict strong")
    verdict = page.inner_text("#verdict")
    assert "Verdict: sound" not in verdict
    assert "compared" in verdict, verdict


def explore(page, study: str) -> None:
    """Search, sort, an area, results by district."""
    page.goto(f"{study}fits/1/map")
    look(page, "the risk map")
    page.fill("#q", "Nottingham 001")
    page.press("#q", "Enter")
    page.wait_for_selector("text=4 of 32,844 areas")
    look(page, "areas that were searched")
    page.locator("#table tbody a").first.click()
    page.wait_for_function("() => !document.querySelector('#detail .empty')")
    assert "Nottingham 001" in page.inner_text("#detail")
    look(page, "an area")
    page.goto(f"{study}fits/1/map")
    page.select_option("#region", "Nottingham")
    page.click("button:text('Find')")
    page.wait_for_selector("text=182 of 32,844 areas")
    by_district = f"{study}fits/1/figures?by=region"
    while "Nottingham" not in page.request.get(by_district).text():  # the last thing that a worker finds out
        page.wait_for_timeout(3_000)
    page.goto(by_district)
    look(page, "results by district")
    for name in ("convergence", "checks", "compare"):
        page.goto(f"{study}fits/1/{name}")
        look(page, name)


def recover(page, study: str, crime: pd.Series, known: list[str]) -> None:
    """Where somebody judged, the map follows what they had in mind."""
    page.goto(f"{study}fits/1/files")
    with page.expect_download() as download:
        page.click("text=CSV")
    rows = pd.DataFrame(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))
    assert len(rows) == len(crime)
    judged = rows[rows["name"].map(district_of).isin(known)]
    found = np.corrcoef(judged["risk_median"].astype(float), crime[judged["name"]])[0, 1]
    assert found > 0.3


def brief(page, study: str, tmp_path) -> None:
    text = save_briefing(page, study, tmp_path / "briefing.html")
    assert "of the 32,844 areas were never compared" in text
    assert not re.search(r"Verdict: sound", text, re.IGNORECASE)
    briefing = page.context.new_page()
    briefing.goto((tmp_path / "briefing.html").as_uri())
    look(briefing, "the briefing")
    briefing.close()
