"""What processes leave in the temporary folder when they are killed goes; what living ones have there stays."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from judgemap.web.server import supervise

HOLD = """
import sys, tempfile
from judgemap.web.server.supervise import use_own_folder
use_own_folder()
with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
    open(folder + "/answers.csv", "w").write("left")
    print(folder, flush=True)
    sys.stdin.read()
"""


def hold(folder: Path) -> tuple[subprocess.Popen, Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"TMPDIR": str(folder)},
    )  # fmt: skip
    return process, Path(process.stdout.readline().strip())


def test_only_what_the_dead_left_is_removed(tmp_path):
    other = tmp_path / "judgemap-of-somebody-else"
    other.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / f"{supervise.PREFIX}link").symlink_to(tmp_path / "outside")
    (dead, gone), (alive, stays) = hold(tmp_path), hold(tmp_path)
    assert gone.parents[1] == stays.parents[1] == tmp_path
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    assert (gone / "answers.csv").exists()
    supervise.sweep(tmp_path)
    assert not gone.parent.exists()
    assert (stays / "answers.csv").exists()
    assert other.exists()
    assert (tmp_path / "outside").exists()
    alive.communicate()
    assert not stays.parent.exists(), "a process that ends cleans up by itself"


def test_a_process_sweeps_when_it_starts(tmp_path):
    first, gone = hold(tmp_path)
    first.kill()
    first.communicate()
    second, _ = hold(tmp_path)
    assert not gone.exists()
    second.communicate()


def test_a_fork_shares_its_parents_folder_and_leaves_it_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    code = HOLD.replace("sys.stdin.read()", "import os; child = os.fork() or sys.exit(); os.wait(); sys.stdin.read()")
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    folder = Path(process.stdout.readline().strip())
    supervise.sweep(tmp_path)
    assert folder.parent.exists()
    process.communicate()
    assert list(tmp_path.iterdir()) == []
