"""Compare the priors that scale, by how well they predict answers held out, and by time; write results/smoothers.json.

    .venv/bin/python benchmarks/smoothers.py real              # Nottinghamshire and Dar es Salaam, from ../shared/data
    .venv/bin/python benchmarks/smoothers.py chicago           # simulated truths of four kinds on Chicago's map

Studies are fitted in full, and every fold of answers is predicted from the others. Scores are log P(answer), and
differences are from the paper's prior; the standard error is over answers (over sets of answers for Chicago). Times are
CPU seconds.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy.special import expit, log_expit

import judgemap as jm
from judgemap.core.model.prior import independent
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.draws import evenly
from judgemap.study.fit.settings import FitSettings
from ties import dar_es_salaam

RESULTS = Path(__file__).parent / "results" / "smoothers.json"
NOTTINGHAMSHIRE = Path(__file__).resolve().parents[2] / "shared" / "data" / "nottinghamshire"
PRIORS = ("communicability", "car", "multi-resolution")
MODELS = (*PRIORS, "independent")
ALPHA = 3.0
SETS, ANSWERS = 6, 1_500


def settings(model: str) -> FitSettings:
    """Return the settings of a prior, or of the standard model."""
    assumed = {"model": "standard"} if model == "independent" else {"prior": model}
    return FitSettings(**assumed, seed=1, chains=4, draws=250, ties="leave-out")


def score(fit: jm.Fit, held: Comparisons) -> np.ndarray:
    """Find log P(answer) of each answer held out."""
    strengths = fit.record.sign * fit.risk[evenly(len(fit.risk), 400)]
    counts = held.counts().decided()
    first = log_expit(strengths[:, counts.first] - strengths[:, counts.second])
    second = log_expit(strengths[:, counts.second] - strengths[:, counts.first])
    win, lose = (np.log(np.exp(each).mean(axis=0)) for each in (first, second))
    return np.concatenate([np.repeat(win, counts.wins), np.repeat(lose, counts.n - counts.wins)])


def cross_validate(areas: jm.Areas, data: Comparisons, model: str, folds: int) -> tuple[np.ndarray, float]:
    """Predict every answer from a fit without its fold; return the scores, and the time of a fit."""
    fold = np.random.default_rng(1).integers(folds, size=len(data))
    began, parts = time.process_time(), []
    for each in range(folds):
        fit = settings(model).run(data.where(fold != each), areas)
        parts.append(score(fit, data.where(fold == each)))
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
        for model in MODELS:
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
        found = {model: [] for model in MODELS}
        for number in range(SETS):
            rng = np.random.default_rng(number)
            strengths = ALPHA * prior.draw(rng, 1)[0]
            data, held = (simulated(areas, *draw_answers(rng, strengths, ANSWERS)) for _ in range(2))
            for model in MODELS:
                found[model].append(float(score(settings(model).run(data, areas), held).mean()))
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
