"""Time whole fits of Nottinghamshire from the shell: the first after installing, and later ones; write shell.json.

    .venv/bin/python benchmarks/shell.py [--rounds 3]

The first run finds no machine code cached by an earlier one. CPU seconds are those of the whole command, the fastest of
some rounds; wall seconds are from the same round, and mean something only if nothing else runs. Without ../shared/data
there is nothing to time.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data" / "nottinghamshire"
FITS = {"default": [], "judges differ": ["--judges-differ"]}


def fit(folder: Path, *options: str) -> tuple[float, float]:
    """Run `judgemap fit`; return its CPU and wall seconds."""
    words = [str(SHARED / "comparisons.csv"), "--edges", str(SHARED / "edges.csv")]
    words += ["--area-names", str(SHARED / "areas.csv"), "--seed", "1", "--force", "-o", str(folder / "out"), *options]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "machine-code")}
    subprocess.run([sys.executable, "-m", "judgemap", "fit", *words], env=environment, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall


def main() -> None:
    """Time, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    if not SHARED.is_dir():
        print("../shared/data is absent: nothing is timed")
        return
    rows = {}
    for name, options in FITS.items():
        with tempfile.TemporaryDirectory(prefix="judgemap-bench-") as folder:
            first = fit(Path(folder), *options)
            later = min(fit(Path(folder), *options) for _ in range(rounds))
        rows[name] = {"first_cpu": first[0], "first_wall": first[1], "later_cpu": later[0], "later_wall": later[1]}
        print(name, {key: round(value, 2) for key, value in rows[name].items()}, flush=True)
    results = {"Nottinghamshire": rows}
    (ROOT / "benchmarks" / "results" / "shell.json").write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
