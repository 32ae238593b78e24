"""Rates from counts, and the scale of covariates' effects, on Chicago's map with real fits; write results/rates.json.

    .venv/bin/python benchmarks/rates.py          # 40 studies
    .venv/bin/python benchmarks/rates.py effects  # β ~ N(0, α²) beside β ~ N(0, 2²)

A study has a truth from the car prior (α = 1.5) and 15 answers an area. Half of the areas have counts, of 2,000 people
each, with a rate of e^(−4 + b · risk) and an own deviation of σ = 0.2; b is 0.5, or 0 for counts that have nothing to
do with the risk. The effects are reweighted from one prior of β to the other, which is exact: nothing else changes.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import judgemap as jm
from judgemap.core.model.covariates import standardised
from judgemap.errors import StudyError

RESULTS = Path(__file__).parent / "results" / "rates.json"
STUDIES, ANSWERS, PEOPLE, SIGMA = 40, 15, 2_000, 0.2


def simulate(rng: np.random.Generator, areas: jm.Areas, risk: np.ndarray) -> jm.Comparisons:
    """Return answers of judges who see the risk."""
    count = ANSWERS * len(areas)
    left = rng.integers(0, len(areas), count)
    right = (left + rng.integers(1, len(areas), count)) % len(areas)
    lower = rng.random(count) < 1 / (1 + np.exp(risk[left] - risk[right]))
    return jm.Comparisons.from_words(areas.ids, ["one"] * count, left, right, np.where(lower, "left", "right").tolist())


def rates() -> dict[str, float]:
    """Return how often rates are covered, and how often counts are refused, with and without a relation."""
    areas, rng = jm.chicago(), np.random.default_rng(1)
    truth = jm.prior_covariance(areas, "car").draw(rng, STUDIES) * 1.5
    found: dict[str, list[float]] = {name: [] for name in ("refused, b 0.5", "refused, b 0", "counted", "not counted")}
    for risk in truth - truth.mean(axis=1, keepdims=True):
        fit = jm.fit_spatial(simulate(rng, areas, risk), areas, seed=1, judges="alike", chains=4, draws=250)
        for b in (0.5, 0.0):
            rate = np.exp(-4 + b * risk) * rng.gamma(SIGMA**-2, SIGMA**2, len(areas))
            counts = rng.poisson(PEOPLE * rate).astype(object)
            counts[1::2] = ""
            table = pd.DataFrame({"id": areas.ids, "cases": counts, "people": PEOPLE})
            try:
                told = jm.rates(replace(fit, map=areas.with_figures(table)), "cases", "people").table
            except StudyError:
                found[f"refused, b {b:g}"].append(1.0)
                continue
            found[f"refused, b {b:g}"].append(0.0)
            inside = (told["rate_low"] < 1000 * rate) & (1000 * rate < told["rate_high"])
            if b:
                found["counted"].append(inside[::2].mean())
                found["not counted"].append(inside[1::2].mean())
    return {name: float(np.mean(values)) for name, values in found.items()} | {"studies": STUDIES}


def effects() -> dict[str, object]:
    """Return e^β with its interval under both priors, at 2 and 15 answers an area."""
    areas, rng, found = jm.chicago(), np.random.default_rng(4), {}
    values = standardised(rng.normal(size=(len(areas), 2)))
    risk = values[:, 0] + 0.5 * jm.prior_covariance(areas, "car").draw(rng, 1)[0]
    places = areas.with_figures(pd.DataFrame({"id": areas.ids, "planted": values[:, 0], "noise": values[:, 1]}))
    data = simulate(rng, areas, risk)
    for each in (2, ANSWERS):
        some = data.where(np.arange(len(data)) < each * len(areas))
        fit = jm.fit_spatial(some, places, seed=1, judges="alike", covariates="planted,noise", chains=4, draws=2000)
        beta = fit.posterior["effect"].reshape(-1, 2)
        variance = fit.posterior["alpha2"].ravel()[:, None]
        log = (-(beta**2) / 8 - np.log(2) + beta**2 / variance / 2 + np.log(variance) / 2).sum(axis=1)
        weights = np.exp(log - log.max())
        chosen = rng.choice(len(beta), 20_000, p=weights / weights.sum())
        found[f"{each} an area"] = {
            "effective share": float(weights.sum() ** 2 / (weights**2).sum() / len(weights)),
            "conjugate": np.exp(np.quantile(beta, [0.025, 0.5, 0.975], axis=0)).T.round(3).tolist(),
            "independent": np.exp(np.quantile(beta[chosen], [0.025, 0.5, 0.975], axis=0)).T.round(3).tolist(),
            "largest change of a mean risk": float(np.abs(fit.risk[chosen].mean(axis=0) - fit.risk.mean(axis=0)).max()),
        }
    return found


if __name__ == "__main__":
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept |= {"effects": effects()} if sys.argv[1:] == ["effects"] else {"rates": rates()}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    print(json.dumps(kept, indent=1))
