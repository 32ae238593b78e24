"""A researcher in a real Chromium: from the first link to the judges' links. axe looks at every state of every page."""

import re

import pytest
import shapely
from looking import look
from steps import EMAIL, PASSWORD, agree, sign_up

pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture(scope="module")
def server(lasting_servers):
    return lasting_servers("researcher", processes=1, workers=1).start()


@pytest.fixture(scope="module")
def boundaries(tmp_path_factory, areas):
    """The grid of wards, with one far away, so that there is an island."""
    frame = areas.to_frame().to_crs("EPSG:27700")
    frame.loc[len(frame) - 1, "geometry"] = shapely.affinity.translate(frame.geometry.iloc[-1], 3000, 0)
    path = tmp_path_factory.mktemp("boundaries") / "wards.gpkg"
    frame.to_file(path)
    return path


@pytest.fixture(scope="module")
def invitation(chromium, server):
    """A link for another researcher, made by the first one."""
    context = chromium.new_context(base_url=server.address)
    page = context.new_page()
    page.goto(re.search(r"http://\S+/first/\S+/", server.log)[0])
    look(page, "the first link")
    sign_up(page, server)
    look(page, "no studies yet")
    page.goto("/account/researchers/")
    page.click("main form button")
    look(page, "researchers")
    link = page.inner_text("a.address")
    for name in ("/account/", "/account/password/change/", "/account/two-factor/", "/account/logout/", "/nowhere/"):
        page.goto(name)
        look(page, name)
    context.close()
    return link


def make_draft(page, boundaries, title: str) -> str:
    """Upload, choose the columns, and return the study's address."""
    page.goto("/new/")
    page.set_input_files("#id_boundaries", boundaries)
    page.click("main form button")
    page.wait_for_url("**/new/*/")
    page.fill("#id_title", title)
    page.fill("#id_question", "Which ward has the LOWER rate?")
    page.click("main form button")
    for _ in range(120):  # without a script, the page has a link to look again
        if page.url.endswith("/map"):
            break
        page.wait_for_timeout(500)
        if (again := page.locator("noscript a, a:text-is('Check progress')")).count() and again.first.is_visible():
            again.first.click()
    page.wait_for_url("**/map")
    return page.url.removesuffix("map")


def test_from_upload_to_invitation(browse, server, invitation, boundaries):
    page = browse(viewport={"width": 1280, "height": 800})
    sign_up(page, server, "ben@example.org", invitation)
    page.goto("/new/")
    look(page, "upload")
    page.set_input_files("#id_boundaries", {"name": "a.html", "mimeType": "text/html", "buffer": b"<p>"})
    page.click("main form button")
    assert "Choose a .geojson" in page.inner_text("#id_boundaries_error")
    look(page, "upload refused")
    page.set_input_files("#id_boundaries", boundaries)
    page.click("main form button")
    page.wait_for_url("**/new/*/")
    look(page, "columns")
    page.evaluate("document.forms[1].noValidate = true")
    page.click("main form button")
    assert page.inner_text("#id_title_error")
    look(page, "columns refused")
    study = make_draft(page, boundaries, "Wards of the county")
    edit(page, study)
    play(page, study)
    invite(browse, page, study)
    finish(page, study)


def edit(page, study: str) -> None:
    """From the map to a draft that is ready."""
    assert "Joined because they would otherwise be cut off" in page.inner_text("main")
    look(page, "map")
    page.wait_for_timeout(500)  # the map fits itself to the width
    added = page.locator("svg.network [data-lines=added]")
    before = added.get_attribute("d").count("L")
    page.locator("path.area[data-area='0']").click(force=True)
    assert "is chosen" in page.inner_text("#said")
    page.locator("path.area[data-area='10']").click(force=True)
    page.wait_for_function("() => document.getElementById('said').textContent.includes('are now neighbours')")
    assert added.get_attribute("d").count("L") == before + 1
    look(page, "map with a new edge")
    page.reload()
    assert page.locator("svg.network [data-lines=added]").get_attribute("d").count("L") == 1

    page.click("text=go on to the texts")
    page.fill("#id_example", "For **example**")
    page.wait_for_selector(".rendered strong")
    look(page, "texts")
    page.click("text=See how it will look")
    look(page, "texts in preview")
    page.click("button.primary")
    page.wait_for_url("**/judging")
    page.check("input[name=more_languages][value=fr]")
    page.fill("#id_recommended", "500")
    page.click("button.primary")
    assert "recommended" in page.inner_text("#id_recommended_error").lower()
    look(page, "judging refused")
    page.fill("#id_recommended", "2")
    page.fill("#id_maximum", "4")
    page.click("button.primary")
    page.wait_for_url(study)
    look(page, "a draft")
    page.goto(f"{study}texts/fr")
    look(page, "translation")


def invite(browse, page, study: str) -> None:
    """Open the study, make links, and let a judge answer."""
    page.goto(study)
    page.click("main .next a.primary")
    look(page, "before it opens")
    page.click("button[value=open]")
    look(page, "an open study")
    page.click("main .next a")
    look(page, "judges")
    page.fill("#id_judges", "3")
    page.check("#id_anyway")
    page.click("main form button")
    look(page, "links")
    judges = page.locator(".tickets a.address").all_inner_texts()
    assert len(set(judges)) == 3
    with page.expect_download() as download:
        page.click("text=Download as a table")
    table = download.value.path().read_text()
    assert all(link in table for link in judges)
    one_answer(browse, judges[0])
    page.goto(f"{study}judges")
    assert "1" in page.locator("tbody tr").first.inner_text().split()
    look(page, "judges who began")


def finish(page, study: str) -> None:
    """Download the answers, and close the study."""
    page.goto(study)
    with page.expect_download() as download:
        page.click("text=Download all answers")
    assert download.value.suggested_filename.endswith(".zip")
    for name in ("colleagues", "log", "close"):
        page.goto(study + name)
        look(page, name)
    page.click("button.danger")
    page.wait_for_url(study)
    look(page, "a closed study")
    page.goto(study + "reopen")
    look(page, "reopen")
    page.goto("/studies/")
    look(page, "the list")


def play(page, study: str) -> None:
    """Play the judge's side; the counter goes on, and the bar leads back."""
    page.goto(study)
    page.click("main .next a")
    look(page, "the preview's first page")
    agree(page)
    look(page, "the preview's pair")
    page.wait_for_timeout(300)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.getElementById('counter').textContent.startsWith('2 of')")
    page.click("button[value=thanks]")
    look(page, "the preview's thanks")
    page.click("text=Back to the study")
    page.wait_for_url(study)
    assert "Judges who have started\n0" in page.inner_text("main")


def one_answer(browse, link: str) -> None:
    judge = browse()
    judge.goto(link)
    agree(judge)
    judge.wait_for_timeout(300)
    judge.keyboard.press("ArrowRight")
    judge.wait_for_function("() => document.getElementById('counter').textContent.startsWith('2 of')")


@pytest.mark.usefixtures("invitation")
def test_the_same_without_a_script(browse, boundaries):
    page = browse(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page.goto("/account/login/")
    page.fill("#id_login", EMAIL)
    page.fill("#id_password", PASSWORD)
    page.click("main form button")
    study = make_draft(page, boundaries, "Without a script")
    assert page.locator("svg.network path.area").count() == 16
    page.select_option("#id_a", label="Ward 1.1")
    page.select_option("#id_b", label="Ward 3.3")
    page.click("text=Join or separate them")
    assert "are now neighbours" in page.inner_text(".notice")
    page.goto(f"{study}texts")
    page.fill("#id_thanks", "Thank *you*")
    page.click("text=See how it will look")
    assert page.inner_text("section.box em") == "you"
    page.click("button.primary")
    page.goto(study)
    page.click("main .next a")
    agree(page)
    page.click("button.choose >> nth=0")
    assert "2 of about 50" in page.inner_text("#counter")
    page.goto(study)
    page.click("main .next a.primary")
    page.click("button[value=open]")
    page.goto(f"{study}judges")
    page.check("#id_anyway")
    page.click("main form button")
    assert page.locator(".tickets li").count() == 12
