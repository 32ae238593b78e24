"""How values show themselves in notebooks: drawn by a layer above theirs, which the package names as it is imported."""

from importlib import import_module
from typing import Any

_drawn_by: list[str] = []


def draw_with(module: str) -> None:
    """Name the module whose `html`, `plots` and `summary` draw values; it is imported when something is first shown."""
    _drawn_by[:] = [module]


class Displayed:
    """A value that a notebook shows as a small table or map, warnings first.

    >>> jm.chicago()._repr_html_().startswith("<div")
    True
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = import_module(_drawn_by[0]).html(self)
        return html


def drawn(what: str, value: object) -> Any:  # noqa: ANN401 - a class of the layer that draws
    """Return the ``plots`` or the ``summary`` of a value."""
    return getattr(import_module(_drawn_by[0]), what)(value)
