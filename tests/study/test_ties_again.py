"""Fits with ties against a second implementation, which shares nothing with the first but the model on paper.

It reads the answers one by one, takes e^A from SciPy, writes both rules in their authors' symbols (θ and ν), and
samples everything at once, λ, log α² and logit p, by Hamiltonian Monte Carlo in the metric of the Hessian at the mode.
The largest of 453 |z| is below 4.8 with a false-alarm rate of about 7e-4, and that of 13 below 4.2 with 3e-4.
"""

import numpy as np
import pytest
from scipy import linalg, optimize
from scipy.special import expit, log_expit

import judgemap as jm
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.study.data.comparisons import Comparisons

pytestmark = pytest.mark.statistical


def rao_kupper(eta, won, lost, tied, p):
    """Return log-likelihood and slopes in η and p: P(win) = 1 / (1 + e^{θ − η}), what two wins leave is a tie."""
    theta = 2 * np.arctanh(p)
    ahead, behind = won + tied, lost + tied
    value = ahead @ log_expit(eta - theta) + behind @ log_expit(-eta - theta) + tied.sum() * np.log(np.expm1(2 * theta))
    up, down = ahead * expit(theta - eta), behind * expit(theta + eta)
    slope = -up.sum() - down.sum() + tied.sum() * 2 / -np.expm1(-2 * theta)
    return value, up - down, slope * 2 / (1 - p**2)


def davidson(eta, won, lost, tied, p):
    """The same for P(win) : P(loss) : P(tie) = e^{η/2} : e^{−η/2} : ν."""
    nu = 2 * p / (1 - p)
    total, answers = 2 * np.cosh(eta / 2) + nu, won + lost + tied
    value = (won - lost) @ eta / 2 + tied.sum() * np.log(nu) - answers @ np.log(total)
    slope = tied.sum() / nu - (answers / total).sum()
    return value, (won - lost) / 2 - answers * np.sinh(eta / 2) / total, slope * 2 / (1 - p) ** 2


def target(rule, left, right, answer, edges, n):
    """Return the log posterior of (λ, log α², logit p) with its gradient; α² ~ InvGamma(0.1, 0.1), p ~ U(0, 1)."""
    adjacency = np.zeros((n, n))
    adjacency[edges[:, 0], edges[:, 1]] = adjacency[edges[:, 1], edges[:, 0]] = 1
    connection = linalg.expm(adjacency)
    scale = 1 / np.sqrt(np.diag(connection))
    precision = linalg.inv(scale[:, None] * connection * scale)
    won, lost, tied = ((answer == each).astype(float) for each in ("left", "right", "tie"))

    def log_posterior(x):
        strengths, log_variance, p = x[:n], x[n], expit(x[n + 1])
        value, by_eta, by_p = rule(strengths[left] - strengths[right], won, lost, tied, p)
        pulled = precision @ strengths * np.exp(-log_variance)
        form = strengths @ pulled
        value += -form / 2 - (n / 2 + 0.1) * log_variance - 0.1 * np.exp(-log_variance) + np.log(p) + np.log1p(-p)
        gradient = np.bincount(left, by_eta, n) - np.bincount(right, by_eta, n) - pulled
        by_variance = form / 2 - n / 2 - 0.1 + 0.1 * np.exp(-log_variance)
        return value, np.r_[gradient, by_variance, by_p * p * (1 - p) + 1 - 2 * p]

    return log_posterior


def sample(rng, log_posterior, n, chains, draws):
    """Sample by Hamiltonian Monte Carlo; return the centred strengths and p, chain by chain."""
    size, steps = n + 2, 6
    start = optimize.minimize(lambda x: [-each for each in log_posterior(x)], np.zeros(size), jac=True).x
    shifts = 1e-4 * np.eye(size)
    hessian = np.array([log_posterior(start - each)[1] - log_posterior(start + each)[1] for each in shifts]) / 2e-4
    values, vectors = linalg.eigh((hessian + hessian.T) / 2)
    root = vectors / np.sqrt(np.maximum(values, 1e-2))
    kept = np.empty((chains, draws, n + 1))
    for chain in range(chains):
        x = start + root @ rng.standard_normal(size)
        value, slope = log_posterior(x)
        for draw in range(-draws // 5, draws):
            momentum, step = rng.standard_normal(size), rng.uniform(0.15, 0.35)
            energy = value - momentum @ momentum / 2
            there, value_there, slope_there = x, value, slope
            for _ in range(steps):
                momentum = momentum + step / 2 * (slope_there @ root)
                there = there + step * (root @ momentum)
                value_there, slope_there = log_posterior(there)
                momentum = momentum + step / 2 * (slope_there @ root)
            if np.log(rng.random()) < value_there - momentum @ momentum / 2 - energy:
                x, value, slope = there, value_there, slope_there
            if draw >= 0:
                kept[chain, draw] = np.r_[x[:n] - x[:n].mean(), expit(x[n + 1])]
    return kept


def z_between(one, other):
    errors = [each.std(axis=(0, 1)) / np.sqrt(ess_bulk(each)) for each in (one, other)]
    return (one.mean(axis=(0, 1)) - other.mean(axis=(0, 1))) / np.hypot(*errors)


def ours_of(areas, left, right, answer, ties, **sizes):
    """Return the centred strengths and p of a fit, chain by chain."""
    data = Comparisons.from_words(areas.ids, [""] * len(left), left, right, list(answer), winner_is="higher")
    fit = jm.fit_spatial(data, areas, ties=ties, seed=1, **sizes, as_in_paper=True)
    chains = fit.inference_data.posterior.sizes["chain"]
    return np.c_[fit.record.sign * fit.risk, fit.tie_chance].reshape(chains, -1, len(areas.ids) + 1)


def compare(areas, left, right, answer, ties, **sizes):
    """z of the mean of every area's strength, and of p."""
    ours = ours_of(areas, left, right, answer, ties, chains=8, draws=300)
    rule = davidson if ties == "davidson" else rao_kupper
    log_posterior = target(rule, left, right, answer, areas.graph.edges, len(areas.ids))
    return z_between(ours, sample(np.random.default_rng(2), log_posterior, len(areas.ids), **sizes))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Twelve areas around a ring with two chords; 400 answers, the near ones among them often ties."""
    rng, n = np.random.default_rng(3), 12
    lines = [f"{each},{(each + 1) % n}" for each in range(n)] + ["0,6", "3,9"]
    path = tmp_path_factory.mktemp("ring") / "edges.csv"
    path.write_text("\n".join(["area_a,area_b", *lines]))
    areas = jm.read_edges(path)
    strengths = rng.normal(0, 1.2, n)
    left = rng.integers(n, size=400)
    right = (left + rng.integers(1, n, size=400)) % n
    eta = strengths[left] - strengths[right]
    tie = rng.random(400) < 0.5 * np.exp(-np.abs(eta))
    answer = np.where(tie, "tie", np.where(rng.random(400) < expit(eta), "left", "right"))
    return areas, left, right, answer


@pytest.mark.parametrize("ties", ["model", "davidson"])
def test_a_second_implementation_agrees(simulated, ties):
    assert np.abs(compare(*simulated, ties, chains=2, draws=700)).max() < 4.2


def test_answers_the_wrong_way_round_do_not_agree(simulated):
    areas, left, right, answer = simulated
    ours = ours_of(areas, right, left, answer, "model", chains=4, draws=100)
    log_posterior = target(rao_kupper, left, right, answer, areas.graph.edges, 12)
    theirs = sample(np.random.default_rng(2), log_posterior, 12, chains=2, draws=150)
    assert np.abs(z_between(ours, theirs)).max() > 10
