"""Split Hamiltonian Monte Carlo for large maps, many chains at a time, with a sparse mass and draws of each α².

A step is a trajectory of the unknowns w and of ties at the current variances, then for each field two draws of
τ = log α²:

    α² | w ~ its prior times N(w; 0, α² C), which is generalised inverse Gaussian
    τ | w/α: a Langevin proposal on the curve along which w moves with α, accepted or not

The first learns α² only from the unknowns and the second only from the answers; together they make chains forget the
map's α² in a few steps (interweaving: Yu and Meng, 2011). Judges' σ² needs a third, because the answers say much about
some directions of their views, which hold σ fast if w/σ is kept, and nothing about others, which hold it fast if w is
kept; so does the map's α² while most areas have not been compared. It moves on the curve of the Gaussian N(m, H⁻¹) as
that changes with τ: since dH/dτ = −B, B = C⁻¹/σ²,

    dm/dτ = H⁻¹Bm   and   dH⁻¹/dτ = H⁻¹BH⁻¹,   so   dw/dτ = H⁻¹B(m + (w − m)/2) = A(w + m),   A = H⁻¹B/2

moves each direction as far as the answers leave it free. With H fixed at the centre that is linear: w + m is multiplied
by e^{ΔA}, and volume by e^{Δ tr A}, where tr A is exact, from the entries of H⁻¹ where H has some.

With the curvature at the mode as the mass, the number of kicks a trajectory needs grows like the fourth root of the
number of areas; at the nodes of Gauss and Lobatto it is three to five. That curvature is

    H = C⁻¹/α² + XᵀWX,   w = n κ p̄ (1 − p̄),   p̄ = logit⁻¹(κ(d − θ)),   κ = (1 + π s²/8)^{−1/2}

p̄ is nearly P(a beats b) averaged over s_a − s_b ~ N(d, s²) (MacKay, 1992). With κ = 1 this is Laplace's approximation,
whose mode is too near zero and whose α² is too small, for large maps by many standard deviations; with s² from a few
draws of N(0, H⁻¹) both are nearly right. Systems with H are solved by conjugate gradients while the centre is sought.

H is as sparse as the borders and the compared pairs. If judges compare within the part they know, its factor is sparse
too, and the mass is M = H. Otherwise a first mass M₀ has only pairs within some borders of each other, and the others
on the diagonal alone: an area that is compared with many others, all over the map, has little to do with any one of
them. That is too heavy where many areas move together: all of them, or whole districts that few pairs leave. So the
directions v in which it is far too heavy, H v = μ M₀ v with the smallest μ, get their own weight in M.

In x = Rw, RᵀR = M, the Gaussian N(m, M⁻¹) has trajectories that rotate (x − c, v) like the hands of a clock; kicks by
R⁻ᵀ∇log p + x − c account for the difference from it. A trajectory is exact for any mass, because the Metropolis test
uses true energies; a better mass is accepted more often.

Ties have one coordinate more, φ: with p the chance that equal areas tie, logit p = ψ₀ + sφ, and the unknowns are
shifted by g sφ, the way in which the mode follows ψ. So φ is nearly N(0, 1) and independent of the rest. Without ties
it is idle.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from scipy.special import erfcinv, expit

from judgemap.core.approximate import climb
from judgemap.core.model.prior import FixedVariance, Terms
from judgemap.core.samplers import split_hmc
from judgemap.core.samplers.kernel import Arrays, Kernel, by_steps
from judgemap.core.samplers.sparse.factor import Columns, Factor, columns_of, multiply, order_areas, within_reach
from judgemap.core.samplers.sparse.model import NONE, SparseModel
from judgemap.core.samplers.spatial.compiled import add_laplacian
from judgemap.core.samplers.spatial.hmc import FARTHEST
from judgemap.core.types import BoolArray, FloatArray, IntArray

ITERATIONS = 500
"""The most conjugate gradient iterations: a system that needs more is left unfinished, at a cost in the energy."""
NEWTON_TOLERANCE, ROUGH = 1e-3, 1e-2
"""Tolerances of conjugate gradients: for a Newton step, and for averages over random vectors."""
ENTRIES_A_ROW, WITH_VIEWS, FEWEST_ENTRIES, MOST_ENTRIES = 5, 100, 500_000, 60_000_000
"""How many entries the factor may have for each area and each row of answers, within limits: with more, a simpler mass
and more kicks are faster, unless there are judges' views. Those are `affordable` with so many. 60 million take 0.7 GB,
and twice that while they are computed."""
REACHES = (24, 8, 0)
"""Borders between two areas within which their pair is factored, if not all pairs can be."""
LIGHTEST, WORTH = 128, 0.5
"""In how many directions a mass that leaves pairs out is corrected at most, and what share of it is light."""
PROBES = 8
"""Random vectors used to estimate variances and the trace of C⁻¹H⁻¹."""
ROUNDS, NEAR, SMOOTHED = 16, 0.01, 4
"""The most rounds of the search for α²; the change of log α² at which it ends; rounds that must have used variances."""
STALE = 0.3
"""A change of log α² after which the curvature is factored again."""
CLOSE = 1e-5
"""What may be left to gain at the mode, per area."""
FARTHEST_START = 8.0
"""No mass matrix is placed at |log α²| beyond this."""
WIDTH = 8
"""Chains that share a call: a row of their numbers is a cache line."""
START_SPREAD = 1.5
"""How much wider than its approximation log α² starts. Strengths start only as wide as theirs: if thousands of numbers
were all half as large again, the energy would be so high that nothing would be accepted."""
FEWEST_KICKS, MOST_KICKS = 3, 32
PILOT_KICKS, PILOT_STEPS, MOST_PILOTS = 4, (12, 4), 5
"""The steps are those that do not count and those that do: near the centre, where chains start, trajectories are easier
than where they end up."""
WANTED_ACCEPTANCE = 0.9
MOST_TERMS, NEGLIGIBLE = 40, 1e-6
"""The most terms of the series of a flow, and the size of one that ends it, in standard deviations of the unknowns."""
KNOWN = 0.5
"""The map's α² is drawn a third time, too, if the answers say something about fewer of its directions."""
RAY_STEP, WIDEST_RAY, FARTHEST_DRIFT = 0.05, 1.0, 3.0
"""How far log α² is moved to see how sharp the answers are about it; the widest proposal for it; and how far from here
its centre may be, in standard deviations."""


@dataclass(frozen=True, eq=False)
class Curvature:
    """H = Σ e^{−τ} RᵀR over the fields + XᵀWX, on vectors (unknowns, columns)."""

    model: SparseModel
    log_variance: FloatArray
    weights: FloatArray

    @cached_property
    def prior(self) -> sparse.csc_array:
        """The part of H without answers."""
        parts = zip(self.log_variance, self.model.roots, strict=True)
        return sparse.csc_array(sum(np.exp(-tau) * inner for tau, inner in parts))

    def times(self, vectors: FloatArray) -> FloatArray:
        """H times each column."""
        rows, result = self.model.rows, np.zeros_like(vectors)
        multiply(self._columns, vectors, result)
        seen = np.ascontiguousarray(self.model.look(vectors))
        there = np.zeros_like(seen)
        add_laplacian(rows.first, rows.second, self.weights, seen, there)
        result += self.model.onto(there)
        return result

    @cached_property
    def _columns(self) -> Columns:
        return columns_of(self.prior)

    def noise(self, rng: np.random.Generator, columns: int) -> FloatArray:
        """Draw columns from N(0, H): α⁻¹ Rᵀε for every field, plus √w ε for every pair."""
        parts = [
            np.exp(-tau / 2) * (field.smoother.root.T @ rng.standard_normal((field.smoother.root.shape[0], columns)))
            for tau, field in zip(self.log_variance, self.model.fields, strict=True)
        ]
        result = np.concatenate(parts)
        for column in range(columns):
            crossing = np.sqrt(self.weights) * rng.standard_normal(len(self.weights))
            result[:, column] += self.model.onto_unknowns(crossing)
        return result

    def matrix(self, near: BoolArray) -> sparse.csc_array:
        """Return H, with the pairs that are not ``near`` on the diagonal only."""
        rows, w, model = self.model.rows, self.weights, self.model
        places = model.size if model.seen is None else model.seen.shape[0]
        first, second = rows.first[near], rows.second[near]
        off = -w[near]
        total = np.bincount(rows.first, w, places) + np.bincount(rows.second, w, places)
        where = np.concatenate([first, second, np.arange(places)]), np.concatenate([second, first, np.arange(places)])
        data = sparse.csc_array((np.concatenate([off, off, total]), where), shape=(places, places))
        if model.seen is not None:
            data = sparse.csc_array(model.seen.T @ data @ model.seen)
        return sparse.csc_array(self.prior + data)


@dataclass(frozen=True, eq=False)
class Solver:
    """Solves systems with a curvature, by means of a factor of one nearby."""

    factor: Factor
    log_variance: FloatArray
    exact: bool
    """Whether every pair is factored."""

    def solve(self, curvature: Curvature, vectors: FloatArray, tolerance: float) -> FloatArray:
        """H⁻¹ times each column, to a residual of ``tolerance`` times the size of the column."""
        result, residual = np.zeros_like(vectors), vectors.copy()
        preconditioned = self.once(residual)
        direction = preconditioned.copy()
        product = (residual * preconditioned).sum(axis=0)
        enough = tolerance**2 * product
        for _ in range(ITERATIONS):
            going = product > enough
            if not going.any():
                break
            image = curvature.times(direction)
            step = np.divide(product, (direction * image).sum(axis=0), out=np.zeros_like(product), where=going)
            result += step * direction
            residual -= step * image
            preconditioned = self.once(residual)
            new = (residual * preconditioned).sum(axis=0)
            turn = np.divide(new, product, out=np.zeros_like(new), where=going)
            direction *= turn
            direction += preconditioned
            product = np.where(going, new, product)
        return result

    def once(self, vectors: FloatArray) -> FloatArray:
        """Solve with the factor alone."""
        return self.factor.back(self.factor.forth(vectors))


def most_entries(model: SparseModel, a_row: int) -> int:
    """Return how many entries a factor may have."""
    areas = model.slices[0].stop
    return int(np.clip(a_row * (areas + len(model.rows.n)), FEWEST_ENTRIES, MOST_ENTRIES))


def affordable(model: SparseModel) -> bool:
    """Whether judges' views cost in proportion to the answers, as they do if every judge knows a part of the map."""
    every = Curvature(model, np.zeros(len(model.fields)), np.ones(len(model.rows.n)))
    near = np.ones(len(model.rows.n), dtype=np.bool_)
    return order_areas(every.matrix(near), most_entries(model, WITH_VIEWS)) is not None


class Pattern(NamedTuple):
    """Which pairs are factored, and the order of elimination."""

    near: BoolArray
    order: IntArray

    @classmethod
    def of(cls, model: SparseModel) -> "Pattern":
        """Factor all pairs if the factor is sparse, otherwise those within as many borders as possible."""
        rows = model.rows
        curvature = Curvature(model, np.zeros(len(model.fields)), np.ones(len(rows.n)))
        near = np.ones(len(rows.n), dtype=np.bool_)
        most = MOST_ENTRIES if len(model.fields) > 1 else most_entries(model, ENTRIES_A_ROW)
        order = order_areas(curvature.matrix(near), most)
        for reach in REACHES:
            if order is not None:
                break
            if reach == 0:
                most = MOST_ENTRIES
            near = within_reach(model.borders, model.areas[rows.first], model.areas[rows.second], reach)
            order = order_areas(curvature.matrix(near), most)
        if order is None:
            raise FloatingPointError("the prior is not sparse")
        return cls(near, order)

    def solver(self, curvature: Curvature) -> Solver:
        """Factor a curvature."""
        factor = Factor(curvature.matrix(self.near), self.order)
        return Solver(factor, curvature.log_variance, bool(self.near.all()))


class Tie(NamedTuple):
    """The coordinate of ties: ψ₀, s, and g."""

    centre: float = 0.0
    sd: float = 0.0
    shift: FloatArray | None = None

    def chance(self, phi: FloatArray) -> FloatArray:
        """P."""
        chance: FloatArray = expit(self.centre + self.sd * phi)
        return chance

    def moved(self, phi: FloatArray) -> FloatArray | float:
        """How far the unknowns are shifted."""
        return 0.0 if self.shift is None else self.shift[:, None] * (self.sd * phi)


def theta_of(chance: FloatArray) -> FloatArray:
    """θ = 2 artanh p."""
    theta: FloatArray = 2 * np.arctanh(chance)
    return theta


@dataclass(frozen=True, eq=False)
class Centre:
    """The centre of the posterior at probable variances, the curvature there, and how uncertain each log α² is."""

    unknowns: FloatArray
    curvature: Curvature
    solver: Solver
    log_variance_sd: FloatArray
    tie: Tie
    known: float
    """The share of the map's directions that the answers say something about."""


def find_centre(model: SparseModel, held: FloatArray | None = None) -> Centre:
    """Find the centre of the unknowns, and the variances that agree with it (MacKay's evidence iteration).

    If each log α² is ``held``, only the centre there.

    α² is the most likely one given mᵀC⁻¹m of γ areas, where γ = N − tr(C⁻¹H⁻¹)/α² is the number of directions the
    answers say something about. Random vectors come from a fixed seed. Where chains end up does not depend on any of
    this.
    """
    rng, pattern = np.random.default_rng(0), Pattern.of(model)
    priors = [field.variance for field in model.fields]
    tau = np.array([np.log(each.value) if isinstance(each, FixedVariance) else 0.0 for each in priors])
    tau, free = (tau, 1.0) if held is None else (held, 0.0)
    mean, kappa, smoothed = np.zeros(model.size), np.ones(len(model.rows.n)), 0
    told, tie = np.ones(len(priors)), Tie(_first_guess(model))
    probes = np.concatenate(
        [each.smoother.root.T @ rng.standard_normal((each.smoother.root.shape[0], PROBES)) for each in model.fields]
    )
    solver = pattern.solver(_curvature_at(model, tau, mean, kappa, tie.centre))
    for _ in range(ROUNDS):
        # 1. The mode and its curvature at these variances.
        mean = find_mode(model, solver, tau, mean, kappa, tie.centre)
        curvature = _curvature_at(model, tau, mean, kappa, tie.centre)
        if np.abs(tau - solver.log_variance).max() > STALE or smoothed == 1:
            solver = pattern.solver(curvature)
        # 2. The variances and the chance of ties that agree with them.
        step, tie = _tie_at(model, solver, curvature, mean, kappa, tie.centre)
        change = np.zeros(len(priors))
        spread = probes * solver.solve(curvature, probes, ROUGH)
        for k, (prior, part) in enumerate(zip(priors, model.slices, strict=True)):
            if not isinstance(prior, FixedVariance):
                told[k] = max(part.stop - part.start - np.exp(-tau[k]) * float(spread[part].sum()) / PROBES, 1.0)
                size = float(mean[part] @ model.precision(mean[:, None])[part, 0])
                change[k] = free * np.clip(prior.terms.given(told[k], size).mode - tau[k], -2.0, 2.0)
        most = float(np.abs([*change, step]).max())
        if most < NEAR and smoothed >= SMOOTHED:
            break
        tau = np.clip(tau + change, -FARTHEST_START, FARTHEST_START)
        if tie.shift is not None:
            mean, tie = mean + step * tie.shift, tie._replace(centre=tie.centre + step)
        # 3. Once these are nearly found, allow for the uncertainty of the unknowns too.
        if most < 20 * NEAR:
            draws = solver.solve(curvature, curvature.noise(rng, PROBES), ROUGH)
            variance = (model.differences(draws) ** 2).mean(axis=1)
            kappa, smoothed = 1 / np.sqrt(1 + np.pi / 8 * variance), smoothed + 1
    sds = np.zeros(len(priors))
    for k, prior in enumerate(priors):
        if not isinstance(prior, FixedVariance):
            # At its mode, −d²/dτ² log p(τ) = n/2 − k + 2ηα².
            sharpness = told[k] / 2 - prior.terms.power + 2 * prior.terms.direct * np.exp(tau[k])
            sds[k] = 1 / np.sqrt(sharpness)
    return Centre(mean, curvature, pattern.solver(curvature), sds, tie, float(told[0]) / model.slices[0].stop)


def _first_guess(model: SparseModel) -> float:
    """Return ψ if all areas were equal: the share of ties."""
    if model.ties is None:
        return 0.0
    answers = float(model.rows.n.sum() - model.ties)
    share = (model.ties + 0.5) / (answers + 1)
    return float(np.log(share / (1 - share)))


def _curvature_at(model: SparseModel, tau: FloatArray, at: FloatArray, kappa: FloatArray, psi: float) -> Curvature:
    p = expit(kappa * (model.differences(at) - _shift(model, psi)))
    return Curvature(model, tau, model.rows.n * kappa * p * (1 - p))


def _shift(model: SparseModel, psi: float) -> float:
    return 0.0 if model.ties is None else float(2 * np.arctanh(expit(psi)))


def _tie_at(
    model: SparseModel, solver: Solver, curvature: Curvature, at: FloatArray, kappa: FloatArray, psi: float
) -> tuple[float, Tie]:
    """Return a Newton step for ψ along the mode, and the coordinate there."""
    if model.ties is None:
        return 0.0, Tie()
    rows, p, w = model.rows, expit(psi), curvature.weights
    # θ = 2 artanh p, dθ/dψ = 2p/(1 + p), and its derivative 2p(1 − p)/(1 + p)².
    slope, bend = 2 * p / (1 + p), 2 * p * (1 - p) / (1 + p) ** 2
    left = rows.wins - rows.n * expit(kappa * (model.differences(at) - _shift(model, psi)))
    gradient = -slope * left.sum() + model.ties * (1 + p) + 1 - 2 * p
    information = slope**2 * w.sum() + bend * left.sum() - (model.ties - 2) * p * (1 - p)
    cross = slope * model.onto_unknowns(w)
    shift = solver.solve(curvature, cross[:, None], NEWTON_TOLERANCE)[:, 0]
    sharpness = max(float(information - cross @ shift), 1e-2 * float(slope**2 * w.sum()) + 1e-2)
    step = float(np.clip(gradient / sharpness, -1.0, 1.0))
    return step, Tie(psi, float(1 / np.sqrt(sharpness)), shift)


def find_mode(
    model: SparseModel, solver: Solver, tau: FloatArray, start: FloatArray, kappa: FloatArray, psi: float
) -> FloatArray:
    """Maximise Σ(y d − n log(1 + e^{κd})/κ) − Σ e^{−τ}wᵀC⁻¹w/2, d = Xw − θ, by Newton's method."""
    rows, theta = model.rows, _shift(model, psi)
    inverse = np.concatenate(
        [np.full(part.stop - part.start, np.exp(-each)) for each, part in zip(tau, model.slices, strict=True)]
    )

    def pull(at: FloatArray) -> FloatArray:
        pulled: FloatArray = inverse * model.precision(at[:, None])[:, 0]
        return pulled

    def height(at: FloatArray) -> float:
        d = model.differences(at) - theta
        fit = rows.wins @ d - (rows.n / kappa) @ np.logaddexp(0.0, kappa * d)
        return float(fit - at @ pull(at) / 2)

    def ascent(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = expit(kappa * (model.differences(at) - theta))
        gradient = model.onto_unknowns(rows.wins - rows.n * p) - pull(at)
        curvature = _curvature_at(model, tau, at, kappa, psi)
        return gradient, solver.solve(curvature, gradient[:, None], NEWTON_TOLERANCE)[:, 0]

    return climb(height, ascent, start, close=CLOSE * model.size)


class Mass:
    """x = Rw with RᵀR = M; momenta are N(0, I). R = (I + V(√μ − 1)Vᵀ)R₀ if the factor R₀ leaves pairs out."""

    def __init__(self, centre: Centre) -> None:
        self.factor = centre.solver.factor
        self.light = None if centre.solver.exact else lightest(centre)
        self.centre: FloatArray = np.vstack([self.position(centre.unknowns[:, None]), np.zeros((1, 1))])
        """Where x and φ are at the mode, (unknowns + 1, 1)."""

    def unknowns(self, x: FloatArray) -> FloatArray:
        """R⁻¹x."""
        return self.factor.back(self._weighed(x, -0.5))

    def position(self, unknowns: FloatArray) -> FloatArray:
        """Rw."""
        return self._weighed(self.factor.times(unknowns), 0.5)

    def pull(self, gradient: FloatArray) -> FloatArray:
        """R⁻ᵀg."""
        return self._weighed(self.factor.forth(gradient), -0.5)

    def trace(self, matrix: sparse.csc_array) -> float:
        """tr(M⁻¹B), for a symmetric B that has no entries where H has none."""
        found = self.factor.trace(matrix)
        if self.light is not None:
            mu, V = self.light
            moved = self.factor.back(V)
            found += float((1 / mu - 1) @ np.einsum("ik,ik->k", moved, matrix @ moved))
        return found

    def _weighed(self, x: FloatArray, power: float) -> FloatArray:
        """(I + V(μᵖ − 1)Vᵀ)x."""
        if self.light is None:
            return x
        mu, V = self.light
        return x + V @ ((mu**power - 1)[:, None] * (V.T @ x))


def lightest(centre: Centre) -> tuple[FloatArray, FloatArray]:
    """Return the smallest eigenvalues of R₀⁻ᵀHR₀⁻¹ and their vectors, V: roughly, as any weights make a mass."""
    factor, curvature, size = centre.solver.factor, centre.curvature, centre.curvature.model.size

    def image(x: FloatArray) -> FloatArray:
        return factor.forth(curvature.times(factor.back(x.reshape(-1, 1))))[:, 0]

    operator = LinearOperator((size, size), matvec=image, dtype=np.float64)
    number = min(LIGHTEST, 1 + size // 4)
    begin = np.random.default_rng(0).standard_normal(size)
    try:
        mu, V = eigsh(operator, number, which="SA", ncv=min(3 * number, size), maxiter=1, tol=0.1, v0=begin)
    except ArpackNoConvergence as some:
        mu, V = some.eigenvalues.real, some.eigenvectors.real
    return mu[mu < WORTH], np.ascontiguousarray(V[:, mu < WORTH])


class SparseState(NamedTuple):
    """Where the chains are: positions, unknowns and derivatives there, each log α², and how the last step went."""

    q: FloatArray
    """The position x, and φ below it."""
    residual: FloatArray
    """What the rotation leaves to the kicks."""
    unknowns: FloatArray
    smooth: FloatArray
    """C⁻¹w."""
    log_likelihood: FloatArray
    """With the factor for ties and the prior of their chance."""
    along: FloatArray
    """wᵀ∇ℓ/2 of each field, the derivative of ℓ if its unknowns scale with α, (fields, chains)."""
    log_variance: FloatArray
    """(fields, chains)."""
    acceptance: FloatArray
    divergences: IntArray


class SparseTarget(NamedTuple):
    """A model, a mass that suits it, and the approximate centre and spread of its posterior."""

    model: SparseModel
    mass: Mass
    centre: Centre
    curves: list["Curve"]
    """For each log α² that is not fixed: w/α as it is, and for what is hardly known also the Gaussian's way."""
    accepted: list[FloatArray]
    """How likely the proposals of a pilot were to be accepted."""

    def sizes(self, state: SparseState) -> FloatArray:
        """wᵀC⁻¹w of each field and chain."""
        return self.model.by_field(state.unknowns, state.smooth)


class Curve:
    """A way for the unknowns to move with τ = log α² of field k: here w/α stays as it is."""

    sd = 1.0
    """How uncertain τ is along the curve."""

    def __init__(self, target: SparseTarget, k: int, terms: Terms) -> None:
        self.target, self.k, self.terms, part = target, k, terms, target.model.slices[k]
        self.growth = self.size = (part.stop - part.start) / 2
        """How fast the logarithm of volume grows with τ, and that of the prior's scale."""

    def velocity(self, state: SparseState) -> FloatArray:  # noqa: ARG002
        """Return how fast x moves with τ, where that is needed."""
        return NONE

    def go(
        self,
        state: SparseState,
        velocity: FloatArray,  # noqa: ARG002
        tau: FloatArray,
    ) -> tuple[SparseState, FloatArray]:
        """Return the state at another τ, and the velocity there."""
        moved = scaled(self.target, state, self.k, tau)
        return moved, self.velocity(moved)

    def slope(self, state: SparseState, velocity: FloatArray) -> FloatArray:  # noqa: ARG002
        """Return the derivative of log p(w | τ, y) in τ along the curve, with the growth of volume."""
        slope: FloatArray = state.along[self.k]
        return slope

    def described(self, state: SparseState, velocity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log density of τ along the curve, and its derivative."""
        tau = state.log_variance[self.k]
        height = state.log_likelihood + log_prior(self.target, state) + (self.growth - self.size) * tau
        return height + self.terms.log_density(tau), self.slope(state, velocity) + self.terms.slope(tau)


class Flow(Curve):
    """The unknowns move as the Gaussian near the posterior does: x + c is multiplied by e^{ΔA} (see above)."""

    def __init__(self, target: SparseTarget, k: int, terms: Terms) -> None:
        super().__init__(target, k, terms)
        half = np.exp(-target.centre.curvature.log_variance[k]) / 2 * target.model.roots[k]
        self.half, self.growth = columns_of(half), target.mass.trace(half)

    def applied(self, x: FloatArray) -> FloatArray:
        """Return Ax; in these coordinates A is R⁻ᵀBR⁻¹/2."""
        unknowns = self.target.mass.unknowns(x)
        pulled = np.zeros_like(unknowns)
        multiply(self.half, unknowns, pulled)
        return self.target.mass.pull(pulled)

    def velocity(self, state: SparseState) -> FloatArray:
        """Return A(x + c)."""
        return self.applied((state.q + self.target.mass.centre)[:-1])

    def go(self, state: SparseState, velocity: FloatArray, tau: FloatArray) -> tuple[SparseState, FloatArray]:
        """See `Curve.go`: with Δ the change, x moves by Σ ΔⁿAⁿ(x + c)/n!, and A times each term is velocity."""
        change = np.clip(tau - state.log_variance[self.k], -FARTHEST, FARTHEST)
        q, taus, speed, there = state.q.copy(), state.log_variance.copy(), velocity, velocity.copy()
        for order in range(1, MOST_TERMS):
            term = change / order * speed
            q[:-1] += term
            if not (term**2).sum(axis=0).max() > NEGLIGIBLE**2:
                break
            speed = self.applied(term)
            there += speed
        taus[self.k] = tau
        return look(self.target, q, taus), there

    def slope(self, state: SparseState, velocity: FloatArray) -> FloatArray:
        """See `Curve.slope`."""
        centre, size = self.target.mass.centre, self.target.sizes(state)[self.k]
        moved = np.einsum("ik,ik->k", (state.residual - state.q + centre)[:-1], velocity)
        found: FloatArray = moved + np.exp(-state.log_variance[self.k]) * size / 2 + self.growth - self.size
        return found


def build_target(model: SparseModel) -> SparseTarget:
    """Find the centre, factor the mass, see how sharp the answers are about each log α², and try the whole.

    With few answers the centre's α² may be far from where chains go; then the centre is found anew at theirs.
    """
    held = None
    for _ in range(MOST_PILOTS):
        centre = find_centre(model, held)
        target = _target_at(centre)
        held = try_out(target)
        if np.abs(held - centre.curvature.log_variance).max() < STALE:
            break
    return target


def _target_at(centre: Centre) -> SparseTarget:
    model = centre.curvature.model
    target = SparseTarget(model, Mass(centre), centre, [], [])
    here = start(target, *draw_starts(np.random.default_rng(0), target, WIDTH))
    for k, field in enumerate(model.fields):
        if not isinstance(field.variance, FixedVariance):
            kinds = (Curve, Flow) if k or centre.known < KNOWN else (Curve,)
            target.curves.extend(kind(target, k, field.variance.terms) for kind in kinds)
    for curve in target.curves:
        begin, velocity = here.log_variance[curve.k], curve.velocity(here)
        ends = [curve.go(here, velocity, begin + change) for change in (-RAY_STEP, RAY_STEP)]
        slopes = [curve.described(*end)[1] for end in ends]
        sharpness = float(np.median(slopes[0] - slopes[1]) / (2 * RAY_STEP))
        curve.sd = 1 / np.sqrt(max(sharpness, 1 / WIDEST_RAY**2))
    return target


def try_out(target: SparseTarget) -> FloatArray:
    """Run a short pilot whose draws are discarded; keep how often it accepted, and return where each log α² ended."""
    rng = np.random.default_rng(0)
    state, ends = start(target, *draw_starts(rng, target, WIDTH)), []
    for step in range(sum(PILOT_STEPS)):
        state = draw_variances(rng, target, trajectory(rng, target, state, PILOT_KICKS))
        if step >= PILOT_STEPS[0]:
            target.accepted.append(state.acceptance)
            ends.append(state.log_variance)
    return np.mean(ends, axis=(0, 2))


def kernel(target: SparseTarget, kicks: int | None = None) -> Kernel:
    """Build the sampler; unless ``kicks`` is given, the target's pilot says how many are needed."""
    number = choose_kicks(target) if kicks is None else kicks

    def init(_rng: np.random.Generator, unknowns: FloatArray, log_variance: FloatArray, phi: FloatArray) -> SparseState:
        return start(target, unknowns, log_variance, phi)

    def step(rng: np.random.Generator, state: SparseState) -> SparseState:
        return draw_variances(rng, target, trajectory(rng, target, state, number))

    return by_steps(init, step, lambda state: read(target, state), WIDTH)._replace(block=1)


def read(target: SparseTarget, state: SparseState) -> Arrays:
    """Keep the strengths in single precision: seven digits of a number that is known to two."""
    kept = {
        "strengths": state.unknowns[target.model.slices[0]].T.astype(np.float32),
        "log_variance": state.log_variance[0],
        "acceptance": state.acceptance,
        "divergences": state.divergences,
    }
    if len(state.log_variance) > 1:
        kept["log_disagreement"] = state.log_variance[1]
    if target.model.ties is not None:
        kept["tie_chance"] = target.centre.tie.chance(state.q[-1])
    return kept


def draw_starts(rng: np.random.Generator, target: SparseTarget, chains: int) -> tuple[FloatArray, ...]:
    """Draw unknowns, (chains, unknowns), each log α², (chains, fields), and φ from the Gaussian near the posterior."""
    mass, centre = target.mass, target.centre
    spread = START_SPREAD * centre.log_variance_sd * rng.standard_normal((chains, len(centre.log_variance_sd)))
    phi = rng.standard_normal(chains)
    noise = rng.standard_normal((target.model.size, chains))
    unknowns = mass.unknowns(mass.centre[:-1] + noise) + centre.tie.moved(phi)
    return unknowns.T, centre.curvature.log_variance + spread, phi


def start(target: SparseTarget, unknowns: FloatArray, log_variance: FloatArray, phi: FloatArray) -> SparseState:
    """Start chains at unknowns, (chains, unknowns), log α², (chains, fields), and φ."""
    position = target.mass.position(np.ascontiguousarray(unknowns.T) - target.centre.tie.moved(phi))
    return look(target, np.vstack([position, phi]), np.ascontiguousarray(log_variance.T))


def look(target: SparseTarget, q: FloatArray, log_variance: FloatArray, *, height: bool = True) -> SparseState:
    """Evaluate the likelihood and prior at a position."""
    unknowns = target.mass.unknowns(q[:-1])
    unknowns += target.centre.tie.moved(q[-1])
    smooth = target.model.precision(unknowns)
    return _evaluated(target, q, unknowns, smooth, log_variance, height=height)


def _evaluated(
    target: SparseTarget,
    q: FloatArray,
    unknowns: FloatArray,
    smooth: FloatArray,
    log_variance: FloatArray,
    *,
    height: bool = True,
) -> SparseState:
    model, tie, chains = target.model, target.centre.tie, q.shape[1]
    p = tie.chance(q[-1])
    found = model.likelihood(unknowns, theta_of(p), height=height)
    along, gradient = model.by_field(unknowns, found.score) / 2, found.score
    for tau, part in zip(log_variance, model.slices, strict=True):
        gradient[part] -= np.exp(-tau) * smooth[part]
    residual = force(target, gradient)
    residual += q - target.mass.centre
    if model.ties is None:
        residual[-1] = 0.0
    else:
        residual[-1] += tie.sd * (found.pull * 2 * p / (1 + p) + model.ties * (1 + p) + 1 - 2 * p)
    value = found.value + log_tie_density(target, q[-1])
    beginning = np.ones(chains), np.zeros(chains, dtype=np.int64)
    return SparseState(q, residual, unknowns, smooth, value, along, log_variance, *beginning)


def force(target: SparseTarget, gradient: FloatArray) -> FloatArray:
    """Turn a gradient in the unknowns into one in x and φ, which shifts them."""
    tie, found = target.centre.tie, np.zeros((len(gradient) + 1, gradient.shape[1]))
    found[:-1] = target.mass.pull(gradient)
    if tie.shift is not None:
        found[-1] = tie.sd * (tie.shift @ gradient)
    return found


def log_tie_density(target: SparseTarget, phi: FloatArray) -> FloatArray:
    """Return T log(e^{2θ} − 1) + log p(ψ), or, without ties, what keeps φ standard normal."""
    if target.model.ties is None:
        return -(phi**2) / 2
    p = target.centre.tie.chance(phi)
    density: FloatArray = target.model.ties * (np.log(4 * p) - 2 * np.log1p(-p)) + np.log(p) + np.log1p(-p)
    return density


def trajectory(rng: np.random.Generator, target: SparseTarget, state: SparseState, kicks: int) -> SparseState:
    """Propose unknowns and φ by one trajectory at the current variances; each chain accepts or stays."""

    def noise(rng: np.random.Generator, chains: int) -> FloatArray:
        return rng.standard_normal((target.model.size + 1, chains))

    def log_joint(state: SparseState, momentum: FloatArray) -> FloatArray:
        """Return log p(w | α², y) − kinetic energy; the variances are constant along the trajectory."""
        return state.log_likelihood + log_prior(target, state) - kinetic(momentum)

    def at(q: FloatArray, *, height: bool) -> SparseState:
        return look(target, q, state.log_variance, height=height)

    split = split_hmc.Split(noise, log_joint, split_hmc.kicking(at, target.mass.centre))
    return split_hmc.step(rng, split, state, kicks)


def kinetic(momentum: FloatArray) -> FloatArray:
    """|v|²/2 of each chain."""
    energy: FloatArray = np.einsum("ik,ik->k", momentum, momentum) / 2
    return energy


def log_prior(target: SparseTarget, state: SparseState) -> FloatArray:
    """Return Σ log N(w; 0, α²C) over the fields, up to what does not change along a trajectory."""
    density: FloatArray = -(target.sizes(state) * np.exp(-state.log_variance)).sum(axis=0) / 2
    return density


def draw_variances(rng: np.random.Generator, target: SparseTarget, state: SparseState) -> SparseState:
    """For each field, draw α² given w, then τ along its curves."""
    for curve in target.curves:
        if not isinstance(curve, Flow):
            sizes = target.sizes(state)[curve.k]
            drawn = np.array([curve.terms.given(2 * curve.size, size).draw(rng) for size in sizes])
            state = with_variance(target, state, curve.k, drawn)
        state = move_along(rng, curve, state)
    return state


def with_variance(target: SparseTarget, state: SparseState, k: int, tau: FloatArray) -> SparseState:
    """Change the log α² of a field, and nothing else: the prior pulls more or less."""
    part, taus = target.model.slices[k], state.log_variance.copy()
    gradient = np.zeros_like(state.unknowns)
    gradient[part] = (np.exp(-taus[k]) - np.exp(-tau)) * state.smooth[part]
    taus[k] = tau
    return state._replace(log_variance=taus, residual=state.residual + force(target, gradient))


def move_along(rng: np.random.Generator, curve: Curve, state: SparseState) -> SparseState:
    """Propose another τ on a curve, from the normal distribution that the slope of log p suggests.

    If log p is quadratic along the curve, with the curvature that `build_target` found, this is an independent draw.
    """
    k, sd = curve.k, curve.sd

    def drifted(state: SparseState, slope: FloatArray) -> FloatArray:
        mean: FloatArray = state.log_variance[k] + sd * np.clip(sd * slope, -FARTHEST_DRIFT, FARTHEST_DRIFT)
        return mean

    velocity = curve.velocity(state)
    here, slope = curve.described(state, velocity)
    mean = drifted(state, slope)
    proposed, velocity = curve.go(state, velocity, mean + sd * rng.standard_normal(len(mean)))
    there, slope = curve.described(proposed, velocity)
    back = drifted(proposed, slope)
    way = ((proposed.log_variance[k] - mean) ** 2 - (state.log_variance[k] - back) ** 2) / (2 * sd**2)
    change = np.where(np.abs(proposed.log_variance[k]) <= FARTHEST, there - here + way, -np.inf)
    moved = split_hmc.settle(rng, state, proposed, change)
    return moved._replace(acceptance=state.acceptance, divergences=state.divergences)


def scaled(target: SparseTarget, state: SparseState, k: int, tau: FloatArray) -> SparseState:
    """Scale the unknowns of a field with α, to another log α²."""
    part, tie, taus = target.model.slices[k], target.centre.tie, state.log_variance.copy()
    factor = np.exp(np.clip(tau - taus[k], -FARTHEST, FARTHEST) / 2)
    unknowns, smooth = state.unknowns.copy(), state.smooth.copy()
    unknowns[part] *= factor
    smooth[part] *= factor
    taus[k] = tau
    q = np.vstack([target.mass.position(unknowns - tie.moved(state.q[-1])), state.q[-1]])
    return _evaluated(target, q, unknowns, smooth, taus)


def choose_kicks(target: SparseTarget) -> int:
    """Find the number of kicks that gives the wanted acceptance, from that of the pilot.

    The energy error is nearly normal with a standard deviation σ that grows with the square of the angle between kicks,
    and the acceptance is erfc(σ/√8).
    """
    ratio = float(erfcinv(np.clip(np.mean(target.accepted), 0.02, 0.999)) / erfcinv(WANTED_ACCEPTANCE))
    return int(np.clip(np.ceil(PILOT_KICKS * np.sqrt(ratio)), FEWEST_KICKS, MOST_KICKS))
