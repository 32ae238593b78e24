"""The `judgemap` command. A user's mistake is one sentence on standard error and exit status 2."""

import sys
from typing import Annotated

import typer
from typer.core import TyperGroup

from judgemap.cli import (
    compare,
    demo,
    export,
    fit,
    imports,
    plan,
    prior,
    report,
    researcher,
    schedule,
    serve,
    simulate,
    study,
    worker,
)
from judgemap.errors import StudyError

SUMMARIES = {
    "demo": "Look at a finished study, and judge in an open one.",
    "serve": "Serve studies to judges and researchers.",
    "study": "Make, run and export studies without a browser.",
    "researcher": "Invite researchers, and help them sign in.",
    "worker": "Make the fits that researchers ask for.",
    "plan": "Forecast the precision for a number of judges and answers.",
    "schedule": "Draw a list of pairs to ask.",
    "prior": "Draw how an area relates to the others before any data.",
    "import": "Read the data of other tools.",
    "fit": "Fit a model to comparisons: the risk map.",
    "compare": "Ask which model of the judges foretells a new judge best.",
    "report": "Write the briefing of a fit, or its figures.",
    "export": "Export a fit for other programs, or to replicate it.",
    "simulate": "Run the paper's simulation studies.",
}
"""The commands in the order in which a study needs them, each in one line."""


class InOrder(TyperGroup):
    """Lists commands in the order of a study."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Return the names of the commands, in order."""
        return sorted(super().list_commands(ctx), key=[*SUMMARIES].index)


app = typer.Typer(
    name="judgemap",
    cls=InOrder,
    help="Comparative judgement on maps: from a boundary file and a table of answers to a risk map.",
    epilog="Begin with 'judgemap demo'. 'judgemap COMMAND --help' gives details and an example.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command(name="fit", short_help=SUMMARIES["fit"])(fit.fit)
app.command(name="compare", short_help=SUMMARIES["compare"])(compare.compare)
app.command(name="report", short_help=SUMMARIES["report"])(report.report)
app.command(name="export", short_help=SUMMARIES["export"])(export.export)
app.command(name="prior", short_help=SUMMARIES["prior"])(prior.prior)
app.command(name="schedule", short_help=SUMMARIES["schedule"])(schedule.schedule)
app.command(name="plan", short_help=SUMMARIES["plan"])(plan.plan)
app.command(name="demo", short_help=SUMMARIES["demo"])(demo.demo)
app.command(name="serve", short_help=SUMMARIES["serve"])(serve.serve)
app.command(name="worker", short_help=SUMMARIES["worker"])(worker.worker)
app.add_typer(study.app, name="study", short_help=SUMMARIES["study"])
app.add_typer(imports.app, name="import", short_help=SUMMARIES["import"])
app.add_typer(researcher.app, name="researcher", short_help=SUMMARIES["researcher"])
app.add_typer(simulate.app, name="simulate", short_help=SUMMARIES["simulate"])


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"judgemap {version('judgemap')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that belong to no command."""


def main() -> None:
    """Run the command line."""
    try:
        app()
    except StudyError as error:
        typer.echo(f"judgemap: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("judgemap: interrupted; nothing was written", err=True)
        sys.exit(130)
