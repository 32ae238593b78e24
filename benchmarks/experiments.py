"""Time the scheduling study on two cores; write benchmarks/results/experiments.json.

    OMP_NUM_THREADS=1 python benchmarks/experiments.py [--quick]

The study is run for 30 sets of strengths, 4 designs each, on the Nottinghamshire graph (if ../shared/data is absent, on
a Delaunay triangulation of 76 random points). Both wall and CPU seconds are given; the figures for 1,000 sets are
extrapolated from them, and say so. Other work on the machine changes CPU seconds least.
"""

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.study.simulations.runner import Job, conduct, on_cores
from judgemap.study.simulations.scheduling import DESIGNS, Scheduling

ROOT = Path(__file__).resolve().parents[1]
EDGES = ROOT.parent / "shared" / "data" / "nottinghamshire" / "edges.csv"


def borders() -> tuple[str, AreaGraph]:
    """Return the 76 wards' graph, or one of its size."""
    if EDGES.is_file():
        return "Nottinghamshire", jm.read_edges(EDGES).graph
    corners = Delaunay(np.random.default_rng(1).random((76, 2))).simplices
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    return "Delaunay, 76 areas", AreaGraph(76, edges)


def measure(study: Scheduling, sets: int, cores: int) -> dict[str, float | str]:
    """Run ``sets`` sets and count the seconds."""
    name, graph = borders()
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        results = conduct(Job(study, graph, sets, seed=1), Path(folder, "out"), on_cores(cores))
        wall = time.perf_counter() - began
    return {
        "map": name,
        "sampler": study.sampler,
        "sets": sets,
        "fits": sets * len(DESIGNS),
        "cores": cores,
        "wall_s": wall,
        "cpu_s": results.cpu_seconds,
        "cpu_s_per_fit": results.cpu_seconds / (sets * len(DESIGNS)),
        "extrapolated_minutes_of_3000_fits_on_two_idle_cores": 3000
        * results.cpu_seconds
        / (sets * len(DESIGNS))
        / 2
        / 60,
    }


def main() -> None:
    """Run both samplers and write the figures down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few sets, to see that it runs")
    quick = parser.parse_args().quick
    sets = 4 if quick else 30
    papers = Scheduling(sampler="gibbs", chains=1, warmup=50, draws=450)
    rows = [measure(study, sets, 2) for study in (Scheduling(), papers)]
    for row in rows:
        print(row)
    if not quick:
        machine = f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
        target = ROOT / "benchmarks" / "results" / "experiments.json"
        target.write_text(json.dumps({"machine": machine, "scheduling_study": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
