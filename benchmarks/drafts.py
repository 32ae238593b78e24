"""Time drafts in the background and the pages of large maps; print tables and write benchmarks/results/drafts.json.

    .venv/bin/python benchmarks/drafts.py            100, 262, 2,113 and 3,141 areas, about two minutes
    .venv/bin/python benchmarks/drafts.py --judging  judges answer meanwhile: with and without a draft of 3,141 areas

A draft is timed from the moment a worker takes it, including the reader of the file. CPU time is that of this process
and the reader, because other work on the machine disturbs it least. Pages are requested in this process, three times
each. Judging is timed before a draft is made and while it is made, with 20 judges who think for a second.
"""

import asyncio
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from judgemap.web import start
from judging import ROOT, Played, Server, play, seconds_long, write_map

SIZES = (100, 262, 2113, 3141)
ALLOWED = {100: 3, 262: 5, 2113: 20, 3141: 30}
PAGES = ("", "map", "texts", "judging", "log", "colleagues", "delete", "judges")
"""A study's own pages; those of uploads are timed beside them."""


DRAFT = """
import sys
from pathlib import Path
from judgemap.web import start
start.use_data_folder(Path(sys.argv[1]))
import time
from drafts import ask
draft = ask(Path(sys.argv[2]))[0]
while not draft.over:
    time.sleep(0.5)
    draft.refresh_from_db()
sys.exit(draft.study is None)
"""


def cpu() -> float:
    """Return the CPU time of this process and of those that it ran."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> int:
    """Make the drafts, ask for the pages, and write the results."""
    if "--judging" in sys.argv:
        return time_judging()
    with tempfile.TemporaryDirectory(prefix="judgemap-drafts-") as path:
        folder = Path(path)
        start.connect(folder / "data", create=True)
        start.collect_static()
        rows = [measure(folder, size) for size in SIZES]
    result = {
        "machine": {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "rows": rows,
    }
    (ROOT / "benchmarks" / "results" / "drafts.json").write_text(json.dumps(result, indent=1) + "\n")
    return 0


def measure(folder: Path, size: int) -> dict[str, object]:
    """Make a draft of ``size`` areas, and time its pages."""
    map_path = folder / f"{size}.gpkg"
    write_map(map_path, size)
    draft, looked, used, passed = make_draft(map_path)
    pages = time_pages(draft.asked_by, draft.upload_id, draft.study.slug)
    slowest = max(pages, key=lambda page: pages[page])
    print(
        f"{size:6,} areas: looked at in {looked:.1f} s of CPU, made in {used:.1f} s of CPU and {passed:.1f} s "
        f"(at most {ALLOWED[size]}); slowest page {slowest!r}, {1000 * pages[slowest]:.0f} ms of CPU",
        flush=True,
    )
    return {"areas": size, "look_cpu_s": looked, "cpu_s": used, "wall_s": passed, "allowed_s": ALLOWED[size],
            "pages_cpu_s": pages}  # fmt: skip


def make_draft(map_path: Path) -> tuple[Any, float, float, float]:
    """Upload a map and make a draft of it; return it, the CPU time of inspecting and of making, and its seconds."""
    from judgemap.web.server.worker import take_one

    draft, looked = ask(map_path)
    began, at = cpu(), time.perf_counter()
    take_one()
    used, passed = cpu() - began, time.perf_counter() - at
    draft.refresh_from_db()
    if draft.study is None:
        raise RuntimeError(draft.said)
    return draft, looked, used, passed


def ask(map_path: Path) -> tuple[Any, float]:
    """Upload a map and ask for a draft of it; return it, with the CPU time of inspecting the file."""
    from judgemap.web.accounts.models import Researcher
    from judgemap.web.studies.upload.drafts import ask_for_draft, keep_upload
    from judgemap.web.studies.upload.records import Chosen

    anna, _ = Researcher.objects.get_or_create(email="anna@example.org")
    began = cpu()
    upload = keep_upload(anna, _Sent(map_path), "")  # type: ignore[arg-type]
    looked = cpu() - began
    chosen = Chosen(f"{map_path.stem} areas", "Which?", "lower", id="id", name="name")
    return ask_for_draft(upload, chosen, anna), looked


def time_judging() -> int:
    """Let 20 judges answer on SQLite, before and while a draft of 3,141 areas is made, and print how long they wait."""
    with tempfile.TemporaryDirectory(prefix="judgemap-drafts-") as path:
        folder = Path(path)
        for size in (100, SIZES[-1]):
            write_map(folder / f"{size}.gpkg", size)
        server = Server(folder / "data", "", None)
        server.more = ["--workers", "1"]
        tokens = server.make_study(folder / "100.gpkg", "principal", 20)
        with server:
            asyncio.run(play(server, tokens[:1], 0.0, seconds_long(1)))
            show_waiting("without a draft", asyncio.run(play(server, tokens, 1.0, seconds_long(20))))
            words = [sys.executable, "-c", DRAFT, str(folder / "data"), str(folder / f"{SIZES[-1]}.gpkg")]
            with subprocess.Popen(words, env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)}) as making:
                show_waiting("meanwhile", asyncio.run(play(server, tokens, 1.0, lambda: making.poll() is None)))
    return making.returncode


def show_waiting(when: str, played: Played) -> None:
    """Print how long judges waited for the next pair."""
    p50, p95, most = (1000 * float(each) for each in np.quantile(played.times, [0.5, 0.95, 1]))
    print(
        f"{when}: {len(played.times)} answers in {played.wall:.0f} s, p50 {p50:.0f} ms, p95 {p95:.0f} ms, "
        f"at most {most:.0f} ms, failed {played.failed}; load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


class _Sent:
    """A file as a browser sends it."""

    def __init__(self, path: Path) -> None:
        self.name, self._content = path.name, path.read_bytes()
        self.size = len(self._content)

    def read(self) -> bytes:
        return self._content


def time_pages(researcher: object, upload: int, slug: str) -> dict[str, float]:
    """Ask for each page three times, and return the least CPU time that one took."""
    from django.test import Client

    client = Client(headers={"host": "localhost"})
    client.force_login(researcher)  # type: ignore[arg-type]
    times = {}
    for page in [*(f"/studies/{slug}/{name}" for name in PAGES), "/studies/", "/new/", f"/new/{upload}/"]:
        taken = []
        for _ in range(3):
            began = time.process_time()
            response = client.get(page)
            taken.append(time.process_time() - began)
            if response.status_code != 200:
                raise RuntimeError(f"{page}: {response.status_code}")
        times[page.replace(slug, "SLUG")] = min(taken)
    return times


if __name__ == "__main__":
    sys.exit(main())
