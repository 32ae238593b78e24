"""How well a fit was sampled, in words first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgemap.web.results.models import FitRun

GOOD_RHAT, GOOD_ESS = 1.01, 400
"""As `judgemap.study.result` has them."""
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure, what it should be, and what it means."""

    name: str
    value: str
    should: str
    good: bool
    means: str


@dataclass(frozen=True, slots=True)
class Mixed:
    """How well one area's risk was sampled."""

    name: str
    rhat: str
    ess_bulk: str
    ess_tail: str


def figures(run: FitRun) -> list[Fact]:
    """Return the figures of a fit's sampling, each with what it should be and what it means."""
    found = run.info["diagnostics"]
    rhat, bulk, tail = (found.get(name) for name in ("rhat_max", "ess_bulk_min", "ess_tail_min"))
    chains_agree = rhat is not None and rhat <= GOOD_RHAT
    enough, enough_in_tails = (each is not None and each >= GOOD_ESS for each in (bulk, tail))
    facts = [
        Fact(
            "Largest R-hat", _decimals(rhat), f"at most {GOOD_RHAT}", chains_agree,
            "Several chains start from different places. If they end up in the same place, R-hat is near 1.",
        ),
        Fact(
            "Smallest effective sample size", _count(bulk), f"at least {GOOD_ESS}", enough,
            "Draws resemble those before them. Those of "
            f"{found.get('ess_bulk_min_of')} are equivalent to this many independent draws.",
        ),
        Fact(
            "The same in the tails", _count(tail), f"at least {GOOD_ESS}", enough_in_tails,
            "The ends of the 95 % intervals rest on the tails.",
        ),
    ]  # fmt: skip
    if judged := found.get("clusters"):
        gap = judged["together_gap"]
        facts.append(
            Fact("Largest difference between chains", _decimals(gap), "at most 0.1", gap <= 0.1,
                 "In the probability that two areas share a cluster, between chains with different starting clusters.")
        )  # fmt: skip
    return facts


def worst(run: FitRun, sampling: Mapping[str, Sequence[Any]]) -> list[Mixed]:
    """Return the areas that were sampled worst, by effective sample size."""
    if not sampling:
        return []
    bulk = sampling["ess_bulk"]
    order = sorted(range(len(run.rows)), key=lambda area: -1.0 if bulk[area] is None else bulk[area])
    return [
        Mixed(
            run.rows[area]["name"],
            _decimals(sampling["rhat"][area]),
            _count(bulk[area]),
            _count(sampling["ess_tail"][area]),
        )
        for area in order[:SHOWN]
    ]


def how_drawn(run: FitRun) -> str:
    """Say how much was drawn, in a sentence."""
    plan = run.info["plan"]
    thin = f", one draw in {plan['thin']} kept" if plan.get("thin", 1) > 1 else ""
    return (
        f"{plan['chains']} chains of {plan['draws']:,} draws, after {plan['warmup']:,} to warm up{thin}; "
        f"{run.info['seconds']:.1f} seconds; seed {run.info['seed']}."
    )


def _decimals(value: float | None) -> str:
    return "not known" if value is None else f"{value:.3f}"


def _count(value: float | None) -> str:
    return "not known" if value is None else f"{value:,.0f}"
