"""The port that nobody else has, and the folder of a process, which goes with it."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from judgemap.errors import StudyError
from judgemap.web.server import supervise


@pytest.fixture
def taken(monkeypatch):
    """A port on which a server of granian's kind listens, ready to share it."""
    monkeypatch.setattr(supervise, "PATIENCE", 0.0)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        yield listener.getsockname()[1]


def test_a_port_is_not_shared_with_another_server(taken):
    with pytest.raises(StudyError, match=f"port {taken} is already in use; .* --port"):
        supervise.check_port("127.0.0.1", taken)


def test_a_free_port_stays_free(taken):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        free = listener.getsockname()[1]
    supervise.check_port("127.0.0.1", free)
    supervise.check_port("127.0.0.1", free)


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_an_address_of_another_machine(host):
    with pytest.raises(StudyError, match=r"cannot listen on .* --host"):
        supervise.check_port(host, 8000)


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
