"""The `judgemap` command. A user's mistake is one sentence on standard error and exit status 2."""

import sys
from typing import Annotated

import typer

from judgemap.cli import (
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

app = typer.Typer(
    name="judgemap",
    help="Comparative judgement on maps: from a boundary file and a table of answers to a risk map.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command(name="fit")(fit.fit)
app.command(name="report")(report.report)
app.command(name="export")(export.export)
app.command(name="prior")(prior.prior)
app.command(name="schedule")(schedule.schedule)
app.command(name="plan")(plan.plan)
app.command(name="demo")(demo.demo)
app.command(name="serve")(serve.serve)
app.command(name="worker")(worker.worker)
app.add_typer(study.app, name="study")
app.add_typer(imports.app, name="import")
app.add_typer(researcher.app, name="researcher")
app.add_typer(simulate.app, name="simulate")


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
