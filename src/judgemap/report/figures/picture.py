"""A picture: a matplotlib figure with its caption and text alternative, written as SVG, PNG or PDF.

Only this module sets the style. Figures are made and written inside `style()`, so a user's own matplotlib settings
change nothing and are left as they were.
"""

import io
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from xml.sax.saxutils import escape

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from judgemap.core.types import BoolArray, FloatArray
from judgemap.errors import StudyError
from judgemap.report.words.text import shortened

WIDTH = 360.0
"""Width of every picture in points: five inches, so that text of 10 points can still be read on a phone."""

SMALL = 10.2
"""The smallest text in a picture, in points; it shrinks to 7 points in a picture as wide as a journal column."""

COLUMN, PAGE = 88.0, 176.0
"""Widths of a journal's single and double column, in millimetres."""

INK, QUIET, FAINT, MISSED = "#1b1f27", "#5b6270", "#d5d8de", "#b8480a"
"""Text and marks; quieter lines; grid and borders; what deserves a second look. All but FAINT are legible on white."""

BLUE = "#1f5d92"

DASHED: dict[str, Any] = {"color": QUIET, "linewidth": 0.8, "linestyle": (0, (4, 3)), "zorder": 0}
"""A reference line: where two things are equal, or where there is no effect."""

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
"""Fonts of SVG text. The layout uses DejaVu Sans, which comes with matplotlib and is wider, so these fit too."""

STYLE: dict[Any, Any] = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": SMALL,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "axes.titley": 1.0,  # where it would be anyway; otherwise matplotlib measures all labels to find out
    "svg.fonttype": "none",
    "svg.hashsalt": "judgemap",
    "pdf.fonttype": 42,
}

_HUNDREDTHS = re.compile(r"(?<=\.\d\d)\d+")
"""The digits of a coordinate after hundredths of a point."""

_settings = threading.RLock()
"""matplotlib's settings are shared by the whole process, so we draw one picture at a time."""


@contextmanager
def style() -> Iterator[None]:
    """Draw in the house style, and restore the user's settings afterwards."""
    with _settings, mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a name in a script that DejaVu Sans lacks
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


@contextmanager
def drawing(
    height: float, rows: int = 1, columns: int = 1, *, share_x: bool = True, axes: Axes | None = None
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Make a figure with panels in the house style, and lay it out once, so that all files made from it look the same.

    Given ``axes``, draw on them and leave the layout of their figure alone.
    """
    with style():
        if axes is not None:
            yield figure_of(axes), [axes]
            return
        layout = ConstrainedLayoutEngine()
        figure = Figure(figsize=(WIDTH / 72, height / 72), layout=layout)
        yield figure, list(figure.subplots(rows, columns, sharex=share_x and columns == 1, squeeze=False).ravel())
        layout.execute(figure)
        figure.set_layout_engine("none")


def figure_of(axes: Axes) -> Figure:
    """Return the whole figure that axes belong to, even if they are in a subfigure."""
    return cast("Figure", axes.get_figure(root=True))


def draw_rows(
    axes: Axes, names: Sequence[str], middle: FloatArray, low: FloatArray, high: FloatArray, *, odd: ArrayLike = False
) -> None:
    """Draw a point and an interval in a row for each name, the first on top; what is odd stands out."""
    rows = np.arange(len(names), 0, -1)
    colours: Any = np.where(np.broadcast_to(odd, len(names)), MISSED, BLUE)
    axes.hlines(rows, low, high, color=colours, linewidth=2.2, alpha=0.45)
    axes.scatter(middle, rows, color=colours, s=24, zorder=3)
    axes.set_yticks(rows, [shortened(name, 24) for name in names])
    axes.set_ylim(0.3, len(names) + 0.7)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=FAINT, linewidth=0.6)


def mark_points(
    axes: Axes,
    x: FloatArray,
    y: FloatArray,
    odd: BoolArray,
    *,
    intervals: tuple[FloatArray, FloatArray] | None = None,
    labels: tuple[str, str] = ("", ""),
) -> None:
    """Draw points, and vertical intervals if given; what is odd is a diamond in another colour."""
    for members, colour, shape, label in ((~odd, BLUE, "o", labels[0]), (odd, MISSED, "D", labels[1])):
        if not members.any():
            continue
        if intervals is not None:
            low, high = (each[members] for each in intervals)
            axes.vlines(x[members], low, high, color=colour, linewidth=1.0, alpha=0.5)
        axes.plot(x[members], y[members], shape, color=colour, markersize=4, label=label)


def draw_diagonal(axes: Axes, *values: FloatArray) -> None:
    """Draw the line on which both axes have the same value."""
    ends = [min(float(each.min()) for each in values), max(float(each.max()) for each in values)]
    axes.plot(ends, ends, **DASHED)


def draw_against(axes: Axes, x: FloatArray, y: FloatArray, title: str) -> None:
    """Draw one estimate of every area against another."""
    draw_diagonal(axes, x, y)
    axes.plot(x, y, "o", color=BLUE, markersize=4, alpha=0.75, markeredgewidth=0)
    axes.set_title(title, fontsize=SMALL, loc="left", pad=3)


def draw_keys(onto: Axes | Figure, colours: Sequence[str], words: Sequence[str], **look: Any) -> None:  # noqa: ANN401
    """Draw a legend: a box of each colour with its words; ``look`` is what else matplotlib's legends take."""
    boxes = [Patch(color=colour, label=each) for colour, each in zip(colours, words, strict=True)]
    onto.legend(handles=boxes, frameon=False, fontsize=SMALL, **look)


MOST_POINTS, MARK = 40_000, 5
"""With more points than this, lines, areas and what lies under them are drawn as dots; a mark counts as several."""
FINENESS = 200
"""Dots to the inch."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, a description for people who cannot see it (`alt`), and the sentence below it (`caption`)."""

    figure: Figure
    alt: str
    caption: str = ""

    def __post_init__(self) -> None:
        """Draw what has very many points as dots, so that neither a file nor the time to show it grows with the map."""
        for axes in self.figure.axes:
            drawn: dict[Artist, int] = {each: np.shape(each.get_path().vertices)[0] for each in axes.patches}
            drawn |= {each: MARK * np.shape(each.get_path().vertices)[0] for each in axes.lines}
            drawn |= {
                each: MARK * max(len(each.get_paths()), np.shape(each.get_offsets())[0]) for each in axes.collections
            }
            if sum(drawn.values()) > MOST_POINTS:
                largest = max(drawn.values())
                top = max(each.get_zorder() for each, points in drawn.items() if points > largest / 20)
                axes.set_rasterization_zorder(top + 0.1)

    def svg(self) -> str:
        """Return the picture as an SVG element, with its text as text and `alt` as its description."""
        return self._svg

    @cached_property
    def _svg(self) -> str:  # kept, because a study's page and its briefing show the same pictures
        text = self._written("svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))).decode()
        text = text[text.index("<svg") :]
        text = re.sub(r' d="[^"]*"', lambda path: _HUNDREDTHS.sub("", path[0]), text)
        text = text.replace("'DejaVu Sans', sans-serif", FONTS).replace("'DejaVu Sans'", FONTS)
        head, rest = text.split(">", 1)
        return f'{head} role="img">\n <desc>{escape(self.alt)}</desc>{rest}'

    def png(self, dpi: int = 200) -> bytes:
        """Return the picture as a PNG file."""
        return self._written("png", dpi=dpi, metadata={"Software": None})

    def _written(self, kind: str, **options: Any) -> bytes:  # noqa: ANN401 - matplotlib's options
        with style(), io.BytesIO() as written:
            self.figure.savefig(written, format=kind, **{"dpi": FINENESS, **options})
            return written.getvalue()

    def save(self, path: str | Path, millimetres: float = COLUMN) -> Path:
        """Write the picture to an SVG, PNG or PDF file of a given width; the name's ending decides which.

        `COLUMN` is a journal's single column, `PAGE` its double one. Text and lines grow and shrink with the width; in
        a single column the smallest text has 7 points. Fonts are embedded in PDFs, as journals ask.
        """
        path = Path(path)
        writers = {".svg": self._sized_svg, ".png": self._sized_png, ".pdf": self._sized_pdf}
        if path.suffix.lower() not in writers:
            raise StudyError(f"{path.name}: a picture can be .svg, .png or .pdf; end the name with one of them")
        data = writers[path.suffix.lower()](millimetres)
        try:
            path.write_bytes(data)
        except OSError as error:
            raise StudyError(f"{path} cannot be written ({error.strerror}); name another file") from None
        return path

    def _sized_svg(self, millimetres: float) -> bytes:
        width, height = self.figure.get_size_inches()
        size = f'width="{millimetres:g}mm" height="{millimetres * height / width:.3f}mm"'
        head, rest = self.svg().split(">", 1)
        head = re.sub(r' (width|height)="[^"]*"', "", head)
        return f"{head} {size}>{rest}".encode()

    def _sized_png(self, millimetres: float) -> bytes:
        return self.png(dpi=round(300 * millimetres / 25.4 / self.figure.get_size_inches()[0]))

    def _sized_pdf(self, millimetres: float) -> bytes:
        pdf = self._written("pdf", metadata={"CreationDate": None})
        return _scaled(pdf, millimetres / 25.4 / self.figure.get_size_inches()[0])

    def _repr_svg_(self) -> str:
        """Show the picture in a notebook."""
        return self.svg()


def _scaled(pdf: bytes, scale: float) -> bytes:
    """Scale the only page of a PDF by an update at its end: the page again, with a matrix before its contents.

    See ISO 32000-1, 7.5.6: later objects replace earlier ones of the same number; `/Prev` leads to the earlier table.
    """

    def find(pattern: bytes) -> re.Match[bytes]:
        return cast("re.Match[bytes]", re.search(pattern, pdf, re.S))

    found = find(rb"\n(\d+) 0 obj\n(<< /Type /Page .*?>>)\nendobj")
    box = find(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]")
    size, root, start = find(rb"/Size (\d+)")[1], find(rb"/Root (\d+ 0 R)")[1], find(rb"startxref\n(\d+)")[1]
    wide, high = (scale * float(each) for each in box.groups())
    page = found[2].replace(box[0], b"/MediaBox [ 0 0 %.4f %.4f ]" % (wide, high))
    page = re.sub(rb"/Contents (\d+ 0 R)", rb"/Contents [ %b 0 R \1 ]" % size, page)
    matrix = b"%.8f 0 0 %.8f 0 0 cm\n" % (scale, scale)
    update, places = b"", []
    for number, body in ((found[1], page), (size, b"<< /Length %d >>\nstream\n%bendstream" % (len(matrix), matrix))):
        places.append((int(number), len(pdf) + len(update)))
        update += b"%b 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%d 1\n%010d 00000 n \n" % place for place in places)
    trailer = b"<< /Size %d /Root %b /Prev %b >>" % (int(size) + 1, root, start)
    return pdf + update + b"xref\n%btrailer\n%b\nstartxref\n%d\n%%%%EOF\n" % (table, trailer, len(pdf) + len(update))
