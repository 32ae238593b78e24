"""How much of our code a newcomer has to follow: files and functions for what people do most.

    python tools/walks.py

Chicago's map with simulated judges serves as the study; each walk is run once before it is counted, so that one-off
work is not included.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

OURS = str(Path(__file__).parent.parent / "src" / "judgemap")


@contextmanager
def counted(name: str) -> Iterator[None]:
    """Count what is called within, and print it; threads count too."""
    import threading

    passed: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _value: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(OURS) and not code.co_name.startswith("<"):
            passed.add((code.co_filename, code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    sys.stdout.write(f"{name}: {len({file for file, _ in passed})} files, {len(passed)} functions\n")


def twice(name: str, walk: Callable[[], None]) -> None:
    """Walk once, and count the second time."""
    walk()
    with counted(name):
        walk()


def fit_from_the_shell(folder: Path) -> None:
    """Count `judgemap fit`."""
    import judgemap as jm
    from judgemap.cli.main import app

    areas, data = jm.example_study(seed=1)
    data.to_frame().to_csv(folder / "comparisons.csv", index=False)
    areas.to_frame().to_file(folder / "areas.gpkg")
    words = [str(folder / "comparisons.csv"), "--areas", str(folder / "areas.gpkg"), "-o", str(folder / "fit")]
    options = ["--chains", "2", "--warmup", "20", "--draws", "50", "--seed", "1", "--force"]
    twice("judgemap fit", lambda: app(["fit", *words, *options], standalone_mode=False))


def plan_from_the_shell(folder: Path) -> None:
    """Count `judgemap plan`, after the fit has written its map."""
    from judgemap.cli.main import app

    words = ["--areas", str(folder / "areas.gpkg"), "--judges", "3", "--per-judge", "30", "--designs", "uniform"]
    options = ["--simulations", "6", "--cores", "1", "--seed", "1", "--force", "-o", str(folder / "plan.html")]
    twice("judgemap plan", lambda: app(["plan", *words, *options], standalone_mode=False))


def answers_and_fits(folder: Path) -> None:
    """Count an answer with the next pair, and a fit from the page."""
    from judgemap.web import start

    start.connect(folder / "data", create=True)
    from django.conf import settings
    from django.test import Client

    from judgemap.web.accounts.models import Researcher
    from judgemap.web.demo.study import prepare_demo
    from judgemap.web.judge import answering, joining
    from judgemap.web.server.worker import take_one

    settings.ALLOWED_HOSTS = ["*"]
    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    demo = prepare_demo(folder, 1, lambda _news: None)
    token = joining.invite(demo.open, 1)[0].token
    answering.give_consent(token, "en", 0)
    first = answering.current_pair(token)
    judge, pairs = Client(headers={"accept": "application/json"}), [first.token if first else ""]

    def answer() -> None:
        given = judge.post(f"/j/{token}/answer", {"pair": pairs[-1], "outcome": "left"})
        pairs.append(given.json()["pair"])

    twice("an answer, with the next pair", answer)
    client = Client()
    client.force_login(Researcher.objects.get(email=demo.email))
    quick = {"model": "spatial", "use": "all", "chains": 2, "warmup": 20, "draws": 50}

    def fit() -> None:
        if client.post(f"/studies/{demo.finished.slug}/fits/new", quick).status_code != 302:
            raise SystemExit("the form refuses the fit")
        while take_one():
            pass

    demo.finished.fits.all().delete()
    twice("a fit from the page", fit)


def uploads_and_backups(folder: Path) -> None:
    """Count an upload up to the open study, and a backup; the server's data are there already."""
    from django.test import Client

    from judgemap.web.accounts.models import Researcher
    from judgemap.web.server.worker import take_one

    client = Client()
    client.force_login(Researcher.objects.earliest("pk"))

    from django.core.files.uploadedfile import SimpleUploadedFile

    from judgemap.web.studies.models import Draft

    chosen = {
        "title": "Chicago",
        "question": "Which has the lower rate?",
        "direction": "lower",
        "id": "id",
        "name": "name",
        "contiguity": "queen",
    }

    def upload() -> None:
        file = SimpleUploadedFile("areas.gpkg", (folder / "areas.gpkg").read_bytes())
        step = client.post("/new/", {"boundaries": file})["Location"]
        if client.post(step, chosen).status_code != 302:
            raise SystemExit("the form refuses the map")
        while take_one("drafts"):
            pass
        study = Draft.objects.latest("pk").study
        if study is None:
            raise SystemExit("the worker made no study")
        client.post(f"/studies/{study.slug}/status", {"act": "open"})
        study.refresh_from_db()
        if study.status != "open":
            raise SystemExit("the study was not opened")

    twice("an upload, up to the open study", upload)

    from judgemap.cli.main import app

    def back_up() -> None:
        (folder / "backup.sqlite3").unlink(missing_ok=True)
        backup = str(folder / "backup.sqlite3")
        app(["study", "backup", backup, "--data", str(folder / "data")], standalone_mode=False)
        app(["study", "restore", backup, "--check", "--data", str(folder / "data")], standalone_mode=False)

    twice("a backup, and the check of a restore", back_up)


def main() -> None:
    """Count every walk."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        fit_from_the_shell(Path(folder))
        plan_from_the_shell(Path(folder))
        answers_and_fits(Path(folder))
        uploads_and_backups(Path(folder))


if __name__ == "__main__":
    main()
