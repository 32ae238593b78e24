"""How every command looks and reads: help in groups, `-h`, and `-` for standard input."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

from judgemap.errors import StudyError

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

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
