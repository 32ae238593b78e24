"""Whether the draws can be trusted: in words first, then numbers, traces and the record of the fit."""

import numpy as np

from judgemap.core.diagnostics import ess_bulk, ess_tail, rhat
from judgemap.report import clusters, figures
from judgemap.report.briefing import limits
from judgemap.report.page import Section
from judgemap.report.tables import Cell, Table, columns
from judgemap.report.text import counted
from judgemap.study.result import GOOD_ESS, GOOD_RHAT, Fit

SAMPLERS = {"hmc": "Hamiltonian Monte Carlo", "gibbs": "Pólya-Gamma Gibbs sampling"}
MODELS = {
    "spatial": "spatial Bradley-Terry (neighbouring areas are assumed to be alike)",
    "clusters": "spatial clustering Bradley-Terry (neighbouring areas of similar risk share a level)",
    "standard": "standard Bradley-Terry (an area tells nothing about its neighbours)",
}


def diagnostics(fit: Fit, other: Fit | None = None) -> list[Section]:
    """Return the sections that end a briefing, for one fit or for two."""
    if other is None:
        return [_of(fit, "Diagnostics"), _record(fit, "The record of the fit", limits.notes(fit))]
    sections: list[Section] = []
    told: set[str] = set()
    for each in (fit, other):
        name = clusters.NAMES.get(each.info["model"], each.info["model"])
        new = tuple(note for note in limits.notes(each) if note not in told)
        told.update(new)
        sections += [_of(each, f"Diagnostics: the {name} model"), _record(each, f"The record: the {name} model", new)]
    return sections


def verdict(fit: Fit) -> str:
    """Say whether the draws can be relied on.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> verdict(jm.fit_spatial(data, areas, seed=1, chains=4, draws=500))[:48]
    'The sampling checks found no problem: four chai'
    """
    found = fit.info["diagnostics"]
    if fit.warnings:
        return "The sampling checks found a problem: " + " ".join(fit.warnings)
    chains = counted(fit.posterior.sizes["chain"], "chain")
    return (
        f"The sampling checks found no problem: {chains} from different starting points agree (largest R-hat "
        f"{found['rhat_max']:.3f}; it should be at most {GOOD_RHAT}), and the effective sample size of every area is "
        f"at least {found['ess_bulk_min']:,.0f} ({GOOD_ESS} is needed)."
    )


def worst(fit: Fit, count: int = 5) -> Table:
    """List the areas with the smallest effective sample sizes, of the middle and of the tails, with their R-hat."""
    draws = fit.posterior["risk"].to_numpy()
    agreement, bulk, tail = rhat(draws), ess_bulk(draws), ess_tail(draws)
    rows = tuple(
        (
            Cell(fit.map.names[area]),
            Cell(f"{agreement[area]:.3f}"),
            Cell(f"{bulk[area]:,.0f}"),
            Cell(f"{tail[area]:,.0f}"),
        )
        for area in np.argsort(bulk, kind="stable")[:count]
    )
    heads = columns(["Area"], ["R-hat", "ESS, bulk", "ESS, tail"])
    return Table(f"The {len(rows)} of {len(fit.map):,} areas with the smallest effective sample size", heads, rows)


def _of(fit: Fit, heading: str) -> Section:
    return Section(heading, (verdict(fit),), picture=figures.traces(fit), table=worst(fit))


def _record(fit: Fit, heading: str, notes: tuple[str, ...]) -> Section:
    info, found, plan = fit.info, fit.info["diagnostics"], fit.info["plan"]
    chains, draws = fit.posterior.sizes["chain"], fit.posterior.sizes["draw"]
    given = ", ".join(f"{name} {value}" for name, value in info["hyperparameters"].items() if name != "affinity")
    facts = (
        ("Model", MODELS.get(info["model"], info["model"])),
        ("Prior", f"{info['prior']}; {given}"),
        ("Risk", info["risk"]),
        ("Sampler", SAMPLERS.get(info["sampler"], info["sampler"])),
        ("Draws", f"{chains} chains of {draws:,} draws, after {plan['warmup']:,} warm-up draws"),
        ("Seed", str(info["seed"])),
        ("Largest R-hat", f"{found['rhat_max']:.3f} (should be at most {GOOD_RHAT})"),
        (
            "Smallest effective sample size",
            f"{found['ess_bulk_min']:,.0f}, for {found['ess_bulk_min_of']} (should be at least {GOOD_ESS})",
        ),
        ("Time", f"{info['seconds']:.2f} seconds"),
        ("Software", ", ".join(f"{name} {version}" for name, version in info["versions"].items())),
        ("Data", f"SHA-256 {info['data']['sha256']}"),
    )
    return Section(heading, facts=facts, remarks=notes)
