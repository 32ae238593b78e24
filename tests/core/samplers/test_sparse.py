"""The sampler for large maps, at sizes where the answer is known: integrals, and the samplers for smaller maps.

Limits as in test_spatial_exactness.py: 5 Monte Carlo standard errors.
"""

from functools import cache

import numpy as np
import pytest
from calibration import Setting, geweke, geweke_limit, normal_scores, sbc_ranks, uniformity
from judges_quadrature import exact_moments
from scipy import sparse
from synthetic import delaunay_map
from test_judges_exactness import MODELS as JUDGES
from test_judges_exactness import exact_answer as exact_judges
from test_spatial_exactness import LIMIT, MODELS, largest, moment_errors

from judgemap.core.model import multiresolution
from judgemap.core.model.car import IntrinsicCar, intrinsic_car
from judgemap.core.model.counts import PairCounts, count_judged, count_pairs
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import DISAGREEMENT_SCALE, PanelModel, Parts, as_one_judge
from judgemap.core.model.multiresolution import MultiResolution
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import FixedVariance, HalfNormal, InverseGamma, Model
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.run import Draws, Plan, run, sample, sample_sparse
from judgemap.core.samplers.sparse import hmc
from judgemap.core.samplers.sparse.factor import Factor, order_areas, within_reach
from judgemap.core.samplers.sparse.model import Field, Independent, SparseModel, Views, views_of
from judgemap.core.simulate.trials import simulate_counts

pytestmark = pytest.mark.statistical

PATH = AreaGraph(3, [[0, 1], [1, 2]])
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 1.0]])
THREE = MODELS["three areas, spatial"]
SMALL = {
    "independent": (MODELS["two areas"].covariance, Independent(2), MODELS["two areas"]),
    "α² fixed": (MODELS["two areas"].covariance, Independent(2), MODELS["two areas, α² fixed"]),
    "α half-normal": (MODELS["two areas"].covariance, Independent(2), MODELS["two areas, α half-normal"]),
    "car": (intrinsic_car(PATH), IntrinsicCar(PATH), THREE),
    "car in two parts": (intrinsic_car(AreaGraph(3, [[0, 1]])), IntrinsicCar(AreaGraph(3, [[0, 1]])), THREE),
    "multi-resolution": (multiresolution.multiresolution(CORNERS, 1.0), MultiResolution(CORNERS, 1.0), THREE),
}


def draw(model: SparseModel, draws: int = 100, kicks: int = 2) -> Draws:
    """Many short chains, all of them one batch: at three areas a step of 64 costs little more than a step of one."""
    target, rng = hmc.build_target(model), np.random.default_rng(7)
    kernel = hmc.kernel(target, kicks)._replace(width=64)
    return run(rng, kernel, hmc.draw_starts(rng, target, 64), Plan(chains=64, warmup=20, draws=draws))


def errors_of(name: str, draws: int = 100) -> dict[str, float]:
    covariance, smoother, known = SMALL[name]
    drawn = draw(SparseModel.of_map(known.counts, smoother, known.variance, ties=False), draws)
    return moment_errors(drawn, Model(known.counts, covariance, known.variance))


@pytest.mark.parametrize("name", SMALL)
def test_moments_are_exact(name):
    errors = errors_of(name, 25 if "normal" in name else 100)  # where a draw of α² takes a millisecond
    assert largest(errors) < LIMIT, errors


@pytest.mark.parametrize("known", [0.0, 2.0])
def test_the_way_in_which_the_variance_is_drawn_does_not_matter(monkeypatch, known):
    """As if the answers said much about every direction, or little: then α² is drawn a third time."""
    monkeypatch.setattr(hmc, "KNOWN", known)
    errors = errors_of("car")
    assert largest(errors) < LIMIT, errors


def test_few_answers_find_their_variance():
    """Two hundred answers about a corner of a map: the centre's α² is too small by far, and is found anew."""
    graph = delaunay_map(1000)
    rng, here = np.random.default_rng(5), np.arange(60)
    left = rng.choice(here, 200)
    right = (left + rng.integers(1, 60, size=200)) % 60
    choice = np.where(left < right, 1, -1) * np.where(rng.random(200) < 0.9, 1, -1)
    counts = count_pairs(np.where(choice > 0, left, right), np.where(choice > 0, right, left), 1000)
    model = SparseModel.of_map(counts, IntrinsicCar(graph), HalfNormal(5.0), ties=False)
    drawn = sample_sparse(rng, model, Plan(chains=16, warmup=30, draws=60))
    assert ess_bulk(drawn["log_variance"]) > 200


def test_a_poor_mass_costs_acceptance_and_nothing_else(monkeypatch):
    """Exactness rests on the energies. No pair is factored, and one direction has a weight of its own."""
    monkeypatch.setattr(hmc, "WORTH", 2.0)
    monkeypatch.setattr(hmc, "order_areas", lambda matrix, most: None if matrix.nnz > 7 else order_areas(matrix))
    right = hmc.find_centre(SparseModel.of_map(THREE.counts, IntrinsicCar(PATH), THREE.variance, ties=False))
    assert not right.solver.exact
    mass = hmc.Mass(right)
    assert mass.light is not None
    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(mass.position(mass.unknowns(x)), x, atol=1e-12)
    np.testing.assert_allclose((mass.pull(x) * mass.position(x)).sum(), (x * x).sum())
    R, prior = mass.position(np.eye(3)), right.curvature.prior
    np.testing.assert_allclose(mass.trace(prior), np.trace(np.linalg.solve(R.T @ R, prior.toarray())))
    errors = errors_of("car")
    assert largest(errors) < LIMIT, errors


TIED = PairCounts(3, [0, 0, 1], [1, 2, 2], [3, 2, 2], [2, 2, 1], ties=[1, 1, 2])


@cache
def exact_with_ties() -> dict[str, tuple[float, float]]:
    parts = Parts(ties=TieRule.RAO_KUPPER)
    return exact_moments(PanelModel(as_one_judge(TIED), intrinsic_car(PATH), FixedVariance(1.5), parts), (61, 60, 1))


def tie_errors(draws: int = 100) -> dict[str, float]:
    """Means and spreads of strengths and of the chance of ties, against integration over all of them."""
    drawn = draw(SparseModel.of_map(TIED, IntrinsicCar(PATH), FixedVariance(1.5), ties=True), draws)
    errors = {}
    for name, (mean, spread) in exact_with_ties().items():
        x = drawn["tie_chance"] if name == "tie_chance" else drawn.centred[:, :, int(name[-1])].astype(float)
        away = np.abs(x - mean)
        errors[name] = (x.mean() - mean) / (x.std() / np.sqrt(ess_bulk(x)))
        errors[f"{name}, spread"] = (away.mean() - spread) / (away.std() / np.sqrt(ess_bulk(away)))
    return errors


def test_ties_are_exact():
    errors = tie_errors()
    assert len(errors) == 8
    assert largest(errors) < LIMIT, errors


def judge_errors(name: str = "views", draws: int = 40) -> dict[str, float]:
    """Two judges' views of two areas, σ and the chance of ties, against integration over all of them."""
    model, _ = JUDGES[name]
    views = views_of(model.counts, AreaGraph(2, []))
    fields = Field(Independent(2), model.variance), Field(Independent(len(views.area)), HalfNormal(3.0))
    drawn = draw(SparseModel.of_judges(model.counts, views, fields, ties=model.parts.ties is not None), draws, 3)
    errors = {}
    for quantity, (mean, _) in exact_judges(name).items():
        if not quantity.startswith("view"):
            x = drawn.centred[:, :, int(quantity[-1])].astype(float) if "strength" in quantity else drawn[quantity]
            errors[quantity] = (x.mean() - mean) / (x.std() / np.sqrt(ess_bulk(x)))
    assert len(errors) == 4 + (name == "views and ties") - isinstance(model.variance, FixedVariance)
    return errors


@pytest.mark.parametrize("name", ["views", "views and ties"])
def test_judges_who_differ_are_exact(name):
    errors = judge_errors(name)
    assert largest(errors) < LIMIT, errors


def test_judges_who_differ_are_exact_with_a_poor_mass(monkeypatch):
    """No pair is factored, and the directions with weights of their own are in the Jacobian of σ."""
    found = iter([None])
    monkeypatch.setattr(hmc, "order_areas", lambda matrix, most: next(found, order_areas(matrix)))
    monkeypatch.setattr(hmc, "within_reach", lambda borders, first, second, reach: np.zeros(len(first), dtype=bool))
    monkeypatch.setattr(hmc, "WORTH", 2.0)
    light = []
    monkeypatch.setattr(hmc, "lightest", lambda centre, right=hmc.lightest: light.append(right(centre)) or light[-1])
    errors = judge_errors()
    assert len(light[0][0]) == 2
    assert largest(errors) < LIMIT, errors


def free_curve(rng, curve, state):
    """Forget that the curve has a density: take a step of any size."""
    tau = state.log_variance[curve.k]
    return curve.go(state, curve.velocity(state), tau + rng.uniform(-3, 3, len(tau)))[0]


def no_growth(self, matrix):
    """Forget that views spread out as σ grows: the Jacobian is lost."""
    return 0.0


def without_prior(target, state):
    """Leave the prior of the strengths out of the energy."""
    return np.zeros_like(state.log_likelihood)


def half_kinetic(momentum):
    return np.einsum("ik,ik->k", momentum, momentum) / 4


def forgotten_scale(self, vectors, right=IntrinsicCar.precision):
    """The prior's scale is lost where it is multiplied with."""
    return right(self, vectors) / self.scale


def flat_ties(target, phi):
    """Leave the number of ties out of the density."""
    return np.zeros_like(phi)


BUGS = [
    (hmc, "move_along", free_curve, errors_of),
    (hmc, "log_prior", without_prior, errors_of),
    (hmc, "kinetic", half_kinetic, errors_of),
    (IntrinsicCar, "precision", forgotten_scale, errors_of),
    (hmc, "log_tie_density", flat_ties, tie_errors),
    (Factor, "trace", no_growth, judge_errors),
]


@pytest.mark.parametrize(("where", "name", "bug", "errors"), BUGS, ids=lambda each: getattr(each, "__name__", ""))
def test_planted_bugs_are_caught(monkeypatch, where, name, bug, errors):
    exact_with_ties()
    monkeypatch.setattr(where, name, bug)
    found = errors("car") if errors is errors_of else errors()
    assert largest(found) > LIMIT, found


FOUR = AreaGraph(4, [[0, 1], [1, 2]])
SPOTS = np.array([[0.0, 0.0], [1.0, 0.0], [2.5, 0.0], [2.0, 4.0]])
SETTINGS = {
    "car": (intrinsic_car(FOUR), IntrinsicCar(FOUR)),
    "multi-resolution": (multiresolution.multiresolution(SPOTS, 1.0), MultiResolution(SPOTS, 1.0)),
}


def build(name: str):
    def kernel(model: Model):
        made = hmc.kernel(
            hmc.build_target(SparseModel.of_map(model.counts, SETTINGS[name][1], model.variance, ties=False)), 3
        )
        return made._replace(init=lambda rng, strengths, tau: made.init(rng, strengths, tau[:, None], 0 * tau))

    return kernel


@pytest.mark.slow  # thousands of centres; the integrals above are the quick sibling
@pytest.mark.parametrize("name", SETTINGS)
def test_geweke(name):
    setting = Setting(SETTINGS[name][0], InverseGamma(5, 5), comparisons=12)
    scores = geweke(np.random.default_rng(11), build(name), setting, chains=40, length=20, reference=4000)
    assert max(map(abs, scores.values())) < geweke_limit(len(scores)), scores


def worst_of_views(seed, chains, length, reference, alpha=1.5, sigma=1.0) -> float:
    """Run Geweke's joint test on three judges with views of three areas; return the largest |z| over its limit."""
    rng, judge = np.random.default_rng(seed), np.repeat(np.arange(3), [7, 5, 4])
    where = np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)
    views = Views(*where, AreaGraph(9, np.concatenate([PATH.edges + 3 * k for k in range(3)])))
    priors = HalfNormal(alpha), HalfNormal(sigma)
    fields = Field(IntrinsicCar(PATH), priors[0]), Field(IntrinsicCar(views.graph, IntrinsicCar(PATH).scale), priors[1])
    C = intrinsic_car(PATH)

    def joint():
        tau = 2 * np.log(np.abs(rng.standard_normal(2)) * [alpha, sigma])
        return np.exp(tau[0] / 2) * C.draw(rng, 1)[0], np.exp(tau[1] / 2) * C.draw(rng, 3), tau

    def answers(strengths, own):
        left = rng.integers(3, size=len(judge))
        right = (left + rng.integers(1, 3, size=len(judge))) % 3
        d = (strengths + own)[judge, left] - (strengths + own)[judge, right]
        return left, right, np.where(rng.random(len(judge)) < 1 / (1 + np.exp(-d)), 1, -1)

    def evaluate(strengths, own, tau, left, right, choice):
        maps = strengths + own
        d = choice * (maps[judge, left] - maps[judge, right])
        apart = own[:, 0] - own[:, 2]
        of_view = [apart[0], np.abs(apart).mean(), apart[1] * (strengths[0] - strengths[2])]
        scores = [*strengths, *strengths**2, *of_view]
        return np.array([*np.arctan(scores), *tau, -np.logaddexp(0, -d).sum()])

    def average():
        now, total = joint(), 0.0
        for _ in range(length):
            left, right, choice = answers(*now[:2])
            counts = count_judged(judge, left, right, choice, n_areas=3, n_judges=3)
            target = hmc.build_target(SparseModel.of_judges(counts, views, fields, ties=False))
            state = hmc.start(target, np.concatenate([now[0], now[1].ravel()])[None], now[2][None], np.zeros(1))
            state = hmc.draw_variances(rng, target, hmc.trajectory(rng, target, state, 3))
            now = state.unknowns[:3, 0], state.unknowns[3:, 0].reshape(3, 3), state.log_variance[:, 0]
            total = total + evaluate(*now, left, right, choice)
        return total / length

    exact = []
    for _ in range(reference):
        now = joint()
        exact.append(evaluate(*now, *answers(*now[:2])))
    scores = normal_scores(np.array([average() for _ in range(chains)]), np.array(exact))
    return float(np.abs(scores).max() / geweke_limit(len(scores)))


@pytest.mark.slow  # thousands of centres
def test_geweke_of_judges_who_differ():
    assert worst_of_views(11, chains=120, length=20, reference=4000) < 1


@pytest.mark.slow  # hundreds of fits; the integrals above are the quick sibling
@pytest.mark.parametrize("name", SETTINGS)
def test_calibrated(name):
    setting = Setting(SETTINGS[name][0], InverseGamma(5, 5), comparisons=20)
    ranks = sbc_ranks(np.random.default_rng(3), build(name), setting, replicates=60, draws=31, steps=30)
    p = {function: uniformity(each, draws=31) for function, each in ranks.items()}
    assert min(p.values()) > 1e-3 / len(p), p


def agreement(one: Draws, other: Draws, scalars: tuple[str, ...] = ("log_variance",)) -> float:
    """Compare means and deviations of areas and scalars: the root mean square difference, in standard errors."""
    series = [
        np.concatenate([each.centred.astype(float), *(each[name][..., None] for name in scalars)], axis=2)
        for each in (one, other)
    ]
    sizes = [ess_bulk(each) for each in series]
    sd = [each.std(axis=(0, 1)) for each in series]
    means = series[0].mean(axis=(0, 1)) - series[1].mean(axis=(0, 1))
    error = np.sqrt(sum(s**2 / size for s, size in zip(sd, sizes, strict=True)))
    squares = (sd[0] - sd[1]) / (error / np.sqrt(2))
    return float(np.sqrt(np.mean(np.concatenate([means / error, squares]) ** 2)))


def study(n_areas: int, comparisons: int) -> tuple[Model, AreaGraph]:
    """Answers to random pairs on a synthetic map, the last part of which is an island, and its last area alone."""
    whole = delaunay_map(n_areas)
    crossing = (whole.edges < n_areas - 5).sum(axis=1) == 1
    graph = AreaGraph(n_areas, whole.edges[~crossing & (whole.edges != n_areas - 1).all(axis=1)])
    covariance, rng = intrinsic_car(graph), np.random.default_rng(3)
    counts = simulate_counts(rng, 3 * covariance.draw(rng, 1)[0], comparisons)
    return Model(counts, covariance, HalfNormal(5.0)), graph


@pytest.mark.parametrize(
    ("n_areas", "comparisons", "draws", "entries"),
    [
        pytest.param(76, 1500, 150, 10**6, marks=pytest.mark.slow),  # as the integrals above
        (76, 1500, 150, 200),
        pytest.param(452, 9000, 300, 10**6, marks=pytest.mark.slow),
        pytest.param(2000, 40_000, 100, 10**5, marks=pytest.mark.slow),
    ],
)
def test_it_agrees_with_the_sampler_for_smaller_maps(monkeypatch, n_areas, comparisons, draws, entries):
    """With all pairs factored and with few. The root mean square of all z-scores is 1 on average if both are right."""
    monkeypatch.setattr(hmc, "FEWEST_ENTRIES", entries)
    monkeypatch.setattr(hmc, "ENTRIES_A_ROW", 0)
    monkeypatch.setattr(hmc, "WIDTH", 16)  # one batch costs little more than half of it
    model, graph = study(n_areas, comparisons)
    assert len(np.unique(graph.components())) > 2
    plan = Plan(chains=16, warmup=30, draws=draws)
    exact = sample(np.random.default_rng(5), model, plan=plan, cores=2)
    same = SparseModel.of_map(model.counts, IntrinsicCar(graph), model.variance, ties=False)
    drawn = sample_sparse(np.random.default_rng(6), same, plan, cores=2)
    assert agreement(drawn, exact) < 1.5
    shifted = Draws({**drawn.arrays, "strengths": 1.05 * drawn.strengths})
    assert agreement(shifted, exact) > 1.5, "strengths that are 5 % too large would be seen"


@pytest.mark.slow  # a fit of eight judges twice; the integrals above are the quick sibling
def test_judges_agree_with_the_sampler_for_smaller_maps():
    """Views on the areas met and their neighbours, with the scale of the map's prior, are all that matters."""
    model, graph = study(60, 1)
    rng, judges = np.random.default_rng(8), np.repeat(np.arange(8), 150)
    strengths = 2 * model.covariance.draw(rng, 1)[0] + model.covariance.draw(rng, 8)
    left = rng.integers(60, size=len(judges))
    right = (left + rng.integers(1, 60, size=len(judges))) % 60
    d = strengths[judges, left] - strengths[judges, right]
    choice = np.where(rng.random(len(judges)) < 1 / (1 + np.exp(-d)), 1, -1)
    counts = count_judged(judges, left, right, choice, n_areas=60, n_judges=8)
    plan = Plan(chains=16, warmup=30, draws=150)
    parts = Parts(disagreement=model.covariance)
    exact = sample_panel(rng, PanelModel(counts, model.covariance, model.variance, parts), plan)
    views = views_of(counts, graph)
    prior = IntrinsicCar(graph)
    own = Field(IntrinsicCar(views.graph, prior.scale), HalfNormal(DISAGREEMENT_SCALE))
    same = SparseModel.of_judges(counts, views, (Field(prior, model.variance), own), ties=False)
    drawn = sample_sparse(rng, same, plan)
    assert agreement(drawn, exact, ("log_variance", "log_disagreement")) < 1.5
    assert ess_bulk(drawn["log_disagreement"]) > 600, "σ is forgotten in a few draws"


@pytest.mark.parametrize(("apart", "affordable"), [(3, True), (199, False)])
def test_views_are_affordable_where_judges_know_a_part(monkeypatch, apart, affordable):
    """Forty judges, each with fifty answers about areas a few places apart, or anywhere."""
    monkeypatch.setattr(hmc, "FEWEST_ENTRIES", 1)
    monkeypatch.setattr(hmc, "WITH_VIEWS", 20)
    rng, judges = np.random.default_rng(1), np.repeat(np.arange(40), 50)
    left = (5 * judges + rng.integers(5, size=len(judges))) % 200
    right = (left + rng.integers(1, apart + 1, size=len(judges))) % 200
    counts = count_judged(judges, left, right, np.ones_like(left), n_areas=200, n_judges=40)
    views = views_of(counts, delaunay_map(200))
    fields = Field(Independent(200), HalfNormal(2.0)), Field(IntrinsicCar(views.graph, 1.0), HalfNormal(2.0))
    assert hmc.affordable(SparseModel.of_judges(counts, views, fields, ties=False)) is affordable


def test_areas_that_nobody_compared_have_their_prior():
    """α² is fixed, so that an island that never came up is N(0, α²)."""
    first = simulate_counts(np.random.default_rng(1), np.array([1.0, 0.0, -1.0]), 60)
    counts = PairCounts(6, first.first, first.second, first.n, first.wins)
    prior = IntrinsicCar(AreaGraph(6, [[0, 1], [1, 2], [3, 4]]))
    alone = SparseModel.of_map(counts, prior, FixedVariance(4.0), ties=False)
    draws = sample_sparse(np.random.default_rng(2), alone, Plan(chains=16, draws=300))
    island = draws.strengths[:, :, 5].astype(float)
    assert abs(island.mean()) < 5 * 2 / np.sqrt(ess_bulk(island))
    assert abs(island.var() - 4) < 5 * 4 * np.sqrt(2 / ess_bulk(island))


@pytest.mark.parametrize("shape", ["map", "star", "apart", "dense"])
def test_the_factor_is_that_of_the_matrix(shape):
    """Whatever the order; and the entries are counted before they are computed."""
    rng, n = np.random.default_rng(1), 80
    edges = {
        "map": delaunay_map(n).edges,
        "star": np.column_stack([np.zeros(n - 1, dtype=int), np.arange(1, n)]),
        "apart": np.array([[0, 1], [5, 6], [6, 7]]),
        "dense": np.array([(i, j) for i in range(n) for j in range(i)]),
    }[shape]
    i, j = edges.T
    off = sparse.coo_array((-rng.random(len(i)), (i, j)), shape=(n, n))
    off = off + off.T
    H = sparse.csc_array(off + sparse.diags_array(0.1 - off.sum(axis=1)))
    order = order_areas(H)
    assert sorted(order) == list(range(n))
    factor, x = Factor(H, order), rng.standard_normal((n, 3))
    assert np.allclose(H @ factor.back(factor.forth(x)), x)
    assert np.allclose(factor.back(factor.times(x)), x)
    assert np.isclose(factor.trace(H), n)
    own = sparse.csc_array(H * H)
    assert np.isclose(factor.trace(own), np.trace(np.linalg.solve(H.toarray(), own.toarray())))
    assert np.allclose((factor.times(x) ** 2).sum(axis=0), (x * (H @ x)).sum(axis=0))
    entries = len(factor.lower.at) - n
    assert order_areas(H, most=max(entries // 2, 1) - 1) is None
    if shape == "star":
        assert entries == n - 1, "the hub goes last"


def test_neighbours_within_reach():
    graph = delaunay_map(80)
    steps = sparse.csgraph.shortest_path(graph.sparse_adjacency(), unweighted=True)
    i, j = np.triu_indices(80, 1)
    for reach in (0, 1, 3):
        assert np.array_equal(within_reach(graph.sparse_adjacency(), i, j, reach), steps[i, j] <= reach)


def test_another_map_is_refused():
    with pytest.raises(ValueError, match="cover 2 areas, the prior 3"):
        SparseModel.of_map(MODELS["two areas"].counts, Independent(3), InverseGamma(), ties=False)
