"""How far the draws can be trusted, for those who check: in words first, then numbers, traces and the record."""

import numpy as np

from judgemap.core.diagnostics import ess_bulk, ess_tail, rhat
from judgemap.report import clusters, figures
from judgemap.report.briefing import limits
from judgemap.report.page import Section
from judgemap.report.tables import Cell, Column, Table
from judgemap.report.text import counted
from judgemap.study.result import GOOD_ESS, GOOD_RHAT, Fit

SAMPLERS = {"hmc": "Hamiltonian Monte Carlo", "gibbs": "Pólya-Gamma Gibbs sampling"}
MODELS = {
    "spatial": "spatial Bradley-Terry (neighbouring areas are believed alike)",
    "clusters": "spatial clustering Bradley-Terry (areas of like risk that lie together share a level)",
    "standard": "standard Bradley-Terry (areas tell nothing of their neighbours)",
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
    """Say in a sentence or two whether the draws can be relied on.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> verdict(jm.fit_spatial(data, areas, seed=1, chains=4, draws=500))[:48]
    'The checks of the sampling found nothing wrong: '
    """
    found = fit.info["diagnostics"]
    if fit.warnings:
        return "The checks of the sampling found something to put right: " + " ".join(fit.warnings)
    chains = counted(fit.posterior.sizes["chain"], "chain")
    return (
        f"The checks of the sampling found nothing wrong: {chains} that started apart agree (largest R-hat "
        f"{found['rhat_max']:.3f}, at most {GOOD_RHAT} is wanted), and the draws of every area are worth at least "
        f"{found['ess_bulk_min']:,.0f} independent ones ({GOOD_ESS} are wanted)."
    )


def worst(fit: Fit, count: int = 5) -> Table:
    """List the areas whose draws are worth least: R-hat, and the effective sample sizes of middle and tails."""
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
    columns = (
        Column(Cell("Area")),
        Column(Cell("R-hat"), numeric=True),
        Column(Cell("ESS, bulk"), numeric=True),
        Column(Cell("ESS, tail"), numeric=True),
    )
    return Table(f"The {len(rows)} areas whose draws are worth least, of {len(fit.map):,}", columns, rows)


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
        ("Draws", f"{chains} chains of {draws:,} draws, after {plan['warmup']:,} to warm up"),
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
