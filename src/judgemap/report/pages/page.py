"""One self-contained HTML page: words first, then pictures with text alternatives and tables; nothing is fetched.

Pictures are `<img>` elements with the SVG in a data address, so their ids and styles cannot clash, each has its text
alternative, and they print as lines, not dots.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from judgemap.report.figures.picture import Picture
from judgemap.report.words.tables import Table


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A heading, paragraphs in plain language, and what goes with them.

    Facts by name, a picture, a table, remarks; points, each a heading and what it means; pictures side by side, each
    under its own heading; a text to copy; a list of references.
    """

    heading: str
    paragraphs: tuple[str, ...] = ()
    picture: Picture | None = None
    table: Table | None = None
    facts: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()
    points: tuple[tuple[str, str], ...] = ()
    gallery: tuple[tuple[str, Picture], ...] = ()
    to_copy: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

    @property
    def pictures(self) -> list[Picture]:
        """Every picture in the section."""
        return [*([] if self.picture is None else [self.picture]), *(picture for _, picture in self.gallery)]


def page(title: str, sections: Sequence[Section], notice: str = "", numbers: Sequence[tuple[str, str]] = ()) -> str:
    """Return a self-contained HTML page that can be emailed, printed, or opened offline.

    ``notice`` is what a reader must know first; each of a few ``numbers`` to begin with says what it counts.
    """
    return render("page.html", title=title, sections=sections, notice=notice, numbers=numbers)


def render(template: str, **values: object) -> str:
    """Fill in a template of the report."""
    return environment().get_template(template).render(values, svg_address=svg_address)


def svg_address(picture: Picture) -> str:
    """Return the picture as a data address, for the ``src`` of an image."""
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.svg().encode()).decode()}"


def _unbroken(value: object) -> object:
    """Keep a number and its per cent sign on one line."""
    return value.replace(" %", "\u00a0%") if isinstance(value, str) else value


@cache
def environment() -> Environment:
    """Return the environment of the report templates, which escapes what is put into them."""
    return Environment(
        finalize=_unbroken,
        loader=PackageLoader("judgemap.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
