"""Where things go: the circles of a network drawing, and the numbers on a map. Cheap to import, for web pages."""

import numpy as np

from judgemap.core.model.graph import AreaGraph
from judgemap.core.types import BoolArray, FloatArray

MAJORISATIONS = 200
GAP = 1.5
"""Space between disconnected parts of a graph, in edge lengths."""


def layout(graph: AreaGraph) -> FloatArray:
    """Place the areas in the plane, one row (x, y) per area; an edge is about 1 long.

    Each connected part minimises the stress Σ_{i<j} (‖x_i − x_j‖ − g_ij)² / g_ij², where g_ij is the number of borders
    crossed on the shortest path: classical scaling gives the start, majorisation improves it (Gansner, Koren and North,
    2005, Graph drawing by stress majorization). Nothing is random. Parts are set side by side, the largest first.

    >>> layout(AreaGraph(3, [[0, 1], [1, 2]]))[:, 0].round(1)
    array([-1., 0., 1.])
    """
    parts = graph.components()
    distance = graph.distances()
    members = [np.flatnonzero(parts == part) for part in range(parts.max() + 1)]
    members.sort(key=lambda each: -len(each))
    drawn = [_place(distance[np.ix_(each, each)]) for each in members]
    points = np.empty((graph.n_areas, 2))
    for each, corner, part in zip(members, _pack([np.ptp(part, axis=0) for part in drawn]), drawn, strict=True):
        points[each] = part - part.min(axis=0) + corner
    points -= points.mean(axis=0)
    return points


def stress(points: FloatArray, distance: FloatArray) -> float:
    """Return Σ_{i<j} (‖x_i − x_j‖ − g_ij)² / g_ij².

    >>> stress(np.array([[0.0, 0.0], [1.5, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    0.25
    """
    i, j = np.triu_indices(len(points), k=1)
    length = np.hypot(*(points[i] - points[j]).T)
    return float(((length / distance[i, j] - 1) ** 2).sum())


def _place(distance: FloatArray) -> FloatArray:
    """Lay out one connected part, with its longest direction horizontal."""
    from scipy import linalg

    n = len(distance)
    if n == 1:
        return np.zeros((1, 2))
    points = classical_scaling(distance)
    angle = np.arange(n) * np.pi * (3 - np.sqrt(5))
    points += 0.01 * np.column_stack([np.cos(angle), np.sin(angle)])  # areas with the same neighbours must not coincide
    weight = 1 / np.where(distance > 0, distance, np.inf) ** 2
    laplacian = linalg.cho_factor(np.diag(weight.sum(axis=1)) - weight + 1 / n)
    before = stress(points, distance)
    for _ in range(MAJORISATIONS):
        length = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
        pull = weight * distance / np.where(length > 1e-12, length, np.inf)
        points = linalg.cho_solve(laplacian, pull.sum(axis=1)[:, None] * points - pull @ points)
        after = stress(points, distance)
        if before - after < 1e-5 * before:
            break
        before = after
    return _turn(points)


def classical_scaling(distance: FloatArray) -> FloatArray:
    """Return the points in the plane that best keep the distances, from the top two eigenvectors of −½ J g² J."""
    from scipy import linalg

    n = len(distance)
    square = distance**2
    middle = square.mean(axis=0)
    inner = -0.5 * (square - middle - middle[:, None] + square.mean())
    values, vectors = linalg.eigh(inner, subset_by_index=[max(n - 2, 0), n - 1])
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1])


def _turn(points: FloatArray) -> FloatArray:
    """Turn the longest direction to the horizontal, and settle mirror images by the first area off each axis."""
    points = points - points.mean(axis=0)
    axes = np.linalg.svd(points, full_matrices=False)[2]
    turned: FloatArray = points @ axes.T
    for axis in range(2):
        far = np.flatnonzero(np.abs(turned[:, axis]) > 1e-6)
        if len(far) and turned[far[0], axis] > 0:
            turned[:, axis] *= -1
    return turned


def _pack(sizes: list[FloatArray]) -> list[FloatArray]:
    """Place boxes in rows from the top left; the whole is about one and a half times as wide as it is high."""
    boxes = np.array(sizes) + GAP
    row = max(boxes[:, 0].max(), float(np.sqrt(1.5 * boxes.prod(axis=1).sum())))
    corners, x, y, tallest = [], 0.0, 0.0, 0.0
    for width, height in boxes:
        if x and x + width > row + 1e-9:
            x, y, tallest = 0.0, y - tallest, 0.0
        corners.append(np.array([x, y - height]))
        x, tallest = x + width, max(tallest, height)
    return corners


def free_spots(anchors: FloatArray, radius: float, box: FloatArray, small: BoolArray | None = None) -> FloatArray:
    """Find a spot for each number: on its area or, if that is small or taken, on the nearest free ring around it.

    ``anchors`` has a point in each area, in the order of their numbers; ``radius`` is the radius of a number's circle;
    ``box`` has two opposite corners of the map; ``small`` marks areas that are too small for their number. Numbers
    never overlap, never leave the map and, if there is room, never cover another number's area. The search of each ring
    starts in the direction away from the middle of the map.

    >>> spots = free_spots(np.array([[50.0, 50.0], [52.0, 50.0]]), 5.0, np.array([[0.0, 0.0], [100.0, 100.0]]))
    >>> bool(np.hypot(*(spots[0] - spots[1])) > 10)
    True
    """
    low, high = box
    spots: list[FloatArray] = []
    for each, anchor in enumerate(anchors):
        others = np.delete(anchors, each, axis=0)
        start = np.arctan2(*(anchor - (low + high) / 2)[::-1])
        turns = start + np.pi * np.array([half * side / 12 for half in range(13) for side in (1, -1)])
        ways = np.column_stack([np.cos(turns), np.sin(turns)])
        on_it = [] if small is not None and small[each] else [0.0]
        choices = np.concatenate(
            [anchor + ring * ways for ring in on_it + [radius * (2.2 + 0.6 * k) for k in range(60)]]
        )
        free = np.all((choices >= low + radius) & (choices <= high - radius), axis=1)
        free &= _distances(choices, np.reshape(spots, (-1, 2))) > 2 * radius + 1
        clear = free & (_distances(choices, others) > radius + 1)
        best = clear if clear.any() else free
        spots.append(choices[int(best.argmax())])
    return np.array(spots)


def _distances(points: FloatArray, others: FloatArray) -> FloatArray:
    """Return the distance from each point to the nearest of the others."""
    steps = points[:, None] - others[None]
    return np.asarray(np.hypot(steps[..., 0], steps[..., 1]).min(axis=1, initial=np.inf))
