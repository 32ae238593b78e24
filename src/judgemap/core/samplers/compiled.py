"""How functions are compiled, one by one or all ahead, and branch-free ones that become vector instructions.

Import this module only where it is used: numba is slow to load.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

F = TypeVar("F", bound=Callable[..., object])

LOG2_E = 1 / math.log(2)
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""log 2 in two parts; the first ends in zeros, so that its multiples are exact."""
ROUNDING = 1.5 * 2.0**52
"""Adding this rounds a number to an integer, which is then found in the last bits of the sum."""
HOW: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
WITHIN: dict[str, Any] = HOW | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12 = (1 / math.factorial(k) for k in range(2, 13))


def compiled(function: F) -> F:
    """Compile to machine code that releases the GIL and is cached on disk between runs.

    Products and sums may be fused, but not reordered; a division by zero gives infinity.
    """
    return cast("F", njit(**HOW)(function))


def within(function: F) -> F:
    """Compile for use by compiled functions only, which saves building the wrappers that Python would need."""
    return cast("F", njit(**WITHIN)(function))


@compiled
def exp_of_negative(x: float) -> float:
    """e^x for x ≤ 0 as 2^n e^r with |r| ≤ ½ log 2; anything below e^−700 counts as e^−700."""
    x = x if x > -700.0 else -700.0
    rounded = x * LOG2_E + ROUNDING
    n = rounded - ROUNDING
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    high = E7 + r * (E8 + r * (E9 + r * (E10 + r * (E11 + r * E12))))
    series = 1 + r * (1 + r * (E2 + r * (E3 + r * (E4 + r * (E5 + r * (E6 + r * high))))))
    power = (np.float64(rounded).view(np.int64) + 1023) << 52
    return series * np.int64(power).view(np.float64)


@compiled
def tanh_of_half(x: float) -> float:
    """Return tanh(x/2) for x ≥ 0, with one division; beyond 700 it is 1.

    e^{−x} = 2^n e^{−r}, |r| ≤ ½ log 2, and e^r = (a + b)/(a − b) to the last digit, where a and b are the even and odd
    parts of the Padé approximation of order six. So (1 − e^{−x})/(1 + e^{−x}) has a + b ∓ 2^n(a − b) above and below.
    """
    x = x if x < 700.0 else 700.0
    rounded = ROUNDING - x * LOG2_E
    n = rounded - ROUNDING
    r = (x + n * LN2_HIGH) + n * LN2_LOW
    square = r * r
    a = 665280 + square * (75600 + square * (840 + square))
    b = r * (332640 + square * (10080 + square * 42))
    power = (np.float64(rounded).view(np.int64) + 1023) << 52
    small = (a - b) * np.int64(power).view(np.float64)
    return (a + b - small) / (a + b + small)


def compile_all() -> None:
    """Draw a few times by every compiled sampler of the models that are fitted most; the draws are thrown away.

    Compiling takes many seconds and its result is kept on disk: a worker does it before its first job, and
    `python -m judgemap.core.samplers.compiled`, as in `make`, right after installing. Any other fit compiles what it
    needs when it needs it; draws do not depend on who compiled.
    """
    from judgemap.core.model.clusters import ClusterPrior
    from judgemap.core.model.counts import count_judged, count_pairs
    from judgemap.core.model.judges import PanelModel, Parts
    from judgemap.core.model.prior import InverseGamma, Model, independent
    from judgemap.core.samplers.clusters.kernel import ClusterModel
    from judgemap.core.samplers.judges.hmc import sample_panel
    from judgemap.core.samplers.run import SAMPLERS, Plan, sample, sample_clusters

    rng, plan = np.random.default_rng(1), Plan(chains=1, warmup=0, draws=4)
    counts = count_pairs([0, 1, 2], [1, 2, 0], n_areas=3)
    model = Model(counts, independent(3), InverseGamma())
    for sampler in SAMPLERS:
        sample(rng, model, sampler, plan)
    sample_clusters(rng, ClusterModel(counts, ClusterPrior(np.ones((3, 3)))), plan)
    judged = count_judged([0, 0, 1], left=[0, 1, 0], right=[1, 2, 2], choice=[1, -1, 1], n_areas=3, n_judges=2)
    parts = Parts(smoothness=True, disagreement=independent(3))
    sample_panel(rng, PanelModel(judged, independent(3), InverseGamma(), parts), plan=plan)


if __name__ == "__main__":
    compile_all()
