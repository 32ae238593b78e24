"""Every line of the README and the documentation that installs judgemap, run as it stands in an empty environment."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.installed, pytest.mark.slow]
CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
LINE = re.compile(r"(?:python3 -m venv (\S+) && )?(?:\S+/)?(?:pipx?|uv tool) install [^`#\n]*[^`#\s]")
ELSEWHERE = "/opt/judgemap"
"""Where the documentation installs a server; a test installs it into a folder of its own."""


def install_lines():
    """Every such line once, with the page that has it."""
    found = {}
    for page in PAGES:
        for line in LINE.finditer(page.read_text(encoding="utf-8")):
            found.setdefault(line[0], page.name)
    return found


def test_no_line_is_overlooked():
    lines = install_lines()
    assert {"pipx install '.[server]'", "pip install .", "pip install --upgrade '.[server]'"} <= set(lines)
    assert all("'.[" in line or line.endswith(" .") for line in lines), "judgemap is in no registry yet"


@pytest.fixture(scope="session")
def pipx(tmp_path_factory):
    """A folder with pipx."""
    folder = tmp_path_factory.mktemp("pipx")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", "pipx"], check=True)
    return folder


@pytest.mark.parametrize("line", install_lines())
def test_the_line_installs_a_judgemap_that_works(line, pipx, tmp_path):
    checkout = tmp_path / "checkout"
    shutil.copytree(CHECKOUT, checkout, ignore=shutil.ignore_patterns(".venv", ".git", "site", "demo", "__pycache__"))
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    programs = tmp_path / "programs"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUDGEMAP", "DJANGO", "PYTHON"))}
    folders = [programs, tmp_path / "opt" / "bin", tmp_path / "empty" / "bin", pipx / "bin", "/usr/bin", "/bin"]
    kept |= {
        "PATH": os.pathsep.join(map(str, folders)),
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(programs),
        "PIPX_DEFAULT_PYTHON": sys.executable,
    }

    def shell(words):
        asked = ["bash", "-ec", words]
        return subprocess.run(asked, cwd=checkout, env=kept, capture_output=True, text=True, check=False)

    done = shell(line.replace(ELSEWHERE, str(tmp_path / "opt")))
    assert done.returncode == 0, done.stdout + done.stderr
    assert shell("judgemap --version").stdout.startswith("judgemap 0.")
    served = shell("judgemap study list --data none")
    needed = 'judgemap study needs the server: pip install "judgemap[server]"'
    assert (needed in served.stderr) == ("[server]" not in line), served.stderr
    if line == "pip install .":
        assert shell('pip install "judgemap[server]"').returncode == 0, "what that sentence says works"
        assert needed not in shell("judgemap study list --data none").stderr
