"""Time the samplers side by side, in one run and on one thread; print a table and write benchmarks/results/.

    make bench

CPU seconds, because wall time would include other work on the machine. A sampler is timed in rounds that alternate with
the others', and the fastest round counts, so that a busy minute does not hurt just one of them. ESS is the bulk ESS of
the centred strengths. "With set-up" counts building the sampler and warming up. Nottinghamshire's data are read from
../shared/data and left out if that folder is absent.

If R is installed, the loop of the package speedyBBT runs between the rounds: its updates in R (speedybbt.R), without
its Pólya-Gamma draws if BayesLogit is not installed, which flatters it. Its effective draws per iteration are taken
from our own Pólya-Gamma Gibbs sampler, which makes the same updates.
"""

import argparse
import csv
import json
import platform
import resource
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay
from threadpoolctl import threadpool_limits

from judgemap.core.approximate import approximate
from judgemap.core.model.counts import count_pairs
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import InverseGamma, Model, communicability
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.core.samplers.kernel import Kernel
from judgemap.core.samplers.run import SAMPLERS, START_SPREAD, Plan, run
from judgemap.core.samplers.spatial.rivals import block_walk_kernel, single_site_kernel
from judgemap.core.simulate.trials import simulate_counts

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data" / "nottinghamshire"
BUILDERS = {**SAMPLERS, "single site (rival)": single_site_kernel, "block walk (rival)": block_walk_kernel}


@dataclass(frozen=True)
class Job:
    """What to time: a sampler, and its chains and draws in each round."""

    sampler: str
    chains: int
    draws: int
    warmup: int = 100


def nottinghamshire() -> Model | None:
    """Read the paper's study: 76 wards, 1,846 comparisons."""
    if not SHARED.is_dir():
        return None
    with (SHARED / "edges.csv").open() as file:
        edges = [(int(row["area_a"]) - 1, int(row["area_b"]) - 1) for row in csv.DictReader(file)]
    with (SHARED / "comparisons.csv").open() as file:
        rows = list(csv.DictReader(file))
    winners, losers = ([int(row[side]) - 1 for row in rows] for side in ("winner", "loser"))
    return Model(count_pairs(winners, losers, 76), communicability(AreaGraph(76, edges)), InverseGamma())


def simulated(n_areas: int, comparisons: int) -> Model:
    """Make a Delaunay map with strengths from the prior, α = 3, and comparisons of uniform pairs."""
    rng = np.random.default_rng(1)
    corners = Delaunay(rng.random((n_areas, 2))).simplices
    graph = AreaGraph(n_areas, np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]))
    covariance = communicability(graph)
    return Model(simulate_counts(rng, 3 * covariance.draw(rng, 1)[0], comparisons), covariance, InverseGamma())


def one_round(model: Model, job: Job, seed: int) -> dict[str, float]:
    """Build, warm up and sample once."""
    rng = np.random.default_rng(seed)
    began = time.process_time()
    starts = approximate(model).draw(rng, job.chains, START_SPREAD)
    kernel: Kernel = BUILDERS[job.sampler](model)
    built = time.process_time()
    warm = run(rng, kernel, starts, Plan(job.chains, job.warmup, 4))
    warmed = time.process_time()
    draws = run(rng, kernel, (warm.strengths[:, -1], warm["log_variance"][:, -1]), Plan(job.chains, 0, job.draws))
    sampled = time.process_time() - warmed
    strengths, variance = ess_bulk(draws.centred), float(ess_bulk(draws["log_variance"]))
    return {
        "ms_per_iteration": 1000 * sampled / (job.chains * job.draws),
        "set_up_seconds": built - began,
        "warm_up_seconds": warmed - built,
        "ess_min": float(strengths.min()),
        "ess_median": float(np.median(strengths)),
        "ess_log_alpha2": variance,
        "sampling_seconds": sampled,
    }


def time_r(model: Model, iterations: int = 300) -> tuple[float, bool]:
    """CPU milliseconds of one of speedyBBT's iterations in R, and whether they include its Pólya-Gamma draws."""
    counts = model.counts
    with tempfile.TemporaryDirectory() as folder:
        pairs = np.column_stack([counts.first + 1, counts.second + 1, counts.n, counts.wins])
        header = "first,second,n,wins"
        np.savetxt(f"{folder}/pairs.csv", pairs, delimiter=",", header=header, comments="", fmt="%d")
        np.savetxt(f"{folder}/precision.csv", model.covariance.inverse, delimiter=",")
        script = Path(__file__).with_name("speedybbt.R")
        command = ["Rscript", str(script), folder, str(iterations)]
        milliseconds, drawn = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        return float(milliseconds), drawn == "TRUE"


def beside_r(model: Model, rounds: int) -> dict[str, float]:
    """Alternate the default sampler, our Gibbs sampler and R; print and return our ESS/s as a multiple of R's."""
    timed: dict[str, list[dict[str, float]]] = {"hmc": [], "gibbs": []}
    r = []
    for seed in range(rounds):
        timed["hmc"].append(one_round(model, Job("hmc", 32, 250), seed))
        timed["gibbs"].append(one_round(model, Job("gibbs", 1, 3000), seed))
        milliseconds, drawn = time_r(model)
        r.append(milliseconds)
    hmc, gibbs = (per_second(timed[name]) for name in ("hmc", "gibbs"))
    table: dict[str, float] = {"r_ms_per_iteration": min(r), "r_draws_polya_gamma": drawn}
    for key in ("ess_median", "ess_log_alpha2"):
        r_ess = gibbs[f"{key}_per_second"] * gibbs["ms_per_iteration"] / min(r)
        table |= {f"hmc_{key}_per_second": hmc[f"{key}_per_second"], f"r_{key}_per_second": r_ess}
        table[f"{key}_ratio"] = hmc[f"{key}_per_second"] / r_ess
    print("\nhmc, 32 chains, beside speedyBBT's loop in R: " + ", ".join(f"{k} {v:.4g}" for k, v in table.items()))
    return table


def per_second(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Take the fastest round's time and the mean of the rounds' effective sizes."""
    best = min(rounds, key=lambda each: each["sampling_seconds"])
    whole = min(each["set_up_seconds"] + each["warm_up_seconds"] + each["sampling_seconds"] for each in rounds)
    ess = {key: float(np.mean([each[key] for each in rounds])) for key in ("ess_min", "ess_median", "ess_log_alpha2")}
    return {
        "ms_per_iteration": best["ms_per_iteration"],
        "set_up_seconds": min(each["set_up_seconds"] for each in rounds),
        **{f"{key}_per_second": size / best["sampling_seconds"] for key, size in ess.items()},
        **{f"{key}_per_second_with_set_up": size / whole for key, size in ess.items()},
    }


def compare(name: str, model: Model, jobs: list[Job], rounds: int) -> dict[str, dict[str, float]]:
    """Time every job in alternating rounds, print a table, and return it."""
    timed: dict[str, list[dict[str, float]]] = {}
    for seed in range(rounds):
        for job in jobs:
            label = f"{job.sampler}, {job.chains} chains"
            timed.setdefault(label, []).append(one_round(model, job, seed))
    table = {label: per_second(results) for label, results in timed.items()}
    print(f"\n{name}: {model.counts.n_areas} areas, {model.counts.total} comparisons, {len(model.counts.n)} pairs")
    print(
        f"{'':28}{'ms/iter':>10}{'set-up s':>10}{'ESS/s min':>11}{'median':>9}{'log α²':>9}{'median with set-up':>20}"
    )
    for label, row in table.items():
        ess = [row[f"{key}_per_second"] for key in ("ess_min", "ess_median", "ess_log_alpha2")]
        print(
            f"{label:28}{row['ms_per_iteration']:>10.3f}{row['set_up_seconds']:>10.2f}{ess[0]:>11.1f}{ess[1]:>9.1f}"
            f"{ess[2]:>9.1f}{row['ess_median_per_second_with_set_up']:>20.1f}"
        )
    first, *others = table
    for other in others:
        ratio = table[first]["ess_median_per_second"] / table[other]["ess_median_per_second"]
        print(f"  {first} gives {ratio:.1f} times the median ESS/s of {other}")
    return table


def main() -> None:
    """Run the comparison that `make bench` shows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    results: dict[str, object] = {"python": platform.python_version(), "processor": platform.machine()}
    notts = nottinghamshire()
    with threadpool_limits(limits=1):
        if notts is None:
            print("../shared/data is absent: Nottinghamshire is left out")
        else:
            jobs = [Job("hmc", 32, 250), Job("hmc", 8, 1000), Job("hmc", 4, 1000), Job("gibbs", 1, 3000)]
            jobs += [Job("single site (rival)", 1, 300, 30), Job("block walk (rival)", 1, 3000)]
            results["Nottinghamshire"] = compare("Nottinghamshire", notts, jobs, arguments.rounds)
            if shutil.which("Rscript"):
                results["beside R"] = beside_r(notts, arguments.rounds)
        large = simulated(452, 75_000)
        jobs = [Job("hmc", 8, 40, 10), Job("gibbs", 1, 100, 10)]
        results["simulated 452"] = compare("Simulated map", large, jobs, arguments.rounds)
    results["peak_memory_MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory {results['peak_memory_MB']:.0f} MB")
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    (folder / "samplers.json").write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
