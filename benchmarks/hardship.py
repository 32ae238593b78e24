"""Time judges while somebody makes it hard for the server; print a table and write benchmarks/results/hardship.json.

    .venv/bin/python benchmarks/hardship.py                 all of it, about five minutes
    .venv/bin/python benchmarks/hardship.py export draft    some of it

Twenty judges, who think for half a second, answer a server on SQLite with its default settings. Client, server and
whatever makes it hard share this machine, over loopback. "Unanswered" counts requests that failed or took over ten
seconds.
"""

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from judging import ROOT, Played, Server, play, write_map

JUDGES, THINKING = 20, 0.5
AREAS, LARGE = 76, 3141
STORED = 34_000
LONGEST = 10.0
FILL = """
import sys
from pathlib import Path
import numpy as np
from judgemap.web import start
start.use_data_folder(Path(sys.argv[1]))
from judgemap.study.data.comparisons import Comparisons
from judgemap.web.demo.study import store_answers
from judgemap.web.studies.editing import find_study
from judgemap.web.studies.models import Area
study, rng, n = find_study("bench"), np.random.default_rng(1), int(sys.argv[2])
ids = tuple(Area.objects.filter(study=study).order_by("position").values_list("code", flat=True))
left = rng.integers(0, len(ids), n)
right = (left + rng.integers(1, len(ids), n)) % len(ids)
judges = tuple(str(each) for each in range(n // 100))
store_answers(rng, study, Comparisons(ids, judges, np.arange(n) % len(judges), left, right, rng.integers(0, 2, n),
                                      rng.uniform(2, 9, n), np.full(n, np.nan), winner_is="lower"))
"""
EXPORT = """
import sys
from pathlib import Path
from judgemap.web import start
start.use_data_folder(Path(sys.argv[1]))
from judgemap.web.people.export import export_study
from judgemap.web.studies.editing import find_study
export_study(find_study("bench"), Path(sys.argv[1], sys.argv[2]))
"""
DRAFT = """
import os, sys
from pathlib import Path
from judgemap.web import start
start.use_data_folder(Path(sys.argv[1]))
from judgemap.web.accounts.models import Researcher
from judgemap.web.server import worker
from judgemap.web.studies.models import Draft, Upload
from judgemap.web.studies.upload.drafts import ask_for_draft
from judgemap.web.studies.upload.records import Chosen
os.nice(worker.NICENESS)
anna, _ = Researcher.objects.get_or_create(email="anna@example.org")
content = Path(sys.argv[2]).read_bytes()
upload = Upload.objects.create(researcher=anna, name="large.gpkg", content=content, inspection={})
ask_for_draft(upload, Chosen("Large", "Which?", "lower", id="id", name="name"), anna)
assert worker.take_one()
assert Draft.objects.get().status == "done", Draft.objects.get().said
"""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    hardship: str
    answers: int
    p50_ms: float
    p95_ms: float
    longest_ms: float
    unanswered: int


class Ground:
    """A running server with a study of its own for the judges, and what hardships need."""

    def __init__(self, folder: Path, server: Server, tokens: list[str]) -> None:
        self.folder, self.server, self.tokens = folder, server, tokens

    async def script(self, code: str, *words: str) -> None:
        """Run some Python on the server's data folder, in a separate process."""
        command = [sys.executable, "-c", code, str(self.server.data), *words]
        process = await asyncio.create_subprocess_exec(*command, env=self.server.environment)
        if await process.wait():
            raise RuntimeError("the script failed")

    async def hold(self, beginnings: list[str], seconds: float) -> None:
        """Send only the beginnings of requests; if the server gives one up, begin another."""

        async def one(beginning: str) -> None:
            while True:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
                writer.write(beginning.encode())
                await reader.read()
                writer.close()

        clients = [asyncio.create_task(one(each)) for each in beginnings]
        await asyncio.sleep(seconds)
        for each in clients:
            each.cancel()
        await asyncio.gather(*clients, return_exceptions=True)


Hardship = Callable[[Ground], Awaitable[None]]


async def nothing(ground: Ground) -> None:  # noqa: ARG001 - as the others
    """Leave the judges alone."""
    await asyncio.sleep(10)


async def export(ground: Ground) -> None:
    """Export the study three times at once."""
    await asyncio.gather(*(ground.script(EXPORT, f"{each}.zip") for each in range(3)))


async def draft(ground: Ground) -> None:
    """Make a draft of as many areas as the United States has counties, as a worker does."""
    await ground.script(DRAFT, str(ground.folder / "large.gpkg"))


async def slow_bodies(ground: Ground) -> None:
    """Keep open, for 20 seconds, 64 answers and 20 file uploads whose bodies never arrive."""
    answer = f"POST /j/{ground.tokens[0]}/answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\npair="
    upload = "POST /studies/new HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000000\r\n\r\na"
    await ground.hold([answer] * 64 + [upload] * 20, seconds=20)


async def idle_connections(ground: Ground) -> None:
    """Keep 300 connections that say nothing, and 300 with half a header, for 20 seconds."""
    await ground.hold([""] * 300 + ["GET / HTTP/1.1\r\nHost: local"] * 300, seconds=20)


HARDSHIPS: dict[str, Hardship] = {
    "nothing": nothing, "slow-bodies": slow_bodies, "idle": idle_connections, "export": export, "draft": draft,
}  # fmt: skip


async def judges_while(ground: Ground, hardship: Hardship) -> Played:
    """Let judges answer until the hardship is over."""
    over = asyncio.Event()

    async def suffer() -> None:
        await asyncio.sleep(1)
        await hardship(ground)
        over.set()

    task = asyncio.create_task(suffer())
    played = await play(ground.server, ground.tokens, THINKING, lambda: not over.is_set())
    await task
    return played


def measure(ground: Ground, name: str) -> Row:
    """Measure one line of the table."""
    played = asyncio.run(judges_while(ground, HARDSHIPS[name]))
    p50, p95, longest = (1000 * float(each) for each in np.quantile(played.times, [0.5, 0.95, 1.0]))
    unanswered = played.failed + sum(each > LONGEST for each in played.times)
    return Row(name, len(played.times), p50, p95, longest, unanswered)


def show(row: Row) -> None:
    """Print one line of the table."""
    times = f"{row.p50_ms:8.1f}{row.p95_ms:8.1f}{row.longest_ms:9.1f}"
    print(f"{row.hardship:24}{row.answers:8}{times}{row.unanswered:12}", flush=True)


def main() -> None:
    """Read the options, measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hardships", nargs="*", choices=[*HARDSHIPS, []], help="all, if left out")
    names = parser.parse_args().hardships or list(HARDSHIPS)
    print(f"{'judges while':24} answers     p50     p95  longest  unanswered   (ms)")
    rows = []
    with tempfile.TemporaryDirectory(prefix="judgemap-hardship-") as path:
        folder = Path(path)
        write_map(folder / "small.gpkg", AREAS)
        write_map(folder / "large.gpkg", LARGE)
        server = Server(folder / "data", "", None)
        tokens = server.make_study(folder / "small.gpkg", "principal", JUDGES)
        words = [sys.executable, "-c", FILL, str(server.data), str(STORED)]
        subprocess.run(words, env=server.environment, check=True)
        with server:
            for name in names:
                rows.append(measure(Ground(folder, server, tokens), name))
                show(rows[-1])
    if len(names) == len(HARDSHIPS):
        result = {
            "machine": {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
            "rows": [asdict(row) for row in rows],
        }
        (ROOT / "benchmarks" / "results" / "hardship.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
