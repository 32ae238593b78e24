"""Time what follows a fit, in CPU seconds on one thread: its figures, the pictures of its pages, and the briefing.

    OPENBLAS_NUM_THREADS=1 .venv/bin/python benchmarks/explaining.py [RESULTS COMPARISONS]

RESULTS is a folder that `judgemap fit` wrote for COMPARISONS. If they are left out, the example study is used, with 77
areas and 1,848 answers, and its times are written to benchmarks/results/explaining.json. What the fit itself has
computed, such as effective sample sizes, is not timed.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import judgemap as jm
from judgemap.report.pages.briefing import About, Gallery, briefing
from judgemap.study.assess.explain import Explanation

RESULTS = Path(__file__).parent / "results" / "explaining.json"
OF_THE_PAGES = ("traces", "ranks", "win-rates", "variance-against-median", "alpha")


def main() -> None:
    """Print the seconds of each step, and of all."""
    if len(sys.argv) == 3:
        fit = jm.load_fit(sys.argv[1])
        data = jm.read_comparisons(sys.argv[2], fit.map, winner_is=fit.record.winner_is)
    else:
        areas, data = jm.example_study(seed=1)
        fit = jm.fit_spatial(data, areas, seed=1)
    _ = fit.sampling, fit.areas
    explanation = Explanation(fit, data)
    about = About("Wards", "Which of the two has the lower rate?", data, explanation=explanation)
    gallery = Gallery(fit, about)
    steps: dict[str, Callable[[], object]] = {
        "figures": explanation.to_dict,
        "pictures": lambda: [gallery[name].svg() for name in OF_THE_PAGES if name in gallery.names],
        "briefing": lambda: briefing(fit, about, None, gallery),
    }
    seconds = {}
    for name, step in steps.items():
        began = time.process_time()
        step()
        seconds[name] = time.process_time() - began
        print(f"{name:10}{seconds[name]:8.2f} s")
    seconds["in all"] = sum(seconds.values())
    print(f"{'in all':10}{seconds['in all']:8.2f} s of CPU time, {len(fit.map)} areas, {len(data)} answers")
    if len(sys.argv) == 1:
        results = {"CPU seconds": {f"{len(fit.map)} areas, {len(data)} answers": seconds}}
        RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
