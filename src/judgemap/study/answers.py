"""Decided comparisons as arrays, and quick fits of any part of them: what figures about judges and halves rest on.

A quick fit is the Gaussian nearest to the posterior (`core.gaussian`), found in some milliseconds at 76 areas.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgemap.core.comparisons import PairCounts
from judgemap.core.gaussian import Gaussian, gaussian
from judgemap.core.prior import (
    Covariance,
    FixedVariance,
    InverseGamma,
    Model,
    VariancePrior,
    communicability,
    independent,
)
from judgemap.core.types import BoolArray, IntArray
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.correlation import prior_covariance
from judgemap.study.records import Comparisons
from judgemap.study.result import Fit


@dataclass(frozen=True, eq=False)
class Answers:
    """The decided comparisons, one entry each, in the order of the table.

    ``judge`` is a position in ``judges``, −1 for an answer without a name; ``pair`` one in the distinct pairs
    (``first``, ``second``), first < second; ``row`` the position in the table of all comparisons.
    """

    n_areas: int
    judges: tuple[str, ...]
    judge: IntArray
    row: IntArray
    first: IntArray
    second: IntArray
    pair: IntArray
    first_won: BoolArray

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def everything(self) -> BoolArray:
        """A mask that keeps every answer."""
        return np.ones(len(self), dtype=np.bool_)

    def counts(self, kept: BoolArray) -> PairCounts:
        """Add up the answers that are kept into pair counts."""
        n = np.bincount(self.pair[kept], minlength=len(self.first))
        wins = np.bincount(self.pair[kept], self.first_won[kept], len(self.first)).astype(np.int64)
        there = n > 0
        return PairCounts(self.n_areas, self.first[there], self.second[there], n[there], wins[there])


def decided_answers(data: Comparisons) -> Answers:
    """Pick the decided comparisons.

    >>> data = Comparisons(("a", "b"), ("ann", "bob"), [0, 1], [1, 0], ("left", "tie"), [1.0, 2.0])
    >>> answers = decided_answers(data)
    >>> answers.judges, len(answers), answers.first_won
    (('ann', 'bob'), 1, array([ True]))
    """
    names, codes = judge_codes(data)
    row = np.flatnonzero(data.decided)
    outcome: NDArray[np.str_] = np.array(data.outcome, dtype=np.str_)
    left, right = data.left[row], data.right[row]
    size = len(data.ids)
    keys, pair = np.unique(np.minimum(left, right) * size + np.maximum(left, right), return_inverse=True)
    return Answers(
        n_areas=size,
        judges=names,
        judge=codes[row],
        row=row,
        first=keys // size,
        second=keys % size,
        pair=pair,
        first_won=(outcome[row] == "left") == (left < right),
    )


def judge_codes(data: Comparisons) -> tuple[tuple[str, ...], IntArray]:
    """Give the judges numbers, in the order in which they first appear; −1 for a comparison without a judge's name.

    >>> judge_codes(Comparisons(("a", "b"), ("x", "", "x"), [0, 0, 0], [1, 1, 1], ("tie",) * 3, [1, 1, 1]))
    (('x',), array([ 0, -1,  0]))
    """
    names = tuple(dict.fromkeys(judge for judge in data.judge if judge))
    place = {name: code for code, name in enumerate(names)}
    return names, np.array([place.get(judge, -1) for judge in data.judge], dtype=np.int64)


class Belief(NamedTuple):
    """What a quick fit assumes: the covariance of the strengths, and what is believed of α²."""

    covariance: Covariance
    variance: VariancePrior


def belief_of(fit: Fit) -> Belief:
    """Say with which prior quick fits of a fit's answers are made: its own.

    Clusters have another kind of prior: for them it is the spatial model's, with its usual prior of α².

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> belief_of(jm.fit_standard(data, areas, seed=1, chains=2, draws=50)).variance
    InverseGamma(shape=0.1, scale=0.1)
    """
    covariance, given = _covariance_named(str(fit.info["prior"]), fit.map), fit.info["hyperparameters"]
    if "alpha2" in given:
        return Belief(covariance, FixedVariance(given["alpha2"]))
    if "chi" in given:
        return Belief(covariance, InverseGamma(given["chi"], given["omega"]))
    return Belief(covariance, InverseGamma())


def quick_fit(counts: PairCounts, belief: Belief, near: Gaussian | None = None) -> Gaussian:
    """Fit in milliseconds, starting from a fit ``near`` by where there is one.

    >>> from judgemap.core.comparisons import count_pairs
    >>> fit = quick_fit(count_pairs([0, 0], [1, 1], n_areas=2), Belief(independent(2), FixedVariance(4.0)))
    >>> bool(fit.chances(np.array([0]), np.array([1]))[0] > 0.5)
    True
    """
    return gaussian(Model(counts, belief.covariance, belief.variance), near)


def check_areas(fit: Fit, data: Comparisons) -> None:
    """Raise a `StudyError` unless a fit and comparisons are of the same areas."""
    if fit.map.ids != data.ids:
        raise StudyError("the fit and the comparisons are of different areas; read the comparisons with the fit's map")


def _covariance_named(name: str, areas: Areas) -> Covariance:
    if name == "independent":
        return independent(len(areas))
    if name == "communicability":
        return communicability(areas.graph)
    found = re.fullmatch(r"(.+), length (\S+)", name)
    if found:
        return prior_covariance(areas, found[1], float(found[2]))
    return communicability(areas.graph)
