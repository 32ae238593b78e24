"""Send a large map to a running server while judges answer another study; print what that costs them.

    .venv/bin/python benchmarks/uploading.py nation.gpkg        a map of up to 100 MB, for example of a nation in detail

Eight judges of a map of 200 areas wait a second between answers: first for 20 seconds, then while the file is sent,
read, simplified and shown. Times are by the clock, in milliseconds, and memory is the most that a process ever had.
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
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from judging import Server, _group, _processes, play, seconds_long, write_map

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
        """Send a map, and return the page that shows it."""
        between = f"--{BOUNDARY}\r\nContent-Disposition: form-data; name="
        head = f'{between}"csrfmiddlewaretoken"\r\n\r\n{self.token}\r\n'
        head += f'{between}"boundaries"; filename="{file.name}"\r\n\r\n'
        body = head.encode() + file.read_bytes() + f"\r\n--{BOUNDARY}--\r\n".encode()
        return self.open("/new/", body, f"multipart/form-data; boundary={BOUNDARY}")


def answers(server: Server, tokens: list[str], go_on: Callable[[], bool]) -> str:
    """Let judges answer, and say how long they waited."""
    played = asyncio.run(play(server, tokens, 1.0, go_on))
    half, most = 1000 * np.quantile(played.times, [0.5, 0.95])
    return f"{len(played.times)} answers, p50 {half:.0f}, p95 {most:.0f}, {played.failed} failed"


def peaks(server: Server) -> dict[str, float]:
    """Return the most memory of the server's processes and of the reader so far, in GB."""
    found: dict[str, float] = {}
    for pid in _processes():
        if _group(pid) == server.process.pid:
            try:
                words, status = Path(f"/proc/{pid}/cmdline").read_text(), Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            kind = "reader" if "upload.reading" in words else "server"
            if peak := re.search(r"VmHWM:\s+(\d+)", status):
                found[kind] = max(found.get(kind, 0.0), int(peak[1]) / 1e6)
    return found


def main() -> None:
    """Measure, and print."""
    file = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="judgemap-bench-") as folder:
        write_map(Path(folder, "small.gpkg"), 200)
        server = Server(Path(folder, "data"), "", 2)
        tokens = server.make_study(Path(folder, "small.gpkg"), "uniform", 8)
        words = [sys.executable, "-c", OWNER, str(server.data), EMAIL, PASSWORD]
        subprocess.run(words, env=server.environment, check=True)
        with server:
            browser = Browser(server)
            browser.sign_in()
            print(f"without: {answers(server, tokens, seconds_long(20.0))}", flush=True)
            page, most = [], {"reader": 0.0, "server": 0.0}
            sending = threading.Thread(target=lambda: page.append(browser.send(file)))
            began = time.perf_counter()
            sending.start()

            def go_on() -> bool:
                most.update({kind: max(most[kind], peak) for kind, peak in peaks(server).items()})
                return sending.is_alive()

            print(f"meanwhile: {answers(server, tokens, go_on)}", flush=True)
            print(f"{time.perf_counter() - began:.0f} s; {most}; {re.findall('The outlines had[^<]+', page[0])}")


if __name__ == "__main__":
    main()
