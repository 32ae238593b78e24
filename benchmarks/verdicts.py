"""How often is the verdict right? Simulated studies on Chicago's map, fitted by the plain fit and judged as a user's.

    python benchmarks/verdicts.py [--studies 100] [--others 20] [--cores 2]

A hundred studies follow the model (a map from the car prior, 12 judges whose views differ by 0.35 of it, 2,000
answers): what the verdict finds there is a false alarm. The others depart from it in one way each. The table counts the
headlines, and which subjects were found wanting; `judges` is the share of judges said to stand out.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import judgemap as jm
from judgemap.core.model.car import intrinsic_car
from judgemap.core.simulate import misbehaviour, truths
from judgemap.core.simulate.misbehaviour import PanelAnswers, Setting
from judgemap.study.assess.explain import Explanation
from judgemap.study.assess.verdict import Grade
from judgemap.study.data.comparisons import Comparisons

ALPHA, JUDGES, ANSWERS = 3.0, 12, 2000
RESULTS = Path(__file__).parent / "results" / "verdicts.json"


def shaped(name: str) -> Callable[[np.random.Generator, Setting], PanelAnswers]:
    """Judges who differ see a map of this shape."""
    return lambda rng, setting: truths.judged(rng, setting, truths.SHAPES[name](rng, setting), "differ")


def followed(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """Everything is as the plain fit says."""
    return truths.judged(rng, setting, setting.alpha * setting.covariance.draw(rng, 1)[0], "differ")


def partly(rng: np.random.Generator, setting: Setting) -> PanelAnswers:
    """Four areas in ten are never asked about."""
    answers = followed(rng, setting)
    kept = (answers.left < 0.6 * setting.graph.n_areas) & (answers.right < 0.6 * setting.graph.n_areas)
    return answers._replace(**{name: getattr(answers, name)[kept] for name in ("judge", "left", "right", "choice")})


KINDS: dict[str, tuple[Callable[[np.random.Generator, Setting], PanelAnswers], int]] = {
    "as the model says": (followed, ANSWERS),
    "as the model says, 100 answers": (followed, 100),
    "four areas in ten never compared": (partly, ANSWERS),
    "plateaus": (shaped("plateaus"), ANSWERS),
    "hot spots": (shaped("hot-spots"), ANSWERS),
    "one judge in five careless": (misbehaviour.careless, ANSWERS),
    "one judge the wrong way round": (misbehaviour.adversary, ANSWERS),
    "lean to the left": (misbehaviour.leaning, ANSWERS),
    "half of the map known": (misbehaviour.own_part, ANSWERS),
}


def judged(case: tuple[str, int]) -> dict[str, object]:
    """Simulate, fit and judge one study."""
    kind, seed = case
    simulate, answers = KINDS[kind]
    areas = jm.chicago()
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    found = simulate(rng, Setting(areas.graph, intrinsic_car(areas.graph), ALPHA, JUDGES, answers))
    words = np.array(["tie", "left", "right"])[found.choice].tolist()
    names = [f"judge {code}" for code in found.judge]
    data = Comparisons.from_words(areas.ids, names, found.left, found.right, words)
    explained = Explanation(jm.fit_spatial(data, areas, seed=seed), data)
    verdict = explained.verdict
    return {
        "kind": kind,
        "headline": verdict.headline,
        "wanting": [each.subject.value for each in verdict.grounds if each.grade is not Grade.SOUND],
        "odd": sum(map(bool, explained.stands_out.values())),
        "remedies": [each.option for each in verdict.remedies],
    }


def main() -> None:
    """Run the studies, and print and store the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=100, help="studies that follow the model")
    parser.add_argument("--others", type=int, default=20, help="studies of each other kind")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), help="only these; the others' counts stay")
    wanted = parser.parse_args()
    first = next(iter(KINDS))
    cases = [
        (kind, seed) for kind in wanted.kinds for seed in range(wanted.studies if kind == first else wanted.others)
    ]
    with ProcessPoolExecutor(wanted.cores) as pool:
        rows = list(pool.map(judged, cases))
    kept = {row["kind"]: row for row in json.loads(RESULTS.read_text(encoding="utf-8"))} if RESULTS.exists() else {}
    for kind in wanted.kinds:
        here = [row for row in rows if row["kind"] == kind]
        kept[kind] = {
            "kind": kind,
            "studies": len(here),
            "headlines": Counter(row["headline"] for row in here),
            "wanting": Counter(subject for row in here for subject in row["wanting"]),
            "remedies": Counter(option for row in here for option in row["remedies"]),
            "judges": round(sum(row["odd"] for row in here) / max(1, len(here) * JUDGES), 4),
        }
        print(kept[kind], flush=True)
    RESULTS.write_text(
        json.dumps([kept[kind] for kind in KINDS if kind in kept], indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
