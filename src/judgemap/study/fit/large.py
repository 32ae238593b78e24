"""Fits of large maps: the same model and files, from a sampler that never forms the prior's matrix."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from judgemap.core.model.car import IntrinsicCar
from judgemap.core.model.judges import DISAGREEMENT_SCALE
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import HalfNormal
from judgemap.core.samplers.run import Plan, sample_sparse
from judgemap.core.samplers.sparse.model import Field, Independent, SparseModel, views_of
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.draws import Sampled, describe
from judgemap.study.fit.priors import PLAIN, smoother_of
from judgemap.study.fit.record import Note, NoteKind
from judgemap.study.fit.settings import Run, with_answers

if TYPE_CHECKING:
    from judgemap.core.samplers.sparse.model import Smoother

GIGABYTE = 10**9
ENOUGH_OVERLAP = 0.5
"""The least share of areas that two judges have met, for judges to be told apart unless that is asked for."""
LEAST_MEMORY = 500_000_000
"""Bytes for the program itself, the map and tables of results."""
BYTES_AN_ANSWER = 1_500
"""For each answer while comparisons.csv is read, and afterwards: a row of text first, then its columns, its share of
the curvature and of its factor, and of judges' views."""
BYTES_A_VALUE = 6
"""For each draw of each area: four, and half as many while they are assessed."""


def needed_memory(n_areas: int, n_answers: int, plan: Plan) -> int:
    """Estimate the bytes that a fit of a large map needs: one and a half times the draws, and the answers.

    >>> round(needed_memory(32_844, 1_000_000, Plan(chains=16, draws=300)) / 1e9, 1)
    2.9
    """
    return LEAST_MEMORY + BYTES_AN_ANSWER * n_answers + BYTES_A_VALUE * plan.chains * plan.draws * n_areas


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


def check_memory(n_areas: int, n_answers: int, plan: Plan, memory: float | None = None) -> Plan:
    """Return the plan, going on no longer than there is memory for, and raise if even its first draws need more.

    ``memory`` is in gigabytes; None means whatever is free.

    >>> check_memory(32_844, 10**6, Plan(chains=16, draws=250, most=2000), memory=4).most
    634
    """
    limit = free_memory() if memory is None else memory * GIGABYTE
    needed = needed_memory(n_areas, n_answers, plan)
    if needed > limit:
        available = "are free" if memory is None else "are allowed (--memory)"
        raise StudyError(
            f"a fit of {n_areas:,} areas with {plan.chains} × {plan.draws} draws needs about {needed / GIGABYTE:.1f} "
            f"GB of memory, and {limit / GIGABYTE:.1f} GB {available}; use a larger machine, fewer --draws, or a "
            "coarser map"
        )
    more = (limit - needed) / (BYTES_A_VALUE * plan.chains * n_areas)
    return replace(plan, most=min(plan.most, plan.draws + int(more)))


def sample_large(data: Comparisons, areas: Areas, run: Run) -> Sampled:
    """Sample a model whose prior is a sparse precision."""
    settings = run.settings
    if settings.sampler != "hmc":
        raise StudyError(
            f"the sampler '{settings.sampler}' cannot be used on a map of {len(areas):,} areas; leave --sampler out"
        )
    rule = settings.rule(data)
    if rule is TieRule.DAVIDSON:
        raise StudyError(
            f"ties: Davidson's rule is for smaller maps, and this one has {len(areas):,} areas; fit with --ties model",
            field="ties",
        )
    run = replace(run, plan=check_memory(len(areas), len(data), run.plan, run.memory))
    if settings.model == "standard":
        smoother: Smoother = Independent(len(areas))
    else:
        smoother = smoother_of(areas, settings.prior or PLAIN, settings.length)
    if settings.differ:
        from judgemap.core.samplers.sparse.hmc import affordable  # loads numba

        settings.check_judges(data)
        used, _ = with_answers(data)
        model = model_of_judges(used, areas, smoother, run)
        why = "" if affordable(model) else "each compared areas all over a large map"
        if overlap(used) < ENOUGH_OVERLAP:
            why = "hardly two of them compared the same areas"
        if run.asked.judges is None and why:
            settings = replace(settings, judges="alike")
            run = replace(run, settings=settings, why=why)
    if not settings.differ:
        counts = data.counts() if rule else data.counts().decided()
        model = SparseModel.of_map(counts, smoother, settings.variance, ties=rule is not None)
    draws, seconds = run.timed(lambda rng: sample_sparse(rng, model, run.plan, run.cores, run.watch))
    texts = {
        NoteKind.ENGINE: f"With {len(areas):,} areas, strengths were drawn by the sampler for large maps.",
        NoteKind.DRAWS_KEPT: describe(draws.strengths.size),
    }
    return Sampled(run, draws, seconds, smoother, tuple(Note(kind, text) for kind, text in texts.items() if text))


def overlap(data: Comparisons) -> float:
    """Return the share of compared areas that two judges or more have met: what differs elsewhere may be map or view.

    >>> overlap(jm.example_study(seed=1)[1])
    1.0
    """
    met = np.unique(np.concatenate([data.judge * len(data.ids) + end for end in (data.left, data.right)]))
    judges = np.bincount(met % len(data.ids))
    return float((judges > 1).sum() / max((judges > 0).sum(), 1))


def model_of_judges(data: Comparisons, areas: Areas, smoother: "Smoother", run: Run) -> SparseModel:
    """Let judges differ: each has a view of the areas they met and of the neighbours of those, as smooth as the map."""
    settings = run.settings
    counts = data.by_judge()
    views = views_of(counts, areas.graph)
    own: Smoother = Independent(len(views.area))
    if settings.disagreement == "map" and isinstance(smoother, IntrinsicCar):
        own = IntrinsicCar(views.graph, smoother.scale)
    fields = Field(smoother, settings.variance), Field(own, HalfNormal(DISAGREEMENT_SCALE))
    return SparseModel.of_judges(counts, views, fields, ties=settings.rule(data) is not None)
