"""Time the clustering sampler on one thread, and show how its chains agree; print and write benchmarks/results/.

    python benchmarks/clusters.py

CPU seconds, because wall time would include other work on the machine; the fastest of several blocks counts. Compiling
is timed separately. ESS is bulk ESS; for co-clustering, it uses one draw in five. Nottinghamshire's data are read from
../shared/data; if that folder is absent, a simulated study of the same size takes its place.
"""

import csv
import json
import platform
import resource
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay
from threadpoolctl import threadpool_limits

from judgemap.core.assess.partitions import cluster_counts, convergence
from judgemap.core.model.clusters import ClusterPrior, simulate_clusters
from judgemap.core.model.communicability import communicability_matrix
from judgemap.core.model.counts import count_pairs
from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.clusters import kernel as clusters
from judgemap.core.samplers.clusters.kernel import ClusterModel
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.core.samplers.kernel import Arrays, Kernel
from judgemap.core.samplers.run import Plan, sample_clusters
from judgemap.core.simulate.trials import simulate_counts

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data" / "nottinghamshire"
NEVER = 10**9
Row = dict[str, float]


def nottinghamshire() -> ClusterModel | None:
    """Read the paper's study: 76 wards, 1,846 comparisons."""
    if not SHARED.is_dir():
        return None
    with (SHARED / "edges.csv").open() as file:
        edges = [(int(row["area_a"]) - 1, int(row["area_b"]) - 1) for row in csv.DictReader(file)]
    with (SHARED / "comparisons.csv").open() as file:
        rows = list(csv.DictReader(file))
    winners, losers = ([int(row[side]) - 1 for row in rows] for side in ("winner", "loser"))
    return ClusterModel(count_pairs(winners, losers, 76), ClusterPrior(communicability_matrix(AreaGraph(76, edges))))


def simulated(n_areas: int, comparisons: int) -> ClusterModel:
    """Make a Delaunay map with clusters and strengths from the prior, and comparisons of uniform pairs."""
    rng = np.random.default_rng(1)
    corners = Delaunay(rng.random((n_areas, 2))).simplices
    graph = AreaGraph(n_areas, np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]))
    prior = ClusterPrior(communicability_matrix(graph))
    return ClusterModel(simulate_counts(rng, simulate_clusters(rng, prior).strengths, comparisons), prior)


def time_compiling(model: ClusterModel) -> float:
    """CPU seconds until the first iteration is done: compiling if nothing is cached, loading otherwise."""
    began = time.process_time()
    sampler, rng = clusters.kernel(model), np.random.default_rng(1)
    sampler.advance(rng, sampler.init(rng, np.zeros((1, model.prior.n_areas), dtype=np.int64)), 1, 1)
    return time.process_time() - began


def time_chain(model: ClusterModel, sampler: Kernel, blocks: int, iterations: int) -> tuple[Row, Arrays]:
    """Run one chain in blocks after 500 iterations of warm-up; time, and effective sizes per second of the fastest."""
    rng = np.random.default_rng(2)
    state = sampler.init(rng, np.zeros((1, model.prior.n_areas), dtype=np.int64))
    state, _ = sampler.advance(rng, state, 500, 500)
    seconds, kept = [], []
    for _ in range(blocks):
        began = time.process_time()
        state, draws = sampler.advance(rng, state, iterations, 1)
        seconds.append(time.process_time() - began)
        kept.append(draws)
    draws = {name: np.concatenate([block[name] for block in kept], axis=1) for name in kept[0]}
    agreement = convergence(draws["labels"][:, ::5], draws["log_posterior"][:, ::5])
    centred = draws["strengths"] - draws["strengths"].mean(axis=2, keepdims=True)
    share = min(seconds) * blocks
    row = {
        "us_per_iteration": 1e6 * min(seconds) / iterations,
        "seconds_per_100000": 1e5 * min(seconds) / iterations,
        "acceptance": float(draws["acceptance"].mean()),
        "ess_clusters_per_second": float(ess_bulk(draws["n_clusters"].astype(np.float64))) / share,
        "ess_together_per_second": agreement.ess_together / share,
        "ess_strengths_per_second": float(np.median(ess_bulk(centred))) / share,
        "ess_log_posterior_per_second": float(ess_bulk(draws["log_posterior"])) / share,
    }
    return row, draws


def time_sweep(model: ClusterModel, sweeps: int) -> Row:
    """Time sweeps over only the links, and whole iterations."""
    from judgemap.core.samplers.clusters.compiled import sweep_links

    tables = clusters._tables(model.prior)  # noqa: SLF001 - the sweep has no door of its own
    sampler, rng = clusters.kernel(model), np.random.default_rng(3)
    state = sampler.init(rng, np.zeros((1, model.prior.n_areas), dtype=np.int64))
    state, _ = sampler.advance(rng, state, 50, 50)
    best = {"us_per_sweep": np.inf, "us_per_iteration": np.inf}
    for _ in range(3):
        began = time.process_time()
        links = state.links
        for _ in range(sweeps):
            links = sweep_links(rng, links, state.strengths, tables)
        swept = time.process_time()
        state, _ = sampler.advance(rng, state, sweeps, sweeps)
        ended = time.process_time()
        best["us_per_sweep"] = min(best["us_per_sweep"], 1e6 * (swept - began) / sweeps)
        best["us_per_iteration"] = min(best["us_per_iteration"], 1e6 * (ended - swept) / sweeps)
    return best


def agreement(model: ClusterModel, carry_every: int) -> Row:
    """Compare four chains that start from one cluster, from one per area, and from two and three groups by strength."""
    build = partial(clusters.kernel, carry_every=carry_every)
    draws = sample_clusters(np.random.default_rng(4), model, Plan(4, 500, 2_000, 5), build)
    found = convergence(draws["labels"], draws["log_posterior"])
    chance = cluster_counts(draws["labels"].reshape(-1, model.prior.n_areas))
    return {
        "rhat_clusters": found.rhat_clusters,
        "rhat_log_posterior": found.rhat_log_posterior,
        "rhat_together": found.rhat_together,
        "ess_clusters": found.ess_clusters,
        "ess_log_posterior": found.ess_log_posterior,
        "ess_together": found.ess_together,
        "together_gap": found.together_gap,
        **{f"p_{k}": float(chance[k]) for k in range(1, min(len(chance), 7))},
    }


def show(title: str, table: dict[str, Row]) -> None:
    """Print one row per line, with its figures named."""
    print(f"\n{title}")
    for name, row in table.items():
        print(f"  {name:24}" + "  ".join(f"{key} {value:.4g}" for key, value in row.items()))


def main() -> None:
    """Time, print, write."""
    results: dict[str, object] = {"python": platform.python_version(), "processor": platform.machine()}
    with threadpool_limits(limits=1):
        study = nottinghamshire()
        name = "Nottinghamshire" if study else "simulated, 76 areas"
        model = study or simulated(76, 1_846)
        results["first_call_cpu_seconds"] = time_compiling(model)
        compiled, draws = time_chain(model, clusters.kernel(model), blocks=5, iterations=20_000)
        without, _ = time_chain(model, clusters.kernel(model, NEVER), blocks=5, iterations=10_000)
        reference, _ = time_chain(model, clusters.gibbs_kernel(model), blocks=3, iterations=1_000)
        chains = {"compiled": compiled, "without carrying": without, "Pólya-Gamma reference": reference}
        results[name] = chains
        show(f"{name}: one chain (first call {results['first_call_cpu_seconds']:.1f} CPU s)", chains)
        ratio = compiled["ess_clusters_per_second"] / reference["ess_clusters_per_second"]
        print(f"  the compiled sampler gives {ratio:.1f} times the ESS/s of the number of clusters of the reference")
        print(f"  mean number of clusters {draws['n_clusters'].mean():.3f}")
        sizes = {"76": simulated(76, 2_000), "452": simulated(452, 11_000), "2000": simulated(2_000, 50_000)}
        costs = {f"{n} areas": time_sweep(each, max(10, 40_000 // int(n))) for n, each in sizes.items()}
        results["cost"] = costs
        show("Cost on simulated maps", costs)
        tight = ClusterModel(model.counts, replace(model.prior, kappa0=0.01, a0=10.0, b0=0.5))
        mixing = {
            "default prior": agreement(model, clusters.CARRY_EVERY),
            "default, not carrying": agreement(model, NEVER),
            "tight clusters": agreement(tight, clusters.CARRY_EVERY),
            "tight, not carrying": agreement(tight, NEVER),
        }
        results["chains from different starts"] = mixing
        show("Four chains from different starting partitions, 2,000 draws each, one in 5", mixing)
    results["peak_memory_MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory {results['peak_memory_MB']:.0f} MB")
    target = ROOT / "benchmarks" / "results" / "clusters.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
