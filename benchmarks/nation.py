"""Fit maps from 76 areas to England's 32,844; write times, memory and effective draws to results/nation.json.

    .venv/bin/python benchmarks/nation.py                 # 76, 452, 2,000 and 7,600 areas, and the line to 170,000
    .venv/bin/python benchmarks/nation.py england MAP     # 32,844: MAP has the Lower Layer Super Output Areas

Each size runs in a separate process, so that its memory can be measured. Strengths are drawn from the prior with α = 3,
and answers are to random pairs: 30 answers per area, one million for England. Times are CPU seconds of all threads,
because wall times depend on what else runs. If interrupted, a fit keeps the draws it has, and its row says how many.
"""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay
from scipy.special import expit

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import InverseGamma
from judgemap.core.samplers.large import hmc as large
from judgemap.core.samplers.large.hmc import FreeMass, LargeModel, find_centre
from judgemap.core.samplers.large.smoothers import Communicability
from judgemap.core.samplers.run import Draws
from judgemap.core.threads import one_thread
from judgemap.geo.maps import Areas
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit import fitting
from judgemap.study.fit.settings import FitSettings

RESULTS = Path(__file__).parent / "results" / "nation.json"
SIZES = (76, 452, 2_000, 7_600)
ANSWERS_AN_AREA = 30
ALPHA = 3.0
FREE_SIZES = (2_000, 7_600)
OUTPUT_AREAS = 170_000
"""How many output areas England has; there is no map of them here."""


def delaunay(n_areas: int) -> Areas:
    """Make a map of areas around random points."""
    corners = Delaunay(np.random.default_rng(1).random((n_areas, 2))).simplices
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    ids = tuple(f"a{place}" for place in range(n_areas))
    return Areas(ids, ids, AreaGraph(n_areas, edges))


def simulate(areas: Areas, answers: int) -> tuple[np.ndarray, Comparisons]:
    """Draw strengths from the prior, and answers from judges who know them, 50 per judge."""
    rng, n = np.random.default_rng(2), len(areas)
    truth = ALPHA * Communicability(areas.graph).draw(rng, 1)[:, 0]
    left = rng.integers(n, size=answers)
    right = (left + rng.integers(1, n, size=answers)) % n
    outcome = (rng.random(answers) >= expit(truth[left] - truth[right])).astype(np.int64)  # 0 is left
    judges = tuple(f"judge {number}" for number in range(-(-answers // 50)))
    unknown = np.full(answers, np.nan)
    data = Comparisons(areas.ids, judges, np.arange(answers) // 50, left, right, outcome, unknown, unknown)
    return truth, data


class Stopwatch:
    """Report draws as they come, with the time left."""

    def __init__(self) -> None:
        self.began: tuple[float, int] | None = None

    def __call__(self, draws: Draws, wanted: int) -> None:
        """Write a line."""
        now, done = time.time(), draws.n_draws
        self.began = self.began or (now, done)
        since, before = self.began
        left = (now - since) / max(done - before, 1) * (wanted - done) / 60
        print(f"{done} of {wanted} draws, {time.process_time():.0f} CPU s, {left:.0f} minutes left", flush=True)


def measure(areas: Areas, answers: int, folder: Path | None = None) -> dict[str, object]:
    """Fit a map with the engine for large ones, whatever its size."""
    fitting.LARGE = 0
    truth, data = simulate(areas, answers)
    began, wall = time.process_time(), time.time()
    fit = FitSettings(seed=1, **{"chains": 16, "warmup": 20, "draws": 400} if len(areas) <= 4_000 else {}).run(
        data, areas, cores=2, watch=Stopwatch()
    )
    cpu, wall = time.process_time() - began, time.time() - wall
    strengths = fit.record.sign * truth
    low, high = fit.areas["risk_low"].to_numpy(), fit.areas["risk_high"].to_numpy()
    risk = strengths - strengths.mean()
    judged, alpha2 = fit.record.diagnostics, fit.posterior["alpha2"].to_numpy()
    row: dict[str, object] = {
        "areas": len(areas),
        "answers": answers,
        "draws": [int(fit.posterior.sizes["chain"]), int(fit.posterior.sizes["draw"])],
        "complete": fit.record.complete,
        "cpu_seconds": round(cpu, 1),
        "wall_seconds": round(wall, 1),
        "acceptance": round(float(fit.sample_stats["acceptance_rate"].mean()), 3),
        "rhat_max_areas": round(float(fit.sampling.rhat.max()), 4),
        "rhat_above_1.01": int((fit.sampling.rhat > 1.01).sum()),
        "ess_min_areas": round(float(fit.sampling.ess_bulk.min())),
        "ess_median_areas": round(float(np.median(fit.sampling.ess_bulk))),
        "rhat_max": round(judged.rhat_max, 4),
        "ess_alpha2": round(judged.ess_bulk_of["α²"]),
        "log_alpha2": [round(float(np.log(alpha2).mean()), 4), round(float(np.log(alpha2).std()), 4)],
        "coverage": round(float(((low <= risk) & (risk <= high)).mean()), 4),
        "ess_per_cpu_second": round(float(np.median(fit.sampling.ess_bulk)) / cpu, 2),
        "notes": [note.text for note in fit.record.notes if len(note.text) < 300],
    }
    if folder is not None:
        row["files"] = write(fit, folder)
    row["peak_gb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)
    return row


def write(fit: jm.Fit, folder: Path) -> dict[str, object]:
    """Time the files of a fit."""
    from judgemap.study.export import write_download

    timed: dict[str, object] = {}
    for name, work in {
        "folder": lambda: fit.save(folder / "fit"),
        **(
            {"gpkg": lambda: write_download(fit, "gpkg", folder / "areas.gpkg")} if fit.map.geometry is not None else {}
        ),
        "p_top_half": lambda: fit.p_top(len(fit.map) // 2),
    }.items():
        began = time.process_time()
        work()
        timed[f"{name}_cpu_seconds"] = round(time.process_time() - began, 1)
    timed["megabytes"] = {
        path.name: round(path.stat().st_size / 1e6, 1) for path in sorted(folder.rglob("*")) if path.is_file()
    }
    return timed


def measure_free(n_areas: int) -> dict[str, object]:
    """Time a few draws without a factor, after the preparations."""
    areas = delaunay(n_areas)
    _, data = simulate(areas, ANSWERS_AN_AREA * n_areas)
    began = time.process_time()
    model = LargeModel(data.counts(), Communicability(areas.graph), InverseGamma())
    with one_thread():
        centre = find_centre(model)
        target = large.LargeTarget(model, FreeMass(centre), centre)
        rng = np.random.default_rng(1)
        state = large.start(target, *large.draw_starts(rng, target, large.WIDTH))
        prepared = time.process_time() - began
        began, kicks, seen = time.process_time(), 4, []
        for _ in range(3):
            state = large.draw_variance(rng, target, large.trajectory(rng, target, state, kicks))
            seen.append(float(state.acceptance.mean()))
    drawing = (time.process_time() - began) / 3 / large.WIDTH
    return {
        "areas": n_areas,
        "answers": ANSWERS_AN_AREA * n_areas,
        "prepared_cpu_seconds": round(prepared, 1),
        "cpu_seconds_a_draw": round(drawing, 4),
        "kicks": kicks,
        "acceptance": round(float(np.mean(seen)), 3),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def extrapolate(rows: list[dict[str, float]]) -> dict[str, float]:
    """Draw the line through the two largest sizes, in logarithms, to England's output areas."""
    small, large_one = rows[-2:]
    power = np.log(large_one["cpu_seconds_a_draw"] / small["cpu_seconds_a_draw"]) / np.log(
        large_one["areas"] / small["areas"]
    )
    factor = OUTPUT_AREAS / large_one["areas"]
    return {
        "areas": OUTPUT_AREAS,
        "power_of_areas": round(float(power), 2),
        "cpu_seconds_a_draw": round(float(large_one["cpu_seconds_a_draw"] * factor**power), 2),
        "cpu_hours_for_6400_draws": round(float(large_one["cpu_seconds_a_draw"] * factor**power * 6400 / 3600), 1),
    }


def run_alone(*words: str) -> dict[str, object]:
    """Measure in a separate process."""
    done = subprocess.run([sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def keep(**rows: object) -> None:
    """Add results to those in the file."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    machine = {"machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"}
    RESULTS.write_text(json.dumps({**known, **machine, **rows}, indent=2, ensure_ascii=False) + "\n")


def main(words: list[str]) -> None:
    """Measure what is asked for."""
    match words:
        case ["england", path, *rest]:
            areas = jm.read_areas(path, id="LSOA11CD", name="LSOA11NM")
            folder = Path(rest[0]) if rest else None
            keep(england=measure(areas, 1_000_000, folder))
        case ["one", size]:
            areas = delaunay(int(size))
            print(json.dumps(measure(areas, ANSWERS_AN_AREA * len(areas))))
        case ["free", size]:
            print(json.dumps(measure_free(int(size))))
        case _:
            free = [run_alone("free", str(size)) for size in FREE_SIZES]
            keep(matrix_free=free, extrapolated=extrapolate(free))
            rows: list[dict[str, object]] = []
            for size in SIZES:
                rows.append(run_alone("one", str(size)))
                keep(dense=rows)


if __name__ == "__main__":
    main(sys.argv[1:])
