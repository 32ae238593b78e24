"""Examples in docstrings as blocks of code: Markdown would take their three angle brackets for quotations."""

from typing import Any

import griffe


def fenced(text: str) -> str:
    """Put every example, from its first prompt to the next empty line, into a block of code."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>> "):
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


class Examples(griffe.Extension):
    """Fence the examples of everything that is documented."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401 - griffe's own
        """Rewrite a docstring before it is read."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
