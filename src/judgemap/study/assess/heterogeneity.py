"""A warning for fits that assume judges are alike when they are not."""

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from judgemap.core.assess.misfit import differ_share
from judgemap.core.types import FloatArray
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.record import Note, NoteKind

LEVEL = 0.01
"""The false alarm rate: fewer than this share of panels whose judges are alike get a warning."""
DRAWS = 199
MOST_AREAS = 1_000
"""With more areas, disagreement is tested area by area, because using C would take too long."""


def differ_note(
    data: Comparisons,
    strengths: FloatArray,
    C: FloatArray | None,
    seed: int,
    chance: Callable[[FloatArray], FloatArray] = expit,
) -> list[Note]:
    """Warn if judges differ more than chance explains; ``strengths`` are draws from a fit that assumes they do not.

    ``C`` is the prior correlation; without it, or with many areas, disagreement is tested area by area. ``chance`` is
    P(first is chosen | it is not a tie) at a given difference of strengths.
    """
    named = data.where(data.decided & (data.judge >= 0))
    answers = np.bincount(named.judge, minlength=1)
    if (answers > 1).sum() < 2:
        return []
    rows = np.unique(np.linspace(0, len(strengths) - 1, DRAWS).astype(np.int64))
    C = C if C is not None and len(C) <= MOST_AREAS else None
    share = differ_share(np.random.default_rng(seed), named.by_judge(), strengths[rows], C, chance)
    if share > LEVEL:
        return []
    text = (
        f"Judges differ more than chance explains (p = {share:.3f} or less), so intervals that pool their answers are "
        "too narrow: fit again with --judges differ."
    )
    return [Note(NoteKind.JUDGES_DIFFER, text)]
