"""Tests that belong to every trial: a killed backup, a restarted database, clients that never read, a day that is over.

They are tests of the project, run as they are, so that what `make reliability` says and what the tests say is the same.
"""

import subprocess
import sys

from ground import ROOT

DRILLS = {
    "a backup without encryption is killed": ("tests/web/server/test_killed.py",),
    "answers whose day is over": ("tests/web/judge/test_retention.py", "-k", "crash"),
    "clients never read": ("tests/web/live/test_slow_clients.py", "-k", "never_read"),
    "PostgreSQL restarts": ("tests/web/live/test_fits_live.py", "-k", "restarts"),
}
LONG = {"PostgreSQL restarts"}


def run(*, quick: bool) -> None:
    """Run each, and stop at the first that fails; the longest are left out if it has to be quick."""
    for name, words in DRILLS.items():
        if quick and name in LONG:
            continue
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "slow or postgres or not slow", *words]
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        print(f"drills: {name}: {'passed' if status == 0 else 'failed'}")
        if status:
            raise SystemExit(status)
