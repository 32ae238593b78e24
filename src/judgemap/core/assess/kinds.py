"""What kind of judge is this? Each kind is weighed by how probable it makes the judge's answers.

=============  ==========================================================================================
modelled       μ_k = λ + u_k, with side, attention and lapses as in the model
little         answers by chance: η = 0, apart from a lean to one side
reversed       −μ_k instead of μ_k: the judge took the question the other way round
another view   μ_k ~ N(0, M): a map as varied as any judge's, M = α²C + σ²C_u, unrelated to the population's
=============  ==========================================================================================

A priori, each kind except the first has a share of one judge in twenty. A model with attention or lapses allows for
more: there, a judge as modelled can also have a_k near 0 or below, or lapse, and the caller adds that.

Let s be draws of what all judges share, given all answers, with judge k as modelled. Weighted by 1 / p(y_k | s), they
stand for what *everyone else's* answers say about s (`core.importance`), and the weighted mean of p(y_k | kind, s) is
how probable each kind makes this judge's answers; `held_out` computes these probabilities. If s rests mostly on this
judge, for instance because the judge gave more answers than all the others together, a few draws carry all the weight,
and k̂ shows it.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from judgemap.core.assess.held_out import Shared, log_probability, rows_of
from judgemap.core.assess.importance import smooth_weights
from judgemap.core.model.counts import JudgedCounts
from judgemap.core.model.judges import Disagreement, Parts
from judgemap.core.model.prior import Covariance
from judgemap.core.types import FloatArray

ODD = 0.05
"""Prior share of judges of each kind other than `modelled`."""


class Kinds(NamedTuple):
    """The probability of each kind; they add up to 1."""

    modelled: float
    little: float
    reversed: float
    another_view: float


def kind_chances(
    rng: np.random.Generator, counts: JudgedCounts, judge: int, parts: Parts, shared: Shared, own: Covariance
) -> tuple[Kinds, float]:
    """Weigh the kinds for one judge and return k̂ of the weights too; ``own`` is M, the covariance of a judge's map.

    >>> from judgemap.core.model.counts import count_judged
    >>> from judgemap.core.model.prior import independent
    >>> counts = count_judged([0] * 20, left=[0] * 20, right=[1] * 20, choice=[-1] * 20, n_areas=2, n_judges=1)
    >>> zero = np.zeros(1)
    >>> shared = Shared(np.array([[1.5, -1.5]]), zero, zero, zero, zero, zero)
    >>> kinds, _ = kind_chances(np.random.default_rng(1), counts, 0, Parts(), shared, independent(2))
    >>> max(kinds._fields, key=lambda name: getattr(kinds, name))
    'reversed'
    """

    def log_chances(other: Parts, at: Shared) -> FloatArray:
        return log_probability(rng, rows_of(counts, judge, other), other, at)

    typical = Shared(*(np.median(each, axis=0, keepdims=True) for each in shared))._replace(
        strengths=np.zeros((1, counts.n_areas))
    )
    straight = replace(parts, attention=None)
    own_map = replace(straight, disagreement=Disagreement(own))
    modelled = log_chances(parts, shared)
    weights, k = smooth_weights(-modelled)
    chances = (
        modelled,
        log_chances(Parts(ties=parts.ties, side=parts.side), typical),
        log_chances(straight, shared._replace(strengths=-shared.strengths)),
        log_chances(own_map, typical._replace(sigma=np.ones(1))),
    )
    odds = np.log([1 - 3 * ODD, ODD, ODD, ODD]) + [logsumexp(weights + each) for each in chances]
    return Kinds(*np.exp(odds - logsumexp(odds)).tolist()), k
