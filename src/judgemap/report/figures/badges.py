"""Where to put the numbers on a map, in pictures and on pages. Cheap to import, because web pages use it too."""

import numpy as np

from judgemap.core.types import BoolArray, FloatArray


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
    nearest: FloatArray = np.hypot(steps[..., 0], steps[..., 1]).min(axis=1, initial=np.inf)
    return nearest
