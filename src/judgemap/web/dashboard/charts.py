"""Small charts as plain values, which templates turn into SVG: positions are in a 100 by 100 square, y downwards.

The SVG is stretched to the available space, and the text is outside it, so it is as large on a phone as on a wide
screen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from judgemap.report.figures.colours import round_step
from judgemap.report.words.text import plain

Point = tuple[float, float]
WIDEST = 12.0
"""The greatest width of a bar."""
TOPS = (1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar, and the text that appears when somebody points at it."""

    x: float
    y: float
    width: float
    height: float
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its dots, and a band around it; each an SVG path."""

    name: str
    path: str
    dots: str
    band: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars or lines, with the numbers beside them from top to bottom, and those below them from left to right."""

    title: str
    alt: str
    rises: list[str]
    along: list[str]
    bars: list[Bar]
    lines: list[Line]
    rows: Sequence[tuple[str, ...]]
    """The same as a table."""
    columns: tuple[str, ...]


def ceiling(value: float) -> float:
    """Round up to a round number whose half is also round.

    >>> [ceiling(each) for each in (0, 7, 12, 41, 0.34)]
    [1.0, 8.0, 12.0, 50.0, 0.4]
    """
    return round_step(value, TOPS) if value > 0 else 1.0


def bar_chart(
    title: str, alt: str, values: Sequence[float], labels: Sequence[str], columns: tuple[str, str] = ("", "")
) -> Chart:
    """Draw one bar per value; the first and the last label stand below.

    >>> chart = bar_chart("Answers", "…", [1, 4], ["Monday", "Tuesday"])
    >>> [(bar.x, bar.y, bar.height) for bar in chart.bars], chart.rises
    ([(19.0, 75.0, 25.0), (69.0, 0.0, 100.0)], ['4', '2', '0'])
    """
    top = ceiling(max(values, default=0))
    room = 100 / max(len(values), 1)
    width = min(room * 0.84, WIDEST)
    bars = [
        Bar(
            round(i * room + (room - width) / 2, 3),
            round(100 - 100 * value / top, 3),
            round(width, 3),
            round(100 * value / top, 3),
            f"{label}: {plain(value)}",
        )
        for i, (value, label) in enumerate(zip(values, labels, strict=True))
    ]
    rows = [(label, plain(value)) for label, value in zip(labels, values, strict=True)]
    along = [labels[0], labels[-1]] if len(labels) > 1 else list(labels)
    return Chart(title, alt, [plain(top), plain(top / 2), "0"], along, bars, [], rows, columns)


@dataclass(frozen=True, slots=True)
class Course:
    """How one number changes with another: points (x, y) and, if there are intervals, the ends of each point's."""

    name: str
    points: Sequence[Point]
    intervals: Sequence[Point] = ()


def line_chart(
    title: str, alt: str, courses: Sequence[Course], columns: tuple[str, ...], top: float | None = None
) -> Chart:
    """Draw courses in one frame, from 0 up; x starts at the first point. The first column says what x counts.

    >>> chart = line_chart("Precision", "…", [Course("sd", [(100, 0.8), (200, 0.4)])], ("Answers", "", "sd"))
    >>> chart.lines[0].path, chart.rises, chart.along
    ('M0.0 0.0L100.0 50.0', ['0.8', '0.4', '0'], ['100', '150', '200 answers'])
    """
    xs = [x for course in courses for x, _ in course.points]
    ys = [y for course in courses for y in (*(y for _, y in course.points), *(high for _, high in course.intervals))]
    first, last = min(xs, default=0.0), max(xs, default=1.0)
    most = top or ceiling(max(ys, default=1.0))

    def place(x: float, y: float) -> str:
        across = 50.0 if last == first else 100 * (x - first) / (last - first)
        return f"{across:.1f} {min(max(100 - 100 * y / most, 0.0), 100.0):.1f}"

    lines = []
    for course in courses:
        dots = [place(x, y) for x, y in course.points]
        ends = list(zip(course.points, course.intervals, strict=False))
        around = [place(x, low) for (x, _), (low, _) in ends] + [place(x, high) for (x, _), (_, high) in reversed(ends)]
        band = f"M{'L'.join(around)}Z" if around else ""
        lines.append(Line(course.name, f"M{'L'.join(dots)}" if dots else "", "".join(f"M{at}h0" for at in dots), band))
    unit = columns[0].lower()
    along = [plain(first), plain(round((first + last) / 2)), f"{plain(last)} {unit}"]
    rows = [
        (plain(x), course.name, plain(y), *((f"{plain(low)} to {plain(high)}",) if course.intervals else ()))
        for course in courses
        for (x, y), (low, high) in zip(
            course.points, course.intervals or [(0.0, 0.0)] * len(course.points), strict=True
        )
    ]
    return Chart(title, alt, [plain(most), plain(most / 2), "0"], along, [], lines, rows, columns)


def spark(counts: Sequence[int]) -> str:
    """Draw a histogram as one SVG path in a box that is 1 wide per bin and 10 high, with y downwards.

    >>> spark([1, 0, 2])
    'M0 10v-5h1v5zM2 10v-10h1v10z'
    """
    most = max(counts, default=0)
    return "".join(
        f"M{i} 10v-{_short(10 * n / most)}h1v{_short(10 * n / most)}z" for i, n in enumerate(counts) if n
    )  # fmt: skip


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
