"""What a judge's first pair weighs in a real browser, and what a judgement costs the server with streets to send.

    python benchmarks/first_view.py EXTRACT WEST SOUTH EAST NORTH

Without a base map: Chicago's 77 areas, which come with libpysal. With one: 15 districts drawn over a box of longitude
and latitude, with the streets of the extract. Chromium starts with an empty cache and is 390 pixels wide; bytes are
those on the wire, including headers, of the pair's page with everything it loads, and of the consent page before it.
CPU time is that of the server's processes for each judgement, in alternating rounds: only answers, and answers that
each bring four new tiles. Prints a table, and writes benchmarks/results/first_view.json.
"""

import argparse
import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import shapely
from playwright.sync_api import Browser, sync_playwright

from judgemap.study.data.example import chicago
from judging import Judge, Server

RESULTS = Path(__file__).with_name("results") / "first_view.json"
STUDY = """
title = "Areas"
question = "Which area has the LOWER rate?"
direction = "lower"
recommended = 100000
maximum = 100000
[areas]
file = "{file}"
id = "id"
name = "name"
"""
COMMAND = "from judgemap.cli import study; study.app()"
ROUNDS, ANSWERS, TILES = 15, 60, 4


@dataclass
class Study:
    """A study on a server."""

    server: Server
    slug: str

    @classmethod
    def make(cls, server: Server, path: Path) -> "Study":
        """Make and open a study."""
        definition = path.with_suffix(".toml")
        definition.write_text(STUDY.format(file=path.name))
        slug = re.search(r"Study (\S+):", command(server, "new", str(definition)))
        assert slug is not None
        command(server, "open", slug[1])
        return cls(server, slug[1])

    def invite(self, judges: int) -> list[str]:
        """Return links' tokens."""
        links = json.loads(command(self.server, "invite", self.slug, "--judges", str(judges), "--json"))
        return [each["link"].split("/j/")[1].strip("/") for each in links]


def command(server: Server, *words: str) -> str:
    """Run `judgemap study …`."""
    done = subprocess.run([sys.executable, "-c", COMMAND, *words, "--data", str(server.data)],
                          capture_output=True, text=True, env=server.environment, check=False)  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def districts(box: list[float], path: Path) -> None:
    """Draw 15 districts with crooked borders over a box."""
    rng = np.random.default_rng(1)
    west, south, east, north = box
    frame = geopandas.GeoSeries([shapely.box(west, south, east, north)], crs=4326).to_crs(3857).iloc[0]
    left, bottom, right, top = frame.bounds
    points = shapely.MultiPoint(rng.uniform([left, bottom], [right, top], (15, 2)))
    cells = shapely.get_parts(shapely.voronoi_polygons(points, extend_to=frame))
    cells = shapely.segmentize(shapely.intersection(cells, frame), (right - left) / 60)
    step = (right - left) / 40
    bent = shapely.transform(cells, lambda at: at + 0.3 * step * np.sin(at[:, ::-1] / step))
    ids = [str(i + 1) for i in range(len(bent))]
    table = geopandas.GeoDataFrame({"id": ids, "name": [f"District {i}" for i in ids]}, geometry=bent, crs=3857)
    table.to_file(path, driver="GPKG")


def weigh(browser: Browser, server: Server, token: str) -> dict[str, int]:
    """Open a judge's first pair with nothing cached; return the bytes of each file that arrived, and of all."""
    context = browser.new_context(base_url=f"http://127.0.0.1:{server.port}", viewport={"width": 390, "height": 844})
    page = context.new_page()
    came: list[Any] = []
    page.on("requestfinished", lambda request: came.append(request))  # noqa: PLW0108 - takes no built-in function
    page.goto(f"/j/{token}/")
    page.check("input[name=agree]")
    page.click("button[value=now]")
    page.wait_for_selector(".live path.own", state="attached")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(2000)
    sizes: dict[str, int] = {}
    for number, request in enumerate(came):
        name = re.sub(r"\.[0-9a-f]{12}\.", ".", request.url.rpartition("/static/")[2] or "page")
        name = re.sub(rf".*/j/{token}/", "/", name)
        name = "consent page" if number == 0 else "pair page" if name == "/" else name
        size = request.sizes()
        sizes[name] = sizes.get(name, 0) + size["responseBodySize"] + size["responseHeadersSize"]
    context.close()
    return dict(sorted(sizes.items(), key=lambda each: -each[1])) | {"all": sum(sizes.values())}


async def play(judge: Judge, tiles: list[str]) -> None:
    """Answer, and ask for tiles after each answer."""
    for _ in range(ANSWERS):
        await judge.answer()
        for address in tiles:
            await judge.ask("GET", address, None)


async def cost(server: Server, token: str, ways: dict[str, list[str]]) -> dict[str, list[float]]:
    """Measure the CPU milliseconds of a judgement for each way of asking for tiles, round by round."""
    judge = Judge(server.port, token)
    await judge.open()
    for tiles in ways.values():
        await play(judge, tiles)
    found: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, tiles in ways.items():
            began = server.cpu_seconds()
            await play(judge, tiles)
            found[way].append(round(1000 * (server.cpu_seconds() - began) / ANSWERS, 2))
    return found


def tiles_of(server: Server) -> tuple[int, list[str]]:
    """Return the base map's key, and its heaviest tiles."""
    import sqlite3

    with sqlite3.connect(server.data / "judgemap.sqlite3") as database:
        rows = database.execute('SELECT base_map_id, level, "column", row, length(content) FROM studies_basemaptile'
                                " ORDER BY 5 DESC LIMIT ?", [TILES]).fetchall()  # fmt: skip
    print("bytes of the tiles:", [row[4] for row in rows])
    return rows[0][0], ["/".join(map(str, row[1:4])) for row in rows]


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extract", type=Path)
    parser.add_argument("box", type=float, nargs=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="judgemap-bench-") as folder:
        chicago().to_frame().to_file(Path(folder, "chicago.gpkg"))
        districts(given.box, Path(folder, "districts.gpkg"))
        server = Server(Path(folder, "data"), "", 1)
        server.data.mkdir()
        with server:
            time.sleep(5)
            bare = Study.make(server, Path(folder, "chicago.gpkg"))
            ground = Study.make(server, Path(folder, "districts.gpkg"))
            command(server, "basemap", ground.slug, str(given.extract.resolve()))
            key, places = tiles_of(server)
            with sync_playwright() as playwright:
                path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
                browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
                weights = {
                    name: weigh(browser, server, study.invite(1)[0])
                    for name, study in {"without a base map": bare, "with a base map": ground}.items()
                }
                token = ground.invite(1)[0]
                weigh(browser, server, token)  # agrees
                browser.close()
            ways = {
                "answers alone": [],
                "four requests": [f"tiles/{key}/{place}" for place in places],
                "one request": [f"tiles/{key}/{','.join(places)}"],
            }
            milliseconds = asyncio.run(cost(server, token, ways))
    result = {"bytes": weights, "cpu_ms_of_a_judgement": milliseconds}
    print(json.dumps(result, indent=1))
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
