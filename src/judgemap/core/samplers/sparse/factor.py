"""A symmetric positive definite sparse matrix H, factored as far as that stays sparse, and systems with it solved.

    P H Pᵀ = L D Lᵀ

P is chosen by minimum degree: eliminate the area with the fewest neighbours first, and make those neighbours of each
other (Amestoy, Davis and Duff, 1996). `minimum_degree` counts the entries of L on the way, and gives up once there are
too many, before any memory is spent on them. SuperLU then computes L and D. The triangular systems are solved here,
for many chains at once, without holding Python's lock.

Import this module only where it is used: numba is slow to load.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from judgemap.core.samplers.compiled import compiled
from judgemap.core.types import BoolArray, FloatArray, IntArray

Sparse = sparse.csc_array | sparse.csr_array


class Columns(NamedTuple):
    """A square sparse matrix, column by column, or row by row: the same if it is symmetric."""

    start: IntArray
    at: NDArray[np.uint32]
    values: FloatArray


def columns_of(matrix: Sparse) -> Columns:
    """Lay out a matrix for compiled code."""
    csc = sparse.csc_array(matrix)
    csc.sort_indices()
    return Columns(csc.indptr.astype(np.int64), csc.indices.astype(np.uint32), csc.data.astype(np.float64))


def order_areas(matrix: Sparse, most: int = 10**8) -> IntArray | None:
    """Order the rows of a symmetric matrix so that its factor has few entries; None if it has more than ``most``.

    >>> star = sparse.csc_array(np.eye(4) + np.outer([1, 0, 0, 0], np.ones(4)) + np.outer(np.ones(4), [1, 0, 0, 0]))
    >>> 0 in order_areas(star)[:2], order_areas(star, most=2)
    (False, None)
    """
    pattern = sparse.csr_array(matrix)
    pattern = sparse.csr_array(pattern - sparse.diags_array(pattern.diagonal()))
    pattern.eliminate_zeros()
    order = minimum_degree(pattern.indptr.astype(np.int64), pattern.indices.astype(np.int32), most)
    return order if len(order) == pattern.shape[0] else None


@compiled
def minimum_degree(start: IntArray, lists: NDArray[np.int32], most: int) -> IntArray:  # noqa: C901, PLR0912, PLR0915
    """Return the areas in the order of their elimination; fewer than all if L has more than ``most`` entries.

    An eliminated area becomes a clique of those that were next to it, stored in ``members``. The list of an area that
    is left holds the cliques it is in, and then its neighbours in none of them; it only ever gets shorter.
    """
    n = len(start) - 1
    cliques, length = np.zeros(n, np.int64), start[1:] - start[:-1]  # of each list: how many are cliques, and in all
    begin, size = np.zeros(n, np.int64), np.zeros(n, np.int64)  # of each clique, in `members`
    members = np.empty(max(1, min(most, n * (n - 1) // 2)) + n, np.int32)
    filled = 0
    alive, degree = np.ones(n, np.bool_), length.copy()  # an area that is left, or a clique that is in no other
    first, after, before = np.full(n + 1, -1), np.full(n, -1), np.full(n, -1)  # areas by degree, as linked lists
    for i in range(n):
        after[i] = first[degree[i]]
        if after[i] >= 0:
            before[after[i]] = i
        first[degree[i]] = i
    seen, outside, stamp = np.full(n, -1), np.zeros(n, np.int64), np.full(n, -1)
    order, least = np.empty(n, np.int64), 0
    for place in range(n):
        while first[least] < 0:
            least += 1
        pivot = first[least]
        first[least] = after[pivot]
        if after[pivot] >= 0:
            before[after[pivot]] = -1
        order[place] = pivot
        # 1. The new clique: everything next to the pivot, directly or in a clique, which the new one swallows.
        begin[pivot], seen[pivot] = filled, pivot
        if filled + degree[pivot] * degree[pivot] // 2 > most:  # what is left is at least one clique of that size
            return order[:place]
        for at in range(start[pivot], start[pivot] + length[pivot]):
            other = lists[at]
            if at < start[pivot] + cliques[pivot]:
                for inner in range(begin[other], begin[other] + size[other]):
                    member = members[inner]
                    if seen[member] != pivot:
                        seen[member] = pivot
                        members[filled] = member
                        filled += 1
                alive[other] = False
            elif seen[other] != pivot:
                seen[other] = pivot
                members[filled] = other
                filled += 1
        size[pivot] = filled - begin[pivot]
        # 2. How many members each neighbouring clique has outside the new one.
        for inner in range(begin[pivot], filled):
            i = members[inner]
            for at in range(start[i], start[i] + cliques[i]):
                clique = lists[at]
                if alive[clique]:
                    if stamp[clique] != pivot:
                        stamp[clique], outside[clique] = pivot, size[clique]
                    outside[clique] -= 1
        # 3. The members' lists without what the new clique covers, and their degrees, or a little more than those.
        for inner in range(begin[pivot], filled):
            i = members[inner]
            kept, around = start[i], size[pivot] - 1
            was = start[i] + cliques[i]
            for at in range(start[i], was):
                clique = lists[at]
                if alive[clique] and outside[clique] > 0:
                    lists[kept] = clique
                    kept += 1
                    around += outside[clique]
            last = kept
            for at in range(was, start[i] + length[i]):
                other = lists[at]
                if seen[other] != pivot:
                    lists[last] = other
                    last += 1
            around += last - kept
            # There is room for one more: the pivot, or a clique that held it, was in the list and is gone.
            lists[last] = lists[kept]
            lists[kept] = pivot
            cliques[i], length[i] = kept + 1 - start[i], last + 1 - start[i]
            # Move to the list of the new degree.
            if before[i] >= 0:
                after[before[i]] = after[i]
            else:
                first[degree[i]] = after[i]
            if after[i] >= 0:
                before[after[i]] = before[i]
            degree[i] = min(around, degree[i] + size[pivot] - 1, n - place - 2)
            before[i], after[i] = -1, first[degree[i]]
            if after[i] >= 0:
                before[after[i]] = i
            first[degree[i]] = i
            least = min(least, degree[i])
    return order


class Factor:
    """H = RᵀR with R = D^{½} Lᵀ P, for a matrix whose rows `order_areas` has put in order.

    >>> H = sparse.csc_array(np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]]))
    >>> factor, x = Factor(H, order_areas(H)), np.ones((3, 1))
    >>> bool(np.allclose(H @ factor.back(factor.forth(x)), x))
    True
    """

    def __init__(self, matrix: Sparse, order: IntArray) -> None:
        ordered = sparse.csc_array(matrix)[order][:, order]
        options = {"SymmetricMode": True, "Equil": False}
        lu = splu(sparse.csc_array(ordered), permc_spec="NATURAL", diag_pivot_thresh=0.0, options=options)
        diagonal = lu.U.diagonal()
        if (lu.perm_r != lu.perm_c).any() or not (diagonal > 0).all():
            raise FloatingPointError("the curvature of the posterior is not positive definite")
        self.order = order[np.argsort(lu.perm_c)]
        self.lower, self.root = columns_of(lu.L), np.sqrt(diagonal)

    def trace(self, matrix: Sparse) -> float:
        """Return tr(H⁻¹B) for a symmetric B that has no entries where H has none."""
        inverse = np.zeros_like(self.lower.values)
        invert(self.lower, self.root**2, inverse)
        shape = (len(self.root), len(self.root))
        known = sparse.csc_array((inverse, self.lower.at.astype(np.int64), self.lower.start), shape=shape)
        below = sparse.tril(sparse.csc_array(matrix)[self.order][:, self.order], -1)
        across = float(matrix.diagonal()[self.order] @ inverse[self.lower.start[:-1]])
        return across + 2 * float((known * sparse.csc_array(below)).sum())

    def times(self, vectors: FloatArray) -> FloatArray:
        """R times each column."""
        result = vectors[self.order]
        multiply_transposed(self.lower, result)
        result *= self.root[:, None]
        return result

    def forth(self, vectors: FloatArray) -> FloatArray:
        """R⁻ᵀ times each column."""
        result = vectors[self.order]
        solve_lower(self.lower, result)
        result /= self.root[:, None]
        return result

    def back(self, vectors: FloatArray) -> FloatArray:
        """R⁻¹ times each column."""
        solved = vectors / self.root[:, None]
        solve_transposed(self.lower, solved)
        result = np.empty_like(solved)
        result[self.order] = solved
        return result


@compiled
def invert(lower: Columns, diagonal: FloatArray, inverse: FloatArray) -> None:
    """Write the entries of (L D Lᵀ)⁻¹ where L has some into ``inverse`` (Takahashi, Fagan and Chin, 1973)."""
    n = len(diagonal)
    place = np.full(n, -1)
    for j in range(n - 1, -1, -1):
        begin, end = lower.start[j], lower.start[j + 1]
        for a in range(begin + 1, end):
            place[lower.at[a]] = a
        for a in range(begin + 1, end):
            k, value = lower.at[a], lower.values[a]
            inverse[a] -= inverse[lower.start[k]] * value
            for b in range(lower.start[k] + 1, lower.start[k + 1]):
                c = place[lower.at[b]]
                if c >= 0:
                    inverse[c] -= inverse[b] * value
                    inverse[a] -= inverse[b] * lower.values[c]
        inverse[begin] = 1 / diagonal[j]
        for a in range(begin + 1, end):
            inverse[begin] -= lower.values[a] * inverse[a]
            place[lower.at[a]] = -1


@compiled
def solve_lower(lower: Columns, vectors: FloatArray) -> None:
    """Overwrite each column of ``vectors`` by L⁻¹ times it; L has a diagonal of ones."""
    for j in range(len(vectors)):
        known = vectors[j]
        for place in range(lower.start[j] + 1, lower.start[j + 1]):  # the first is the diagonal's
            row, value = vectors[lower.at[place]], lower.values[place]
            for k in range(len(known)):
                row[k] -= value * known[k]


@compiled
def solve_transposed(lower: Columns, vectors: FloatArray) -> None:
    """Overwrite each column of ``vectors`` by L⁻ᵀ times it; eight at a time, in the processor's registers.

    L is read from its last entry to its first: a processor foresees that, but not a way that goes back and forth.
    """
    chains = vectors.shape[1]
    eights = chains - chains % 8
    for j in range(len(vectors) - 1, -1, -1):
        begin, end, found = lower.start[j] + 1, lower.start[j + 1], vectors[j]
        for k in range(0, eights, 8):
            a, b, c, d = found[k], found[k + 1], found[k + 2], found[k + 3]
            e, f, g, h = found[k + 4], found[k + 5], found[k + 6], found[k + 7]
            for place in range(end - 1, begin - 1, -1):
                row, x = vectors[lower.at[place]], lower.values[place]
                a, b, c, d = a - x * row[k], b - x * row[k + 1], c - x * row[k + 2], d - x * row[k + 3]
                e, f, g, h = e - x * row[k + 4], f - x * row[k + 5], g - x * row[k + 6], h - x * row[k + 7]
            found[k], found[k + 1], found[k + 2], found[k + 3] = a, b, c, d
            found[k + 4], found[k + 5], found[k + 6], found[k + 7] = e, f, g, h
        for k in range(eights, chains):
            a = found[k]
            for place in range(end - 1, begin - 1, -1):
                a -= lower.values[place] * vectors[lower.at[place], k]
            found[k] = a


@compiled
def multiply_transposed(lower: Columns, vectors: FloatArray) -> None:
    """Overwrite each column of ``vectors`` by Lᵀ times it."""
    for j in range(len(vectors)):
        found = vectors[j]
        for place in range(lower.start[j] + 1, lower.start[j + 1]):
            row, value = vectors[lower.at[place]], lower.values[place]
            for k in range(len(found)):
                found[k] += value * row[k]


@compiled
def multiply(symmetric: Columns, vectors: FloatArray, result: FloatArray) -> None:
    """Add a symmetric matrix times each column of ``vectors`` to ``result``."""
    for j in range(len(vectors)):
        found = result[j]
        for place in range(symmetric.start[j], symmetric.start[j + 1]):
            row, value = vectors[symmetric.at[place]], symmetric.values[place]
            for k in range(len(found)):
                found[k] += value * row[k]


def within_reach(borders: Sparse, first: IntArray, second: IntArray, reach: int) -> BoolArray:
    """Say which pairs of areas are at most ``reach`` borders apart; areas border where the matrix has an entry.

    >>> path = sparse.csc_array(np.diag([1.0, 1.0], 1) + np.diag([1.0, 1.0], -1))
    >>> within_reach(path, np.array([0, 0, 1]), np.array([1, 2, 2]), 1)
    array([ True, False,  True])
    """
    near, by_first = np.zeros(len(first), dtype=np.bool_), np.argsort(first, kind="stable")
    starts = np.searchsorted(first[by_first], np.arange(borders.shape[0] + 1))
    _mark_near(columns_of(borders), starts, by_first, second, reach, near)
    return near


@compiled
def _mark_near(
    borders: Columns, starts: IntArray, by_first: IntArray, second: IntArray, reach: int, near: BoolArray
) -> None:
    n = len(starts) - 1
    found, here = np.full(n, -1), np.empty(n, np.int64)
    for area in range(n):
        if starts[area] == starts[area + 1]:
            continue
        here[0], found[area], inner, size = area, area, 0, 1
        for _ in range(reach):
            outer = size
            for place in range(inner, outer):
                for at in range(borders.start[here[place]], borders.start[here[place] + 1]):
                    other = np.int64(borders.at[at])
                    if found[other] != area:
                        found[other], here[size] = area, other
                        size += 1
            inner = outer
        for place in range(starts[area], starts[area + 1]):
            near[by_first[place]] = found[second[by_first[place]]] == area
