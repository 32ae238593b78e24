"""Real processes, killed with SIGKILL at the worst moment: nothing to read is left, and nothing half done."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from judgemap.web.server.backup import make_key

WORDS = "a reason that was typed in confidence"
BEGIN = """
import os, signal, sys
from pathlib import Path
from judgemap.web import start
start.connect(Path(sys.argv[1]), create=True)
from judgemap.web.server import backup
from judgemap.web.studies.log import record
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
"""
FILL = f"""
from judgemap.web.accounts.models import Researcher
Researcher.objects.create_user("anna@example.org", "four plain words")
record(None, None, "noted", {{"words": {WORDS!r}}})
"""


def run(data: Path, code: str, *words: object) -> subprocess.CompletedProcess:
    environment = os.environ | {"TMPDIR": str(data.parent / "tmp")}
    environment.pop("DATABASE_URL", None)
    return subprocess.run(
        [sys.executable, "-c", BEGIN + code, str(data), *map(str, words)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A data folder with something confidential in its database."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "tmp").mkdir()
    (folder / "backups").mkdir()
    done = run(folder / "data", FILL)
    assert done.returncode == 0, done.stderr
    return folder


def readable(folder: Path) -> list[str]:
    """Name the files besides the database that have the confidential words."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("judgemap.sqlite3"))
    return [str(path) for path in files if WORDS.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("lock", "moment"),
    [("key", "backup._digest = die"), ("key", "backup.Lock.close = die"), ("", "os.fsync = die")],
)
def test_a_backup_that_is_killed_leaves_nothing_to_read(server, tmp_path, lock, moment):
    recipients = repr((make_key(tmp_path / "key"),)) if lock else "()"
    code = f"{moment}\nbackup.back_up(Path(sys.argv[2]), backup.Lock({recipients}), verify=True)"
    done = run(server / "data", code, server / "backups" / "copy")
    assert done.returncode == -9, done.stderr
    assert readable(server) == []
    assert list((server / "backups").iterdir()) == []


def test_a_restore_that_is_killed_leaves_nothing_to_read_and_nothing_half_done(server, tmp_path):
    path, new = server / "copy.age", tmp_path / "data"
    recipient = make_key(tmp_path / "key")
    done = run(server / "data", f"backup.back_up(Path(sys.argv[2]), backup.Lock(({recipient!r},)))", path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "tmp").mkdir()
    restore = """
with backup.opened(Path(sys.argv[2]), backup.Key(Path(sys.argv[3]))) as (copy, seal):
    backup.restore(Path(sys.argv[2]), copy)
"""
    for moment in ("backup._check_content = die", "backup.connection.check_constraints = die"):
        done = run(new, moment + restore, path, tmp_path / "key")
        assert done.returncode == -9, done.stderr
        assert readable(tmp_path) == []
        with closing(sqlite3.connect(new / "judgemap.sqlite3")) as database:
            assert database.execute("SELECT count(*) FROM studies_act").fetchone() == (0,)
    done = run(new, restore, path, tmp_path / "key")
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(new / "judgemap.sqlite3")) as database:
        assert database.execute("SELECT email FROM accounts_researcher").fetchone() == ("anna@example.org",)
