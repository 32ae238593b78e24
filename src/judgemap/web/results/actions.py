"""What can be asked for on the pages of a fit."""

from dataclasses import replace

from judgemap.study.settings import FitSettings
from judgemap.web.accounts.models import Researcher
from judgemap.web.results.fits.actions import ask_for_fit
from judgemap.web.results.models import FitRun

VARIANCES = ((0.01, 0.01), (0.1, 0.1), (1.0, 1.0), (2.0, 1.0))
"""Shapes χ and scales ω of the prior of α²: weaker and stronger than the usual 0.1, 0.1, and one that has a mean."""
BETAS = (1e-10, 1e-8, 1e-6, 1e-4)
"""Values of β, the weight of a link to oneself: the more, the more clusters are believed before any answer."""
GONE = (FitRun.Status.FAILED, FitRun.Status.CANCELLED, FitRun.Status.LOST)


def other_priors(settings: FitSettings) -> list[FitSettings]:
    """Return the same settings under other priors: of α² for a fit without clusters, of β for one with them.

    The paper has such a sensitivity analysis in its supplement; the values are ours.

    >>> [(each.chi, each.omega) for each in other_priors(FitSettings(seed=1))]
    [(0.01, 0.01), (1.0, 1.0), (2.0, 1.0)]
    >>> [each.beta for each in other_priors(FitSettings(model="clusters", seed=1))]
    [1e-10, 1e-06, 0.0001]
    """
    if settings.model == "clusters":
        varied = [replace(settings, beta=beta) for beta in BETAS]
    else:
        varied = [replace(settings, chi=chi, omega=omega, alpha=None) for chi, omega in VARIANCES]
    return [each for each in varied if each != settings]


def try_other_priors(run: FitRun, by: Researcher | None = None) -> list[FitRun]:
    """Ask for the fit under other priors, and return those fits; none is made twice of the same answers."""
    made = []
    for settings in other_priors(FitSettings.from_dict(run.settings)):
        known = FitRun.objects.filter(
            study=run.study, settings=settings.to_dict(), left_out=run.left_out, only=run.only
        ).exclude(status__in=GONE)
        there = known.filter(data_sha256__in=[run.data_sha256, ""]).order_by("-number").first()
        note = f"other priors than fit {run.number}"
        made.append(there or ask_for_fit(run.study, settings, by, run.left_out, run.only, note))
    return made
