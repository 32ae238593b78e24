"""The next pair, from the study's schedule.

What a design needs follows from a version, which never changes, so a process keeps what it has derived from it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from judgemap.core.designs import PairDesign
from judgemap.web.judge.adaptive import draw_adaptive
from judgemap.web.studies.areas import load_graph
from judgemap.web.studies.designs import make_design
from judgemap.web.studies.models import StudyVersion


@dataclass(frozen=True, slots=True)
class DrawnPair:
    """Two areas by position, on their sides, and the probability with which the design draws them on either side."""

    left: int
    right: int
    probability: float


def draw_pair(
    rng: np.random.Generator, version_id: int, design_name: str, unknown: Collection[int]
) -> DrawnPair | None:
    """Draw a pair among the areas that a judge knows, sides at random; None where no pair is left.

    Constant time at any number of areas, but for the first pair after the judge's list of unknown areas changed, and
    for the adaptive design.
    """
    if design_name == "adaptive":
        pair = draw_adaptive(rng, version_id, frozenset(unknown))
        return pair and DrawnPair(pair.left, pair.right, min(1.0, pair.probability))
    found = _design_without(version_id, frozenset(unknown))
    if found is None:
        return None
    design, total = found
    left, right = design.draw(rng, 1)[0].tolist()
    return DrawnPair(left, right, min(1.0, float(design.weight(left, right)) / total))


@lru_cache(maxsize=64)
def _design(version_id: int) -> PairDesign:
    version = StudyVersion.objects.get(pk=version_id)
    return make_design(version.design, load_graph(version), bytes(version.packed_design or b""))


@lru_cache(maxsize=512)
def _design_without(version_id: int, unknown: frozenset[int]) -> tuple[PairDesign, float] | None:
    """Restrict a design to the known areas, with the sum of its weights; None where no pair has any weight."""
    design = _design(version_id)
    if unknown:
        known = np.setdiff1d(np.arange(design.n_areas), np.fromiter(unknown, dtype=np.int64))
        if len(known) < 2:
            return None
        design = design.restricted(known)
    try:
        return design, design.total()
    except ValueError:
        return None
