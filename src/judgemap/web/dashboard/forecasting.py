"""What more answers would bring: whole studies simulated from a fit's posterior, shorter and longer than this one."""

from functools import partial
from typing import TYPE_CHECKING, Any

from judgemap.web.dashboard.models import Forecast

if TYPE_CHECKING:
    from judgemap.study.planning import StudyPlan

TIMES = 2
"""How many times the present answers the planned study has; others have from a quarter to one and a half of that."""
SIMULATIONS = 24
LARGE = 100
"""Areas from which on the adaptive design is too slow to simulate here."""


def simulate(forecast: Forecast) -> dict[str, Any]:
    """Simulate studies shorter and longer than the one that was fitted."""
    from judgemap.study.planning import plan
    from judgemap.web.results.fits.files import open_fit

    pilot = open_fit(forecast.fit)
    answers = pilot.record.data.comparisons
    least = max(6, len(pilot.map) - 1)
    design = forecast.fit.version.design
    if design == "adaptive" and len(pilot.map) > LARGE:
        design = "optimal"
    planned = max(TIMES * answers, least)
    made = plan(
        pilot.map, planned, 1, seed=forecast.seed, pilot=pilot, designs=[design], simulations=SIMULATIONS,
        watch=partial(_watch, forecast),
    )  # fmt: skip
    return result_of(made, answers)


def result_of(made: "StudyPlan", answers: int) -> dict[str, Any]:
    """Return what pages show of a plan, fit for JSON."""
    said = made.to_dict()
    design = made.designs[0]
    return {
        "answers": answers,
        "design": design,
        "comparisons": said["comparisons"],
        "top": said["top"],
        "simulations": said["simulations"],
        "seconds": said["seconds"],
        "expected": {name: said["expected"][design][name] for name in ("sd", "rank_error", "found")},
    }


def _watch(forecast: Forecast, done: int, of: int) -> None:
    if forecast.news_due():
        forecast.tell(done / of, "")
