"""Compare the priors that scale, by how well they predict answers held out, and by time; write results/smoothers.json.

    .venv/bin/python benchmarks/smoothers.py real              # Nottinghamshire and Dar es Salaam, from ../shared/data
    .venv/bin/python benchmarks/smoothers.py chicago           # simulated truths of four kinds on Chicago's map

Studies are fitted in full, and every fold of answers is predicted from the others. Scores are log P(answer), and
differences are from the paper's prior; the standard error is over answers (over sets of answers for Chicago). Times are
CPU seconds. The fused lasso, which is not offered, is sampled here.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy import linalg
from scipy.special import expit, log_expit

import judgemap as jm
from judgemap.core.model.prior import independent
from judgemap.core.samplers.polyagamma import draw_polyagamma
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.draws import evenly
from judgemap.study.fit.settings import FitSettings
from ties import dar_es_salaam

RESULTS = Path(__file__).parent / "results" / "smoothers.json"
NOTTINGHAMSHIRE = Path(__file__).resolve().parents[2] / "shared" / "data" / "nottinghamshire"
PRIORS = ("communicability", "car", "multi-resolution")
MODELS = (*PRIORS, "independent")
FUSED = "fused lasso"
FUSED_CHAINS, FUSED_DRAWS, RIDGE = 4, 500, 1e-4
ALPHA = 3.0
SETS, ANSWERS = 6, 1_500


def settings(model: str) -> FitSettings:
    """Return the settings of a prior, or of the standard model."""
    assumed = {"model": "standard"} if model == "independent" else {"prior": model}
    return FitSettings(**assumed, seed=1, chains=4, draws=250, ties="leave-out", judges="alike")


def fused_draws(areas: jm.Areas, data: Comparisons) -> np.ndarray:
    """Draw strengths whose differences between neighbours have Laplace distributions, of a scale to be found.

    A Laplace difference is Gaussian with an exponential variance, so this is a CAR whose edges have weights of their
    own: 1/τ_e is inverse Gaussian given the map (Park and Casella, 2008), answers are Pólya-Gamma, and r ~ 1/r.
    """
    counts, edges, n = data.counts().decided(), areas.graph.edges, len(areas)
    rng, kappa = np.random.default_rng(1), counts.wins - counts.n / 2
    drawn = []
    for _ in range(FUSED_CHAINS):
        strengths = 0.5 * rng.standard_normal(n)
        rate = 1.0
        for step in range(2 * FUSED_DRAWS):
            gap = np.abs(strengths[edges[:, 0]] - strengths[edges[:, 1]]) + 1e-9
            weight = rng.wald(np.minimum(rate / gap, 1e6), rate**2)
            omega = draw_polyagamma(rng, counts.n, strengths[counts.first] - strengths[counts.second])
            Q = RIDGE * np.eye(n)
            for (i, j), w in ((edges.T, weight), ((counts.first, counts.second), omega)):
                np.add.at(Q, (i, i), w)
                np.add.at(Q, (j, j), w)
                np.add.at(Q, (i, j), -w)
                np.add.at(Q, (j, i), -w)
            pull = np.bincount(counts.first, kappa, n) - np.bincount(counts.second, kappa, n)
            lower = linalg.cholesky(Q, lower=True)
            half = linalg.solve_triangular(lower, pull, lower=True) + rng.standard_normal(n)
            strengths = linalg.solve_triangular(lower.T, half)
            strengths -= strengths.mean()
            # The map has one dimension fewer than areas, and the scale multiplies all of it.
            total = np.abs(strengths[edges[:, 0]] - strengths[edges[:, 1]]).sum()
            rate = rng.gamma(n - 1, 1 / total)
            if step >= FUSED_DRAWS:
                drawn.append(strengths)
    return np.array(drawn)


def score(drawn: np.ndarray, held: Comparisons) -> np.ndarray:
    """Find log P(answer) of each answer held out, from draws of the strengths."""
    strengths = drawn[evenly(len(drawn), 400)]
    counts = held.counts().decided()
    first = log_expit(strengths[:, counts.first] - strengths[:, counts.second])
    second = log_expit(strengths[:, counts.second] - strengths[:, counts.first])
    win, lose = (np.log(np.exp(each).mean(axis=0)) for each in (first, second))
    return np.concatenate([np.repeat(win, counts.wins), np.repeat(lose, counts.n - counts.wins)])


def draws_of(areas: jm.Areas, data: Comparisons, model: str) -> np.ndarray:
    """Fit, and return draws of the strengths."""
    if model == FUSED:
        return fused_draws(areas, data)
    fit = settings(model).run(data, areas)
    return fit.record.sign * fit.risk


def cross_validate(areas: jm.Areas, data: Comparisons, model: str, folds: int) -> tuple[np.ndarray, float]:
    """Predict every answer from a fit without its fold; return the scores, and the time of a fit."""
    fold = np.random.default_rng(1).integers(folds, size=len(data))
    began, parts = time.process_time(), []
    for each in range(folds):
        parts.append(score(draws_of(areas, data.where(fold != each), model), data.where(fold == each)))
    return np.concatenate(parts), (time.process_time() - began) / folds


def real() -> dict[str, object]:
    """Two real studies; Nottinghamshire has borders and no outlines, so no prior on centroids."""
    areas = jm.read_edges(NOTTINGHAMSHIRE / "edges.csv", NOTTINGHAMSHIRE / "areas.csv")
    borders, answers = dar_es_salaam()
    drawn = jm.read_areas(NOTTINGHAMSHIRE.parent / "dar_es_salaam" / "areas.geojson", id="id")
    outlines = drawn.to_frame().geometry.iloc[drawn.index(borders.ids)]
    studies = {
        "Nottinghamshire": (areas, jm.read_comparisons(NOTTINGHAMSHIRE / "comparisons.csv", areas), 5),
        "Dar es Salaam": (jm.Areas(borders.ids, borders.names, borders.graph, outlines), answers, 2),
    }
    rows: dict[str, object] = {}
    for name, (areas, data, folds) in studies.items():
        base: np.ndarray | None = None
        for model in (*MODELS, FUSED):
            if model == "multi-resolution" and areas.geometry is None:
                continue
            scores, seconds = cross_validate(areas, data, model, folds)
            base = scores if base is None else base
            gain = scores - base
            row = {
                "score": round(float(scores.mean()), 5),
                "gain": round(float(gain.sum()), 1),
                "error": round(float(gain.std() * np.sqrt(len(gain))), 1),
                "cpu_seconds": round(seconds, 1),
            }
            rows[f"{name}, {model}"] = row
            print(name, model, row, flush=True)
    return rows


def draw_answers(
    rng: np.random.Generator, strengths: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ask about pairs at random: first, second, and whether the first won."""
    n = len(strengths)
    first = rng.integers(n, size=size)
    second = (first + rng.integers(1, n, size=size)) % n
    return first, second, rng.random(size) < expit(strengths[first] - strengths[second])


def simulated(areas: jm.Areas, first: np.ndarray, second: np.ndarray, won: np.ndarray) -> Comparisons:
    """Make comparisons from answers, all by one judge."""
    words = np.where(won, "left", "right").tolist()
    return Comparisons.from_words(areas.ids, ["1"] * len(words), first, second, words)


def chicago() -> dict[str, object]:
    """Fit every truth with every prior; as many answers are held out as are fitted."""
    areas, rows = jm.chicago(), {}
    for truth in MODELS:
        prior = independent(len(areas)) if truth == "independent" else jm.prior_covariance(areas, truth)
        found = {model: [] for model in (*MODELS, FUSED)}
        for number in range(SETS):
            rng = np.random.default_rng(number)
            strengths = ALPHA * prior.draw(rng, 1)[0]
            data, held = (simulated(areas, *draw_answers(rng, strengths, ANSWERS)) for _ in range(2))
            for model, scores in found.items():
                scores.append(float(score(draws_of(areas, data, model), held).mean()))
        base = np.array(found[MODELS[0]])
        for model, scores in found.items():
            gain = np.array(scores) - base
            row = {
                "score": round(float(np.mean(scores)), 5),
                "gain_a_1000": round(float(1000 * gain.mean()), 2),
                "error": round(float(1000 * gain.std(ddof=1) / np.sqrt(SETS)), 2),
            }
            rows[f"truth {truth}, {model}"] = row
            print("truth", truth, "fitted by", model, row, flush=True)
    return rows


def main(words: list[str]) -> None:
    """Measure what is asked for, and add it to the results."""
    found = {"real": real, "chicago": chicago}[words[0]]()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**known, words[0]: found}, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
