"""A progress bar on a terminal, silence elsewhere."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import typer

from judgemap.core.samplers.diagnostics import ess_bulk, rhat
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
def sampling_progress() -> Iterator[Watcher | None]:
    """Show draws, the smallest ESS and the largest R-hat as they come; yields None if there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("draws per chain"),
        TextColumn("{task.fields[news]}"),
        TimeRemainingColumn(),
    )
    # A draw for a national map takes seconds, so the time left is estimated from the last hour of draws.
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=3600) as bar:
        task = bar.add_task("preparing", total=None, news="")
        last = time.monotonic()

        def watch(draws: Draws, wanted: int) -> None:
            nonlocal last
            done = draws.n_draws
            bar.update(task, description="sampling", completed=done, total=wanted)
            if done >= 8 and (time.monotonic() - last > SECONDS_BETWEEN_NEWS or done == wanted):
                bar.update(task, news=describe(draws))
                last = time.monotonic()

        yield watch


@contextmanager
def counting_progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show how many are done and how long the rest will take; yields None if there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TextColumn(what), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("simulating", total=None)
        yield lambda done, wanted: bar.update(task, completed=done, total=wanted)


@contextmanager
def share_progress(what: str) -> Iterator[Callable[[float, str], None]]:
    """Show the share done and the current step; yields a function that does nothing if there is no terminal."""
    if not sys.stderr.isatty():
        yield lambda share, doing: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn(what), BarColumn(), TextColumn("{task.fields[news]}"))
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=1.0, news="")
        yield lambda share, doing: bar.update(task, completed=share, news=doing)


def describe(draws: Draws) -> str:
    """Say how good the draws so far are."""
    watched = draws.watched()
    moving = watched[:, :, np.ptp(watched, axis=(0, 1)) > 0]
    return f"ESS {ess_bulk(moving).min():,.0f}  R-hat {rhat(moving).max():.3f}"
