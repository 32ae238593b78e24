"""Schedules on maps as large as a country's: what takes minutes."""

import subprocess
import sys
from pathlib import Path

import pytest

LARGE = """
from pathlib import Path
import numpy as np
from synthetic import delaunay_map
from judgemap.core.design.designs import principal_component
from judgemap.core.design.schedule import ListOptions, draw_list

graph = delaunay_map(35_000)
design = principal_component(graph)
rng = np.random.default_rng(1)
pairs = draw_list(rng, design, 50_000, ListOptions(balanced_exposure=True, repeats=0.05)).pairs
exposure = design.exposure()
i, j = graph.edges.T
# Not getrusage: its maximum counts the process that started this one, which may be a large test run.
most = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(
    len(pairs),
    int((pairs[:, 0] == pairs[:, 1]).sum()),
    exposure.sum(),
    design.probability(i, j).max() * 35_000 * 34_999 / 2,
    design.restricted(np.arange(100)).draw(rng, 50).max(),
    int(most.split()[1]) / 1e6,
)
"""


@pytest.mark.slow
def test_35000_areas_work_in_little_memory():
    here = Path(__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-c", LARGE], cwd=here, capture_output=True, text=True, check=False, timeout=1_800
    )
    assert run.returncode == 0, run.stderr
    length, loops, exposure, most_of_neighbours, last, gigabytes = map(float, run.stdout.split())
    assert (length, loops) == (50_000, 0)
    assert exposure == pytest.approx(2, abs=1e-9)
    assert most_of_neighbours < 0.9, "pairs of neighbours are asked less than under the uniform design"
    assert last < 100
    assert gigabytes < 1.5, "a dense matrix would take 9.8"
