"""Maps: areas shaded by a fit or a prior, or a network drawing if there is no boundary file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.patheffects import Normal, Stroke
from matplotlib.transforms import Affine2D
from numpy.typing import ArrayLike
from scipy.ndimage import uniform_filter

from judgemap.core.model.prior import Covariance
from judgemap.core.types import FloatArray, IntArray
from judgemap.errors import StudyError
from judgemap.geo.adjacency import in_metres
from judgemap.geo.drawing import LARGE
from judgemap.geo.figures import regions_of
from judgemap.geo.maps import Areas
from judgemap.report.figures import layout as network
from judgemap.report.figures.colours import (
    CHANCE,
    LIKENESS,
    RISK,
    UNCERTAINTY,
    VARIANCE,
    Scale,
    readable_on,
    round_step,
)
from judgemap.report.figures.layout import free_spots
from judgemap.report.figures.picture import FAINT, INK, MISSED, QUIET, SMALL, WIDTH, Picture, figure_of, style
from judgemap.report.words.text import number, shortened
from judgemap.study.assess.beside import ByRegion
from judgemap.study.fit.result import Fit

if TYPE_CHECKING:
    import shapely

MARGIN = 6.0
TYPICAL = (0.003, 0.997)
"""The part of the areas of a large map from which the classes of its legend are chosen."""
TALLEST = 400.0
"""The greatest height of a map, in points; a taller map is drawn narrower than the page instead."""

FINEST = 0.4
"""Bends of a border smaller than this, in points, are not drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A drawing of the areas that can be coloured: `points` has a place inside each, `room` the width around it.

    `shapes` are the outlines, empty for a network; `rim` is the outline of the whole map; `kilometre` is the length of
    one on paper, or nan if that is not known. A large map has the borders of its `regions`, and `insets` below it.
    """

    areas: Areas
    points: FloatArray
    room: FloatArray
    height: float
    shapes: tuple[Path, ...] = ()
    rim: Path | None = None
    kilometre: float = float("nan")
    regions: Path | None = None
    insets: tuple["Inset", ...] = ()

    @property
    def is_map(self) -> bool:
        """Whether the areas have outlines."""
        return bool(self.shapes)

    @property
    def below(self) -> float:
        """The height that insets take below the map."""
        return INSET + 22.0 if self.insets else 0.0

    def paint(self, axes: Axes, members: IntArray, colour: str, edge: str = "white") -> None:
        """Fill areas with a colour."""
        if not len(members):
            return
        if self.is_map:
            path = Path.make_compound_path(*(self.shapes[area] for area in members))
            line = float(np.clip(np.median(self.room) / 40, 0.15, 0.5))
            # Borders would cover areas as small as those of a large map; in their own colour, they close the gaps.
            edge = colour if len(self.shapes) > LARGE else edge
            _draw(axes, path, facecolor=colour, edgecolor=edge, linewidth=line, zorder=1)
        else:
            self._mark(axes, members, self.room[0], color=colour, markeredgecolor=QUIET, markeredgewidth=0.6, zorder=3)

    def shade(self, axes: Axes, classes: IntArray, colours: Sequence[str]) -> None:
        """Draw every area in the colour of its class."""
        self.frame(axes)
        for each, colour in enumerate(colours):
            self.paint(axes, np.flatnonzero(classes == each), colour)

    def enlarge(self, axes: Axes, classes: IntArray, colours: Sequence[str]) -> None:
        """Draw the insets, if there are any, in the same colours."""
        for inset in self.insets:
            inset.frame(axes)
            if self.regions is not None:
                inset.draw(axes, self.regions, fill=False, edgecolor=INK, linewidth=0.6, zorder=2)
            for each in np.unique(classes[inset.members]):
                path = Path.make_compound_path(
                    *(self.shapes[area] for area in inset.members[classes[inset.members] == each])
                )
                inset.draw(axes, path, facecolor=colours[each], edgecolor=colours[each], linewidth=0.2, zorder=1)

    def frame(self, axes: Axes) -> None:
        """Draw the outline of the map, or the lines between neighbours."""
        if self.regions is not None:
            _draw(axes, self.regions, fill=False, edgecolor=INK, linewidth=0.3, zorder=2)
        if self.rim is not None:
            _draw(axes, self.rim, fill=False, edgecolor=QUIET, linewidth=0.6, zorder=2)
        elif not self.is_map:
            self.link(axes, self.areas.graph.edges, color=FAINT, linewidth=0.8)

    def link(self, axes: Axes, edges: IntArray, **line: Any) -> None:  # noqa: ANN401 - matplotlib's line properties
        """Draw lines between the areas of each edge."""
        if not len(edges):
            return
        vertices = self.points[np.asarray(edges)].reshape(-1, 2)
        codes = np.tile(np.array([Path.MOVETO, Path.LINETO], dtype=Path.code_type), len(edges))
        _draw(axes, Path(vertices, codes), fill=False, **{"zorder": 2, "capstyle": "butt", **line})

    def outline(self, axes: Axes, area: int) -> None:
        """Draw a strong line around an area."""
        path = self.shapes[area] if self.is_map else Path.circle(self.points[area], self.room[area] / 2)
        _draw(axes, path, fill=False, edgecolor="white", linewidth=4.0, zorder=4)
        _draw(axes, path, fill=False, edgecolor=INK, linewidth=2.0, zorder=5)

    def dots(self, axes: Axes, width: float, members: IntArray | None = None) -> None:
        """Mark areas with a dot: the given ones, or all."""
        marked = np.arange(len(self.points)) if members is None else members
        self._mark(axes, marked, width, color=INK, markeredgecolor="white", markeredgewidth=0.4, zorder=4)

    def _mark(self, axes: Axes, members: IntArray, width: float, **look: Any) -> None:  # noqa: ANN401 - see link
        axes.plot(*self.points[members].T, "o", markersize=width, clip_on=False, **look)


INSETS, INSET, WINDOW, FEWEST = 3, 112.0, 18.0, 50
"""How many parts of a large map are drawn larger, how wide in points, how wide they are on the map itself, and how many
areas they have at least."""


@dataclass(frozen=True, slots=True, eq=False)
class Inset:
    """A crowded part of a large map, a square around `middle`, drawn again and larger around `place`."""

    middle: FloatArray
    place: FloatArray
    name: str
    members: IntArray

    def draw(self, axes: Axes, path: Path, **look: Any) -> None:  # noqa: ANN401 - matplotlib's patch properties
        """Draw what there is of a path inside the square."""
        larger = Affine2D().translate(*-self.middle).scale(INSET / WINDOW).translate(*self.place)
        patch = PathPatch(path, transform=larger + axes.transData, joinstyle="round", **look)
        axes.add_artist(patch).set_clip_path(_square(self.place, INSET), axes.transData)

    def frame(self, axes: Axes) -> None:
        """Draw the square on the map and around the inset, and its name below that."""
        for middle, side in ((self.middle, WINDOW), (self.place, INSET)):
            _draw(axes, _square(middle, side), fill=False, edgecolor=INK, linewidth=0.8, zorder=3)
        letter, under = self.name[0], self.place - [INSET / 2, INSET / 2 + 3]
        axes.text(under[0], under[1], shortened(self.name, 20), fontsize=SMALL, va="top")
        x, y = self.middle + np.array([WINDOW / 2 + 1.5, 0])
        axes.text(x, y, letter, fontsize=SMALL, fontweight="bold", va="center", zorder=6, path_effects=HALO)


HALO = (Stroke(linewidth=2.5, foreground="white"), Normal())


def _square(middle: FloatArray, side: float) -> Path:
    return Path(middle + side * np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5]]))


def _insets(areas: Areas, points: FloatArray, labels: Sequence[str]) -> tuple[Inset, ...]:
    """Choose the most crowded squares of a map, if they are much more crowded than the rest, and lay them out below.

    They are named after the region that has most of the areas in their middle, or else an area there.
    """
    step, found = WINDOW / 6, list[Inset]()
    cells, corner = (points / step).astype(np.int64), points.min(axis=0)
    usual = len(points) * WINDOW**2 / np.prod(points.max(axis=0) - corner)
    left = np.ones(len(points), dtype=bool)
    for which in range(INSETS):
        counts = np.zeros(cells.max(axis=0) + 1)
        np.add.at(counts, tuple(cells[left].T), 1)
        crowd = uniform_filter(counts, 6, mode="constant") * 36
        if crowd.max() < max(3 * usual, FEWEST):
            break
        middle: FloatArray = np.array(np.unravel_index(crowd.argmax(), crowd.shape), dtype=np.float64) * step
        away = np.abs(points - middle).max(axis=1)
        members = np.flatnonzero(away < 0.7 * WINDOW)  # larger areas reach in from outside
        central = members[away[members] < max(WINDOW / 4, away.min() + 1e-9)]
        name = Counter((labels or areas.names)[area] for area in central).most_common(1)[0][0]
        place = np.array([INSET / 2 + MARGIN + which * (INSET + 6), -INSET / 2 - 4])
        found.append(Inset(middle, place, f"{'ABC'[which]}  {name}", members))
        left &= away > WINDOW  # so that squares do not overlap
    return tuple(found)


@lru_cache(maxsize=4)
def ground(areas: Areas) -> Ground:
    """Lay the areas out on paper, north up: as a map if they have outlines, otherwise as a network of circles.

    The last few layouts are cached, because a report draws the same map many times.

    >>> ground(Areas(("1", "2"), ("Castle", "Trent"), AreaGraph(2, [[0, 1]]))).is_map
    False
    """
    return _network(areas) if areas.geometry is None else _map(areas)


def _map(areas: Areas) -> Ground:
    import shapely

    outlines = in_metres(areas.to_frame().geometry)
    polygons = np.asarray(outlines.array, dtype=object)
    corners, large = shapely.bounds(polygons), len(areas) > LARGE
    box = np.array([corners[:, :2].min(axis=0), corners[:, 2:].max(axis=0)])
    scale, shift, height = _fit_paper(box, TALLEST - INSET / 2 if large else TALLEST)
    polygons = shapely.transform(polygons, lambda places: places * scale + shift)
    polygons = shapely.coverage_simplify(_without_specks(polygons), FINEST)
    middle = shapely.point_on_surface(polygons)
    points = np.column_stack([shapely.get_x(middle), shapely.get_y(middle)])
    _, labels = (regions_of(areas) if large else None) or ("", ())
    joined = _joined(polygons, labels) if labels else polygons
    known = outlines.crs is not None and (outlines.crs.is_geographic or outlines.crs.is_projected)
    return Ground(
        areas,
        points=points,
        room=np.sqrt(shapely.area(polygons)),
        height=height,
        shapes=tuple(_path(shapely.get_parts(polygon)) for polygon in polygons),
        rim=_path(shapely.get_parts(shapely.union_all(joined, grid_size=0.01))),
        kilometre=1000 * scale if known else float("nan"),
        regions=_path(shapely.get_parts(joined)) if labels else None,
        insets=_insets(areas, points, labels) if large else (),
    )


def _joined(polygons: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    """Join the areas of each region."""
    of_region = np.array(labels)
    order = np.argsort(of_region, kind="stable")
    parts = np.split(polygons[order], np.flatnonzero(np.diff(np.unique(of_region, return_inverse=True)[1][order])) + 1)
    return np.array([_union(each) for each in parts], dtype=object)


def _union(polygons: np.ndarray) -> "shapely.Geometry":
    import shapely

    try:
        return shapely.coverage_union_all(polygons)
    except shapely.errors.GEOSException:  # areas that overlap are not a coverage, and take longer
        return shapely.union_all(polygons, grid_size=0.01)


def _network(areas: Areas) -> Ground:
    points = network.layout(areas.graph)
    apart = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    typical = float(np.median(apart.min(axis=1))) if len(areas) > 1 else 1.0
    pad = typical / 2
    scale, shift, height = _fit_paper(np.array([points.min(axis=0) - pad, points.max(axis=0) + pad]))
    room = np.full(len(areas), np.clip(0.6 * typical * scale, 4.0, 18.0))
    return Ground(areas, points * scale + shift, room, height)


def _fit_paper(box: FloatArray, tallest: float = TALLEST) -> tuple[float, FloatArray, float]:
    """Return the scale and shift that centre a box on paper, and the height it takes."""
    size = np.maximum(np.ptp(box, axis=0), 1e-9 + 1e-6 * np.ptp(box))
    scale = float(min((WIDTH - 2 * MARGIN) / size[0], (tallest - 2 * MARGIN) / size[1]))
    height = float(size[1] * scale + 2 * MARGIN)
    return scale, np.array([WIDTH, height]) / 2 - box.mean(axis=0) * scale, height


def _without_specks(polygons: np.ndarray) -> np.ndarray:
    """Leave out islands too small to see, but never the largest part of an area."""
    import shapely

    kept = []
    for polygon in polygons:
        parts = shapely.get_parts(polygon)
        size = shapely.area(parts)
        kept.append(shapely.multipolygons(parts[(size > FINEST**2) | (size == size.max())]))
    return np.array(kept, dtype=object)


def _path(polygons: "Iterable[shapely.Polygon]") -> Path:
    """Turn polygons into one path; holes run the other way round, so that they are not filled."""
    import shapely

    rings: list[FloatArray] = []
    for polygon in polygons:
        turned = shapely.orient_polygons(polygon)
        rings += [shapely.get_coordinates(ring) for ring in (turned.exterior, *turned.interiors)]
    return Path.make_compound_path(*(Path(ring, closed=True) for ring in rings))


def _draw(axes: Axes, path: Path, **look: Any) -> None:  # noqa: ANN401 - matplotlib's patch properties
    # Not add_patch: it walks along every bend of every border to find axis limits, which a sheet has already set.
    axes.add_artist(PathPatch(path, clip_on=False, **{"joinstyle": "round", **look}))


TITLE, LEGEND = 26.0, 60.0
"""Height of the title and of the legend, in points."""

BADGE = 8.3
"""Radius of the numbered circles, in points."""

NO_MAP = (
    " There is no boundary file, so areas are drawn as circles joined to their neighbours; positions mean nothing more."
)


def risk_map(fit: Fit, title: str = "", *, regions: ByRegion | None = None, ax: Axes | None = None) -> Picture:
    """Draw the posterior median of risk, with the ten highest areas numbered as in `tables.highest_risk`.

    Given ``regions``, number the ten highest of those, each on an area in its middle.
    """
    first = fit.order[:10] if regions is None else np.array(list(_middles(fit.map, regions)))
    which = "highest" if regions is None else f"of highest mean risk, by {regions.by.name}"
    caption = (
        "The darker an area, the higher its estimated risk; grey is the average, blue is below it and red above it. "
        f"Numbers mark the {len(first)} {which}."
    )
    risk = fit.areas["risk_median"].to_numpy()
    return choropleth(fit.map, risk, RISK, caption, title=title, numbered=first.tolist(), ax=ax)


def _middles(areas: Areas, regions: ByRegion) -> Iterator[int]:
    """Yield, for each of the ten highest regions, the area nearest to the middle of its areas."""
    points, labels = ground(areas).points, np.array(regions.by.labels)
    for name in regions.table["group"][:10]:
        members = np.flatnonzero(labels == name)
        away = points[members] - np.median(points[members], axis=0)
        yield int(members[np.hypot(*away.T).argmin()])


def uncertainty_map(fit: Fit, title: str = "", *, ax: Axes | None = None) -> Picture:
    """Draw the posterior standard deviation of risk."""
    caption = "The darker an area, the less the answers tell us about it."
    return choropleth(fit.map, fit.areas["risk_sd"].to_numpy(), UNCERTAINTY, caption, title=title, ax=ax)


def variance_map(fit: Fit) -> Picture:
    """Draw the posterior variance of risk."""
    caption = "The darker an area, the larger the posterior variance of its risk."
    return choropleth(fit.map, fit.areas["risk_sd"].to_numpy() ** 2, VARIANCE, caption)


def p_top_map(fit: Fit, k: int = 10, title: str = "", *, ax: Axes | None = None) -> Picture:
    """Draw the probability that an area is among the k with the highest risk."""
    if not 1 <= k <= len(fit.map):
        raise StudyError(f"there are {len(fit.map):,} areas, so k must be between 1 and {len(fit.map):,}, not {k}")
    scale = replace(CHANCE, title=f"Probability of being among the {k} highest")
    caption = f"The darker an area, the more likely it is to be among the {k} with the highest risk."
    return choropleth(fit.map, fit.p_top(k).to_numpy(), scale, caption, title=title, ax=ax)


def prior_correlation_map(areas: Areas, covariance: Covariance, area: str) -> Picture:
    """Draw the prior correlation C_ij / √(C_ii C_jj) of one area, given by id or name, with all others."""
    if covariance.n_areas != len(areas):
        raise StudyError(
            f"the prior is of {covariance.n_areas:,} areas and the map of {len(areas):,}; build the prior from this map"
        )
    chosen = int(areas.index([area])[0])
    C = covariance.matrix
    correlation = np.clip(C[chosen] / np.sqrt(C[chosen, chosen] * np.diag(C)), -1.0, 1.0)
    caption = f"What we learn about {areas.names[chosen]} (outlined) is assumed to hold for darker areas too."
    return choropleth(areas, correlation, LIKENESS, caption, outlined=[chosen])


def adjacency_map(areas: Areas) -> Picture:
    """Draw lines between neighbours, dashed if an island was linked to the nearest area."""
    place, edges = ground(areas), areas.graph.edges
    bridges = np.array([areas.index([each.a, each.b]) for each in areas.bridges], dtype=np.int64).reshape(-1, 2)
    size = len(areas)
    # Each edge as one number, so that whole edges can be compared.
    borders = edges[~np.isin(edges @ [size, 1], np.sort(bridges, axis=1) @ [size, 1])]
    with style():
        figure, axes = sheet(place.height)
        if place.is_map:
            place.paint(axes, np.arange(size), FAINT)
        place.link(axes, borders, edgecolor=QUIET, linewidth=0.9, zorder=3)
        place.link(axes, bridges, edgecolor=MISSED, linewidth=1.8, linestyle=(0, (2.5, 1.2)), zorder=3)
        place.dots(axes, 4.0 if place.is_map else max(4.0, place.room[0] / 2))
    counted = f"{size:,} areas and {len(borders):,} {'border' if len(borders) == 1 else 'borders'} between them"
    joined = f", and {len(bridges):,} across a gap to the nearest area (dashed)" if len(bridges) else ""
    most = int(np.argmax(np.bincount(edges.ravel(), minlength=size)))
    alt = f"{kind_of(areas)} of {counted}{joined}. {areas.names[most]} has the most neighbours."
    caption = f"Lines join neighbours: {counted}{joined}."
    return Picture(figure, alt, caption + drawn_how(areas))


def choropleth(
    areas: Areas,
    values: ArrayLike,
    scale: Scale,
    caption: str = "",
    *,
    title: str = "",
    numbered: Sequence[int] = (),
    outlined: Sequence[int] = (),
    ax: Axes | None = None,
) -> Picture:
    """Shade every area by its value, with a legend; number some areas 1, 2, 3 … and outline others.

    `numbered` and `outlined` are positions in the order of `areas`. The map is drawn on ``ax`` or on a new figure.
    Areas without outlines are drawn as the circles of a network.

    >>> areas = Areas(("1", "2"), ("Castle", "Trent"), AreaGraph(2, [[0, 1]]))
    >>> choropleth(areas, [0.2, 0.8], CHANCE).alt
    'Network drawing of 2 areas shaded by probability. Highest: Trent, Castle; lowest: Castle, Trent.'
    """
    shown = np.asarray(values, dtype=np.float64)
    if shown.shape != (len(areas),):
        raise StudyError(f"a map of {len(areas):,} areas needs one value each, not {shown.size}")
    if not np.all(np.isfinite(shown)):
        name = areas.names[int(np.flatnonzero(~np.isfinite(shown))[0])]
        raise StudyError(f"area {name!r} has no finite value to draw; give it one, or leave it off the map")
    place, large = ground(areas), len(areas) > LARGE
    # A few of so many areas lie so far out that nearly all others would share two colours.
    classes, limits = scale.classify(np.clip(shown, *np.quantile(shown, TYPICAL)) if large else shown)
    caption += " The colours at the ends also hold what lies beyond." if large else ""
    colours = scale.shades(limits)
    below = place.below
    with style():
        figure, axes = sheet(place.height + below + LEGEND, title, below + LEGEND, ax)
        place.shade(axes, classes, colours)
        place.enlarge(axes, classes, colours)
        for area in outlined:
            place.outline(axes, area)
        _number(axes, place, numbered, [colours[classes[area]] for area in numbered])
        _legend(axes, scale, limits, colours, -below)
        _compass(axes, place)
        fit_size(axes)
    order = np.argsort(-shown, kind="stable")
    highest, lowest = (", ".join(areas.names[area] for area in some) for some in (order[:3], order[:-4:-1]))
    alt = f"{kind_of(areas)} of {len(areas):,} areas shaded by {scale.title[0].lower()}{scale.title[1:]}"
    return Picture(figure, f"{alt}. Highest: {highest}; lowest: {lowest}.", caption + drawn_how(areas))


def kind_of(areas: Areas) -> str:
    """Say what is drawn: a map or, without outlines, a network."""
    return "Network drawing" if areas.geometry is None else "Map"


def drawn_how(areas: Areas) -> str:
    """Return the sentence of a caption that explains a network drawing or a large map; empty for any other."""
    if areas.geometry is None:
        return NO_MAP
    place = ground(areas)
    lines = " Lines are the borders of regions." if place.regions is not None else ""
    return lines + (" The squares with letters are drawn larger below the map." if place.insets else "")


def sheet(height: float, title: str = "", below: float = 0.0, axes: Axes | None = None) -> tuple[Figure, Axes]:
    """Return a figure whose axes are in points, with 0 at the foot of the map and room for a legend below it.

    Any ``axes`` given use the same units, scaled to the room there is: see `fit_size`.
    """
    top = TITLE if title else 0.0
    if axes is None:
        axes = Figure(figsize=(WIDTH / 72, (height + top) / 72)).add_axes((0, 0, 1, 1))
    else:
        axes.set_aspect("equal")
    axes.set(xlim=(0, WIDTH), ylim=(-below, height - below + top))
    axes.set_axis_off()
    figure = figure_of(axes)
    if title:
        axes.text(8, height - below + top - 8, title, fontsize=min(13, 600 / len(title)), fontweight="bold", va="top")
    return figure, axes


def fit_size(axes: Axes) -> None:
    """Scale text and lines by how much smaller or larger the axes are than a `sheet` of their own."""
    axes.apply_aspect()
    scale = axes.get_window_extent().width / figure_of(axes).dpi * 72 / WIDTH
    if abs(scale - 1) < 1e-6:
        return
    for text in axes.texts:
        text.set_fontsize(scale * float(text.get_fontsize()))
    for line in axes.lines:
        line.set(linewidth=scale * line.get_linewidth(), markersize=scale * line.get_markersize())
    for patch in axes.patches:
        patch.set_linewidth(scale * patch.get_linewidth())


def _legend(axes: Axes, scale: Scale, limits: FloatArray, colours: list[str], foot: float) -> None:
    """Draw a bar of the classes' colours below ``foot``, with their limits, a title, and words at the ends."""
    left, width, top, height = 10.0, 262.0, foot - 18.0, 12.0
    step = width / len(colours)
    axes.text(left, foot - 4, scale.title, va="top")
    for each, colour in enumerate(colours):
        axes.add_patch(Rectangle((left + each * step, top - height), step, height, color=colour, linewidth=0))
    axes.add_patch(Rectangle((left, top - height), width, height, fill=False, edgecolor=QUIET, linewidth=0.5))
    for each, limit in enumerate(limits):
        axes.text(left + each * step, top - height - 2, number(limit), fontsize=SMALL, va="top", ha="center")
    for x, words, side in ((left, f"← {scale.low}", "left"), (left + width, f"{scale.high} →", "right")):
        axes.text(x, top - height - 15, words, va="top", ha=side)


def _compass(axes: Axes, place: Ground) -> None:
    """Draw a scale bar and a north arrow."""
    if not np.isfinite(place.kilometre):
        return
    right, y = WIDTH - 10.0, -place.below - 30.0
    length = 1 / round_step(place.kilometre / 48.0, (1, 2, 5, 10))  # the longest round length within 48 points
    axes.plot([right - length * place.kilometre, right], [y, y], color=INK, linewidth=1.5, solid_capstyle="butt")
    axes.text(right, y - 3, f"{length:g} km", fontsize=SMALL, va="top", ha="right")
    axes.text(right, y + 6, "N ↑", ha="right")


def _number(axes: Axes, place: Ground, numbered: Sequence[int], colours: Sequence[str]) -> None:
    """Put 1, 2, 3 … on areas: in a white circle on the area or beside a small one, or inside a network's circle."""
    if not len(numbered):
        return
    anchors, room = place.points[list(numbered)], place.room[list(numbered)]
    write = partial(axes.text, fontsize=SMALL, fontweight="bold", zorder=8, ha="center", va="center_baseline")
    if not place.is_map and room.min() > 1.6 * BADGE:
        for each, (anchor, colour) in enumerate(zip(anchors, colours, strict=True), start=1):
            write(anchor[0], anchor[1], str(each), color=readable_on(colour))
        return
    spots = free_spots(anchors, BADGE, np.array([[0.0, 0.0], [WIDTH, place.height]]), room < 2.2 * BADGE)
    for each, (anchor, spot) in enumerate(zip(anchors, spots, strict=True), start=1):
        if np.hypot(*(spot - anchor)) > BADGE:
            axes.plot(*np.transpose([anchor, spot]), color=INK, linewidth=0.7, zorder=6)
            axes.plot(*anchor, "o", color=INK, markersize=2.5, zorder=6)
        axes.plot(*spot, "o", markersize=2 * BADGE, color="white", markeredgecolor=INK, markeredgewidth=0.7, zorder=7)
        write(spot[0], spot[1], str(each))
