"""What more answers would bring: whole studies simulated from a fit's posterior, shorter and longer than this one."""

import logging
import time
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.dashboard.models import Forecast
from judgemap.web.results.fits.progress import STOPPING, StoppingError
from judgemap.web.server.forms import sentence

if TYPE_CHECKING:
    from judgemap.study.planning import StudyPlan

logger = logging.getLogger(__name__)
TIMES = 2
"""The study that is planned has so many times the answers; others have from a quarter to one and a half of that."""
SIMULATIONS = 24
LARGE = 100
"""Areas from which on the adaptive design is too slow to simulate here."""
BROKE_DOWN = "The forecast broke down, which is our fault and not yours; the server's log has the details. Ask again."
BETWEEN_NOTES = 1.0
"""Seconds between two notes of the progress."""


def make_forecast(forecast_id: int) -> None:
    """Work out a forecast that waits; whatever happens is written into it."""
    waiting = Forecast.objects.filter(pk=forecast_id, status=Forecast.Status.WAITING)
    if not waiting.update(status=Forecast.Status.RUNNING, heard_at=timezone.now()):
        return
    forecast = Forecast.objects.select_related("fit__study", "fit__version").get(pk=forecast_id)
    try:
        result = _simulate(forecast)
    except StoppingError:
        _put_back(forecast)
    except StudyError as error:
        _note(forecast, status=Forecast.Status.FAILED, said=sentence(error)[:400])
    except Exception:
        logger.exception("the forecast of %s broke down", forecast.fit)
        _note(forecast, status=Forecast.Status.FAILED, said=BROKE_DOWN)
    else:
        _note(forecast, status=Forecast.Status.DONE, progress=1.0, result=result)


def _simulate(forecast: Forecast) -> dict[str, Any]:
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
        watch=_watch(forecast),
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


def _watch(forecast: Forecast) -> Any:  # noqa: ANN401 - a function of two numbers
    last = 0.0

    def watch(done: int, of: int) -> None:
        nonlocal last
        if STOPPING.is_set():
            raise StoppingError
        if time.monotonic() - last > BETWEEN_NOTES:
            last = time.monotonic()
            _note(forecast, progress=done / of)

    return watch


def _note(forecast: Forecast, **facts: object) -> None:
    mine = Forecast.objects.filter(pk=forecast.pk, status=Forecast.Status.RUNNING, seed=forecast.seed)
    mine.update(heard_at=timezone.now(), **facts)


def _put_back(forecast: Forecast) -> None:
    """Let the next worker work it out."""
    from judgemap.web.dashboard.tasks import run_forecast

    with transaction.atomic():
        _note(forecast, status=Forecast.Status.WAITING, progress=0.0)
        run_forecast.enqueue(forecast.pk)
