"""Fit one study with one seed as different processors would, and measure how far the numbers differ.

    python benchmarks/processors.py

`tests/core/samplers/other_processors.py` has environments in which each library computes as on another processor.
Every fit runs in a separate process and is compared with the first processor's: the largest difference in a draw of an
area's risk, and in each kind of column of areas.csv (ranks and probabilities are counts of draws). Prints a table and
writes benchmarks/results/. Nottinghamshire's data are read from ../shared/data; if that folder is absent, the example
study on Chicago's areas takes their place.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import judgemap as jm

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data" / "nottinghamshire"
sys.path.insert(0, str(ROOT / "tests" / "core" / "samplers"))

from other_processors import PROCESSORS, environment  # noqa: E402 - the path comes first

FITS = {
    "hmc": (jm.fit_spatial, {}),
    "gibbs": (jm.fit_spatial, {"sampler": "gibbs", "chains": 2}),
    "clusters": (jm.fit_clusters, {"chains": 4, "warmup": 200, "draws": 500, "thin": 4}),
    "clusters, gibbs": (jm.fit_clusters, {"sampler": "gibbs", "chains": 2, "warmup": 100, "draws": 500, "thin": 1}),
}
"""How each is fitted: by default 8 chains of 1,000 draws."""


def fit(name: str, folder: Path) -> None:
    """Fit the study, and save the table of areas and the draws."""
    if SHARED.is_dir():
        areas = jm.read_edges(SHARED / "edges.csv", SHARED / "areas.csv")
        data = jm.read_comparisons(SHARED / "comparisons.csv", areas)
    else:
        areas, data = jm.example_study(seed=1)
    model, options = FITS[name]
    fitted = model(data, areas, seed=1, cores=2, **options)
    fitted.areas.to_csv(folder / "areas.csv", index=False)
    np.save(folder / "draws.npy", fitted.posterior["risk"])


def differences(one: Path, other: Path) -> dict[str, float]:
    """Find the largest difference in a draw, and in the columns of risk, rank and probability."""
    tables = [pd.read_csv(folder / "areas.csv").select_dtypes("number") for folder in (one, other)]
    columns = (tables[0] - tables[1]).abs().max()
    largest = {kind: float(columns.filter(regex=f"^{kind}").max()) for kind in ("risk", "rank", "p_top")}
    return {"draw": float(abs(np.load(one / "draws.npy") - np.load(other / "draws.npy")).max()), **largest}


def main() -> None:
    """Make every fit as every processor would, and compare."""
    results: dict[str, dict[str, dict[str, float]]] = {}
    print(f"{'fit':16} {'processor':20} {'draw':>8} {'risk':>8} {'rank':>8} {'p_top':>8}")
    with tempfile.TemporaryDirectory() as temporary:
        for name in FITS:
            for processor in PROCESSORS:
                folder = Path(temporary, name, processor)
                folder.mkdir(parents=True)
                subprocess.run([sys.executable, __file__, name, str(folder)], env=environment(processor), check=True)
                found = differences(Path(temporary, name, next(iter(PROCESSORS))), folder)
                results.setdefault(name, {})[processor] = found
                print(f"{name:16} {processor:20} " + " ".join(f"{value:8.1e}" for value in found.values()), flush=True)
    study = "Nottinghamshire" if SHARED.is_dir() else "example"
    text = json.dumps({"study": study, "largest differences": results}, indent=1)
    (ROOT / "benchmarks" / "results" / "processors.json").write_text(text + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        fit(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
