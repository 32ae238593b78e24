"""Whether the draws can be trusted: in words first, then numbers, traces and the record of the fit."""

import numpy as np

from judgemap.core.samplers.diagnostics import GOOD_ESS, GOOD_RHAT
from judgemap.report.figures import clusters
from judgemap.report.figures.picture import Picture
from judgemap.report.pages.briefing import limits
from judgemap.report.pages.briefing.gallery import Gallery
from judgemap.report.pages.page import Section
from judgemap.report.words.tables import Cell, Table, columns
from judgemap.report.words.text import counted
from judgemap.study.result import Fit

SAMPLERS = {"hmc": "Hamiltonian Monte Carlo", "gibbs": "Pólya-Gamma Gibbs sampling"}
MODELS = {
    "spatial": "spatial Bradley-Terry (neighbouring areas are assumed to be similar)",
    "clusters": "spatial clustering Bradley-Terry (neighbouring areas of similar risk share a level)",
    "standard": "standard Bradley-Terry (an area tells us nothing about its neighbours)",
}


def diagnostics(fit: Fit, other: Fit | None, gallery: Gallery) -> list[Section]:
    """Return the last sections of a briefing, for one fit or two."""
    if other is None:
        return [_of(fit, "Diagnostics", gallery["traces"]), _record(fit, "The record of the fit", limits.notes(fit))]
    sections: list[Section] = []
    told: set[str] = set()  # a note that both fits share is printed once
    second = "cluster-traces" if gallery.clusters is other else "traces-2"
    for each, traces in ((fit, gallery["traces"]), (other, gallery[second])):
        name = clusters.NAMES.get(each.record.model, each.record.model)
        new = tuple(note for note in limits.notes(each) if note not in told)
        told.update(new)
        sections.append(_of(each, f"Diagnostics: the {name} model", traces))
        sections.append(_record(each, f"The record: the {name} model", new))
    return sections


def verdict(fit: Fit) -> str:
    """Say whether the draws can be relied on.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> verdict(jm.fit_spatial(data, areas, seed=1, chains=4, draws=500))[:48]
    'The sampling checks found no problem: four chain'
    """
    checks = fit.record.diagnostics
    if fit.warnings:
        return "The sampling checks found a problem: " + " ".join(fit.warnings)
    chains = counted(fit.posterior.sizes["chain"], "chain")
    return (
        f"The sampling checks found no problem: {chains} from different starting points agree (largest R-hat "
        f"{checks.rhat_max:.3f}; it should be at most {GOOD_RHAT}), and the effective sample size of every area is "
        f"at least {checks.ess_bulk_min:,.0f} ({GOOD_ESS} is needed)."
    )


def worst(fit: Fit, count: int = 5) -> Table:
    """List the areas with the smallest bulk effective sample sizes, with their R-hat and tail sizes."""
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
    heads = columns(["Area"], ["R-hat", "ESS, bulk", "ESS, tail"])
    return Table(f"The {len(rows)} of {len(fit.map):,} areas with the smallest effective sample size", heads, rows)


def _of(fit: Fit, heading: str, traces: Picture) -> Section:
    return Section(heading, (verdict(fit),), picture=traces, table=worst(fit))


def _record(fit: Fit, heading: str, notes: tuple[str, ...]) -> Section:
    record, checks, plan = fit.record, fit.record.diagnostics, fit.record.plan
    chains, draws = fit.posterior.sizes["chain"], fit.posterior.sizes["draw"]
    given = ", ".join(f"{name} {value}" for name, value in record.assumed.items() if name != "affinity")
    facts = (
        ("Model", MODELS.get(record.model, record.model)),
        ("Prior", f"{record.prior}; {given}"),
        ("Risk", record.risk),
        ("Sampler", SAMPLERS.get(record.sampler, record.sampler)),
        ("Draws", f"{chains} chains of {draws:,} draws, after {plan.warmup:,} warm-up draws"),
        ("Seed", str(record.seed)),
        ("Largest R-hat", f"{checks.rhat_max:.3f} (should be at most {GOOD_RHAT})"),
        (
            "Smallest effective sample size",
            f"{checks.ess_bulk_min:,.0f}, for {checks.ess_bulk_min_of} (should be at least {GOOD_ESS})",
        ),
        ("Time", f"{record.seconds:.2f} seconds"),
        ("Software", ", ".join(f"{name} {version}" for name, version in record.versions.items())),
        ("Data", f"SHA-256 {record.data.sha256}"),
    )
    return Section(heading, facts=facts, remarks=notes)
