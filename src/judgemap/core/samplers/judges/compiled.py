"""The judges' views, compiled: from coordinates to differences and back, one judge at a time.

What one judge needs fits into the processor's nearest caches, and B_k is fetched once for two products. In NumPy whole
arrays of all judges would pass through memory dozens of times for each kick.

Import this module only where it is used: numba takes a moment to load.
"""

import math

import numpy as np

from judgemap.core.samplers.compiled import compiled
from judgemap.core.samplers.judges.target import Placed
from judgemap.core.types import FloatArray, IntArray


@compiled
def scatter_views(first: IntArray, second: IntArray, weight: FloatArray, B: FloatArray, n_areas: int) -> FloatArray:
    """X_kᵀWB_k of a block of judges, (area, judge, coordinate)."""
    judges, rows, views = B.shape
    gained = np.zeros((n_areas, judges, views), B.dtype)
    for judge in range(judges):
        for i in range(rows):
            above, below = gained[first[judge * rows + i], judge], gained[second[judge * rows + i], judge]
            for j in range(views):
                moved = weight[judge, i] * B[judge, i, j]
                above[j] += moved
                below[j] -= moved
    return gained


@compiled
def see(
    B: FloatArray,
    weight: FloatArray,
    seen: tuple[FloatArray, FloatArray],
    sigma: FloatArray,
    dimmed: FloatArray,
    q: FloatArray,
    placed: Placed,
    e: FloatArray,
) -> None:
    """Place the views of a block of judges, w = σr/P + q/√P with r = r₀ − dBᵀWe, and add σBw to e = Xλ."""
    judges, rows, views = B.shape
    chains = e.shape[1]
    r0, g = seen
    by_row, by_view = np.empty((rows, chains), B.dtype), np.empty((views, chains), B.dtype)
    for judge in range(judges):
        row, view = judge * rows, judge * views
        for i in range(rows):
            for c in range(chains):
                by_row[i, c] = weight[row + i, 0] * e[row + i, c]
        np.dot(B[judge].T, by_row, by_view)
        for j in range(views):
            r_j, g_j = r0[view + j, 0], g[view + j, 0]
            for c in range(chains):
                root = 1 / math.sqrt(1 + dimmed[c] * g_j * sigma[c] * sigma[c])
                centre = root * root * sigma[c] * (r_j - dimmed[c] * by_view[j, c])
                w = q[view + j, c] * root + centre
                placed.root[view + j, c] = root
                placed.centre[view + j, c] = centre
                placed.w[view + j, c] = w
                by_view[j, c] = sigma[c] * w
        np.dot(B[judge], by_view, by_row)
        for i in range(rows):
            for c in range(chains):
                e[row + i, c] += by_row[i, c]


@compiled
def pull(  # noqa: PLR0913, PLR0917 - called from one place, once per block
    B: FloatArray,
    weight: FloatArray,
    seen: tuple[FloatArray, FloatArray],
    sigma: FloatArray,
    dimmed: FloatArray,
    q: FloatArray,
    placed: Placed,
    to_e: FloatArray,
    slope: FloatArray,
) -> FloatArray:
    """Write the slope in q, turn that in e into that in Xλ, and return those in log σ² and log d: see `pull_back`."""
    judges, rows, views = B.shape
    chains = to_e.shape[1]
    by_row, by_view = np.empty((rows, chains), B.dtype), np.empty((views, chains), B.dtype)
    to_scale = np.zeros((2, chains))
    r0, g = seen
    for judge in range(judges):
        row, view = judge * rows, judge * views
        for i in range(rows):
            for c in range(chains):
                by_row[i, c] = to_e[row + i, c]
        np.dot(B[judge].T, by_row, by_view)
        for j in range(views):
            r_j, g_j = r0[view + j, 0], g[view + j, 0]
            for c in range(chains):
                w, root, centre = placed.w[view + j, c], placed.root[view + j, c], placed.centre[view + j, c]
                direct = sigma[c] * by_view[j, c]
                to_w = direct - w
                rooted = to_w * root
                base = root * (-rooted * (q[view + j, c] * root / 2 + centre) - root / 2)
                spread = sigma[c] * sigma[c] * dimmed[c] * g_j * base
                to_scale[0, c] += (direct * w + to_w * centre) / 2 + spread
                to_scale[1, c] += spread + to_w * (centre - root * root * sigma[c] * r_j)
                slope[view + j, c] = rooted
                by_view[j, c] = rooted * root * sigma[c] * dimmed[c]
        np.dot(B[judge], by_view, by_row)
        for i in range(rows):
            for c in range(chains):
                to_e[row + i, c] -= weight[row + i, 0] * by_row[i, c]
    return to_scale
