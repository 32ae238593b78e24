"""Commands in a process that knows only its database, as a server's owner runs them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


def environment(database_url: str = "") -> dict[str, str]:
    """Return the environment of a process that knows only its database."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("JUDGEMAP", "DJANGO", "DATABASE"))
    }
    return kept | ({"DATABASE_URL": database_url} if database_url else {}) | {"PYTHONWARNINGS": "ignore"}


COMMANDS = """
import contextlib, io, json, sys
from judgemap.cli.main import main
done = []
for words in json.loads(sys.argv[1]):
    sys.argv, out, err, status = ["judgemap", *words], io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            status = stop.code or 0
    done.append([status, out.getvalue(), err.getvalue()])
print(json.dumps(done))
"""
"""Runs one command after another in one process: starting one takes longer than most commands."""


class Outcome(NamedTuple):
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str


def outcomes(*commands: list[str | Path], database_url: str = "") -> list[Outcome]:
    """Run commands, all on the same data folder, in a process of their own, as a server's owner does."""
    words = json.dumps([[str(word) for word in command] for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, words], capture_output=True, text=True, env=environment(database_url),
        check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return [Outcome(*each) for each in json.loads(done.stdout)]


def judgemap(*words: str | Path, database_url: str = "") -> str:
    """Run a command that succeeds, and return what it says."""
    (done,) = outcomes([*words], database_url=database_url)
    assert done.status == 0, done.out + done.err
    return done.out
