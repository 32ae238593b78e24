import contextlib
import os
import pty
import shutil
import signal
import subprocess
import sys
from typing import NamedTuple

import pytest

from judgemap.cli.main import main


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


QUICK = ["--chains", "2", "--draws", "50", "--seed", "1"]


@pytest.fixture
def judgemap(monkeypatch, capsys):
    """Run the command in this process, as the shell would: status, standard output, standard error."""

    def run(*words) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["judgemap", *map(str, words)])
        status = 0
        try:
            main()
        except SystemExit as stop:
            status = stop.code or 0
        out, err = capsys.readouterr()
        return Outcome(status, out, err)

    return run


@pytest.fixture
def stopped():
    """Run the command on a terminal until it has shown something, stop it, and return what it showed and its status."""

    def run(*words, once: bytes, by: signal.Signals = signal.SIGINT) -> tuple[str, int]:
        command, (terminal, inside) = [sys.executable, "-m", "judgemap", *map(str, words)], pty.openpty()
        with subprocess.Popen(command, stdout=inside, stderr=inside, start_new_session=True) as process:
            os.close(inside)
            shown = b""
            while once not in shown:
                shown += os.read(terminal, 4096)
            os.killpg(process.pid, by)
            with contextlib.suppress(OSError):  # the terminal is closed when the last process has ended
                while more := os.read(terminal, 4096):
                    shown += more
        return " ".join(shown.decode().split()), process.returncode

    return run


@pytest.fixture
def edges(tmp_path):
    """Six areas in a ring, without a map: the options that name them."""
    (tmp_path / "edges.csv").write_text("area_a,area_b\n" + "".join(f"{i},{i % 6 + 1}\n" for i in range(1, 7)))
    names = ("Ash", "Beech", "Cedar", "Dogwood", "Elm", "Fir")
    (tmp_path / "areas.csv").write_text("id,name\n" + "".join(f"{i},{name}\n" for i, name in enumerate(names, 1)))
    return ["--edges", tmp_path / "edges.csv", "--area-names", tmp_path / "areas.csv"]


@pytest.fixture
def comparisons(tmp_path):
    rows = ["judge,left,right,outcome"]
    rows += [f"{1 + k % 3},{1 + k % 5},{6 - k % 2 * (k % 5 < 4)},{('left', 'right', 'left')[k % 3]}" for k in range(40)]
    path = tmp_path / "comparisons.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="session")
def fits(tmp_path_factory):
    """A folder for fits that many tests begin with."""
    return tmp_path_factory.mktemp("fits")


@pytest.fixture
def results(judgemap, edges, comparisons, tmp_path, fits):
    """A copy of the folder of a plain fit, which is made once."""
    if not (fits / "plain").exists():
        assert judgemap("fit", comparisons, *edges, "-o", fits / "plain", *QUICK).status == 0
    return shutil.copytree(fits / "plain", tmp_path / "results")
