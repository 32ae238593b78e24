"""A program reads on and on while judges answer at once, through several server processes: it misses nothing."""

import json
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from judgemap.web.judge.models import COMMITTED_AFTER

pytestmark = pytest.mark.slow
DOCS = Path(__file__).resolve().parents[3] / "docs" / "api.md"

MAKE = """
import sys
from pathlib import Path
from judgemap.web.start import connect
connect(Path(sys.argv[1]))
from judgemap.web.accounts.models import Researcher
from judgemap.web.api.tokens import make_token
from judgemap.web.studies.editing import find_study
study, owner = find_study(sys.argv[2]), Researcher.objects.create_user("owner@example.org", "four plain words here")
study.owner = owner
study.save(update_fields=["owner"])
print(make_token(study, owner, name="test", scopes=["comparisons:read"], days=7))
"""


def make_token(server, slug: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", MAKE, str(server.folder / "data"), slug],
        capture_output=True, text=True, env=server.environment(), cwd=server.folder, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_reader_among_many_writers(server, areas):
    slug = server.new_study(areas)
    token = make_token(server, slug)
    judges = server.invite(slug, 6)
    done = threading.Event()

    def play(judge) -> None:
        judge.agree()
        for number in range(30):
            pair = judge.pair()["pair"]
            judge.answer(pair, ("left", "right")[number % 2])
            if number % 5 == 4:
                judge.post("answer", pair=pair, outcome="tie", follows="1")

    def read(after: str) -> tuple[list, str, bool]:
        address = f"/api/v1/studies/{slug}/comparisons?limit=20&after={after}"
        response = server.request("GET", address, headers={"Authorization": f"Bearer {token}"})
        if response.status == 429:
            return [], after, True
        assert response.status == 200, response.data
        page = json.loads(response.data)
        return page["comparisons"], page["next"], page["more"]

    def play_all() -> None:
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(play, judges))
        time.sleep(COMMITTED_AFTER.total_seconds())
        done.set()

    players = threading.Thread(target=play_all)
    players.start()
    rows, after, more = [], "", True
    while more or not done.is_set():
        over = done.is_set()
        page, after, more = read(after)
        rows += page
        more = more or not over
        done.wait(0.1)
    players.join()
    keys = [(row["judge"], row["position"], row["revision"]) for row in rows]
    stored = server.table(slug, "revisions.csv")
    assert len(keys) == len(set(keys)), "none comes twice"
    assert set(keys) == {(row["judge"], int(row["position"]), int(row["revision"])) for row in stored}
    assert len(stored) == 6 * (30 + 6)


def test_the_python_example_of_the_documentation_runs(server, areas, tmp_path):
    slug, judge = server.with_judge(areas)
    for _ in range(5):
        judge.answer(judge.pair()["pair"], "left")
    time.sleep(COMMITTED_AFTER.total_seconds())
    code = re.search(r"```python\n(import os.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[1]
    code = code.replace("https://study.example.org", server.address).replace("/wards", f"/{slug}")
    environment = server.environment() | {"JUDGEMAP_TOKEN": make_token(server, slug)}
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint(len(answers))"],
        capture_output=True, text=True, env=environment, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "5", done.stderr
