"""Compile the samplers before anyone needs them: in the background, once after installing.

Compiling takes many seconds and its result is kept on disk, so only the first long fit and the first clusters would
wait for it. A worker starts it before its first job, and `judgemap fit` when it has finished. A fit that comes sooner
compiles for itself; draws do not depend on who compiled. To compile right after installing, as `make` does:

    python -m judgemap.study.compiling
"""

import contextlib
import os
import subprocess
import sys
import threading
from importlib.metadata import version
from pathlib import Path

import numpy as np

from judgemap import core
from judgemap.core import samplers

NICENESS = 10
"""Fits and everything else go first; with less priority still, a busy machine would never get round to it."""
GENTLY = "--gently"
MARKER = "judgemap-compiled"


def begin() -> bool:
    """Start compiling in a process that outlives this one, unless that was done before; return whether it was started.

    If machine code or the note that it was begun cannot be kept, nothing is started.
    """
    try:
        if not samplers.KEEPS_MACHINE_CODE or not note():
            return False
        process = subprocess.Popen(
            [sys.executable, "-m", "judgemap.study.compiling", GENTLY],
            # A pipe that it held open would keep whoever called this program waiting for its end.
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return False
    threading.Thread(target=process.wait, daemon=True).start()  # so that its end is noticed
    return True


def note() -> bool:
    """Note that this installation is being compiled; return whether that is new."""
    marker, state = folder() / MARKER, _state()
    if marker.exists() and marker.read_text() == state:
        return False
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.write_text(state)
    return True


def folder() -> Path:
    """Find where numba keeps machine code; of the places it may choose for want of a better, a folder of our own."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(named)
    beside = Path(samplers.__file__).parent
    if os.access(beside, os.W_OK):
        return beside / "__pycache__"
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "judgemap")  # noqa: PTH111 - no error without a home


def _state() -> str:
    """Describe what the machine code depends on, as far as it changes with an installation."""
    files = [each.stat() for each in Path(core.__file__).parent.rglob("*.py")]
    size, newest = sum(each.st_size for each in files), max(each.st_mtime_ns for each in files)
    return f"Python {sys.version_info[:2]}, numba {version('numba')}, {size} bytes of modules, the newest of {newest}"


def compile_all() -> None:
    """Draw a few times by every compiled sampler of the models that are fitted most; the draws are thrown away."""
    from judgemap.core.approximate.laplace import approximate
    from judgemap.core.model.clusters import ClusterPrior
    from judgemap.core.model.counts import count_judged, count_pairs
    from judgemap.core.model.judges import Disagreement, PanelModel, Parts
    from judgemap.core.model.prior import InverseGamma, Model, independent
    from judgemap.core.samplers.clusters.kernel import ClusterModel
    from judgemap.core.samplers.judges.hmc import sample_panel
    from judgemap.core.samplers.run import Plan, run, sample, sample_clusters
    from judgemap.core.samplers.spatial import hmc

    rng, plan = np.random.default_rng(1), Plan(chains=1, warmup=0, draws=4)
    counts = count_pairs([0, 1, 2], [1, 2, 0], n_areas=3)
    model = Model(counts, independent(3), InverseGamma())
    run(rng, hmc.kernel(model), approximate(model).draw(rng, plan.chains, 1.0), plan)
    sample(rng, model, "gibbs", plan)
    sample_clusters(rng, ClusterModel(counts, ClusterPrior(np.ones((3, 3)))), plan)
    judged = count_judged([0, 0, 1], left=[0, 1, 0], right=[1, 2, 2], choice=[1, -1, 1], n_areas=3, n_judges=2)
    parts = Parts(disagreement=Disagreement(independent(3)))
    sample_panel(rng, PanelModel(judged, independent(3), InverseGamma(), parts), plan=plan)


if __name__ == "__main__":
    if GENTLY in sys.argv and hasattr(os, "nice"):
        os.nice(NICENESS)
    with contextlib.suppress(OSError):  # without a note, the next fit compiles again
        note()
    compile_all()
