"""Time a fit from the page, from the button to the map, on a server with its worker; write results/fitting.json.

    .venv/bin/python benchmarks/fitting.py

The study is the demonstration's: Chicago's 77 areas, 1,848 answers of twelve judges, on SQLite. A researcher signs in
and presses the button; the page of progress is requested every quarter of a second (a browser does so every second)
until it redirects to the map, and that page is read. Figures, pictures and briefing follow, and are timed too. Each fit
is requested after the one before has been explained, so that the worker is idle; nothing else should run.
"""

import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "browser"))
from visits import Page, Visitor  # noqa: E402 - after its path

PREPARE = """
import sys
from pathlib import Path
from judgemap.web import start
data = Path(sys.argv[1])
start.connect(data, create=True)
from judgemap.web.demo.study import prepare_demo
from judgemap.web.results.models import FitRun
made = prepare_demo(data, 1, lambda text: None)
FitRun.objects.all().delete()
print(made.email, made.password, made.finished.slug)
"""
PORT = 8911
TIMES = 3


def wait_for(visitor: Visitor, path: str, words: str, seconds: float = 300.0) -> Page:
    """Request a page until it, or the one it redirects to, contains some words."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        page = visitor.get(path)
        if words in page.text:
            return page
        time.sleep(0.25)
    raise TimeoutError(f"{path} did not come to {words!r} in {seconds} s")


def press(visitor: Visitor, slug: str, model: str) -> dict[str, float | str]:
    """Ask for a fit, and time the map and what follows."""
    form = visitor.get(f"/studies/{slug}/fits/new")
    began = time.perf_counter()
    page = visitor.post(form, model=model)
    number = re.search(r"/fits/(\d+)/", page.address)[1]  # type: ignore[index]
    wait_for(visitor, f"/studies/{slug}/fits/{number}/progress", "the risk map")
    shown = time.perf_counter() - began
    wait_for(visitor, f"/studies/{slug}/fits/{number}/files", "Download it (HTML)")
    explained = time.perf_counter() - began
    return {"model": model, "map_s": round(shown, 2), "briefing_s": round(explained, 2)}


def main() -> None:
    """Start the server, sign in, press the button some times, and write what was measured."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="judgemap-bench-") as folder:
        told = subprocess.run(
            [sys.executable, "-c", PREPARE, folder], capture_output=True, text=True, check=True
        ).stdout.split()
        words = [sys.executable, "-m", "judgemap", "serve", "--data", folder, "--port", str(PORT)]
        server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        try:
            visitor = Visitor(f"http://127.0.0.1:{PORT}")
            for _ in range(200):
                try:
                    login = visitor.get("/account/login/")
                    break
                except OSError:
                    time.sleep(0.2)
            visitor.post(login, login=told[0], password=told[1])
            time.sleep(15)
            for model in ["spatial"] * TIMES + ["standard", "clusters"]:
                rows.append(press(visitor, told[2], model))
                print(rows[-1], flush=True)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    result = {
        "machine": {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "study": {"areas": 77, "answers": 1848},
        "rows": rows,
    }
    (ROOT / "benchmarks" / "results" / "fitting.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
