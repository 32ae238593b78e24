"""The model of a panel of judges: ties, judges who differ, sides, attention, lapses, and how smooth the map is.

Judge k compares the areas i and j. The first was shown on the left (x = 1), on the right (x = −1), or on an unknown
side (x = 0). The outcome has the probabilities of `core.outcomes` at

    η = a_k (μ_ki − μ_kj) + x b_k,   μ_k = λ + u_k

    λ ~ N(0, α² C)                  the population's map; with `smoothness`, N(0, α²(ρC + (1 − ρ)Ψ)), ρ ~ U(0, 1),
                                    Ψ = diag ψ_i, ψ_i ~ InvGamma(2, 1)
    u_k ~ N(0, σ² C_u)              `disagreement`: judge k's own view; σ ~ half-normal(3)
    b_k ~ N(b, σ_b²)                `side`: the lean to the left, in log-odds; b ~ N(0, 1), σ_b ~ half-Cauchy(1)
    a_k ~ N(1, σ_a²)                `attention`: how closely answers follow the judge's map; σ_a ~ half-Cauchy(½);
                                    0 answers at random, negative takes the question the wrong way round
    ε_k ~ Beta(1, 4)                `lapses`: the share of answers given without looking
    κ ∈ {0, 1}                      `reach`: η = κ a_k (μ_ki − μ_kj) + x b_k; κ = 0 if judge k does not know i or j
    p ~ U(0, 1)                     `ties`: the chance that two equal areas tie

Each part is on or off; with all of them off this is the paper's model.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from judgemap.core.model.counts import JudgedCounts, PairCounts
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.outcomes import TieRule, log_chances, odds
from judgemap.core.model.prior import Covariance, VariancePrior
from judgemap.core.types import BoolArray, FloatArray, IntArray

LOCAL_SHAPE = 2.0
"""ψ_i ~ InvGamma(2, 1) has mean 1, and gives an area's own part a Student t distribution with 4 degrees of freedom: a
few areas can stand far out from a map that is otherwise smooth."""
DISAGREEMENT_SCALE = 3.0
"""The scale of the half-normal prior of σ: on a study's first day no answer of a judge contradicts another, and only
this prior keeps σ finite."""
SIDE_SCALE, ATTENTION_SCALE = 1.0, 0.5
"""The scales of the half-Cauchy priors of σ_b and σ_a."""
LAPSE_REST = 4.0
"""ε_k ~ Beta(1, 4): a fifth on average."""


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Judge k knows the areas at most r_k steps from a centre c_k; pairs with any other all look the same to the judge.

    Half of the judges know the whole map. For the others c_k is any area, and r_k from 1 up to one step less than the
    ``steps`` between the two areas that are furthest apart, all equally likely.
    """

    steps: IntArray
    """Between every two areas."""

    @classmethod
    def on(cls, graph: AreaGraph) -> "Reach":
        """Count borders crossed; areas that cannot be reached are one step further than any that can."""
        steps = graph.distances()
        return cls(np.where(np.isfinite(steps), steps, steps[np.isfinite(steps)].max() + 1).astype(np.int64))

    @property
    def log_prior(self) -> FloatArray:
        """Return the logarithm of the prior of every centre and reach, (areas, steps from 0)."""
        n, most = len(self.steps), int(self.steps.max())
        chance = np.zeros((n, most + 1))
        chance[:, 1:most] = 0.5 / (n * max(most - 1, 1))
        chance[:, most] = 1 / n - chance.sum(axis=1)
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(chance)
        return logs

    def known(self, centre: IntArray, reach: IntArray) -> BoolArray:
        """Say which areas are known from these centres within this reach; the last axis is the area."""
        return self.steps[centre] <= reach[..., None]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Which parts of the model are on: see above."""

    ties: TieRule | None = None
    smoothness: bool = False
    """The data decide how smooth the map is; otherwise ρ = 1, the paper's model."""
    disagreement: Covariance | None = None
    """C_u, as for the strengths, or I for views unrelated to the map."""
    side: bool = False
    attention: bool = False
    lapses: bool = False
    reach: Reach | None = None

    @property
    def by_judge(self) -> bool:
        """Whether anything differs from judge to judge."""
        own_view, own_part = self.disagreement is not None, self.reach is not None
        return own_view or self.side or self.attention or self.lapses or own_part


@dataclass(frozen=True, slots=True, eq=False)
class PanelModel:
    """Counts by judge, the covariance of the strengths, the prior of α², and which parts are on."""

    counts: JudgedCounts
    covariance: Covariance
    variance: VariancePrior
    parts: Parts = Parts()

    def __post_init__(self) -> None:
        n = self.counts.n_areas
        if n != self.covariance.n_areas:
            raise ValueError(f"the comparisons cover {n:,} areas, the covariance {self.covariance.n_areas:,}")
        views = self.parts.disagreement
        if views is not None and views.n_areas != n:
            raise ValueError(f"the comparisons cover {n:,} areas, the disagreement {views.n_areas:,}")
        sides = self.counts.first_left
        if self.parts.side and len(sides) and np.all(sides < 0):
            raise ValueError(
                "a side effect for each judge needs to know which area was on the left, and these counts do not say"
            )

    @property
    def n_areas(self) -> int:
        """The number of areas."""
        return self.counts.n_areas

    @property
    def n_judges(self) -> int:
        """The number of judges, including those who gave no answer."""
        return self.counts.n_judges


def as_one_judge(counts: PairCounts) -> JudgedCounts:
    """Attribute all comparisons to one judge, sides unknown, for the parts that do not depend on the judge."""
    rows = len(counts.n)
    return JudgedCounts(
        n_areas=counts.n_areas,
        n_judges=1,
        judge=np.zeros(rows, dtype=np.int64),
        first=counts.first,
        second=counts.second,
        first_left=np.full(rows, -1),
        n=counts.n,
        wins=counts.wins,
        ties=counts.ties,
    )


class Panel(NamedTuple):
    """Everything that decides how a panel answers: one population, and one row per judge."""

    strengths: FloatArray
    """λ, (areas,)."""
    views: FloatArray
    """u_k, (judges, areas)."""
    side: FloatArray
    attention: FloatArray
    lapse: FloatArray
    scales: dict[str, float]
    """The scales of the parts that are on: log_variance, smoothness (ρ), log_disagreement, tie_chance (p), lean,
    log_side and log_attention."""
    local: FloatArray | None = None
    """ψ, (areas,), if the smoothness of the map is inferred."""
    known: BoolArray | None = None
    """Which areas each judge knows, (judges, areas); None if all know all."""


def answer(
    rng: np.random.Generator, panel: Panel, rule: TieRule | None, judge: IntArray, left: IntArray, right: IntArray
) -> IntArray:
    """Answer each pair: 1 for the left area, −1 for the right, 0 for a tie."""
    maps = panel.strengths + panel.views
    eta = panel.attention[judge] * (maps[judge, left] - maps[judge, right])
    if panel.known is not None:
        eta = eta * (panel.known[judge, left] & panel.known[judge, right])
    eta = eta + panel.side[judge]
    p = np.array(panel.scales.get("tie_chance", 0.0))
    first, _, tie = (np.exp(each) for each in log_chances(rule, eta, odds(eta), p))
    u = rng.random(len(eta))
    attentive = np.where(u < first, 1, np.where(u < first + tie, 0, -1))
    lapsed = rng.random(len(eta)) < panel.lapse[judge]
    return np.where(lapsed, 2 * rng.integers(2, size=len(eta)) - 1, attentive)
