"""What an installation takes: packages, megabytes, and CPU seconds to the demonstration's first map.

Builds the wheel, installs it into empty environments, and runs it there: ``python benchmarks/installing.py``. CPU
seconds are those of all processes together, with nothing compiled beforehand, as on a new machine; packages come from
uv's cache.
"""

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
UV = Path(sys.executable).with_name("uv")
PORT = 8243
Figures = dict[str, float]


def cpu_of(*words: object, cwd: Path = CHECKOUT) -> float:
    """Run a program to its end; return the CPU seconds of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in words], cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def install(folder: Path, wheel: Path, extras: str) -> Figures:
    """Install into an empty environment; return what that takes, and what is there afterwards."""
    took = cpu_of(UV, "venv", "--quiet", folder)
    given = ("--python", folder / "bin" / "python", "--constraint", CHECKOUT / "requirements.lock")
    took += cpu_of(UV, "pip", "install", "--quiet", *given, f"judgemap{extras} @ {wheel.as_uri()}")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    packages = len(list(folder.glob("lib/*/site-packages/*.dist-info")))
    return {"packages": packages, "MB": round(size / 1e6), "CPU s": round(took, 1)}


def tree_cpu(root: int) -> float:
    """Return the CPU seconds so far of a process and all its descendants, including those that have ended."""
    facts = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        facts[int(path.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    members = {root}
    while more := {pid for pid, (parent, _) in facts.items() if parent in members} - members:
        members |= more
    return sum(facts[pid][1] for pid in members if pid in facts) / os.sysconf("SC_CLK_TCK")


def fits_done(database: Path) -> int:
    """Return how many of the demonstration's fits are made."""
    try:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            return int(connection.execute("SELECT count(*) FROM results_fitrun WHERE status = 'done'").fetchone()[0])
    except sqlite3.OperationalError:  # there are no tables yet
        return 0


def demonstration(program: Path, folder: Path) -> Figures:
    """Start the demonstration; return the CPU seconds until its first map is ready."""
    words = [str(program), "demo", "--port", str(PORT)]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        while fits_done(folder / "demo" / "judgemap.sqlite3") == 0:
            time.sleep(0.5)
        return {"CPU s": round(tree_cpu(process.pid), 1)}
    finally:
        process.terminate()
        process.wait(60)


def main() -> None:
    """Measure, and print as JSON."""
    with tempfile.TemporaryDirectory(prefix="judgemap-installing-") as name:
        folder = Path(name)
        cpu_of(UV, "build", "--quiet", "--out-dir", folder / "dist")
        wheel = next((folder / "dist").glob("*.whl"))
        figures: dict[str, Figures] = {"wheel": {"MB": round(wheel.stat().st_size / 1e6, 2)}}
        figures["core"] = install(folder / "core", wheel, "")
        figures["server"] = install(folder / "server", wheel, "[server]")
        figures["first map of the demonstration"] = demonstration(folder / "server" / "bin" / "judgemap", folder)
        commands: dict[str, tuple[object, ...]] = {
            "import judgemap": (folder / "core" / "bin" / "python", "-c", "import judgemap"),
            "judgemap --help": (folder / "core" / "bin" / "judgemap", "--help"),
        }
        for what, words in commands.items():
            cpu_of(*words, cwd=folder)
            figures[what] = {"CPU s": round(min(cpu_of(*words, cwd=folder) for _ in range(3)), 2)}
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
