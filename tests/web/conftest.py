"""A small map, a study on it, and the people who use it."""

import django_ready  # isort: skip # noqa: F401 - before any model is imported

import contextlib
import hashlib
import io
import json
import warnings
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import geopandas
import numpy as np
import pyrage
import pytest
import shapely
from django.test import Client
from django.utils import timezone
from typer import Typer
from typer.testing import CliRunner

from judgemap.core.model.graph import AreaGraph
from judgemap.geo.drawing import draw_areas
from judgemap.geo.maps import Areas
from judgemap.study.data.definition import StudyDefinition
from judgemap.study.fit.settings import FitSettings
from judgemap.web.accounts.models import Researcher
from judgemap.web.api.access import ASKED
from judgemap.web.dashboard import counting
from judgemap.web.judge import answering as judging
from judgemap.web.judge import joining, pairs, places
from judgemap.web.results import actions, files, pages, running
from judgemap.web.results.models import FitRun
from judgemap.web.server import backup, jobs, worker
from judgemap.web.server.jobs import Job
from judgemap.web.server.limits import WRONG_GUESSES
from judgemap.web.server.sandbox import NEWS
from judgemap.web.studies import editing, making, maps
from judgemap.web.studies.basemap import making as basemap_making
from judgemap.web.studies.basemap import reading as basemap_reading
from judgemap.web.studies.models import Study
from judgemap.web.studies.upload import drafts, reading

SIDE = 4
QUICK = FitSettings(chains=2, warmup=5, draws=20, seed=1, alpha=2.0, as_in_paper=True)


def grid(side: int) -> Areas:
    """One-kilometre squares near Nottingham, named by row and column."""
    squares = [shapely.box(x, y, x + 1000, y + 1000) for y in range(0, side * 1000, 1000)
               for x in range(0, side * 1000, 1000)]  # fmt: skip
    geometry = geopandas.GeoSeries(squares, crs="EPSG:27700").translate(450_000, 340_000)
    places = np.arange(side * side).reshape(side, side)
    edges = np.concatenate([
        np.stack([places[:, :-1].ravel(), places[:, 1:].ravel()], axis=1),
        np.stack([places[:-1].ravel(), places[1:].ravel()], axis=1),
    ])  # fmt: skip
    ids = tuple(f"W{i:02}" for i in range(side * side))
    names = tuple(f"Ward {i // side + 1}.{i % side + 1}" for i in range(side * side))
    return Areas(ids, names, AreaGraph(side * side, edges), geometry)


@pytest.fixture(scope="session")
def areas() -> Areas:
    return grid(SIDE)


@pytest.fixture(scope="session")
def _drawn(areas):
    """The drawings of the map that nearly every test starts with."""
    return draw_areas(areas)


@pytest.fixture(autouse=True)
def _draw_once(monkeypatch, areas, _drawn):
    monkeypatch.setattr(
        making, "draw_areas", lambda given, *tell: _drawn if given is areas else draw_areas(given, *tell)
    )


@pytest.fixture
def definition() -> StudyDefinition:
    return StudyDefinition(
        title="Wards",
        question="Which ward has the LOWER rate?",
        direction="lower",
        design="uniform",
        recommended=3,
        maximum=5,
        languages=("en", "fr", "ar"),
        translations={
            "fr": {"question": "Quel quartier ?", "consent": "Je suis d'accord."},
            "ar": {"question": "أي حي؟", "consent": "أوافق."},
        },
        thanks="Many thanks.",
    )


@pytest.fixture
def study(db, areas, definition) -> Study:
    return editing.open_study(making.create_study(definition, areas))


@pytest.fixture(autouse=True)
def _fresh_process():
    """Clear what a process has cached from the database, which is a different one in each test."""
    for cached in (
        pairs._design, pairs._design_within, pairs._pieces, pairs._places, pairs._prior, pairs._unpacked,
        places.gazetteer, places.known_areas, places.region_names, judging._version, maps.map_facts,
        files._open_fit, pages.kept_rows, counting._rows_at,
    ):  # fmt: skip
        cached.cache_clear()
    pairs._STATES.clear()
    for brake in (WRONG_GUESSES, ASKED, *joining.JOINS):
        brake.forget()


@dataclass
class Visitor:
    """A judge at a browser."""

    client: Client
    token: str
    name: str

    def get(self, page: str = "", **headers):
        return self.client.get(f"/j/{self.token}/{page}", headers=headers)

    def post(self, page: str, **fields):
        return self.client.post(f"/j/{self.token}/{page}", fields)

    def agree(self, begin: str = "now"):
        return self.post("consent", agree="yes", begin=begin)

    def pair(self) -> dict:
        """The open pair, as the page's script gets it."""
        return json.loads(self.get(Accept="application/json").content)

    def last(self) -> dict:
        return json.loads(self.get("last", Accept="application/json").content)

    def answer(self, outcome: str, pair: str | None = None, **fields):
        fields = {"pair": pair or self.pair()["pair"], "outcome": outcome, **fields}
        return self.client.post(f"/j/{self.token}/answer", fields, headers={"Accept": "application/json"})

    @property
    def code(self) -> str:
        """The withdrawal code, as the page with the link shows it."""
        return self.get("link").context["code"]

    def withdraw(self):
        return self.client.post("/withdraw", {"code": self.code})


@pytest.fixture
def visit(study):
    """Make a new judge of the study, who has agreed."""

    def make(agreed: bool = True, of: Study | None = None) -> Visitor:
        invited = joining.invite(of or study, 1)[0]
        visitor = Visitor(Client(), invited.token, invited.name)
        if agreed:
            visitor.agree()
        return visitor

    return make


@pytest.fixture
def judge(visit) -> Visitor:
    return visit()


@pytest.fixture
def edit(study, definition):
    """Change the study's definition while it is open; return the study as it is then."""

    def change(**fields) -> Study:
        now = editing.find_study(study.slug)
        editing.edit_study(now, replace(editing.definition_of(now), **fields))
        return editing.find_study(study.slug)

    return change


@pytest.fixture
def data_folder(tmp_path) -> Path:
    """The folder of a server; commands that are given it use the test's database."""
    folder = tmp_path / "data"
    folder.mkdir(exist_ok=True)
    (folder / "secret-key").write_text("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    (folder / "judgemap.sqlite3").touch()
    return folder


@pytest.fixture
def scratch(transactional_db, django_db_blocker, settings, tmp_path) -> Path:
    """A data folder of the server, and permission to open scratch databases there besides the test's own."""
    settings.DATA = tmp_path / "data"
    settings.DATA.mkdir(exist_ok=True)
    with django_db_blocker.unblock():
        yield settings.DATA


@pytest.fixture
def run_command(db, data_folder):
    """Run a command of an app on the test's database, and return what it says; its mistakes are raised."""

    def run(app: Typer, *words: str, typed: str = "") -> str:
        where = [] if words[0] == "backup-key" else ["--data", str(data_folder)]
        result = CliRunner().invoke(app, [*words, *where], input=typed)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.output

    return run


@pytest.fixture
def later(monkeypatch):
    """Let some days pass."""

    def go(days: float) -> None:
        now = timezone.now() + timedelta(days=days)
        monkeypatch.setattr(timezone, "now", lambda: now)

    return go


PASSWORD = "four plain words here"  # noqa: S105


@pytest.fixture
def people(db) -> dict[str, Researcher]:
    """The researchers in every test: the study's owner, those it is shared with, and one it does not concern."""
    return {
        name: Researcher.objects.create_user(f"{name}@example.org", PASSWORD)
        for name in ("owner", "teammate", "stranger")
    }


class Browsers(dict[str, Client]):
    """A browser for each researcher, who signs in when it is first used, and one for somebody who has not signed in."""

    def __init__(self, people: dict[str, Researcher]) -> None:
        super().__init__(anonymous=Client())
        self.people = people

    def __missing__(self, name: str) -> Client:
        self[name] = Client()
        self[name].force_login(self.people[name])
        return self[name]


@pytest.fixture
def clients(people) -> dict[str, Client]:
    """Browsers of all the researchers, and of somebody who has not signed in."""
    return Browsers(people)


@pytest.fixture
def owned(study, people) -> Study:
    """The open study, owned and shared."""
    study.owner = people["owner"]
    study.save(update_fields=["owner"])
    study.colleagues.add(people["teammate"])
    return study


@pytest.fixture
def draft(people, areas, definition) -> Study:
    """One of the owner's studies, which nobody has opened."""
    return making.create_study(definition, areas, people["owner"])


@pytest.fixture
def quick_passphrases(monkeypatch):
    """Files that open with their passphrase alone, but are not encrypted: age's keys take seconds to derive."""

    def beginning(passphrase: str) -> bytes:
        return backup.WITH_PASSPHRASE + hashlib.sha256(passphrase.encode()).digest()

    def encrypt(content: bytes, passphrase: str) -> bytes:
        return beginning(passphrase) + content

    def decrypt(content: bytes, passphrase: str) -> bytes:
        if not content.startswith(beginning(passphrase)):
            raise pyrage.DecryptError("Decryption failed")
        return content.removeprefix(beginning(passphrase))

    monkeypatch.setattr(backup.scrypt, "encrypt", encrypt)
    monkeypatch.setattr(backup.scrypt, "decrypt", decrypt)


@pytest.fixture
def carry_out():
    """Do a waiting job as a worker would, with all its remaining steps; do nothing if it is not waiting."""

    def done(job: Job) -> None:
        claimed = type(job).claim(job.pk)
        if claimed is not None:
            list(claimed.carry_out() or ())
        job.refresh_from_db()

    yield done
    jobs.HERE.clear()
    jobs.STOPPING.clear()
    worker.LEFT.clear()


@pytest.fixture
def ask_fit():
    """Ask for a quick fit."""

    def asked(study: Study, settings: FitSettings = QUICK, **more) -> FitRun:
        return actions.ask_for_fit(study, settings, **more)

    return asked


@pytest.fixture
def make_fit(carry_out, monkeypatch):
    """Make a fit that waits, as a worker would, but of what explains it only the named steps; and return it."""
    steps, taken = running.steps, set()

    def quick(fit):
        return [(what, step if what in taken else lambda subject: None) for what, step in steps(fit)]

    def made(run: FitRun, *explained: str) -> FitRun:
        taken.update(explained)
        carry_out(run)
        return run

    monkeypatch.setattr(running, "steps", quick)
    return made


@pytest.fixture
def read_here(monkeypatch):
    """Read uploaded files in this process: a separate one, which `test_reading.py` tests, takes seconds to start."""

    def run(module, arguments, _folder, _environment, hear=None, _seconds=None):
        written, told = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(written), contextlib.redirect_stderr(told), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a reader's own process only prints them
            (basemap_reading if "basemap" in module else reading).main(list(arguments))
        for line in told.getvalue().splitlines() if hear else []:
            share, _, doing = line.removeprefix(NEWS).strip().partition(" ")
            hear(float(share), doing)
        return written.getvalue().encode()

    for module in (reading, basemap_reading):
        monkeypatch.setattr(module, "confine", lambda *_: [])
    for module in (drafts, basemap_making):
        monkeypatch.setattr(module, "run_reader", run)
