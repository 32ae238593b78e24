"""Are the intervals for the population right, and are odd judges recognised? Simulated studies on Chicago's map.

    python benchmarks/panels.py [--sets 50] [--panels 20] [--cores 2]

Coverage: 12 and 50 judges, σ/α of 0.25 and 0.5, 2,000 answers as unequal as in the paper; 95 % intervals of the
population's risk from the model in which judges differ, and from the one that pools them, on the same answers. Odd
judges: 20 judges (σ/α = 0.25) and one each who answers at random, the wrong way round, and with a map of their own, 50
answers each; the area under the ROC curve of the probability meant to recognise each kind, against the 20 and against
the other two kinds, and how often that probability is above 90 % for such a judge and for one of the 20. The chains are
short: fits that have not settled do not give these probabilities.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import judgemap as jm
from judgemap.core.assess.held_out import Bench, Cloud, Shared
from judgemap.core.model.judges import Panel, PanelModel, Parts
from judgemap.core.model.prior import (
    Covariance,
    InverseGamma,
    Model,
    communicability,
)
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.run import Plan, sample
from judgemap.core.simulate.misbehaviour import UNEQUAL, simulate_panel
from judgemap.study.assess.judges import NEAR_NOTHING, SURE
from judgemap.study.simulations.robustness import cover

ALPHA, ANSWERS, ORDINARY, EACH = 3.0, 2000, 20, 50
SETTINGS = [(judges, ratio) for judges in (12, 50) for ratio in (0.25, 0.5)]
KINDS = ("random", "reversed", "another view")
PLAN = Plan(chains=8, warmup=150, draws=150)
RESULTS = Path(__file__).parent / "results" / "panels.json"


def chicago() -> Covariance:
    """Return the prior of Chicago's map."""
    return communicability(jm.chicago().graph)


def drawn(rng: np.random.Generator, C: Covariance, judges: int, ratio: float) -> Panel:
    """Draw a panel whose judges differ by ``ratio``."""
    nothing = np.zeros(judges)
    views = ratio * ALPHA * C.draw(rng, judges)
    return Panel(ALPHA * C.draw(rng, 1)[0], views, nothing, nothing + 1, nothing, {})


def unequal(judges: int) -> np.ndarray:
    """Share the answers among the judges as unequally as in the paper."""
    shares = np.resize(np.array(UNEQUAL, dtype=np.float64), judges)
    return np.diff(np.round(np.cumsum(shares) / shares.sum() * ANSWERS).astype(np.int64), prepend=0)


def covered(seed: int) -> list[dict[str, float | str]]:
    """Simulate one study of each setting, and fit it both with judges who differ and with judges who are alike."""
    C, rows = chicago(), []
    for judges, ratio in SETTINGS:
        rng = np.random.default_rng([seed, judges, round(100 * ratio)])
        panel = drawn(rng, C, judges, ratio)
        counts = simulate_panel(rng, panel, None, unequal(judges))
        differ = PanelModel(counts, C, InverseGamma(), Parts(disagreement=C))
        fits = {
            "differ": sample_panel(rng, differ, plan=PLAN),
            "alike": sample(rng, Model(counts.pairs(), C, InverseGamma()), plan=PLAN),
        }
        for name, draws in fits.items():
            inside = cover(draws.strengths.reshape(-1, len(panel.strengths)), panel.strengths)._asdict()
            rows.append({"judges": judges, "ratio": ratio, "fit": name, **inside})
    return rows


def three_odd(rng: np.random.Generator) -> PanelModel:
    """Simulate a study whose last three judges are odd, one of each kind."""
    C = chicago()
    panel = drawn(rng, C, ORDINARY + len(KINDS), 0.25)
    panel.attention[ORDINARY : ORDINARY + 2] = 0.0, -1.0
    panel.views[ORDINARY + 2] = ALPHA * C.draw(rng, 1)[0] - panel.strengths
    counts = simulate_panel(rng, panel, None, np.full(panel.n_judges, EACH))
    return PanelModel(counts, C, InverseGamma(), Parts(disagreement=C, attention=True))


def suspected(seed: int) -> list[list[float]]:
    """Simulate a study with three odd judges; return every judge's probability of each kind."""
    rng = np.random.default_rng([seed, 7])
    model = three_odd(rng)
    C, counts, parts, n_judges = model.covariance, model.counts, model.parts, model.n_judges
    draws = sample_panel(rng, model, plan=PLAN)
    names = ("attention", "log_disagreement", "log_attention", "log_variance", "strengths")
    attention, *logs, strengths = (draws[name].reshape(PLAN.chains * PLAN.draws, -1) for name in names)
    sigma, attention_sd, alpha = (np.exp(each[:, 0] / 2) for each in logs)
    shared = Shared(np.zeros(C.n_areas), sigma=float(np.median(sigma)), attention_sd=float(np.median(attention_sd)))
    bench = Bench(counts, parts, shared, Cloud.of(strengths))
    own = np.hypot(np.median(alpha), np.median(sigma)) * C.factor
    others = [bench.set_aside(k)[0] for k in range(n_judges)]
    weighed = [bench.kind_chances(np.random.default_rng(k), k, own, each) for k, each in enumerate(others)]
    modelled, guessing, turned, another = np.array(weighed).T
    guessing += modelled * (np.abs(attention) < NEAR_NOTHING).mean(axis=0)
    turned += modelled * (attention < -NEAR_NOTHING).mean(axis=0)
    return [each.tolist() for each in (guessing, turned, another)]


def area_under_curve(odd: np.ndarray, ordinary: np.ndarray) -> float:
    """Return the chance that the odd judge has the higher probability, ties counting half."""
    above = odd[:, None] > ordinary[None, :]
    equal = odd[:, None] == ordinary[None, :]
    return float((above + equal / 2).mean())


def main() -> None:
    """Run the studies, and print and store the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=50, help="studies of each of the four settings")
    parser.add_argument("--panels", type=int, default=20, help="studies with odd judges")
    parser.add_argument("--cores", type=int, default=2)
    wanted = parser.parse_args()
    with ProcessPoolExecutor(wanted.cores) as pool:
        rows = [row for rows in pool.map(covered, range(wanted.sets)) for row in rows]
        chances = np.array(list(pool.map(suspected, range(wanted.panels))))
    found: dict[str, object] = {"sets": wanted.sets, "panels": wanted.panels, "coverage": [], "auc": {}, "sure": {}}
    for judges, ratio in SETTINGS if wanted.sets else ():
        for fit in ("differ", "alike"):
            own = [row for row in rows if (row["judges"], row["ratio"], row["fit"]) == (judges, ratio, fit)]
            means = {name: float(np.mean([row[name] for row in own])) for name in own[0] if name != "fit"}
            found["coverage"].append({"fit": fit, **means})
            shown = ", ".join(f"{name} {value:.3f}" for name, value in means.items() if name not in ("judges", "ratio"))
            print(f"{judges} judges, σ/α = {ratio}, {fit}: {shown}", flush=True)
    for place, kind in enumerate(KINDS if wanted.panels else ()):
        own = chances[:, place, ORDINARY + place]
        rest = {"ordinary judges": chances[:, place, :ORDINARY].ravel()}
        rest |= {other: chances[:, place, ORDINARY + at] for at, other in enumerate(KINDS) if at != place}
        found["auc"][kind] = {name: area_under_curve(own, others) for name, others in rest.items()}
        found["sure"][kind] = float((own > SURE).mean()), float((rest["ordinary judges"] > SURE).mean())
        print(f"{kind}: AUC {found['auc'][kind]}, said of {found['sure'][kind]}", flush=True)
    if not wanted.sets:  # only the odd judges: keep the coverage that was measured before
        found |= {name: json.loads(RESULTS.read_text())[name] for name in ("sets", "coverage")}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
