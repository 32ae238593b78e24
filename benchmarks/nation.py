"""Fit maps of 2,000 to 171,372 areas; write times, memory and effective draws to results/nation.json.

    .venv/bin/python benchmarks/nation.py                  # 2,000 and 7,600 areas: local, any, rough
    .venv/bin/python benchmarks/nation.py england MAP DATA # 32,844; DATA is imd2019.csv: crime is the truth; [KIND]
    .venv/bin/python benchmarks/nation.py one 171372 local # one map, here as large as England's output areas
    .venv/bin/python benchmarks/nation.py cover 1100 differ 12   # how often intervals hold the truth, over 12 maps

Pairs are "local", within one of the districts into which the map is cut, 100 areas each (England has its own), or
"any", between any two areas. With "differ" they are local, and each judge knows two districts and has a view of their
own; otherwise judges are alike. With "joined" they are local, but for one pair in twenty. The truth is drawn from the
prior with α = 3; "rough" is one that does not follow the map, with pairs between any two areas and 13 answers per area
in place of 30. A tie in seven of equal areas. Each map is fitted in a separate process, so that its memory can be
measured. Times are CPU seconds of all threads, because wall times depend on what else runs.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.spatial import Delaunay
from scipy.special import expit, ndtri

import judgemap as jm
from judgemap.core.model.car import IntrinsicCar
from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.run import Draws
from judgemap.core.samplers.sparse.factor import Factor, order_areas
from judgemap.geo.maps import Areas
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.settings import FitSettings

RESULTS = Path(__file__).parent / "results" / "nation.json"
CASES = [(size, kind) for size in (2_000, 7_600) for kind in ("local", "any", "rough")]
PER_AREA = {"local": 30, "any": 30, "joined": 30, "rough": 13, "differ": 30}
JOINING = 0.05
"""The share of pairs that may be of any two areas, if pairs are joined."""
ALPHA, THETA = 3.0, 0.3
SPREAD, PANELS = 0.35, 2
"""σ/α of judges who differ, and how many of them there are for each district."""
DISTRICT = 100
"""Areas in a district of a simulated map."""


def delaunay(n_areas: int) -> tuple[Areas, np.ndarray]:
    """Make a map of areas around random points, and cut it into districts."""
    points = np.random.default_rng(1).random((n_areas, 2))
    corners = Delaunay(points).simplices
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    ids = tuple(f"a{place}" for place in range(n_areas))
    side = max(1, int(np.sqrt(n_areas / DISTRICT)))
    x, y = (points.T * side).astype(int)
    return Areas(ids, ids, AreaGraph(n_areas, edges)), x * side + y


def strengths_of(rng: np.random.Generator, graph: AreaGraph, kind: str) -> np.ndarray:
    """Draw strengths from the prior, or rough ones."""
    if kind == "rough":
        return ALPHA * rng.standard_normal(graph.n_areas)
    return ALPHA * smooth(graph)(rng)


def smooth(graph: AreaGraph) -> Callable[[np.random.Generator], np.ndarray]:
    """Return a function that draws from the prior with α = 1."""
    root = IntrinsicCar(graph).root
    precision = sparse.csc_array(root.T @ root)
    factor = Factor(precision, order_areas(precision))
    return lambda rng: factor.back(rng.standard_normal((graph.n_areas, 1)))[:, 0]


def disagreements(
    rng: np.random.Generator, graph: AreaGraph, judge: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """Draw each judge's view from the prior, and return how far it moves their answers."""
    draw, apart = smooth(graph), np.empty(len(judge))
    order = np.argsort(judge, kind="stable")
    for mine in np.split(order, np.flatnonzero(np.diff(judge[order])) + 1):
        view = SPREAD * ALPHA * draw(rng)
        apart[mine] = view[left[mine]] - view[right[mine]]
    return apart


def answer(areas: Areas, district: np.ndarray, truth: np.ndarray, kind: str, seed: int) -> Comparisons:
    """Let judges who know the truth answer, each about one district if pairs are local."""
    rng, n = np.random.default_rng(seed), len(areas)
    size = PER_AREA[kind] * n
    left = np.sort(rng.integers(n, size=size))
    across = np.zeros(size, dtype=bool)
    if kind in ("local", "differ", "joined"):
        order = np.argsort(district, kind="stable")
        begins = np.searchsorted(district[order], np.arange(district.max() + 2))
        here = district[left]
        right = order[begins[here] + (rng.random(size) * np.diff(begins)[here]).astype(int)]
        if kind == "joined":
            across = rng.random(size) < JOINING
            right[across] = rng.integers(n, size=across.sum())
    else:
        right = rng.integers(n, size=size)
    left, right, across = (each[left != right] for each in (left, right, across))
    n_districts = district.max() + 1
    if kind == "differ":
        # A judge knows two districts.
        judge = (district[left] + rng.integers(2, size=len(left))) % n_districts
        judge += n_districts * rng.integers(PANELS, size=len(left))
    else:
        judge = np.arange(len(left)) // 1_000 if kind in ("any", "rough") else district[left]
        judge[across] = n_districts + np.arange(across.sum()) // 1_000
    d, chance = truth[left] - truth[right], rng.random(len(left))
    if kind == "differ":
        d += disagreements(rng, areas.graph, judge, left, right)
    won, lost = chance < expit(d - THETA), chance > 1 - expit(-d - THETA)
    outcome = np.where(won, 0, np.where(lost, 1, 2))
    codes, judge = np.unique(judge, return_inverse=True)
    unknown = np.full(len(left), np.nan)
    return Comparisons(
        areas.ids, tuple(f"judge {code}" for code in codes), judge, left, right, outcome, unknown, unknown
    )


def report(draws: Draws, wanted: int) -> None:
    """Write a line now and then."""
    if draws.n_draws % 50 == 0:
        print(f"{draws.n_draws} of {wanted} draws, {time.process_time():.0f} CPU s", file=sys.stderr, flush=True)


def measure(areas: Areas, district: np.ndarray, truth: np.ndarray, kind: str, seed: int = 2) -> dict[str, object]:
    """Fit a map by its default settings, judges alike."""
    data = answer(areas, district, truth, kind, seed)
    began, wall = time.process_time(), time.time()
    fit = FitSettings(seed=1, judges="differ" if kind == "differ" else "alike").run(data, areas, cores=2, watch=report)
    cpu, wall = time.process_time() - began, time.time() - wall
    risk = fit.record.sign * (truth - truth.mean())
    low, high = fit.areas["risk_low"].to_numpy(), fit.areas["risk_high"].to_numpy()
    found = fit.record.diagnostics
    return {
        "areas": len(areas),
        "kind": kind,
        "answers": len(data),
        "draws": [int(fit.posterior.sizes[each]) for each in ("chain", "draw")],
        "cpu_seconds": round(cpu, 1),
        "wall_seconds": round(wall, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
        "acceptance": round(float(fit.sample_stats["acceptance_rate"].mean()), 3),
        "rhat_max": round(found.rhat_max, 4),
        "ess_min": round(found.ess_bulk_min),
        "ess_median": round(found.ess_bulk_median),
        "ess_of": {name: round(each) for name, each in found.ess_bulk_of.items()},
        "coverage": round(float(((low <= risk) & (risk <= high)).mean()), 4),
        "coverage_in_districts": round(in_districts(np.asarray(fit.posterior["risk"]), risk, district), 4),
        "correlation": round(float(np.corrcoef(fit.areas["risk_mean"], risk)[0, 1]), 4),
    }


def in_districts(draws: np.ndarray, risk: np.ndarray, district: np.ndarray) -> float:
    """Return the share of areas whose risk beside the mean of their district lies in its 95 % interval."""
    inside = 0
    for each in range(district.max() + 1):
        here = np.flatnonzero(district == each)
        drawn, truth = draws.reshape(-1, len(risk))[:, here], risk[here]
        low, high = np.quantile(drawn - drawn.mean(axis=1, keepdims=True), [0.025, 0.975], axis=0)
        inside += int(((low <= truth - truth.mean()) & (truth - truth.mean() <= high)).sum())
    return inside / len(risk)


def england(path: str, data: str, kind: str) -> dict[str, object]:
    """Fit England's small areas; the truth are the normal scores of their ranks by crime, twice as far apart."""
    areas = jm.read_areas(path, id="LSOA11CD", name="LSOA11NM")
    rank = pd.read_csv(data).set_index("LSOA11CD")["crime"].loc[list(areas.ids)].to_numpy()
    names = pd.Series(areas.names).str.replace(r"\s+\S+$", "", regex=True)
    return measure(areas, pd.factorize(names)[0], 2 * ndtri((rank - 0.5) / len(areas)), kind)


def run_alone(*words: str) -> dict[str, object]:
    """Measure in a separate process."""
    done = subprocess.run([sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def keep(name: str, row: dict[str, object]) -> None:
    """Add a result to those in the file."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    machine = {"machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"}
    RESULTS.write_text(json.dumps({**known, **machine, name: row}, indent=2, ensure_ascii=False) + "\n")


def main(words: list[str]) -> None:
    """Measure what is asked for."""
    match words:
        case ["england", path, data, *rest]:
            kind = rest[0] if rest else "local"
            keep(f"England, {kind}", england(path, data, kind))
        case ["alone", size, kind]:
            areas, district = delaunay(int(size))
            truth = strengths_of(np.random.default_rng(3), areas.graph, kind)
            print(json.dumps(measure(areas, district, truth, kind)))
        case ["cover", size, kind, maps]:
            areas, district = delaunay(int(size))
            truths = [
                strengths_of(np.random.default_rng(each), areas.graph, kind) for each in range(100, 100 + int(maps))
            ]
            rows = pd.DataFrame(
                [measure(areas, district, truth, kind, 100 + each) for each, truth in enumerate(truths)]
            )[["coverage", "coverage_in_districts"]]
            found = {"maps": len(rows), **rows.mean().round(4), "standard error": round(rows["coverage"].sem(), 4)}
            keep(f"{int(size):,}, {kind}, covered", found)
        case ["one", size, kind]:
            keep(f"{int(size):,}, {kind}", run_alone("alone", size, kind))
        case _:
            for size, kind in CASES:
                keep(f"{size:,}, {kind}", run_alone("alone", str(size), kind))


if __name__ == "__main__":
    main(sys.argv[1:])
