"""A progress bar on a terminal, silence elsewhere."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from judgemap.core.samplers.diagnostics import worst_so_far
from judgemap.core.samplers.run import Draws, Watcher

SECONDS_BETWEEN_NEWS = 0.5


@contextmanager
def stoppable(kept: str = "nothing was written") -> Iterator[None]:
    """On Ctrl-C, say what is kept of the work, and exit with the status that a shell expects."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"judgemap: interrupted; {kept}", err=True)
        raise typer.Exit(130) from None


@contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Ignore Ctrl-C while results are written: whoever presses it twice wants the draws made so far, too."""
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


@contextmanager
def _bar(words: str, *right: str, counts: bool, period: float = 30.0) -> Iterator[Callable[..., None] | None]:
    """Show a bar with the fields ``right`` of it, and yield what updates it; None if there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), *([MofNCompleteColumn()] if counts else [])]
    columns += [*map(TextColumn, right), *([TimeRemainingColumn()] if counts else [])]
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=period) as bar:
        task = bar.add_task(words, total=None if counts else 1.0, news="")
        yield lambda **news: bar.update(task, **news)


@contextmanager
def sampling_progress() -> Iterator[Watcher | None]:
    """Show draws, the smallest ESS and the largest R-hat as they come; yields None if there is no terminal."""
    # A draw for a national map takes seconds, so the time left is estimated from the last hour of draws.
    with _bar("preparing", "draws per chain", "{task.fields[news]}", counts=True, period=3600) as update:
        last = time.monotonic()

        def watch(draws: Draws, wanted: int) -> None:
            nonlocal last
            done = draws.n_draws
            news = {"description": "sampling", "completed": done, "total": wanted}
            if done >= 8 and (time.monotonic() - last > SECONDS_BETWEEN_NEWS or done == wanted):
                news["news"] = describe(draws)
                last = time.monotonic()
            if update is not None:
                update(**news)

        yield None if update is None else watch


@contextmanager
def counting_progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show how many are done and how long the rest will take; yields None if there is no terminal."""
    with _bar("simulating", what, counts=True) as update:
        yield None if update is None else lambda done, wanted: update(completed=done, total=wanted)


@contextmanager
def share_progress(what: str) -> Iterator[Callable[[float, str], None]]:
    """Show the share done and the current step; yields a function that does nothing if there is no terminal."""
    with _bar(what, "{task.fields[news]}", counts=False) as update:
        yield lambda share, doing: update(completed=share, news=doing) if update else None


def describe(draws: Draws) -> str:
    """Say how good the draws so far are."""
    size, largest = worst_so_far(draws.watched())
    return f"ESS {size:,.0f}  R-hat {largest:.3f}"
