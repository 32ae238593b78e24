"""What a fit that is made says about itself."""

import numpy as np

from judgemap.core.diagnostics import ess_bulk, rhat
from judgemap.core.samplers.run import Draws
from judgemap.web.results.models import FitRun

SAMPLED = 0.97
"""The share of the work that is sampling; the rest is what follows it."""
WARMING_UP = "The chains are warming up."


def watch(run: FitRun, draws: Draws, wanted: int) -> None:
    """Take the draws so far, and tell of them now and then."""
    if run.news_due():
        run.tell(SAMPLED * draws.n_draws / wanted, describe(draws, wanted))


def describe(draws: Draws, wanted: int) -> str:
    """Say how far the sampling is, and how good the draws are."""
    done = draws.n_draws
    if done < 8:
        return WARMING_UP
    watched = draws.watched()
    moving = watched[:, :, np.ptp(watched, axis=(0, 1)) > 0]
    worth = f"effective sample size at least {ess_bulk(moving).min():.0f}; largest R-hat {rhat(moving).max():.3f}"
    return f"{done} of {wanted} draws per chain; {worth}."
