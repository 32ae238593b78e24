"""Compare designs within what each judge knows with random pairs; write benchmarks/results/nation_pairs.json.

    OMP_NUM_THREADS=1 python benchmarks/nation_pairs.py              32,844 areas
    OMP_NUM_THREADS=1 python benchmarks/nation_pairs.py --quick      2,000 areas

A simulated nation: areas around random points, in districts of at most 130, with a truth drawn from `car`, α = 3. Every
judge knows one district, and every pair lies within one, drawn as the server draws it: at random, by the district's
optimal design, or by its gain in a model of the district alone. After so many answers for each area, the whole map is
estimated from all answers together (the mode, α known). The error is the root mean square, over all areas, of estimate
minus truth, both as differences from their district's mean: pairs within districts say no more.
"""

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu
from scipy.spatial import Delaunay
from scipy.special import expit

from judgemap.core.design import adaptive
from judgemap.core.design.designs import PairDesign, compact_pieces, uniform
from judgemap.core.design.optimal import optimal
from judgemap.core.model.car import IntrinsicCar, intrinsic_car
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import FixedVariance, Model
from judgemap.core.simulate.trials import answer
from judgemap.core.types import FloatArray, IntArray

ROOT = Path(__file__).resolve().parents[1]
ALPHA, DISTRICT = 3.0, 130
PLANNED = 500
"""How many answers the server plans a part's optimal design for: ten judges with fifty each."""
CHECKS = (2, 4, 6)
LONGER = (8, 10, 12)
"""Random pairs go on for longer, so that they reach the error of other ones."""


def fixed_study(rng: np.random.Generator, truth: FloatArray, answers: int, design: PairDesign) -> IntArray:
    """Ask about pairs of a design that does not look at the answers; return winners and losers."""
    pairs = design.draw(rng, answers)
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


def measure(n_areas: int) -> dict[str, object]:
    """Simulate the nation with each design, and compare the errors."""
    rng = np.random.default_rng(1)
    points = rng.random((n_areas, 2))
    corners = Delaunay(points).simplices
    graph = AreaGraph(n_areas, np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]))
    car = IntrinsicCar(graph)
    prior = sparse.csc_array(car.root.T @ car.root)
    drawn = splu(prior, permc_spec="MMD_AT_PLUS_A").solve(car.root.T @ rng.standard_normal(car.root.shape[0]))
    truth = ALPHA * (drawn - drawn.mean())
    districts = compact_pieces(points, DISTRICT)
    asked: dict[str, list[IntArray]] = {"random": [], "optimal": [], "adaptive": []}
    seconds = dict.fromkeys(asked, 0.0)
    for number, district in enumerate(districts):
        known, size, among = truth[district], len(district), graph.among(district)
        for name, given in asked.items():
            began = time.process_time()
            if name == "adaptive":
                pairs = adaptive_study(rng, known, CHECKS[-1] * size, among)
            elif name == "optimal":
                design = optimal(intrinsic_car(among), ALPHA, PLANNED)
                pairs = fixed_study(rng, known, CHECKS[-1] * size, design)
            else:
                pairs = fixed_study(rng, known, LONGER[-1] * size, uniform(size))
            given.append(district[pairs])
            seconds[name] += time.process_time() - began
        if number % 20 == 0:
            print(
                f"district {number} of {len(districts)}",
                {name: round(each) for name, each in seconds.items()},
                flush=True,
            )

    def error_after(name: str, each: int) -> float:
        so_far = [one[: each * len(district)] for one, district in zip(asked[name], districts, strict=True)]
        return error(prior / ALPHA**2, truth, np.concatenate(so_far), districts)

    errors = {name: {each: error_after(name, each) for each in CHECKS} for name in asked}
    errors["random"] |= {each: error_after("random", each) for each in LONGER}
    so_many, so_large = np.array(list(errors["random"])), np.array(list(errors["random"].values()))
    same = {
        name: {each: float(np.interp(-value, -so_large, so_many)) for each, value in errors[name].items()}
        for name in ("optimal", "adaptive")
    }
    return {"areas": n_areas, "districts": len(districts), "errors": errors, "random_for_the_same": same,
            "cpu_seconds": seconds}  # fmt: skip


def main() -> None:
    """Measure, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2,000 areas")
    quick = parser.parse_args().quick
    found: dict[str, Any] = measure(2_000 if quick else 32_844)
    for name, same in found["random_for_the_same"].items():
        for each, value in found["errors"][name].items():
            random = found["errors"]["random"][each]
            print(f"{each} answers an area: {name} {value:.3f}, random {random:.3f}; random needs {same[each]:.2f}")
    if not quick:
        machine = f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}, one thread"
        text = json.dumps({"machine": machine} | found, indent=1) + "\n"
        (ROOT / "benchmarks" / "results" / "nation_pairs.json").write_text(text)


if __name__ == "__main__":
    main()
