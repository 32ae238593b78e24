"""A reader of strangers' files can reach only Python, its libraries and its own folder."""

import json
import subprocess
import sys

import pytest

from judgemap.web.server import sandbox

pytestmark = pytest.mark.skipif(sandbox.missing_walls() != [], reason="this system lacks Landlock or seccomp")
TRIED = """
import ctypes, json, os, resource, socket, subprocess, sys, threading
from pathlib import Path
from judgemap.web.server.sandbox import confine
own, other = map(Path, sys.argv[1:3])
assert confine(own) == []
TGKILL = {"x86_64": 234, "aarch64": 131}[os.uname().machine]
linux = ctypes.CDLL(None, use_errno=True)
def call(*numbers):
    if linux.syscall(*numbers) < 0:
        raise OSError(ctypes.get_errno(), "refused")
acts = {
    "read its own": lambda: (own / "map").read_text(),
    "write its own": lambda: (own / "new").write_text("x"),
    "start a thread": lambda: threading.Thread(target=int).start(),
    "import": lambda: __import__("csv"),
    "read another": lambda: (other / "secret-key").read_text(),
    "write another": lambda: (other / "new").write_text("x"),
    "list another": lambda: os.listdir(other),
    "remove another": lambda: (other / "secret-key").unlink(),
    "read who is here": lambda: Path("/etc/passwd").read_text(),
    "read its parent's settings": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
    "call somebody": lambda: socket.create_connection(("127.0.0.1", 9)),
    "call by UDP": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "call a local socket": lambda: socket.socket(socket.AF_UNIX),
    "run a program": lambda: subprocess.run(["true"]),
    "fork": os.fork,
    "end its parent": lambda: os.kill(os.getppid(), 0),
    "end a thread of its parent": lambda: call(TGKILL, os.getppid(), os.getppid(), 0),
    "limit its parent": lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE),
    "slow its parent down": lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),
    "look at its own limits": lambda: resource.getrlimit(resource.RLIMIT_NOFILE),
    "end itself": lambda: call(TGKILL, os.getpid(), os.getpid(), 0),
    "fill memory": lambda: bytearray(1 << 30),
    "write much": lambda: (own / "long").write_bytes(bytes(2 << 20)),
}
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
could = []
for name, act in acts.items():
    try:
        act()
        could.append(name)
    except (OSError, MemoryError):
        pass
print(json.dumps(could))
"""


def test_a_reader_reaches_its_own_files_and_nothing_else(tmp_path):
    own, other = tmp_path / "own", tmp_path / "data"
    own.mkdir()
    other.mkdir()
    (own / "map").write_text("{}")
    (other / "secret-key").write_text("secret")
    done = subprocess.run([sys.executable, "-c", TRIED, str(own), str(other)], capture_output=True, check=True)
    assert json.loads(done.stdout) == [
        "read its own", "write its own", "start a thread", "import", "look at its own limits", "end itself",
    ]  # fmt: skip
    assert (other / "secret-key").read_text() == "secret"
