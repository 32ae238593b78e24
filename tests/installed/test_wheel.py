"""judgemap as users have it: built, installed outside the checkout into an empty environment, and used there.

`make test-wheel` runs what takes seconds, `make test-installed` all of it. Not part of `make test`: packages have to be
fetched, or at least unpacked.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest
from visits import demonstration, visit_demonstration

pytestmark = pytest.mark.installed
CHECKOUT = Path(__file__).resolve().parents[2]
NOBODY = 65534
STUDY = """
import judgemap as jm
areas, data = jm.example_study(seed=1)
areas.to_frame().to_file("areas.gpkg")
data.to_frame().to_csv("comparisons.csv", index=False)
"""
FRENCH = """
import django
from django.utils import translation
django.setup()
with translation.override("fr"):
    print(translation.gettext("Skip"))
"""
FIT = ("fit", "comparisons.csv", "--areas", "areas.gpkg", "-o", "results", "--seed", "1", "--draws", "100")


def run(*words, cwd, env=None, check=True, **options):
    """Run a program as a user would, without the checkout's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUDGEMAP", "DJANGO", "PYTHON"))}
    done = subprocess.run(  # noqa: PLW1510 - checked below, with what was said
        [str(word) for word in words], cwd=cwd, env=kept | (env or {}), capture_output=True, text=True, **options
    )
    assert not check or done.returncode == 0, f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done


def uv(*words):
    return run(Path(sys.executable).parent / "uv", *words, cwd=CHECKOUT)


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    uv("build", "--quiet", "--out-dir", folder)
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


def python_for_all():
    """Return a Python that other users can run too, if there is one: ours may be in somebody's home."""
    ours = Path(sys.executable).resolve()
    closed = any(not parent.stat().st_mode & 0o001 for parent in ours.parents)
    system = shutil.which("python3", path="/usr/bin")
    return system if closed and system else sys.executable


def environment(folder, wheel, extras=""):
    """Make an empty environment, with the wheel and the versions of requirements.lock; return its bin folder."""
    uv("venv", "--quiet", "--python", python_for_all(), folder)
    python = folder / "bin" / "python"
    locked = CHECKOUT / "requirements.lock"
    uv("pip", "install", "--quiet", "--python", python, "--constraint", locked, f"judgemap{extras} @ {wheel.as_uri()}")
    return python.parent


@pytest.fixture(scope="session")
def server(built, tmp_path_factory):
    """An environment with the server, for every user to read."""
    folder = tmp_path_factory.mktemp("with-server")
    for parent in (folder, *folder.parents[:3]):
        with contextlib.suppress(PermissionError):
            parent.chmod(parent.stat().st_mode | 0o055)
    return environment(folder / "venv", built[1], "[server]")


@pytest.fixture(scope="session")
def core(built, tmp_path_factory):
    """An environment with the library and nothing else."""
    return environment(tmp_path_factory.mktemp("core") / "venv", built[1])


@pytest.fixture
def study(server, tmp_path):
    """A folder with the files of a study, made by the installed package."""
    run(server / "python", "-c", STUDY, cwd=tmp_path)
    return tmp_path


def tracked(folder):
    """Return the files of a folder of the checkout that belong to it."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", folder, cwd=CHECKOUT)
    return [name for name in listed.stdout.splitlines() if (CHECKOUT / name).exists()]


def test_the_wheel_is_complete(built):
    names = set(zipfile.ZipFile(built[1]).namelist())
    missing = [name for name in tracked("src") if name.removeprefix("src/") not in names]
    assert not missing
    compiled = {name.removeprefix("src/").replace(".po", ".mo") for name in tracked("src") if name.endswith(".po")}
    assert compiled
    assert compiled <= names
    assert any(name.endswith("dist-info/licenses/LICENSE") for name in names)


def test_the_sdist_is_complete(built):
    with tarfile.open(built[0]) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    wanted = [name for folder in ("src", "tests", "docs", "hatch_build.py", "CHANGELOG.md") for name in tracked(folder)]
    assert [name for name in wanted if name not in names] == []


def test_a_fit_at_the_shell(server, study):
    run(server / "judgemap", *FIT, cwd=study)
    assert (study / "results" / "areas.csv").read_text(encoding="utf-8").count("\n") == 78


@contextlib.contextmanager
def serving(command, folder, env=None, **options):
    """Run the server on a free port; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [str(command), "serve", "--data", "data", "--port", str(port), "--workers", "0"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUDGEMAP", "DJANGO", "PYTHON"))}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(words, cwd=folder, env=kept | (env or {}), stdout=log, stderr=log, **options)
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(600):
            assert process.poll() is None, (folder / "log").read_text()
            with contextlib.suppress(OSError):
                page_of(f"{address}/healthz")
                break
            time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def page_of(address):
    with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310 - our own server
        return answer.read().decode()


def test_pages_have_their_styles_and_translations(server, tmp_path):
    with serving(server / "judgemap", tmp_path) as address:
        page = page_of(f"{address}/withdraw")
        style = re.search(r'href="(/static/[^"]+\.css)"', page)
        assert page_of(address + style[1])
    assert not (tmp_path / "data" / "locale").exists(), "a wheel has its translations compiled"
    asked = {"JUDGEMAP_DATA": str(tmp_path / "data"), "DJANGO_SETTINGS_MODULE": "judgemap.web.settings"}
    assert run(server / "python", "-c", FRENCH, cwd=tmp_path, env=asked).stdout == "Passer\n"


def test_the_library_alone_says_which_part_is_missing(core, tmp_path):
    there = run(core / "python", "-c", "import django", cwd=tmp_path, check=False)
    assert "No module named 'django'" in there.stderr
    for command in (("serve",), ("demo",), ("worker",), ("study", "list"), ("researcher", "list")):
        done = run(core / "judgemap", *command, cwd=tmp_path, check=False)
        assert done.returncode == 2
        assert done.stderr == f'judgemap {command[0]} needs the server: pip install "judgemap[server]"\n'
    run(core / "judgemap", "serve", "--help", cwd=tmp_path)
    assert not list(tmp_path.iterdir()), "nothing is made on the way"


@pytest.mark.slow
def test_the_library_alone_fits_and_reports(core, tmp_path):
    """Slow: a core install compiles its own machine code first."""
    run(core / "python", "-c", STUDY, cwd=tmp_path)
    run(core / "judgemap", *FIT, cwd=tmp_path)
    run(core / "judgemap", "report", "results", "-o", "report.html", "--next-steps", "Visit.", cwd=tmp_path)
    assert "data:image/svg" in (tmp_path / "report.html").read_text(encoding="utf-8")
    done = run(core / "judgemap", "export", "results", "-o", "wards.parquet", cwd=tmp_path, check=False)
    assert done.stderr == 'judgemap export needs pyarrow: pip install "judgemap[parquet]"\n'
    (tmp_path / "data.rda").write_bytes(b"")
    done = run(core / "judgemap", "import", "speedybbt", "data.rda", "-o", "wards", cwd=tmp_path, check=False)
    assert done.stderr == 'judgemap import needs rdata: pip install "judgemap[r]"\n'


@pytest.mark.slow
def test_another_user_and_no_home(server, study, tmp_path):
    """Slow: machine code is compiled again, because nothing can be cached next to the packages or at home."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    shutil.chown(study, NOBODY)
    for parent in (study, *study.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o055)
    try:
        run(server / "python", "-c", "", cwd=study, user=NOBODY)
    except PermissionError:
        pytest.skip("other users cannot run this Python, which is in somebody's home")
    other = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "env": {"HOME": "/nonexistent"}}
    run(server / "judgemap", *FIT, cwd=study, **other)
    with serving(server / "judgemap", study, **other) as address:
        assert "</html>" in page_of(f"{address}/withdraw")


@pytest.mark.slow
def test_the_whole_demonstration(server, tmp_path):
    """Slow: two fits with all their pictures, and about 140 pages."""
    with demonstration([str(server / "judgemap")], tmp_path / "demo") as started:
        assert visit_demonstration(started) == []
