"""The `judgemap` command. A user's mistake is one sentence on standard error and exit status 2."""

import functools
import inspect
import io
import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from judgemap.errors import NotInstalledError, StudyError

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

SUMMARIES = {
    "demo": "Explore a finished study, and try judging in an open one.",
    "serve": "Serve studies to judges and researchers.",
    "study": "Make, run and export studies without a browser.",
    "researcher": "Invite researchers and help them sign in.",
    "worker": "Make the fits that researchers request.",
    "plan": "Forecast the precision for given numbers of judges and answers.",
    "schedule": "Draw a list of pairs to ask.",
    "prior": "Draw the prior correlation of an area with the others.",
    "import": "Read data from other tools.",
    "fit": "Fit a model to comparisons: the risk map.",
    "compare": "Find out which model of the judges best predicts a new judge.",
    "report": "Write a fit's briefing, or its figures.",
    "export": "Export a fit for other programs or for replication.",
    "simulate": "Run the paper's simulation studies.",
}
"""The commands in the order in which a study needs them, each in one line."""
HOMES = {
    "demo": "serving",
    "serve": "serving",
    "worker": "serving",
    "import": "imports",
    "report": "results",
    "export": "results",
}
"""The modules of commands that do not have one of their own name."""
WRITTEN = ("output", "picture")
"""The options that name a file to write."""
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]


class Commands(TyperGroup):
    """Lists commands in the order of a study, and loads a module only when its command is used: most take a second."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - typer's own
        """List the commands without loading any."""
        names = {name: TyperCommand(name, short_help=summary) for name, summary in SUMMARIES.items()}
        super().__init__(**given | {"commands": names})

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":  # noqa: ARG002 - typer's own
        """Load a command."""
        return load_command(cmd_name) if cmd_name in self.commands else None

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:  # noqa: ARG002 - typer's own
        """List the commands in help, one line each."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


def load_command(name: str) -> "Command":
    """Build a command, or a group of commands, from the module of that name in this folder."""
    module = import_module(f"judgemap.cli.{HOMES.get(name, name)}")
    command: Command
    if hasattr(module, "app"):
        command = typer.main.get_group(module.app)
    else:
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(name=name)(_guarded(name, getattr(module, name)))
        command = typer.main.get_command(alone)
    command.name, command.short_help = name, SUMMARIES[name]
    return command


def _guarded(name: str, command: Callable[..., None]) -> Callable[..., None]:
    """Let a command refuse to overwrite files without being asked, and say in a sentence that Ctrl-C stopped it.

    A file that it reads is never overwritten. Servers and workers have their own way of stopping.
    """
    signature = inspect.signature(command)
    writes = [option for option in WRITTEN if option in signature.parameters]
    asks = bool(writes) and "force" not in signature.parameters

    @functools.wraps(command)
    def guarded(**given: Any) -> None:  # noqa: ANN401 - whatever the command's signature says
        replaces = given.pop("force") if asks else True
        read = [path for option, path in given.items() if isinstance(path, Path) and option not in WRITTEN]
        for path in (given.get(option) for option in WRITTEN):
            if path is not None and any(each.is_file() and each.resolve() == path.resolve() for each in read):
                raise StudyError(f"{path} is a file that this command reads; name another one for the result")
            if path is not None and path.is_file() and not replaces:
                raise StudyError(f"{path} is there already; name another file, or replace it with --force")
        from judgemap.cli.progress import stoppable

        with nullcontext() if HOMES.get(name) == "serving" else stoppable("the command did not finish"):
            command(**given)

    if asks:
        force = inspect.Parameter("force", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Force)
        guarded.__signature__ = signature.replace(parameters=[*signature.parameters.values(), force])  # type: ignore[attr-defined]
        guarded.__annotations__ = {**guarded.__annotations__, "force": Force}
    return guarded


app = typer.Typer(
    name="judgemap",
    cls=Commands,
    help="Comparative judgement on maps: from a boundary file and a table of answers to a risk map.",
    epilog="Start with 'judgemap demo'. 'judgemap COMMAND --help' gives details and an example.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


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
    """Run the command line, and write UTF-8 whatever the locale says: names and symbols need it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
    try:
        app()
    except NotInstalledError as error:
        typer.echo(f"judgemap {sys.argv[1]} needs {error.what}: {error.command}", err=True)
        sys.exit(2)
    except StudyError as error:
        typer.echo(f"judgemap: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.echo("judgemap: interrupted; nothing was written", err=True)
        sys.exit(130)
