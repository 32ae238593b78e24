"""How far the draws can be trusted, for those who check: in words first, then numbers, traces and the record."""

import numpy as np

from judgemap.report import clusters, figures
from judgemap.report.briefing import limits
from judgemap.report.page import Section
from judgemap.report.tables import Cell, Column, Table
from judgemap.report.text import counted
from judgemap.study.record import GOOD_ESS, GOOD_RHAT
from judgemap.study.result import Fit

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
        name = clusters.NAMES.get(each.record.model, each.record.model)
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
    found = fit.record.diagnostics
    if fit.warnings:
        return "The checks of the sampling found something to put right: " + " ".join(fit.warnings)
    chains = counted(fit.posterior.sizes["chain"], "chain")
    return (
        f"The checks of the sampling found nothing wrong: {chains} that started apart agree (largest R-hat "
        f"{found.rhat_max:.3f}, at most {GOOD_RHAT} is wanted), and the draws of every area are worth at least "
        f"{found.ess_bulk_min:,.0f} independent ones ({GOOD_ESS} are wanted)."
    )


def worst(fit: Fit, count: int = 5) -> Table:
    """List the areas whose draws are worth least: R-hat, and the effective sample sizes of middle and tails."""
    agreement, bulk, tail = fit.sampling
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
    record, found, plan = fit.record, fit.record.diagnostics, fit.record.plan
    chains, draws = fit.posterior.sizes["chain"], fit.posterior.sizes["draw"]
    given = ", ".join(f"{name} {value}" for name, value in record.assumed.items() if name != "affinity")
    facts = (
        ("Model", MODELS.get(record.model, record.model)),
        ("Prior", f"{record.prior}; {given}"),
        ("Risk", record.risk),
        ("Sampler", SAMPLERS.get(record.sampler, record.sampler)),
        ("Draws", f"{chains} chains of {draws:,} draws, after {plan.warmup:,} to warm up"),
        ("Seed", str(record.seed)),
        ("Largest R-hat", f"{found.rhat_max:.3f} (should be at most {GOOD_RHAT})"),
        (
            "Smallest effective sample size",
            f"{found.ess_bulk_min:,.0f}, for {found.ess_bulk_min_of} (should be at least {GOOD_ESS})",
        ),
        ("Time", f"{record.seconds:.2f} seconds"),
        ("Software", ", ".join(f"{name} {version}" for name, version in record.versions.items())),
        ("Data", f"SHA-256 {record.data.sha256}"),
    )
    return Section(heading, facts=facts, remarks=notes)
