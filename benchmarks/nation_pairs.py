"""Compare pairs that adapt to the answers with random ones on a nation; write benchmarks/results/nation_pairs.json.

    OMP_NUM_THREADS=1 python benchmarks/nation_pairs.py              32,844 areas; SOME districts adapt, by default 16
    OMP_NUM_THREADS=1 python benchmarks/nation_pairs.py --quick      2,000 areas, all of whose districts adapt

A simulated nation: areas around random points, in districts of at most 130, with a truth drawn from `car`, α = 3. Every
judge knows one district, and every pair lies within one, drawn as the server draws it: at random, or by its gain in a
model of the district alone. On the large map only some districts adapt, because 33,000 areas would take an hour; the
others answer random pairs in both cases. After so many answers for each area, the whole map is estimated from all
answers together (the mode, α known). The error is the root mean square, over the areas of the districts that adapt, of
estimate minus truth, both as differences from their district's mean: pairs within districts say no more.
"""

import argparse
import json
import platform
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu
from scipy.spatial import Delaunay
from scipy.special import expit

from judgemap.core.design import adaptive
from judgemap.core.design.designs import compact_pieces, uniform
from judgemap.core.model.car import IntrinsicCar, intrinsic_car
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import FixedVariance, Model
from judgemap.core.simulate.trials import answer
from judgemap.core.types import FloatArray, IntArray

ROOT = Path(__file__).resolve().parents[1]
ALPHA, DISTRICT = 3.0, 130
CHECKS = (2, 4, 6)
LONGER = (8, 10, 12)
"""Random pairs go on for longer, so that they reach the error of adaptive ones."""


def random_study(rng: np.random.Generator, truth: FloatArray, answers: int) -> IntArray:
    """Ask about random pairs of a district; return winners and losers."""
    pairs = uniform(len(truth)).draw(rng, answers)
    return np.where(answer(rng, pairs, truth)[:, None], pairs, pairs[:, ::-1])


def adaptive_study(rng: np.random.Generator, truth: FloatArray, answers: int, graph: AreaGraph) -> IntArray:
    """Ask about the pairs that tell most at the time."""
    empty = PairCounts(len(truth), *[np.empty(0, dtype=np.int64)] * 4)
    state = adaptive.init(Model(empty, intrinsic_car(graph), FixedVariance(ALPHA**2)))
    asked = np.empty((answers, 2), dtype=np.int64)
    for row in range(answers):
        left, right, _ = adaptive.next_pair(rng, state)
        (won,) = answer(rng, np.array([[left, right]]), truth)
        asked[row] = (left, right) if won else (right, left)
        state = adaptive.update(state, *asked[row].tolist())
    return asked


def error(prior: sparse.csc_array, truth: FloatArray, answers: IntArray, districts: list[IntArray]) -> float:
    """Find the mode by Newton's method, and its error within districts."""
    rows, ones = np.arange(len(answers)), np.ones(len(answers))
    X = sparse.csr_array((np.r_[ones, -ones], (np.r_[rows, rows], answers.T.ravel())), shape=(len(answers), len(truth)))
    mode = np.zeros(len(truth))
    for _ in range(50):
        p = expit(X @ mode)
        curvature = sparse.csc_array(prior + X.T @ (sparse.diags_array(p * (1 - p)) @ X))
        step = splu(curvature, permc_spec="MMD_AT_PLUS_A").solve(X.T @ (1 - p) - prior @ mode)
        mode += step * min(1.0, 3 / max(abs(step).max(), 1e-9))
        if abs(step).max() < 1e-4:
            break
    away = [(mode - truth)[each] for each in districts]
    return float(np.sqrt(np.concatenate([(each - each.mean()) ** 2 for each in away]).mean()))


def measure(n_areas: int, some: int | None) -> dict[str, object]:
    """Simulate the nation twice, and compare the errors in some of its districts, or in all."""
    rng = np.random.default_rng(1)
    points = rng.random((n_areas, 2))
    corners = Delaunay(points).simplices
    graph = AreaGraph(n_areas, np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]))
    car = IntrinsicCar(graph)
    prior = sparse.csc_array(car.root.T @ car.root)
    drawn = splu(prior, permc_spec="MMD_AT_PLUS_A").solve(car.root.T @ rng.standard_normal(car.root.shape[0]))
    truth = ALPHA * (drawn - drawn.mean())
    districts = compact_pieces(points, DISTRICT)
    chosen = range(0, len(districts), max(1, len(districts) // some) if some else 1)[:some]
    random = [district[random_study(rng, truth[district], LONGER[-1] * len(district))] for district in districts]
    began, adapted = time.process_time(), list(random)
    for number in chosen:
        district = districts[number]
        asked = adaptive_study(rng, truth[district], CHECKS[-1] * len(district), graph.among(district))
        adapted[number] = district[asked]
        print(f"district {number} of {len(districts)}, {time.process_time() - began:.0f} CPU s", flush=True)

    def error_after(answers: list[IntArray], each: int) -> float:
        so_far = [one[: each * len(district)] for one, district in zip(answers, districts, strict=True)]
        return error(prior / ALPHA**2, truth, np.concatenate(so_far), [districts[number] for number in chosen])

    found = {
        "adaptive": {each: error_after(adapted, each) for each in CHECKS},
        "random": {each: error_after(random, each) for each in (*CHECKS, *LONGER)},
    }
    asked, errors = np.array(list(found["random"])), np.array(list(found["random"].values()))
    same = {each: float(np.interp(-value, -errors, asked)) for each, value in found["adaptive"].items()}
    return {
        "areas": n_areas,
        "districts": len(districts),
        "adapting": len(chosen),
        "errors": found,
        "random_for_the_same": same,
    }


def main() -> None:
    """Measure, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2,000 areas")
    parser.add_argument("--some", type=int, default=16, help="how many districts adapt")
    options = parser.parse_args()
    quick = options.quick
    found = measure(2_000, None) if quick else measure(32_844, options.some)
    for each, value in found["errors"]["adaptive"].items():  # type: ignore[index]
        random, same = found["errors"]["random"][each], found["random_for_the_same"][each]  # type: ignore[index]
        print(f"{each:3} answers for each area: adaptive {value:.3f}, random {random:.3f}; random needs {same:.2f}")
    if not quick:
        machine = f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}, one thread"
        text = json.dumps({"machine": machine} | found, indent=1) + "\n"
        (ROOT / "benchmarks" / "results" / "nation_pairs.json").write_text(text)


if __name__ == "__main__":
    main()
