"""Time the designs and the adaptive step, and compare the designs' utilities; write benchmarks/results/schedules.json.

    OMP_NUM_THREADS=1 python benchmarks/schedules.py [--quick]

CPU seconds, one thread, the fastest of several rounds. Maps are Delaunay triangulations of random points, but utilities
are on the Nottinghamshire graph, read from ../shared/data and left out if that folder is absent. Utilities here use the
Laplace approximation with α known: quick, and good for comparing designs; not the paper's exact study.
"""

import argparse
import csv
import json
import platform
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy import linalg
from scipy.spatial import Delaunay
from threadpoolctl import threadpool_limits

from judgemap.core.design import adaptive
from judgemap.core.design.designs import (
    PairDesign,
    naive_spatial,
    principal_component,
    uniform,
)
from judgemap.core.design.optimal import optimal
from judgemap.core.design.schedule import ListOptions, draw_list
from judgemap.core.design.utility import centred_trace, pair_precision
from judgemap.core.model.counts import PairCounts, count_pairs
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import (
    Covariance,
    FixedVariance,
    Model,
    communicability,
)
from judgemap.core.simulate.trials import answer, draw_pairs, simulate_counts
from judgemap.core.types import BoolArray, FloatArray, IntArray

ROOT = Path(__file__).resolve().parents[1]
EDGES = ROOT.parent / "shared" / "data" / "nottinghamshire" / "edges.csv"
ALPHA, COMPARISONS = 3.0, 500
TEMPERATURES = (1.0, 1 / 3)
OPTIONS = ListOptions(balanced_exposure=True, repeats=0.05)


def synthetic_map(n_areas: int) -> AreaGraph:
    """Make a map of areas around random points."""
    corners = Delaunay(np.random.default_rng(1).random((n_areas, 2))).simplices
    return AreaGraph(n_areas, np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]))


def seconds(work: Callable[[], object], rounds: int) -> float:
    """CPU seconds of the fastest of some rounds."""
    best = np.inf
    for _ in range(rounds):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def spectral(covariance: Covariance) -> FloatArray:
    """Compute the paper's definition, from all eigenpairs of the covariance of all differences."""
    C = covariance.matrix
    i, j = np.triu_indices(len(C), 1)
    values, vectors = linalg.eigh(C[np.ix_(i, i)] - C[np.ix_(i, j)] - C[np.ix_(j, i)] + C[np.ix_(j, j)])
    q: FloatArray = vectors**2 @ values
    return q / q.sum()


def spectral_without_zeros(covariance: Covariance) -> FloatArray:
    """Compute the same from the N − 1 eigenpairs that are not zero, by singular values of the differences."""
    i, j = np.triu_indices(covariance.n_areas, 1)
    vectors, roots, _ = linalg.svd(covariance.factor[i] - covariance.factor[j], full_matrices=False)
    q: FloatArray = vectors**2 @ roots**2
    return q / q.sum()


SPECTRAL = {76: spectral, 452: spectral_without_zeros}


def principal_component_times(sizes: tuple[int, ...]) -> list[dict[str, float | str]]:
    """Time the closed form, and the spectral definition if it is feasible."""
    rows: list[dict[str, float | str]] = []
    for n_areas in sizes:
        graph = synthetic_map(n_areas)
        rounds = 5 if n_areas < 1_000 else 1
        row: dict[str, float | str] = {
            "areas": n_areas,
            "closed_form_s": seconds(partial(principal_component, graph), rounds),
        }
        if n_areas in SPECTRAL:
            covariance = communicability(graph)
            began = time.process_time()
            defined = SPECTRAL[n_areas](covariance)
            row["spectral_s"] = time.process_time() - began
            q = principal_component(graph).probability(*np.triu_indices(n_areas, 1))
            row["largest_relative_difference"] = float(abs(defined / q - 1).max())
        else:
            row["spectral"] = f"not feasible: a matrix of {n_areas * (n_areas - 1) // 2} rows and columns"
        rows.append(row)
        print(row)
    return rows


def drawing_speeds(sizes: tuple[int, ...]) -> list[dict[str, float]]:
    """Pairs per second of the principal component design, all at once and one at a time; lists with all options."""
    rows = []
    for n_areas in sizes:
        began = time.process_time()
        design = principal_component(synthetic_map(n_areas))
        built = time.process_time() - began
        rng = np.random.default_rng(1)
        row = {"areas": n_areas, "design_s": built, "stored_offsets": len(design.offsets.keys)}
        row["pairs_per_s"] = 500_000 / seconds(partial(design.draw, rng, 500_000), 3)
        row["one_pair_us"] = 1e6 * min(seconds(partial(design.draw, rng, 1), 1) for _ in range(500))
        row["list_of_2n_pairs_s"] = seconds(partial(draw_list, rng, design, 2 * n_areas, OPTIONS), 1)
        row["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        rows.append(row)
        print(row)
    return rows


def judge_times(sizes: tuple[int, ...], answers: int = 50) -> list[dict[str, float]]:
    """Time the adaptive design for one judge, from what a fit says about the population and ``answers`` own answers."""
    rows = []
    for n_areas in sizes:
        rng, C = np.random.default_rng(2), communicability(synthetic_map(n_areas)).matrix
        known = adaptive.Known(rng.standard_normal(n_areas), 0.3 * C, 0.5 * C)
        winners, losers = draw_pairs(rng, n_areas, answers).T
        state = adaptive.state_among(known, winners, losers)
        found = partial(adaptive.state_among, known, winners, losers)
        drawn = partial(adaptive.next_pair, rng, state)
        rows.append(
            {
                "areas": n_areas,
                "answers": answers,
                "state_ms": 1e3 * seconds(found, 20),
                "next_pair_ms": 1e3 * seconds(drawn, 20),
            }
        )
    return rows


def adaptive_times(sizes: dict[int, tuple[int, int]]) -> list[dict[str, float]]:
    """Milliseconds for one step, next pair and update with its answer, in the middle of a study."""
    rows = []
    for n_areas, (comparisons, steps) in sizes.items():
        covariance = communicability(synthetic_map(n_areas))
        rng = np.random.default_rng(1)
        strengths = ALPHA * covariance.draw(rng, 1)[0]
        model = Model(simulate_counts(rng, strengths, comparisons), covariance, FixedVariance(ALPHA**2))
        began = time.process_time()
        state = adaptive.init(model)
        cold = time.process_time() - began
        times = []
        for _ in range(steps):
            began = time.process_time()
            pair = adaptive.next_pair(rng, state)
            chosen = time.process_time()
            (won,) = answer(rng, np.array([pair[:2]]), strengths)
            state = adaptive.update(state, *(pair[:2] if won else pair[1::-1]))
            times.append((chosen - began, time.process_time() - chosen))
        choose, take_in = (1e3 * np.median(np.array(times), axis=0)).tolist()
        row = {
            "areas": n_areas,
            "comparisons": comparisons,
            "next_pair_ms": choose,
            "update_ms": take_in,
            "step_ms": choose + take_in,
            "from_tallies_ms": 1e3 * cold,
        }
        rows.append(row)
        print(row)
    return rows


def read_graph() -> AreaGraph | None:
    """Read the 76 wards' borders, if they are there."""
    if not EDGES.is_file():
        return None
    with EDGES.open() as file:
        return AreaGraph(
            76, np.array([(int(row["area_a"]) - 1, int(row["area_b"]) - 1) for row in csv.DictReader(file)])
        )


def tallied(pairs: IntArray, won: BoolArray, n_areas: int) -> PairCounts:
    """Count answers: ``won`` says whether the left area won."""
    return count_pairs(np.where(won, pairs[:, 0], pairs[:, 1]), np.where(won, pairs[:, 1], pairs[:, 0]), n_areas)


def fixed_study(
    rng: np.random.Generator, strengths: FloatArray, design: PairDesign, empty: Model
) -> adaptive.AdaptiveState:
    """Simulate a study whose pairs are drawn beforehand."""
    pairs = design.draw(rng, COMPARISONS)
    counts = tallied(pairs, answer(rng, pairs, strengths), len(strengths))
    return adaptive.init(Model(counts, empty.covariance, empty.variance))


def adaptive_study(
    rng: np.random.Generator, strengths: FloatArray, temperature: float, empty: Model
) -> adaptive.AdaptiveState:
    """Simulate a study in which every pair is chosen after the last answer."""
    state = adaptive.init(empty)
    for _ in range(COMPARISONS):
        left, right, _ = adaptive.next_pair(rng, state, temperature)
        (won,) = answer(rng, np.array([[left, right]]), strengths)
        state = adaptive.update(state, *((left, right) if won else (right, left)))
    return state


def utilities(rng: np.random.Generator, state: adaptive.AdaptiveState) -> tuple[float, float, float]:
    """U1, U2 and the robust U2 of the Gaussian approximation: U1 exact, U2 from 400 draws."""
    draws = rng.multivariate_normal(state.mode, state.covariance, size=400, method="cholesky")
    precision = pair_precision(draws)
    return 1 / centred_trace(state.covariance), precision.mean, precision.robust


def compare_utilities(graph: AreaGraph, n_sets: int, n_adaptive: int) -> dict[str, dict[str, object]]:
    """Ratios to the uniform design over simulated sets of strengths, each used with every design."""
    covariance = communicability(graph)
    nothing = np.empty(0, dtype=np.int64)
    empty = Model(PairCounts(graph.n_areas, *[nothing] * 4), covariance, FixedVariance(ALPHA**2))
    designs = {
        "uniform": uniform(graph.n_areas),
        "naive spatial": naive_spatial(graph),
        "principal component": principal_component(graph),
        "optimal": optimal(covariance, ALPHA, COMPARISONS),
    }
    rng = np.random.default_rng(2024)
    names = [*designs, *(f"adaptive, temperature {t:.2g}" for t in TEMPERATURES)]
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    for number in range(n_sets):
        strengths = ALPHA * covariance.draw(rng, 1)[0]
        for name, design in designs.items():
            found[name].append(utilities(rng, fixed_study(rng, strengths, design, empty)))
        if number < n_adaptive:
            for name, temperature in zip(names[len(designs) :], TEMPERATURES, strict=True):
                found[name].append(utilities(rng, adaptive_study(rng, strengths, temperature, empty)))
    base = np.array(found["uniform"])
    return {name: against(np.array(rows), base) for name, rows in found.items()}


def against(rows: FloatArray, base: FloatArray) -> dict[str, object]:
    """Geometric mean of the ratio to the uniform design, set by set, with a 95 % interval."""
    log_ratio = np.log(rows / base[: len(rows)])
    centre, error = log_ratio.mean(axis=0), log_ratio.std(axis=0, ddof=1) / np.sqrt(len(rows))
    summary: dict[str, object] = {"sets": len(rows)}
    for column, name in enumerate(("U1", "U2", "U2_robust")):
        low, middle, high = np.exp(centre[column] + np.array([-1.96, 0, 1.96]) * error[column])
        summary[name] = {
            "ratio": round(float(middle), 4),
            "interval": [round(float(low), 4), round(float(high), 4)],
            "mean": float(rows[:, column].mean()),
            "median": float(np.median(rows[:, column])),
        }
    print(summary)
    return summary


def main() -> None:
    """Run everything and write the figures down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small maps and few sets, to see that it runs")
    quick = parser.parse_args().quick
    with threadpool_limits(1):
        results: dict[str, object] = {
            "machine": f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}, one thread",
            "drawing": drawing_speeds((76,) if quick else (76, 5_000, 35_000)),
            "principal_component": principal_component_times((76,) if quick else (76, 452, 5_000)),
            "adaptive_for_a_judge": judge_times((76,) if quick else (76, 452, 1_000)),
            "adaptive": adaptive_times(
                {76: (500, 100)} if quick else {76: (500, 300), 452: (3_000, 40), 2_000: (20_000, 6)}
            ),
        }
        graph = read_graph()
        if graph is not None:
            results["utility_against_uniform"] = compare_utilities(graph, *((20, 2) if quick else (1_000, 100)))
    if not quick:
        target = ROOT / "benchmarks" / "results" / "schedules.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
