"""Write docs/measurements.md from benchmarks/results, and check that no ratio within one run has fallen.

    python benchmarks/page.py keep     before a run: today's figures become the last ones, and the machine is noted
    python benchmarks/page.py write    after it: benchmarks/measurements.md, filled in, becomes docs/measurements.md
    python benchmarks/page.py check    exit status 1 if a ratio is below two thirds of the last one

Times depend on the machine; ratios of two things timed in turns in one run hardly do, so only they are checked.
"""

import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
FALLEN = 2 / 3
ESS = ("ess_min_per_second", "ess_median_per_second", "ess_log_alpha2_per_second")
Figures = dict[str, Any]


@dataclass(frozen=True)
class Ratio:
    """How many times as much one thing gives as another that was timed beside it; larger is better."""

    name: str
    file: str
    of: Callable[[Figures], float]


def _ess(study: str, other: str, figure: str) -> Callable[[Figures], float]:
    return lambda found: found[study]["hmc, 8 chains"][figure] / found[study][other][figure]


RATIOS = (
    Ratio("default sampler to Gibbs, median area", "samplers", _ess("Nottinghamshire", "gibbs, 1 chains", ESS[1])),
    Ratio("default sampler to Gibbs, log α²", "samplers", _ess("Nottinghamshire", "gibbs, 1 chains", ESS[2])),
    Ratio("the same with 452 areas, median area", "samplers", _ess("simulated 452", "gibbs, 1 chains", ESS[1])),
    Ratio(
        "default sampler to the block random walk, median area",
        "samplers",
        _ess("Nottinghamshire", "block walk (rival), 1 chains", ESS[1]),
    ),
    Ratio("default sampler to R, median area", "samplers", lambda found: found["beside R"]["ess_median_ratio"]),
    Ratio("default sampler to R, log α²", "samplers", lambda found: found["beside R"]["ess_log_alpha2_ratio"]),
    Ratio(
        "clusters: compiled to the paper's updates, number of clusters",
        "clusters",
        lambda found: (
            found["Nottinghamshire"]["compiled"]["ess_clusters_per_second"]
            / found["Nottinghamshire"]["Pólya-Gamma reference"]["ess_clusters_per_second"]
        ),
    ),
    Ratio(
        "a model with ties to one without",
        "judges",
        lambda found: found["ties"]["with ties"] / found["ties"]["without"],
    ),
)


def read(folder: Path, name: str) -> Figures:
    """Read one benchmark's figures; empty if it was not run."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def today(results: Path, name: str) -> Figures:
    """Read one benchmark's figures if it was run since `keep`; unchanged figures are not today's."""
    now = read(results, name)
    return {} if now == read(results / "last", name) else now


def ratio(found: Figures, each: Ratio) -> float | None:
    """Compute a ratio; None if one of its two sides was not measured."""
    try:
        return each.of(found)
    except KeyError:
        return None


def ratio_rows(results: Path) -> list[tuple[str, float | None, float | None]]:
    """Return (name, today's, the last one) of each ratio that was ever measured."""
    rows = [
        (each.name, ratio(today(results, each.file), each), ratio(read(results / "last", each.file), each))
        for each in RATIOS
    ]
    return [row for row in rows if row[1:] != (None, None)]


def fallen(results: Path) -> list[str]:
    """Say which ratios fell by more than a third, one sentence each."""
    return [
        f"{name}: {now:.3g}, where it was {last:.3g}"
        for name, now, last in ratio_rows(results)
        if now is not None and last is not None and now < FALLEN * last
    ]


def keep(results: Path) -> None:
    """Make today's figures the last ones, and note the machine on which the next ones are measured."""
    (results / "last").mkdir(parents=True, exist_ok=True)
    for path in results.glob("*.json"):
        shutil.copy(path, results / "last" / path.name)
    (results / "machine.json").write_text(json.dumps(machine(), indent=2) + "\n", encoding="utf-8")


def machine() -> Figures:
    """Name the processor, by its model, and what Python runs on it."""
    info = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*:\s*(.+)", info.read_text(encoding="utf-8")) if info.is_file() else None
    model = named[1] if named else platform.processor() or platform.machine()
    return {"processor": model, "cores": os.cpu_count(), "python": platform.python_version()}


def number(value: float | None) -> str:
    """Write three figures, or whole thousands with a comma; a dash for what was not measured.

    >>> number(23560.4), number(0.03387), number(None)
    ('23,560', '0.0339', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Write a table in Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines).replace("| --- ", "|---").replace("|--- |", "|---|")


def newest(results: Path, name: str, rows: str, columns: dict[str, str]) -> str:
    """Write a benchmark's table: one line per entry under ``rows``, as last measured."""
    found = read(results, name).get(rows, {})
    return table(
        [rows, *columns.values()],
        [[label, *(number(row.get(key)) for key in columns)] for label, row in found.items()],
    )


def fill_in(results: Path, template: Path) -> str:
    """Fill the template in with what was measured last."""
    environment = Environment(  # noqa: S701 - Markdown, from our own files
        loader=FileSystemLoader(template.parent), undefined=StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template(template.name).render(
        machine=read(results, "machine") or machine(),
        ratios=table(
            ["", "times as much"],
            [[each.name, number(ratio(read(results, each.file), each))] for each in RATIOS],
        ),
        newest=lambda name, rows, columns: newest(results, name, rows, columns),
        figures=lambda name: read(results, name),
        number=number,
    )


def main() -> None:
    """Do what the argument says."""
    match sys.argv[1:]:
        case ["keep"]:
            keep(RESULTS)
        case ["write"]:
            page = ROOT / "docs" / "measurements.md"
            page.write_text(fill_in(RESULTS, ROOT / "benchmarks" / "measurements.md"), encoding="utf-8")
            print(f"{page.relative_to(ROOT)} is written")
        case ["check"]:
            worse = fallen(RESULTS)
            print(
                "\n".join([f"{len(worse)} ratios fell by more than a third:", *worse] if worse else ["No ratio fell."])
            )
            sys.exit(bool(worse))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
