"""Docstrings as the site needs them: examples as blocks of code, and an entry of its own for every parameter."""

import re
from typing import Any

import griffe


def fenced(text: str) -> str:
    """Put every example, from its first prompt to the next empty line, into a block of code.

    Markdown would take the three angle brackets for quotations.
    """
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


def separate(text: str) -> str:
    r"""Repeat what is said of several parameters for each: griffe would give all of them the type of the first.

    >>> print(separate("low, high\n    The ends.\nseed\n    A number."))
    low
        The ends.
    high
        The ends.
    seed
        A number.
    """
    shared = re.compile(r"^(\w+(?:, \w+)+)\n((?: {4}.*(?:\n|$))+)", re.MULTILINE)
    return shared.sub(
        lambda found: "".join(f"{name}\n{found[2].rstrip()}\n" for name in found[1].split(", ")), text
    ).rstrip()


class Examples(griffe.Extension):
    """Rewrite the docstrings of everything that is documented."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:  # noqa: ANN401 - griffe's own
        """Rewrite a docstring before it is read."""
        if obj.docstring:
            obj.docstring.value = fenced(separate(obj.docstring.value))
