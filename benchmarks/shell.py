"""Time whole fits from the shell, as a person waits for them; write shell.json.

    .venv/bin/python benchmarks/shell.py [--rounds 3] [--panel] [name ...]

Seconds by the clock are kept only if nothing else runs; CPU seconds are those of the whole command. Both are the
fastest of some rounds, after one that compiles what is not compiled yet. ``--panel`` adds Dar es Salaam's judges, which
take minutes. Bytecode is kept, as it is for everybody who installed judgemap. All but Chicago needs ../shared/data.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

import judgemap as jm
from judgemap.core.model.car import intrinsic_car
from judgemap.core.model.judges import Panel, answer
from judgemap.core.model.outcomes import TieRule

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
NOTTINGHAMSHIRE, DAR = SHARED / "nottinghamshire", SHARED / "dar_es_salaam"
BUSY = 2.5
"""With a load above this, other people are at work on the two cores, and the clock says nothing."""
RESULTS = ROOT / "benchmarks" / "results" / "shell.json"
FIRST = 30
JUDGES, EACH, ALPHA, SIGMA = 50, 40, 2.0, 1.0


def write(path: Path, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Path:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def chicago(folder: Path, rule: TieRule | None) -> list[str]:
    """Let 50 judges who differ (σ/α = ½) answer 40 pairs each of Chicago's areas."""
    areas, rng = jm.chicago(), np.random.default_rng(1)
    C, nothing = intrinsic_car(areas.graph), np.zeros(JUDGES)
    views, scales = SIGMA * C.draw(rng, JUDGES), {"tie_chance": 0.2} if rule else {}
    panel = Panel(ALPHA * C.draw(rng, 1)[0], views, nothing, nothing + 1, nothing, scales)
    judge, left = np.repeat(np.arange(JUDGES), EACH), rng.integers(len(areas), size=JUDGES * EACH)
    right = (left + rng.integers(1, len(areas), size=len(left))) % len(areas)
    words = np.array(["right", "tie", "left"])[answer(rng, panel, rule, judge, left, right) + 1]
    ids, edges = areas.ids, areas.graph.edges
    rows = ((f"j{k}", ids[i], ids[j], word) for k, i, j, word in zip(judge, left, right, words, strict=True))
    answers = write(folder / "answers.csv", ("judge", "left", "right", "outcome"), rows)
    borders = write(folder / "edges.csv", ("area_a", "area_b"), ((ids[i], ids[j]) for i, j in edges))
    return [str(answers), "--edges", str(borders)]


def nottinghamshire(folder: Path, answers: int | None = None) -> list[str]:
    """Take the whole study, or its first answers."""
    lines = (NOTTINGHAMSHIRE / "comparisons.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "answers.csv").write_text("".join(lines[: None if answers is None else answers + 1]), encoding="utf-8")
    places = ["--edges", str(NOTTINGHAMSHIRE / "edges.csv"), "--area-names", str(NOTTINGHAMSHIRE / "areas.csv")]
    return [str(folder / "answers.csv"), *places]


def dar_es_salaam(folder: Path) -> list[str]:
    """Take the answers with their judges."""
    with (DAR / "judges.csv").open(encoding="utf-8") as file:
        rows = [(row["judge"], row["richest"], row["poorest"]) for row in csv.DictReader(file)]
    answers = write(folder / "answers.csv", ("judge", "winner", "loser"), rows)
    return [str(answers), "--edges", str(DAR / "edges.csv")]


STUDIES = {
    "Nottinghamshire, plain (12 judges who differ)": nottinghamshire,
    "its first 30 answers (two judges), plain": lambda folder: nottinghamshire(folder, FIRST),
    "Nottinghamshire, `--as-in-paper`": lambda folder: [*nottinghamshire(folder), "--as-in-paper"],
    "Nottinghamshire, `--smoothness infer`": lambda folder: [*nottinghamshire(folder), "--smoothness", "infer"],
    "Chicago's 77 areas, 50 judges of 40 answers, plain": lambda folder: chicago(folder, None),
    "the same with ties": lambda folder: chicago(folder, TieRule.RAO_KUPPER),
}
PANEL = "Dar es Salaam's 452 subwards, 173 judges, 65,278 answers, plain"


def fit(folder: Path, words: list[str]) -> dict[str, float]:
    """Run `judgemap fit`; return its seconds by the clock and of CPU, and its peak memory."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "judgemap", "fit", *words, "--seed", "1", "--force", "-o", str(folder / "out")]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    clock, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return {"clock": clock, "cpu": cpu, "memory_MB": after.ru_maxrss / 1024}


def measure(make: Callable[[Path], list[str]], rounds: int) -> dict[str, float | str]:
    """Fit some rounds, after one that compiles; return the fastest, and how it was sampled."""
    with tempfile.TemporaryDirectory(prefix="judgemap-bench-") as name:
        folder = Path(name)
        words = make(folder)
        times = [fit(folder, words) for _ in range(rounds + 1)]
        made = json.loads((folder / "out" / "fit.json").read_text(encoding="utf-8"))
    found, least = made["diagnostics"], min(times[1:] or times, key=lambda each: each["clock"])
    draws = f"{made['plan']['chains']} × {made['plan']['draws']:,}"
    sampled = {"draws": draws, "rhat": found["rhat_max"], "ess": found["ess_bulk_min"], "sampling": made["seconds"]}
    if os.getloadavg()[0] > BUSY:
        del least["clock"], sampled["sampling"]
    return {**least, "cpu": min(each["cpu"] for each in times[1:] or times), **sampled}


def main() -> None:
    """Time, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--panel", action="store_true")
    parser.add_argument("names", nargs="*", help="parts of the names of the fits to time; all by default")
    wanted = parser.parse_args()
    rows = json.loads(RESULTS.read_text(encoding="utf-8")).get("fits", {}) if RESULTS.exists() else {}
    for name, make in (STUDIES | ({PANEL: dar_es_salaam} if wanted.panel else {})).items():
        asked = not wanted.names or any(part in name for part in wanted.names)
        if asked:
            rows[name] = measure(make, 0 if name == PANEL else wanted.rounds)
            print(name, rows[name], flush=True)
    ordered = {name: rows[name] for name in (*STUDIES, PANEL) if name in rows}
    RESULTS.write_text(json.dumps({"fits": ordered}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
