"""A version's design: made from its graph, and stored with it if making it takes long."""

import io

import numpy as np
from django.utils.translation import gettext as _

from judgemap.core.design.designs import (
    PairDesign,
    naive_spatial,
    principal_component,
    uniform,
)
from judgemap.core.design.optimal import OPTIMAL_LIMIT, optimal
from judgemap.core.model.communicability import PairValues
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import communicability
from judgemap.errors import StudyError

ALPHA = 3.0
ADAPTIVE_LIMIT = 1_000
"""Up to this many areas, the adaptive design can find the next pair while a judge waits."""
JUDGES = 10
"""How many judges the optimal design is made for, each with the recommended number of pairs."""


PRINCIPAL_LIMIT = 10_000
"""Up to this many areas, each server process can hold the principal design."""
LIMITS = {"adaptive": ADAPTIVE_LIMIT, "optimal": OPTIMAL_LIMIT, "principal": PRINCIPAL_LIMIT}


def can_run(name: str, n_areas: int) -> bool:
    """Say whether a design can be used for this many areas."""
    return n_areas <= LIMITS.get(name, n_areas)


def recommended_design(n_areas: int) -> str:
    """Name the design that needed the fewest answers in simulated studies (docs/planning.md), of those that can run.

    >>> recommended_design(76), recommended_design(1_500), recommended_design(3_141)
    ('adaptive', 'optimal', 'uniform')
    """
    return next(name for name in ("adaptive", "optimal", "uniform") if can_run(name, n_areas))


def prepare_design(name: str, graph: AreaGraph, recommended: int) -> bytes | None:
    """Make a design that takes long, and pack it; None for one that can be made quickly when needed.

    >>> packed = prepare_design("optimal", AreaGraph(4, [[0, 1], [1, 2], [2, 3]]), 20)
    >>> bool(make_design("optimal", AreaGraph(4, []), packed).probability(0, 3) > 0)
    True
    """
    if not can_run(name, graph.n_areas):
        raise StudyError(
            _("the %(name)s design is for up to %(most)s areas; choose 'uniform'")
            % {"name": name, "most": f"{LIMITS[name]:,}"},
            field="design",
        )
    if name != "optimal":
        return None
    offsets = optimal(communicability(graph), ALPHA, JUDGES * recommended).offsets
    packed = io.BytesIO()
    np.savez_compressed(packed, n_areas=np.array(offsets.n_areas), keys=offsets.keys, values=offsets.values)
    return packed.getvalue()


def make_design(name: str, graph: AreaGraph, packed: bytes | None) -> PairDesign:
    """Make a design by its name, or unpack it.

    >>> make_design("uniform", AreaGraph(3, []), None).n_areas
    3
    """
    if packed:
        with np.load(io.BytesIO(packed)) as stored:
            n_areas = int(stored["n_areas"])
            return PairDesign(np.arange(n_areas), 0.0, PairValues(n_areas, stored["keys"], stored["values"]))
    makers = {"uniform": lambda each: uniform(each.n_areas), "naive": naive_spatial, "principal": principal_component}
    if name not in makers:
        raise StudyError(
            _("there is no design %(name)s; there are %(designs)s")
            % {"name": f"{name!r}", "designs": ", ".join(sorted(makers))}
        )
    return makers[name](graph)
