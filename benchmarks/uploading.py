"""Send a large map to a running server while judges answer another study; print what that costs them.

    .venv/bin/python benchmarks/uploading.py nation.gpkg        a map of up to 100 MB, for example of a nation in detail
    .venv/bin/python benchmarks/uploading.py nation.gpkg --from lsoa2011.zip        made of another, with more points

Eight judges of a map of 200 areas wait a second between answers: first for 20 seconds, then while the file is sent,
read, simplified and shown, and then while a worker makes the draft, until its map is open. Judges' times are by the
clock, in milliseconds; memory is the most that a process ever had, and CPU seconds are sums over the processes of a
kind.
"""

import asyncio
import http.cookiejar
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import numpy as np

from judging import Server, _cpu, _group, _processes, play, seconds_long, write_map

EMAIL, PASSWORD = "owner@example.org", "a password of many words"
BOUNDARY = "between-the-parts-of-a-form"  # long, because a short one occurs in any large file
OWNER = """
import sys
from pathlib import Path
from judgemap.web import start
start.connect(Path(sys.argv[1]))
from judgemap.web.accounts.models import Researcher
Researcher.objects.create_user(*sys.argv[2:])
"""


class Browser:
    """A researcher's browser."""

    def __init__(self, server: Server) -> None:
        self._address, self._jar = f"http://127.0.0.1:{server.port}", http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._jar))

    def open(self, path: str, body: bytes | None = None, kind: str = "application/x-www-form-urlencoded") -> str:
        """Open a page, or send a form to it."""
        asked = urllib.request.Request(self._address + path, body, {"Content-Type": kind})  # noqa: S310 - our own
        with self._opener.open(asked, timeout=1_800) as response:
            self.at = response.url.removeprefix(self._address)
            return str(response.read().decode())

    @property
    def token(self) -> str:
        """What a form has to carry."""
        return next(each.value or "" for each in self._jar if each.name == "csrftoken")

    def sign_in(self) -> None:
        """Sign in."""
        self.open("/new/")
        form = {"csrfmiddlewaretoken": self.token, "login": EMAIL, "password": PASSWORD}
        self.open("/account/login/?next=/new/", urlencode(form).encode())

    def send(self, file: Path) -> str:
        """Send a map, and return what the page that shows it says about its outlines."""
        between = f"--{BOUNDARY}\r\nContent-Disposition: form-data; name="
        head = f'{between}"csrfmiddlewaretoken"\r\n\r\n{self.token}\r\n'
        head += f'{between}"boundaries"; filename="{file.name}"\r\n\r\n'
        body = head.encode() + file.read_bytes() + f"\r\n--{BOUNDARY}--\r\n".encode()
        page = self.open("/new/", body, f"multipart/form-data; boundary={BOUNDARY}")
        return " ".join(re.findall("The outlines had[^<]+", page))

    def make(self) -> str:
        """Choose what the page proposes, wait until the draft is a study, and return the page of its map."""
        page = self.open(self.at)
        chosen = dict(re.findall(r'<select name="(id|name)".*?<option value="([^"]*)" selected', page, re.DOTALL))
        form = {"title": "A nation", "question": "Which has the LOWER rate?", "direction": "lower"}
        form |= chosen | {"contiguity": "queen", "csrfmiddlewaretoken": self.token}
        self.open(self.at, urlencode(form).encode())
        while not self.at.endswith("/map"):
            time.sleep(2)
            page = self.open(self.at)
        pictures = [self.open(each) for each in re.findall(r'src="([^"]+/map-\d+\.svg)"', page)]
        return f"{re.findall('[0-9,]+ areas and[^<.]+', page)}, a picture of {len(''.join(pictures)) / 1e6:.1f} MB"


def answers(server: Server, tokens: list[str], go_on: Callable[[], bool]) -> str:
    """Let judges answer, and say how long they waited."""
    played = asyncio.run(play(server, tokens, 1.0, go_on))
    half, most = 1000 * np.quantile(played.times, [0.5, 0.95])
    return f"{len(played.times)} answers, p50 {half:.0f}, p95 {most:.0f}, {played.failed} failed"


class Used(NamedTuple):
    """What a process has used so far: which kind it is, the most memory it had, in GB, and CPU seconds."""

    kind: str
    memory: float
    cpu: float


def used(server: Server) -> dict[int, Used]:
    """Return what the server's processes, its worker and their readers have used so far, by process."""
    found: dict[int, Used] = {}
    for pid in _processes():
        if _group(pid) == server.process.pid:
            try:
                words, status = (Path(f"/proc/{pid}/{file}").read_text() for file in ("cmdline", "status"))
            except OSError:
                continue
            kind = "reader" if "upload.reading" in words else "worker" if "start.work" in words else "server"
            if peak := re.search(r"VmHWM:\s+(\d+)", status):
                found[pid] = Used(kind, int(peak[1]) / 1e6, _cpu(pid))
    return found


def told(before: dict[int, Used], after: dict[int, Used]) -> str:
    """Say the most memory and the CPU seconds in between, by kind of process."""
    kinds = sorted({each.kind for each in after.values()})
    peaks = {kind: max(each.memory for each in after.values() if each.kind == kind) for kind in kinds}
    cpu = {
        kind: sum(each.cpu - before.get(pid, each._replace(cpu=0.0)).cpu
                  for pid, each in after.items() if each.kind == kind)
        for kind in kinds
    }  # fmt: skip
    return "; ".join(f"{kind} {peaks[kind]:.2f} GB, {cpu[kind]:.0f} CPU s" for kind in kinds)


def write_detailed(source: str, file: Path) -> None:
    """Write a map with a point every 66 metres of its outlines."""
    import geopandas

    frame = geopandas.read_file(source).to_crs("EPSG:27700")
    frame.set_geometry(frame.geometry.segmentize(66)).to_file(file, driver="GPKG", SPATIAL_INDEX="NO")


def main() -> None:
    """Measure, and print."""
    file = Path(sys.argv[1])
    if sys.argv[2:3] == ["--from"]:
        write_detailed(sys.argv[3], file)
    print(f"{file.stat().st_size / 1e6:.0f} MB", flush=True)
    with tempfile.TemporaryDirectory(prefix="judgemap-bench-") as folder:
        write_map(Path(folder, "small.gpkg"), 200)
        server = Server(Path(folder, "data"), "", 2)
        server.more[1] = "1"  # worker
        tokens = server.make_study(Path(folder, "small.gpkg"), "uniform", 8)
        words = [sys.executable, "-c", OWNER, str(server.data), EMAIL, PASSWORD]
        subprocess.run(words, env=server.environment, check=True)
        with server:
            browser = Browser(server)
            browser.sign_in()
            print(f"without: {answers(server, tokens, seconds_long(20.0))}", flush=True)
            for act in (partial(browser.send, file), browser.make):
                said: list[str] = []
                doing = threading.Thread(target=lambda act=act, said=said: said.append(act()))  # type: ignore[misc]
                before, began = used(server), time.perf_counter()
                after = dict(before)
                doing.start()

                def go_on(doing: threading.Thread = doing, after: dict[int, Used] = after) -> bool:
                    after.update(used(server))
                    return doing.is_alive()

                print(f"meanwhile: {answers(server, tokens, go_on)}", flush=True)
                print(f"{time.perf_counter() - began:.0f} s; {told(before, after)}; {said[0]}", flush=True)


if __name__ == "__main__":
    main()
