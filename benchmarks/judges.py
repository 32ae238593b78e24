"""How fast are the samplers of a panel of judges? `make bench` runs this; --large adds the sizes that take minutes.

    python benchmarks/judges.py [--large]

CPU seconds, on one thread. Simulated Delaunay maps, α = 3, views that follow the map with σ = 1.5, a tie in six of
equal areas; ESS in bulk, of the centred strengths. Times are of whole fits, with building the sampler and warming up.
The pooled model with its ties is timed beside the model without ties on the decided answers, in alternating rounds.
"""

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np
from scipy.spatial import Delaunay
from threadpoolctl import threadpool_limits

from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import PanelModel, Parts
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import (
    InverseGamma,
    Model,
    communicability,
)
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.run import Draws, Plan, sample
from judgemap.core.simulate.misbehaviour import Setting, attentive, simulate_panel

ROOT = Path(__file__).resolve().parents[1]
SCALARS = ("log_variance", "log_disagreement", "tie_chance")


def simulated(n_areas: int, judges: int, answers: int, ties: TieRule | None, *, differ: bool = True) -> PanelModel:
    """Make a panel of ``judges`` with ``answers`` answers each."""
    rng = np.random.default_rng(1)
    corners = Delaunay(rng.random((n_areas, 2))).simplices
    graph = AreaGraph(n_areas, np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]))
    C = communicability(graph)
    panel = attentive(Setting(graph, C, 3.0, judges, answers), 3 * C.draw(rng, 1)[0])
    panel = panel._replace(scales={"tie_chance": 1 / 6})
    if differ:
        panel = panel._replace(views=1.5 * C.draw(rng, judges))
    counts = simulate_panel(rng, panel, ties, np.full(judges, answers))
    return PanelModel(counts, C, InverseGamma(), Parts(ties, disagreement=C if differ else None))


def report(name: str, draws: Draws, seconds: float) -> dict[str, float]:
    """Print and return effective draws, all and per second of the whole fit."""
    ess = np.atleast_1d(ess_bulk(draws.centred))
    sizes = {"worst area": float(ess.min()), "median area": float(np.median(ess))}
    sizes |= {name: float(ess_bulk(draws[name])) for name in SCALARS if name in draws.arrays}
    shown = ", ".join(f"{key} {size:.0f} ({size / seconds:.0f}/s)" for key, size in sizes.items())
    print(f"{name}: {seconds:.1f} s, acceptance {draws['acceptance'].mean():.2f}; ESS {shown}", flush=True)
    return {"seconds": seconds} | sizes


def whole(name: str, model: PanelModel, plan: Plan) -> dict[str, float]:
    """Time a whole fit."""
    began = time.process_time()
    draws = sample_panel(np.random.default_rng(1), model, plan)
    return report(name, draws, time.process_time() - began)


def ties_against_none(rounds: int = 3) -> dict[str, float]:
    """Time the pooled model with ties beside the one without them; return effective draws per second of each."""
    model, plan = simulated(76, 12, 160, TieRule.RAO_KUPPER, differ=False), Plan(chains=32, warmup=50, draws=250)
    plain = Model(model.counts.pairs().decided(), model.covariance, model.variance)
    rates: dict[str, list[float]] = {"with ties": [], "without": []}
    for seed in range(rounds):
        for name, seen in rates.items():
            began = time.process_time()
            rng = np.random.default_rng(seed)
            draws = sample_panel(rng, model, plan=plan) if name == "with ties" else sample(rng, plain, plan=plan)
            seen.append(float(np.median(ess_bulk(draws.centred))) / (time.process_time() - began))
    best = {name: max(seen) for name, seen in rates.items()}
    shown = ", ".join(f"{rate:.0f} {name}" for name, rate in best.items())
    print(f"pooled, 76 areas, 1,920 answers, whole fits: median ESS/s {shown}", flush=True)
    return best


def main() -> None:
    """Run what `make bench` shows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="also 452 areas of 200 judges, and 10,000 judges")
    arguments = parser.parse_args()
    results: dict[str, object] = {}
    with threadpool_limits(limits=1):
        results["ties"] = ties_against_none()
        plan = Plan(chains=16, warmup=40, draws=100)
        for judges, answers in ((12, 160), (50, 40)):
            for rule in (None, TieRule.RAO_KUPPER):
                name = f"76 areas, {judges} judges, {'ties' if rule else 'no ties'}"
                results[name] = whole(name, simulated(76, judges, answers, rule), plan)
        if arguments.large:
            name = "452 areas, 200 judges of 100 answers"
            results[name] = whole(name, simulated(452, 200, 100, None), Plan(chains=8, warmup=20, draws=60))
            name = "77 areas, 10,000 judges of 50 answers"
            results[name] = whole(name, simulated(77, 10_000, 50, None), Plan(chains=4, warmup=15, draws=120))
    results["peak_memory_MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {results['peak_memory_MB']:.0f} MB")
    folder = ROOT / "benchmarks" / "results"
    folder.mkdir(exist_ok=True)
    (folder / "judges.json").write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
