"""How a fit was made: paragraphs to paste into a paper, with the references that they cite."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from judgemap.core.model.prior import FixedVariance, HalfNormal
from judgemap.report.words.text import counted, listed
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import EFFECTS

REFERENCES: Mapping[str, str] = tomllib.loads(Path(__file__).with_name("references.toml").read_text(encoding="utf-8"))
"""Each reference, by the words that cite it."""

KERNELS = {
    "exponential": "exp(−d/ℓ) of the distance d between centroids",
    "matern32": "(1 + √3 d/ℓ) exp(−√3 d/ℓ) of the distance d between centroids (Matérn 3/2)",
    "squared-exponential": "exp(−d²/(2ℓ²)) of the distance d between centroids",
    "graph-exponential": "exp(−d/ℓ) of the number d of borders crossed on the shortest path between areas",
    "multi-resolution": "the mean of Matérn 3/2 correlations of the distance d between centroids, whose lengths double "
    "from ℓ up to half the width of the map",
}
CAR = (
    "The prior is an intrinsic conditional autoregression (Besag et al., 1991): the density of λ falls with the sum of "
    "squared differences between neighbours, scaled so that α is the typical standard deviation (Sørbye and Rue, "
    "2014); the level of each connected part of the map is N(0, α²)."
)
AFFINITIES = {
    "communicability": "the (i, j) entry of the matrix exponential of the map's adjacency matrix (Estrada and Hatano, "
    "2008)",
    "window": "1 up to {length:g} borders away and 0 beyond",
    "decay": "exp(−d/{length:g}), d the number of borders crossed",
}


def methods(fit: Fit, other: Fit | None = None) -> tuple[str, ...]:
    """Return the methods paragraph of a fit and, if there is one, of a second model fitted to the same areas."""
    paragraphs = [f"{_data(fit)} {_model(fit)} {_sampling(fit)} {_software(fit)}"]
    if other is not None:
        same = "same" if other.record.data.sha256 == fit.record.data.sha256 else "areas' other"
        paragraphs.append(f"A second model was fitted to the {same} comparisons. {_prior(other)} {_sampling(other)}")
    return tuple(paragraphs)


def references(paragraphs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the references that the paragraphs cite, in alphabetical order.

    >>> references(("As in Blei and Frazier (2011), and so (Bradley and Terry, 1952).",))[0][:13]
    'Bradley, R. A'
    """
    text = " ".join(paragraphs)
    return tuple(REFERENCES[key] for key in sorted(REFERENCES) if key in text)


def _data(fit: Fit) -> str:
    data, winner = fit.record.data, fit.record.winner_is
    judges = f"{counted(data.judges, 'judge').capitalize()}" if data.judges else "Judges"
    undecided = f", or calling them alike ({data.ties:,} ties)" if data.ties else ""
    undecided += f"; {data.left_out:,} pairs that were shown but not decided were left out" if data.left_out else ""
    seen = fit.counts.per_area()
    return (
        f"{judges} made {data.used:,} comparisons of {data.pairs:,} distinct pairs of "
        f"{data.areas:,} areas, choosing in each the area with the {winner} rate{undecided}. Each area took part in "
        f"{int(seen.min()):,} to {int(seen.max()):,} comparisons (median {np.median(seen):g})."
    )


def _model(fit: Fit) -> str:
    risk = "−λ" if fit.record.sign < 0 else "λ"
    return (
        "In the Bradley–Terry model (Bradley and Terry, 1952) the log-odds that area i is chosen over area j are "
        f"λᵢ − λⱼ; risk is {risk}, centred on the mean of all areas. {_prior(fit)}{_panel(fit)}"
    )


def _panel(fit: Fit) -> str:
    """Say what is assumed about judges and ties, and whose view the map shows; empty for the paper's model."""
    settings, sentences = fit.settings, list[str]()
    if fit.record.data.ties:
        rule = "Davidson, 1970" if settings.ties == "davidson" else "Rao and Kupper, 1967"
        sentences.append(f"Ties are part of the model ({rule}).")
    if settings.differ:
        prior = "σ²C" if settings.disagreement == "map" else "σ²I"
        sentences.append(f"Each judge k has their own map, λ + uₖ, uₖ ~ N(0, {prior}), σ half-normal(3).")
    effects = [name for name in EFFECTS if getattr(settings, name)]
    if effects:
        sentences.append(f"Effects by judge: {listed(effects)}.")
    if settings.smoothness == "infer":
        sentences.append(
            "The covariance of λ is α²(ρC + (1 − ρ)I), ρ uniform; each area's own part is Student's t with 4 degrees "
            "of freedom."
        )
    seen = [fit.record.view.words, fit.words] if sentences and fit.record.model != "clusters" else []
    return " ".join(["", *sentences, *seen]).rstrip()


def _prior(fit: Fit) -> str:
    return _cluster_prior(fit) if isinstance(fit, ClusterFit) else _normal_prior(fit)


def _normal_prior(fit: Fit) -> str:
    correlation, variance = fit.record.correlation, fit.settings.variance
    if correlation is None or correlation.kind == "independent":
        prior = "A priori, λ ~ N(0, α²I): areas are independent."
    elif correlation.kind in KERNELS:
        prior = (
            f"A priori, λ ~ N(0, α²C) with correlation {KERNELS[correlation.kind]}, ℓ = {correlation.length:g} (cf. "
            "Seymour, Sirl et al., 2022)."
        )
    elif correlation.kind == "car":
        prior = CAR
    elif correlation.kind != "communicability":
        prior = f"A priori, λ ~ N(0, α²C) with a user-defined correlation C, {correlation.kind!r}."
    else:
        prior = (
            "The prior is that of the Bayesian spatial Bradley–Terry model (Seymour, Sirl et al., 2022; Seymour, "
            "Nyarko-Agyei et al., 2022): λ ~ N(0, α²C) with C = D^(−1/2) exp(A) D^(−1/2), where A is the adjacency "
            "matrix of the areas and D the diagonal of exp(A)."
        )
    if isinstance(variance, FixedVariance):
        return f"{prior} α was fixed at {np.median(fit.alpha):.3g}.{_bridges(fit)}"
    low, middle, high = np.quantile(fit.alpha, [0.025, 0.5, 0.975])
    free = (
        f"α has a half-normal prior with scale {variance.scale:g}"
        if isinstance(variance, HalfNormal)
        else f"α² has an inverse-gamma prior with shape {variance.shape:g} and scale {variance.scale:g}"
    )
    return (
        f"{prior} {free}; the posterior median of α is {middle:.2f} "
        f"(95 % credible interval {low:.2f} to {high:.2f}).{_bridges(fit)}"
    )


def _cluster_prior(fit: ClusterFit) -> str:
    given = fit.settings
    affinity = AFFINITIES[given.affinity].format(length=fit.record.assumed["length"])
    losses = {"vi": "variation of information (Wade and Ghahramani, 2018)", "binder": "Binder's loss (Binder, 1978)"}
    among = f" among those of {given.clusters} clusters" if given.clusters else ""
    chances = ", ".join(f"{k} ({chance:.3f})" for k, chance in fit.n_clusters.nlargest(3).items())
    return (
        "Areas were clustered by location and risk together (Seymour, Nyarko-Agyei et al., 2022) with a distance "
        "dependent Chinese restaurant process (Blei and Frazier, 2011): area i links to area j with weight "
        f"{affinity}, and to itself with weight β = {given.beta:g}; linked areas form a cluster. Within cluster k, "
        f"λ ~ N(m_k, σ_k²), with a normal-inverse-gamma prior on (m_k, σ_k²), μ₀ = {given.mu0:g}, κ₀ = "
        f"{given.kappa0:g}, a₀ = {given.a0:g}, b₀ = {given.b0:g}. The most likely numbers of clusters "
        f"(posterior probability) are {chances}; the partition shown, of {fit.best.n_clusters} clusters, minimises "
        f"the posterior expectation of the {losses[given.loss]}{among}.{_bridges(fit)}"
    )


def _bridges(fit: Fit) -> str:
    joined = len(fit.map.bridges)
    if not joined:
        return ""
    were = "was" if joined == 1 else "were"
    return f" {counted(joined, 'link').capitalize()} between areas with no common border {were} added."


def _sampling(fit: Fit) -> str:
    checks, sizes, plan = fit.record.diagnostics, fit.posterior.sizes, fit.record.plan
    thinned = f", keeping one in {plan.thin}" if plan.thin > 1 else ""
    clustered = isinstance(fit, ClusterFit)
    hmc = (
        "Hamiltonian Monte Carlo (Neal, 2011)" if clustered else "split Hamiltonian Monte Carlo (Shahbaba et al., 2014)"
    )
    how = "Pólya–Gamma Gibbs sampling (Polson et al., 2013)" if fit.record.sampler == "gibbs" else hmc
    links = " of the strengths and Gibbs sampling of the links" if clustered else ""
    return (
        f"The posterior was sampled by {how}{links}: {counted(sizes['chain'], 'chain')} of {sizes['draw']:,} "
        f"draws{thinned}, after {plan.warmup:,} of warm-up. The largest rank-normalised split R̂ (Vehtari et al., "
        f"2021) is {checks.rhat_max:.3f}, and the smallest effective sample sizes are {checks.ess_bulk_min:,.0f} "
        f"(bulk) and {checks.ess_tail_min:,.0f} (tail). Estimates are posterior medians with equal-tailed 95 % "
        "credible intervals."
    )


def _software(fit: Fit) -> str:
    versions = dict(fit.record.versions)
    own = versions.pop("judgemap")
    names = {"python": "Python", "numpy": "NumPy", "scipy": "SciPy"}
    others = ", ".join(f"{names.get(name, name)} {version}" for name, version in versions.items())
    return (
        f"Computed with judgemap {own} ({others}), seed {fit.record.seed}; the comparisons have SHA-256 "
        f"{fit.record.data.sha256[:16]}."
    )
