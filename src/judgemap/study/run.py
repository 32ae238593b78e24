"""How a fit is run: the options that callers give, and the complete run with every option filled in."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict, TypeVar

import numpy as np

from judgemap.core.samplers.run import SAMPLERS, Plan, Watcher
from judgemap.errors import StudyError
from judgemap.study.panel_settings import PanelSettings

T = TypeVar("T")
NORMAL_PLAN = Plan(most=8000)
"""A thousand draws per chain are enough for most studies; the first day's answers, or answers that never contradict
each
other, may need 8,000. The limit is in draws, not seconds, so that the same seed gives the same numbers on a slow
machine."""
CLUSTER_PLAN = Plan(chains=4, warmup=1000, draws=1000, thin=10)
"""How much the cluster model draws by default; its chains mix more slowly than those of the others."""
PANEL_PLAN = Plan(warmup=50, draws=400, most=1600)
"""If the model distinguishes judges, a draw costs ten times as much: as many as are needed, and no more."""

LARGE = 4_000
"""Maps with more areas than this are fitted by the engine for large maps (`study.large`)."""
LARGE_PLAN = Plan(chains=16, warmup=20, draws=400, most=3200)
"""For large maps: with tens of thousands of areas some R-hats are large by chance, and it takes this many draws from
this
many chains to bring the largest below 1.01."""


class RunOptions(TypedDict, total=False):
    """How to sample; every entry has a default."""

    sampler: str
    """'hmc' (default) or 'gibbs'."""
    chains: int
    warmup: int
    draws: int
    thin: int
    cores: int
    """Threads to use; the draws do not depend on it."""
    memory: float | None
    """Gigabytes that a fit of a large map may use; by default whatever is free."""
    watch: Watcher | None
    """Called repeatedly with the draws so far."""


class FitOptions(RunOptions, total=False):
    """How to sample, and what to assume about judges and ties: see `PanelSettings`."""

    ties: str
    """'model' (default: Rao and Kupper's, if there are ties), 'davidson' or 'leave-out'."""
    judges: str
    """'alike' (default) or 'differ'."""
    disagreement: str
    """When judges differ, their views follow the 'map' (default) or are 'independent' from area to area."""
    side: bool
    attention: bool
    lapses: bool
    smoothness: str
    """'paper' (default): as smooth as the prior; 'infer': the answers say how smooth the map is."""


@dataclass(frozen=True, slots=True)
class Run:
    """How to sample, with every option filled in."""

    seed: int
    plan: Plan
    sampler: str = "hmc"
    cores: int = 1
    memory: float | None = None
    watch: Watcher | None = None

    def timed(self, sampling: Callable[[np.random.Generator], T]) -> tuple[T, float]:
        """Sample, and return the draws and the seconds taken; if sampling breaks down, say so in a sentence."""
        began = time.perf_counter()
        try:
            draws = sampling(np.random.default_rng(self.seed))
        except FloatingPointError as error:
            raise StudyError(f"the fit broke down ({error}); try the other sampler, or check the map's edges") from None
        return draws, round(time.perf_counter() - began, 3)


def available_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usual_plan(panel: PanelSettings, n_areas: int) -> Plan:
    """Return how much the spatial and standard models draw by default."""
    if panel.by_judge:
        return PANEL_PLAN
    return LARGE_PLAN if n_areas > LARGE else NORMAL_PLAN


def fill_in(usual: Plan, given: Mapping[str, Any]) -> Plan:
    """Apply the given numbers to a plan; a given number of draws is final, so the chains do not go on beyond it.

    >>> fill_in(PANEL_PLAN, {"draws": 100})
    Plan(chains=8, warmup=50, draws=100, thin=1, most=0)
    """
    return replace(usual, **given, most=0 if "draws" in given else usual.most)


def settle(seed: int, options: RunOptions, usual: Plan) -> Run:
    """Fill in the options that were left out."""
    given: dict[str, Any] = dict(options)
    how = {name: given.pop(name) for name in ("sampler", "cores", "memory", "watch") if name in given}
    if how.get("sampler", "hmc") not in SAMPLERS:
        raise StudyError(f"there is no sampler {how['sampler']!r}; choose one of {', '.join(SAMPLERS)}")
    try:
        return Run(seed, fill_in(usual, given), **how)
    except ValueError as error:
        raise StudyError(str(error)) from None
    except TypeError:
        known = RunOptions.__annotations__
        unknown = sorted(set(given) - set(known))
        raise StudyError(f"there is no option {unknown[0]!r}; the options are {', '.join(known)}") from None


def settle_panel(seed: int, options: FitOptions, n_areas: int) -> tuple[PanelSettings, Run]:
    """Fill in the options that were left out, and separate those about judges and ties from the others."""
    names = [each.name for each in fields(PanelSettings)]
    given: dict[str, Any] = dict(options)
    panel = PanelSettings(**{name: given.pop(name) for name in names if name in given})
    return panel, settle(seed, RunOptions(**given), usual_plan(panel, n_areas))  # type: ignore[typeddict-item]
