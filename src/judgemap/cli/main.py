"""The `judgemap` command. A user's mistake is one sentence on standard error and exit status 2."""

import functools
import inspect
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from judgemap.errors import NotInstalledError, StudyError

if TYPE_CHECKING:
    from typer._click import Command as AnyCommand
    from typer._click import Context, HelpFormatter
    from typer._click.shell_completion import CompletionItem

GROUPS = {
    "Start here": {
        "demo": "Explore a finished study, and try judging in an open one.",
        "plan": "Forecast the precision for given numbers of judges and answers.",
        "serve": "Serve studies to judges and researchers.",
        "fit": "Fit a model to comparisons: the risk map.",
        "report": "Write a fit's briefing, or its figures.",
    },
    "Data": {"import": "Read data from other tools.", "export": "Export a fit for other programs or for replication."},
    "Studies": {
        "study": "Make, run, export and back up studies without a browser.",
        "schedule": "Draw a list of pairs to ask.",
    },
    "Server": {
        "researcher": "Invite researchers and help them sign in.",
        "worker": "Make the fits that researchers request.",
    },
    "Models and simulations": {
        "compare": "Find out which model of the judges best predicts a new judge.",
        "prior": "Draw the prior correlation of an area with the others.",
        "simulate": "Run the paper's simulation studies.",
    },
}
"""The commands in the order of help, those that most people need first, each in one line."""
SUMMARIES = {name: summary for group in GROUPS.values() for name, summary in group.items()}
HOMES = {
    "demo": "serving",
    "serve": "serving",
    "worker": "serving",
    "import": "imports",
    "report": "results",
    "export": "results",
    "compare": "fit",
    "prior": "fit",
}
"""The modules of commands that do not have one of their own name."""
Force = Annotated[bool, typer.Option("--force", help="Replace files that are there already.")]
WRITTEN = ("output", "picture")
"""The options that name a file to write."""
BEGINNINGS = {b"{": ".geojson", b"PK": ".zip", b"SQLite": ".gpkg"}
"""How files begin that are not tables, and how their names end."""


class Command(TyperCommand):
    """A command whose help lists options by panel, and which reads standard input where a file is called ``-``."""

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """List the arguments, the options that most people need, and the others by panel."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            usual = "Arguments" if each.param_type_name == "argument" else "Options"
            if record is not None:
                panels.setdefault(getattr(each, "rich_help_panel", None) or usual, []).append(record)
        for title, records in panels.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def invoke(self, ctx: "Context") -> Any:  # noqa: ANN401 - typer's own
        """Run the command."""
        with _standard_input(ctx.params) as ctx.params:
            return super().invoke(ctx)


class Group(TyperGroup):
    """A group whose help lists commands by their panel."""

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """List the commands, one line each."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.commands[name]
            title = getattr(command, "rich_help_panel", None) or "Commands"
            panels.setdefault(title, []).append((name, command.get_short_help_str(limit=200)))
        for title, records in panels.items():
            with formatter.section(title):
                formatter.write_dl(records)


@contextmanager
def _standard_input(given: dict[str, object]) -> Iterator[dict[str, object]]:
    """Copy standard input to a file, and name it in place of ``-``: readers go back and forth in files."""
    dashes = [name for name, value in given.items() if value == Path("-") and name not in WRITTEN]
    if not dashes:
        yield given
        return
    if len(dashes) > 1:
        raise StudyError("only one file can come from standard input; name the others")
    content = sys.stdin.buffer.read()
    ending = next((ending for start, ending in BEGINNINGS.items() if content.lstrip().startswith(start)), ".csv")
    with TemporaryDirectory(prefix="judgemap-") as folder:
        copy = Path(folder, f"standard-input{ending}")
        copy.write_bytes(content)
        yield given | {dashes[0]: copy}


class Commands(Group):
    """The commands by group; a module is loaded only when its command is used, because most take a second."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - typer's own
        """List the commands without loading any."""
        names = {
            name: Command(name, short_help=summary, rich_help_panel=group)
            for group, commands in GROUPS.items()
            for name, summary in commands.items()
        }
        super().__init__(**given | {"commands": names})

    def get_command(self, ctx: "Context", cmd_name: str) -> "AnyCommand | None":  # noqa: ARG002 - typer's own
        """Load a command."""
        return load_command(cmd_name) if cmd_name in self.commands else None

    def shell_complete(self, ctx: "Context", incomplete: str) -> "list[CompletionItem]":
        """Complete names of commands without loading any."""
        from typer._click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=text) for name, text in SUMMARIES.items() if name.startswith(incomplete)]
        return [*found, *super(TyperGroup, self).shell_complete(ctx, incomplete)]


def load_command(name: str) -> "AnyCommand":
    """Build a command, or a group of commands, from the module of that name in this folder."""
    module = import_module(f"judgemap.cli.{HOMES.get(name, name)}")
    command: AnyCommand
    if hasattr(module, "app"):
        for each in module.app.registered_commands:
            each.cls = Command
        command = typer.main.get_group(module.app)
    else:
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(name=name, cls=Command)(_guarded(name, getattr(module, name)))
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
    epilog="'judgemap COMMAND -h' gives details and an example. A file called - is standard input.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        import judgemap

        typer.echo(f"judgemap {judgemap.__version__}")
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
    """Run the command line, and read and write UTF-8 whatever the locale says: names and symbols need it."""
    if sys.getfilesystemencoding() != "utf-8":  # decided when Python starts, so it starts again
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - the same words
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
