"""Do the chains of judges who differ arrive, from every seed, on every kind of panel? Writes results/convergence.json.

    python benchmarks/convergence.py [--seeds 20] [--start 0] [--cores 2] [kind ...]

Simulated panels on Chicago's map (α = 2), each fitted as `judgemap fit` would: 8 chains, drawn until R-hat is at most
1.01 and there are 400 effective draws of everything, or until the plan ends. A run that did not get there says so.
Every run is stored when it ends, in place of an earlier one of the same kind and seed.
"""

import argparse
import json
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import judgemap as jm
from judgemap.core.model.car import intrinsic_car
from judgemap.core.model.counts import count_judged
from judgemap.core.model.judges import Panel, PanelModel, Parts, Reach, answer
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import HalfNormal, independent
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.study.fit.settings import PANEL_PLAN
from panels import three_odd

RESULTS = Path(__file__).parent / "results" / "convergence.json"
ALPHA, SIGMA = 2.0, 1.0
AREAS = jm.chicago()
C = intrinsic_car(AREAS.graph)
DIFFER = Parts(disagreement=C)
TIES = Parts(TieRule.RAO_KUPPER, disagreement=C)
FIRST_ODD = 25
"""Seed 0 of the panels with three odd judges is this seed of `panels.py`; its 31 and 37 have two modes."""
MOST = np.r_[0.9, np.full(11, 0.1 / 11)]


def panel(
    seed: int,
    judges: int = 12,
    answers: int = 2000,
    sigma: float = SIGMA,
    shares: np.ndarray | None = None,
    parts: Parts = DIFFER,
    odd: int = 0,
) -> PanelModel:
    """Let judges who differ by σ answer pairs at random; the first ``odd`` guess, or answer the wrong way round.

    If their reach is in the model, every other judge knows only the areas within three borders of a centre.
    """
    rng = np.random.default_rng(seed)
    attention = np.where(np.arange(judges) < odd, np.arange(judges) % 2 - 1.0, 1.0)
    nothing = np.zeros(judges)
    scales = {"tie_chance": 0.2} if parts.ties else {}
    known = None
    if parts.reach is not None:
        known = parts.reach.known(rng.integers(len(AREAS), size=judges), np.where(np.arange(judges) % 2, 3, len(AREAS)))
    told = Panel(
        ALPHA * C.draw(rng, 1)[0], sigma * C.draw(rng, judges), nothing, attention, nothing, scales, known=known
    )
    judge = rng.choice(judges, size=answers, p=shares)
    left = rng.integers(len(AREAS), size=answers)
    right = (left + rng.integers(1, len(AREAS), size=answers)) % len(AREAS)
    choice = answer(rng, told, parts.ties, judge, left, right)
    counts = count_judged(judge, left, right, choice, n_areas=len(AREAS), n_judges=judges)
    return PanelModel(counts, C, HalfNormal(5.0), parts)


KINDS: dict[str, Callable[[int], PanelModel]] = {
    "judges alike": partial(panel, sigma=0.0),
    "judges alike, 300 answers": partial(panel, sigma=0.0, answers=300),
    "differ": panel,
    "differ, 50 judges, ties": partial(panel, judges=50, parts=TIES),
    "one judge has nine answers in ten": partial(panel, shares=MOST),
    "60 answers of 6 judges, ties": partial(panel, judges=6, answers=60, parts=TIES),
    "independent disagreement": partial(panel, parts=Parts(disagreement=independent(len(AREAS)))),
    "attention, two judges odd": partial(panel, judges=20, parts=Parts(disagreement=C, attention=True), odd=2),
    "attention, three of 23 judges odd": lambda seed: three_odd(np.random.default_rng([FIRST_ODD + seed, 7])),
    "smoothness": partial(panel, parts=Parts(smoothness=True, disagreement=C)),
    "all options but reach": partial(
        panel,
        judges=20,
        parts=Parts(TieRule.RAO_KUPPER, smoothness=True, disagreement=C, side=True, attention=True, lapses=True),
    ),
    "reach": partial(panel, parts=Parts(disagreement=C, reach=Reach.on(AREAS.graph))),
}


def arrived(case: tuple[str, int]) -> dict[str, object]:
    """Sample one panel, and say how it went."""
    kind, seed = case
    began = time.process_time()
    draws = sample_panel(np.random.default_rng(seed), KINDS[kind](seed), PANEL_PLAN)
    return {
        "kind": kind,
        "seed": seed,
        "good": bool(draws.good()),
        "rhat": round(float(draws.sampling.rhat.max()), 4),
        "ess": round(float(draws.sampling.ess_bulk.min())),
        "draws": int(draws.strengths.shape[1]),
        "restarts": int(draws["restarts"].max(axis=1).sum()),
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def store(rows: list[dict[str, object]], row: dict[str, object]) -> list[dict[str, object]]:
    """Write a run beside the others, and return them all."""
    print(row, flush=True)
    kinds, same = list(KINDS), (row["kind"], row["seed"])
    rows = [each for each in rows if each["kind"] in kinds and (each["kind"], each["seed"]) != same] + [row]
    rows.sort(key=lambda each: (kinds.index(str(each["kind"])), each["seed"]))
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return rows


def main() -> None:
    """Run the panels, and store how each went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    wanted = parser.parse_args()
    rows = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    seeds = range(wanted.start, wanted.start + wanted.seeds)
    with ProcessPoolExecutor(wanted.cores) as pool:
        for row in pool.map(arrived, [(kind, seed) for kind in wanted.kinds for seed in seeds]):
            rows = store(rows, row)
    for kind in wanted.kinds:
        here = [row for row in rows if row["kind"] == kind]
        print(f"{kind}: {sum(bool(row['good']) for row in here)} of {len(here)} arrived")


if __name__ == "__main__":
    main()
