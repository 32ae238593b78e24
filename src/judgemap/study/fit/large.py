"""Fits of large maps: the same model and files, from an engine that never forms the prior's matrix.

Up to `DENSE_MOST` areas, and if there is enough memory, it keeps a Cholesky factor of the posterior's curvature;
otherwise it solves systems by conjugate gradients, which takes longer. The draws are correct either way.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from judgemap.core.assess.posterior import risk_sign
from judgemap.core.model.counts import PairCounts
from judgemap.core.samplers.large.hmc import LargeModel, dense_bytes
from judgemap.core.samplers.run import Draws, Plan, sample_large
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.assess.checks import DIFFER_DRAWS, differ_note
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit import draws as kept_draws
from judgemap.study.fit.draws import (
    area_coordinates,
    diagnose,
    evenly,
    named_pairs,
    named_statistics,
)
from judgemap.study.fit.priors import PLAIN, smoother_of
from judgemap.study.fit.record import Correlation, Note, NoteKind, begin_record, data_notes
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import Run

if TYPE_CHECKING:
    from judgemap.core.samplers.large.smoothers import Smoother

DENSE_MOST = 40_000
"""The most areas for which a Cholesky factor is computed, since the time it takes grows with the cube of their
number."""
GIGABYTE = 10**9
LEAST_MEMORY = 500_000_000
"""Bytes for the program itself, the map and tables of results."""
BYTES_AN_ANSWER = 700
"""For each answer while comparisons.csv is read, and afterwards: a row of text first, then its columns."""


def needed_memory(n_areas: int, n_answers: int, plan: Plan, *, dense: bool) -> int:
    """Estimate the bytes that a fit of a large map needs: one and a half times the draws, the answers, the factor.

    >>> round(needed_memory(32_844, 1_000_000, Plan(chains=16, draws=300), dense=True) / 1e9, 1)
    4.3
    """
    draws = 6 * plan.chains * plan.draws * n_areas
    return LEAST_MEMORY + BYTES_AN_ANSWER * n_answers + draws + dense * dense_bytes(n_areas)


def free_memory() -> int:
    """Return how many bytes are free on this machine, or in the container the program runs in.

    >>> free_memory() > 0
    True
    """
    left = [sys.maxsize]
    if hasattr(os, "sysconf"):
        left.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    table = Path("/proc/meminfo")
    if table.exists():
        known = dict(line.split(":", 1) for line in table.read_text().splitlines() if ":" in line)
        left.append(int(known.get("MemAvailable", known["MemTotal"]).split()[0]) * 1024)
    # A container has its own limit, which /proc/meminfo does not show.
    most, used = (Path("/sys/fs/cgroup", name) for name in ("memory.max", "memory.current"))
    if most.exists() and used.exists() and most.read_text().strip().isdigit():
        left.append(int(most.read_text()) - int(used.read_text()))
    return max(min(left), 0)


def choose_dense(n_areas: int, n_answers: int, plan: Plan, memory: float | None) -> bool:
    """Decide whether to keep a Cholesky factor; raise if there is not even room for conjugate gradients.

    ``memory`` is in gigabytes; None means whatever is free.

    >>> choose_dense(32_844, 1_000_000, Plan(chains=16, draws=300), memory=8), choose_dense(32_844, 10, Plan(), 3)
    (True, False)
    """
    limit = free_memory() if memory is None else memory * GIGABYTE
    if n_areas <= DENSE_MOST and needed_memory(n_areas, n_answers, plan, dense=True) <= limit:
        return True
    needed = needed_memory(n_areas, n_answers, plan, dense=False)
    if needed > limit:
        available = "are free" if memory is None else "are allowed (--memory)"
        raise StudyError(
            f"a fit of {n_areas:,} areas with {plan.chains} × {plan.draws} draws needs about {needed / GIGABYTE:.1f} "
            f"GB of memory, and {limit / GIGABYTE:.1f} GB {available}; use a larger machine, fewer --draws, or a "
            "coarser map"
        )
    return False


def run_large(data: Comparisons, counts: PairCounts, areas: Areas, run: Run) -> Fit:
    """Choose the engine, sample, assess, record: as `fitting.fit` does for smaller maps."""
    from judgemap.core.samplers.large.smoothers import Independent  # loads numba, which short fits do without

    settings = run.settings
    if settings.sampler != "hmc":
        raise StudyError(
            f"the sampler '{settings.sampler}' cannot be used on a map of {len(areas):,} areas; leave --sampler out"
        )
    dense = choose_dense(len(areas), len(data), run.plan, run.memory)
    if settings.model == "standard":
        smoother: Smoother = Independent(len(areas))
    else:
        smoother = smoother_of(areas, settings.prior or PLAIN, settings.length)
    model = LargeModel(counts, smoother, settings.variance)
    draws, seconds = run.timed(
        lambda rng: sample_large(rng, model, run.plan, dense=dense, cores=run.cores, watch=run.watch)
    )
    begun = begin_record(data, counts, areas, run, (draws, seconds))
    sampling = draws.sampling  # computed before the draws of strengths become draws of risk in place
    statistics, log_variance = named_statistics(draws), draws["log_variance"]
    samples = named_large_draws(areas, draws, data.winner_is)
    risk = samples["risk"].to_numpy()
    moving = {} if np.ptp(log_variance) == 0 else {"α²": log_variance}
    chosen = risk.reshape(-1, len(areas))[evenly(risk.shape[0] * risk.shape[1], DIFFER_DRAWS)]
    record = begun(
        correlation=Correlation(smoother.name, smoother.length),
        notes=(
            *data_notes(data, counts, areas, settings.model),
            engine_note(len(areas), dense=dense),
            *([Note(NoteKind.DRAWS_KEPT, kept)] if (kept := kept_draws.describe(risk.size)) else []),
            *differ_note(data, risk_sign(data.winner_is) * chosen.astype(np.float64), None, settings.seed),
        ),
        diagnostics=diagnose(areas.names, sampling, moving, seconds),
    )
    return Fit(areas, samples, statistics, named_pairs(areas, counts), record).remembering(sampling=sampling)


def engine_note(n_areas: int, *, dense: bool) -> Note:
    """Say how a large map was fitted, so that its numbers can be reproduced."""
    how = "a factored mass matrix" if dense else "conjugate gradients, which use less memory but take longer"
    return Note(NoteKind.ENGINE, f"With {n_areas:,} areas, strengths were drawn with {how}.")


def named_large_draws(areas: Areas, draws: Draws, winner_is: str) -> xr.Dataset:
    """Turn strength into risk in place, and label it, so that a nation's draws are never copied."""
    level, risk = draws.level, draws.strengths
    risk -= level[:, :, None].astype(risk.dtype)
    risk *= risk_sign(winner_is)
    return xr.Dataset(
        {
            "risk": (("chain", "draw", "area"), risk),
            "level": (("chain", "draw"), level),
            "alpha2": (("chain", "draw"), np.exp(draws["log_variance"])),
        },
        coords=area_coordinates(areas, *risk.shape[:2]),
    )
