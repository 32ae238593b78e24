"""Starting and stopping the server, and the commands beside it."""

import json
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest
from steps import wait_until
from town_making import town

from judgemap.web.server.supervise import check_port

pytestmark = pytest.mark.slow


def test_first_start_makes_a_key_and_prints_a_link_good_once(server):
    key = server.folder / "data" / "secret-key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_text()) > 50
    assert re.search(rf"{server.address}/first/[\w-]{{22}}/", server.log)
    kept = key.read_text()
    server.stop()
    server.start()
    assert key.read_text() == kept


def test_files_are_private_and_withdrawn_words_are_gone_from_them(servers, areas):
    """In a folder that everybody can read, with a reason that a judge typed and took back."""
    live, words = servers("private", processes=1), "known only to me"
    data = live.folder / "data"
    data.mkdir(parents=True)
    data.chmod(0o755)
    live.start()
    _, judge = live.with_judge(areas)
    judge.post("answer", pair=judge.pair()["pair"], outcome="tie", reason=words)
    files = [path for path in data.iterdir() if path.is_file()]
    database = ("judgemap.sqlite3", "judgemap.sqlite3-wal", "judgemap.sqlite3-shm")
    locks = ("migrating", "collecting")  # held while several servers start on one folder
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in files} == dict.fromkeys(
        (*database, *locks, "secret-key", "address", "withdrawals"), 0o600
    )
    assert any(words.encode() in path.read_bytes() for path in files)
    code = re.search(r"[A-Z2-7]{4}(-[A-Z2-7]{4}){3}", judge.get("link").data.decode())[0]
    form = {"code": code, "csrfmiddlewaretoken": judge.csrf}
    page = live.request("POST", "/withdraw", form, {"Cookie": f"csrftoken={judge.csrf}"})
    assert page.status == 200
    assert not any(words.encode() in path.read_bytes() for path in files if path.exists())


def test_a_server_that_is_killed_leaves_the_port(server):
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait(30)
    check_port("127.0.0.1", server.port)
    server.start()
    assert server.stop() == 0


def test_an_address_of_this_machine_is_answered_under_its_own_name(servers):
    """As on a network without names: people type the number that the server was given."""
    live = servers("numbered", processes=1, options=("--host", "127.0.0.2"), host="127.0.0.2").start()
    assert live.request("GET", "/account/login/").status == 200
    assert live.request("GET", "/account/login/", headers={"Host": "192.0.2.1"}).status == 400


def test_a_process_that_is_killed_again_and_again_is_replaced(servers):
    live = servers("killed", processes=1).start()
    for count in range(1, 4):
        os.kill(web_process(live), signal.SIGKILL)
        wait_until(lambda done=count: live.log.count("ended unexpectedly") == done and is_up(live))
    assert live.stop() == 0


def web_process(live) -> int:
    """The only child of a server without workers; the resource tracker is none of its own."""
    children = Path(f"/proc/{live.process.pid}/task/{live.process.pid}/children").read_text().split()
    return int(children[-1])


def is_up(live) -> bool:
    with suppress(OSError):
        return live.request("GET", "/healthz").status == 200
    return False


@pytest.mark.postgres
def test_a_second_server_with_another_key_or_clock_is_refused(servers, database, monkeypatch):
    url = database("shared")
    first, second = (servers(f"shared-{name}", url) for name in "ab")
    first.start()
    with pytest.raises(AssertionError, match="secret key is not the one"):
        second.start()
    shutil.copy(first.folder / "data" / "secret-key", second.folder / "data" / "secret-key")
    ahead = "import time, runpy; real = time.time; time.time = lambda: real() + 60; "
    command = [sys.executable, "-c", ahead + "runpy.run_module('judgemap', run_name='__main__')"]
    monkeypatch.setattr(sys.modules[type(first).__module__], "JUDGEMAP", command)
    with pytest.raises(AssertionError, match="clock is 60 seconds ahead of the database's"):
        second.start()
    monkeypatch.undo()
    second.start()
    assert second.stop() == 0


PRINT = """
import json, sys
from pathlib import Path
from judgemap.web import start
start.use_data_folder(Path(sys.argv[1]))
from judgemap.web.server.backup import fingerprints
print(json.dumps(fingerprints("default")))
"""


CHANGED = ("studies.Act", "studies.LogHead", "accounts.ServerKey")
"""A backup is logged, and a restored database takes the next server's key."""


def rows_of(server) -> dict[str, str]:
    """A digest of every table, less those that a backup or a restore changes."""
    words = [sys.executable, "-c", PRINT, str(server.folder / "data")]
    done = subprocess.run(words, capture_output=True, text=True, env=server.environment(), check=True)
    return {name: rows for name, rows in json.loads(done.stdout).items() if name not in CHANGED}


@pytest.mark.postgres
def test_from_sqlite_to_postgres_and_back_encrypted(servers, database, areas):
    """Every row of every table is the same after both ways, and the judge's link goes on."""
    here, there, again = (
        servers(f"move-{name}", url) for name, url in (("here", ""), ("there", database("there")), ("again", ""))
    )
    here.start()
    slug = here.new_study(areas)
    here.study("basemap", slug, str(town().write(here.folder / "town.osm")))
    judge = here.invite(slug, 1)[0]
    judge.agree()
    for outcome in ("left", "tie", "right"):
        judge.answer(judge.pair()["pair"], outcome)
    here.stop()
    key = here.folder / "key"
    made = subprocess.run(
        [sys.executable, "-m", "judgemap", "study", "backup-key", str(key)], capture_output=True, text=True, check=True
    )
    before = rows_of(here)
    assert not before["studies.BaseMapTile"].startswith("0 ")
    for source, target in ((here, there), (there, again)):
        target.folder.mkdir()
        copy = source.folder / "copy.age"
        assert "every row matches" in source.study("backup", str(copy), "--to", made.stdout.strip(), "--verify")
        target.study("restore", str(copy), "--key", str(key))
        assert rows_of(target) == before
        assert "The log is intact" in target.study("verify")
    again.start()
    later = type(judge)(again, judge.name, judge.token, judge.csrf)
    assert later.answer(later.pair()["pair"], "left").status == 200
    assert again.stop() == 0


def test_answers_whose_day_is_over_do_not_come_back_with_a_backup(servers, areas):
    live = servers("over").start()
    _, judge = live.with_judge(areas)
    judge.answer(judge.pair()["pair"], "left")
    live.stop()
    with closing(sqlite3.connect(live.folder / "data" / "judgemap.sqlite3")) as database, database:
        database.execute("UPDATE studies_study SET answers_until = '2001-01-01'")
    live.study("backup", "copy.sqlite3")
    elsewhere = servers("over-elsewhere")
    elsewhere.folder.mkdir()
    assert "due to be deleted" in elsewhere.study("restore", str(live.folder / "copy.sqlite3"))
    assert "answers: 1" in elsewhere.study("retain")
    assert json.loads(elsewhere.study("list", "--json"))[0]["judged"] == 0


def test_nothing_about_judges_is_logged(server, areas):
    _, judge = server.with_judge(areas)
    judge.get(**{"User-Agent": "Mozilla/Special"})
    server.request("GET", f"/j/{judge.token}/nowhere")
    server.request("POST", f"/j/{judge.token}/answer", {})
    assert judge.token not in server.log
    assert "127.0.0.1" not in server.log.replace(server.address, "")
    assert "Special" not in server.log


def test_scripts_and_styles_are_compressed_and_kept(server, areas):
    _, judge = server.with_judge(areas)
    for path in re.findall(r'(?:src|href)="(/static/[^"]+)"', judge.get().data.decode()):
        response = server.request("GET", path, headers={"Accept-Encoding": "gzip"})
        assert response.status == 200
        assert "immutable" in response.headers["Cache-Control"]
        assert path.endswith(".svg") or response.headers["Content-Encoding"] == "gzip"
