"""Ties in the model against ties left out: held-out log score by five-fold cross-validation over answers.

    python benchmarks/ties.py [--folds 5]

The answers are those of Dar es Salaam, in ../shared/data: 452 subwards, 75,078 answers, judges unknown. Each fold's
decided answers are scored by log P(the area chosen | one of the two is), which every model gives; models with ties are
also scored on all answers, including ties, as log P(answer).
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np

import judgemap as jm
from judgemap.core.model.outcomes import TieRule, log_chances, odds
from judgemap.study.data.comparisons import Comparisons, Outcome
from judgemap.study.fit.draws import evenly

RULES = {"leave-out": None, "model": TieRule.RAO_KUPPER, "davidson": TieRule.DAVIDSON}
DRAWS = 200
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "dar_es_salaam"


def dar_es_salaam() -> tuple[jm.Areas, Comparisons]:
    """Read the study: outcome 1 is decided, subward1 the poorer; 2 is a tie."""
    areas = jm.read_edges(SHARED / "edges.csv")
    with (SHARED / "comparisons.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    left, right = (areas.index([row[column] for row in rows]) for column in ("subward1", "subward2"))
    words = ["left" if row["outcome"] == "1" else "tie" for row in rows]
    return areas, Comparisons.from_words(areas.ids, [""] * len(rows), left, right, words, winner_is="higher")


def scores(fit: jm.Fit, ties: str, held: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """Return log P(answer | decided) of the decided answers, and log P(answer) of all; empty without ties."""
    rows = evenly(len(fit.risk), DRAWS)
    strengths = fit.record.sign * fit.risk[rows]
    eta = (strengths[:, held.left] - strengths[:, held.right]).T
    p = fit.tie_chance[rows]
    left, right, tie = log_chances(RULES[ties], eta, odds(eta), p)
    won = np.where((held.outcome == Outcome.LEFT)[:, None], left, right)
    decided = np.log(np.exp(won - np.logaddexp(left, right)).mean(axis=1))[held.decided]
    if RULES[ties] is None:
        return decided, np.empty(0)
    return decided, np.log(np.exp(np.where(held.tied[:, None], tie, won)).mean(axis=1))


def main() -> None:
    """Print one row per model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--draws", type=int, default=100, help="of each of 4 chains")
    given = parser.parse_args()
    areas, data = dar_es_salaam()
    fold = np.random.default_rng(1).integers(given.folds, size=len(data))
    base: np.ndarray = np.empty(0)
    for ties in RULES:
        began, parts = time.process_time(), []
        for each in range(given.folds):
            fit = jm.fit_spatial(data.where(fold != each), areas, seed=1, ties=ties, chains=4, draws=given.draws)
            parts.append(scores(fit, ties, data.where(fold == each)))
        decided, every = (np.concatenate(column) for column in zip(*parts, strict=True))
        base = decided if ties == "leave-out" else base
        gain = decided - base
        error = gain.std() * len(gain) ** 0.5
        print(
            f"{ties}: decided answers {decided.mean():.5f} each, {gain.sum():+.1f} ± {error:.1f} "
            f"in all against ties left out; all answers {every.mean() if len(every) else float('nan'):.5f} each; "
            f"{time.process_time() - began:.0f} s of CPU"
        )


if __name__ == "__main__":
    main()
