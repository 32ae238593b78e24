"""Values for pairs of areas, stored sparsely, and e^A: exact on small maps, nearly so on large ones.

(e^A)_ij = Σ_k (A^k)_ij / k! counts the walks from i to j across borders, with long walks counting little. It falls so
quickly with distance that on a map of 35,000 areas all but a few hundred entries per row can be dropped.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from judgemap.core.model.graph import AreaGraph
from judgemap.core.threads import pieces
from judgemap.core.types import FloatArray, IntArray, frozen_floats, frozen_ints

EXACT_LIMIT = 2_000
"""Up to this many areas all terms of the series for e^A are kept; beyond it, small terms are dropped."""
DROP = 1e-7
"""A term of the series is dropped if it would add less than this to a correlation."""
STORED_LIMIT = 60_000_000
"""The most pairs that may be stored: about a gigabyte."""
TERMS = 10_000
"""The most terms of the series to try; a map with ordinary borders needs about 25."""
TOO_MANY_WALKS = "e^A cannot be summed on this map: some areas border thousands of others; check the edges"
BLOCK = 1_000
"""Rows of e^A computed at a time; apart from the result they need a few tens of megabytes."""


@dataclass(frozen=True, slots=True, eq=False)
class PairValues:
    """Values v_ij = v_ji for pairs of areas 0 … N−1; zero where nothing is stored.

    A pair i < j is stored under the key i·N + j. Keys are sorted, so a lookup takes O(log stored). ``lowest`` and
    ``highest`` are bounds on the values, including zero.

    >>> v = PairValues(3, keys=[1, 5], values=[0.5, 2.0])
    >>> v.at(2, 1), v.at([0, 0], [1, 2])
    (array(2.), array([0.5, 0. ]))
    """

    n_areas: int
    keys: IntArray
    values: FloatArray
    lowest: float = field(init=False)
    highest: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", frozen_ints(self.keys))
        object.__setattr__(self, "values", frozen_floats(self.values))
        if self.keys.ndim != 1 or self.keys.shape != self.values.shape:
            raise ValueError(f"{self.keys.shape} keys do not match {self.values.shape} values")
        if np.any(np.diff(self.keys) <= 0):
            raise ValueError("the keys of pairs must be sorted and distinct")
        if np.any(self.first >= self.second) or (len(self.keys) and self.first[-1] >= self.n_areas):
            raise ValueError(f"the key of a pair i < j is i·N + j, with areas in 0 … {self.n_areas - 1}")
        if not np.all(np.isfinite(self.values)):
            raise ValueError("the values of pairs must be finite numbers")
        object.__setattr__(self, "lowest", float(self.values.min(initial=0.0)))
        object.__setattr__(self, "highest", float(self.values.max(initial=0.0)))

    @property
    def first(self) -> IntArray:
        """The smaller area of every stored pair."""
        return self.keys // self.n_areas

    @property
    def second(self) -> IntArray:
        """The larger area of every stored pair."""
        return self.keys % self.n_areas

    def at(self, first: ArrayLike, second: ArrayLike) -> FloatArray:
        """Look up v_ij for areas given in either order; v_ii is zero."""
        i, j = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
        if not len(self.keys):
            return np.zeros(np.broadcast_shapes(i.shape, j.shape))
        wanted = np.minimum(i, j) * self.n_areas + np.maximum(i, j)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, self.values[place], 0.0)

    def within(self, areas: IntArray) -> "PairValues":
        """Keep only the pairs whose areas are both among ``areas``."""
        known = np.zeros(self.n_areas, dtype=np.bool_)
        known[areas] = True
        kept = known[self.first] & known[self.second]
        return PairValues(self.n_areas, self.keys[kept], self.values[kept])

    def per_area(self) -> FloatArray:
        """Σ_j v_ij for every area i."""
        sums: FloatArray = np.bincount(self.first, self.values, self.n_areas).astype(np.float64)
        return sums + np.bincount(self.second, self.values, self.n_areas)


def from_matrix(matrix: FloatArray) -> PairValues:
    """Store the entries above the diagonal of a symmetric matrix, without the zeros."""
    matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"values of pairs must be a square matrix, received shape {matrix.shape}")
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-10):
        raise ValueError("values of pairs must be a symmetric matrix: the order within a pair does not matter")
    first, second = np.nonzero(np.triu(matrix, 1))
    return PairValues(len(matrix), first * len(matrix) + second, matrix[first, second])


@dataclass(frozen=True, slots=True, eq=False)
class Communicability:
    """(e^A)_ij for every pair, and (e^A)_ii for every area."""

    pairs: PairValues
    diagonal: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "diagonal", frozen_floats(self.diagonal))

    def correlation(self) -> PairValues:
        """C_ij = (e^A)_ij / √((e^A)_ii (e^A)_jj), the prior correlation of two areas' strengths."""
        root = np.sqrt(self.diagonal)
        values = self.pairs.values / (root[self.pairs.first] * root[self.pairs.second])
        return PairValues(self.pairs.n_areas, self.pairs.keys, values)


def communicability_pairs(graph: AreaGraph) -> Communicability:
    """Compute e^A for all pairs of a map, by the method that suits its size."""
    return exact_pairs(graph) if graph.n_areas <= EXACT_LIMIT else sparse_pairs(graph)


def communicability_matrix(graph: AreaGraph) -> FloatArray:
    """(e^A)_ij as a matrix: all walks between two areas, with long ones counting little; the paper's affinity.

    The series Σ A^k/k! adds only non-negative numbers, so even the smallest entries are accurate to the last digit, and
    areas without a path between them get exactly 0. The cost is O(N²) for every term.
    """
    A = graph.sparse_adjacency()
    term: FloatArray = np.eye(graph.n_areas)
    total = term.copy()
    for k in range(1, TERMS):
        term = (A @ term) / k
        total += term
        if not np.any(term > 1e-17 * total):
            return total
    raise ValueError(TOO_MANY_WALKS)


def exact_pairs(graph: AreaGraph) -> Communicability:
    """List e^A of all pairs, accurate to rounding."""
    matrix = communicability_matrix(graph)
    return Communicability(from_matrix(matrix), np.diagonal(matrix))


def sparse_pairs(graph: AreaGraph) -> Communicability:
    """e^A = Σ_k T_k with T_k = T_{k−1} A / k, dropping entries of T_k below δ s_i s_j, where s_i² ≤ (e^A)_ii.

    Every term is positive, so the result is too small; on ordinary maps no correlation is off by as much as 1e-5.
    """
    A, n = graph.sparse_adjacency(), graph.n_areas
    scale = _root_of_diagonal_from_below(A)
    keys, values, diagonal = [], [], np.empty(n)
    stored = 0
    for part in pieces(n, BLOCK):
        rows = np.arange(n)[part]
        block = _rows_of_exponential(A, rows, scale)
        row, column = rows[block.row], block.col.astype(np.int64)
        diagonal[rows] = block.data[row == column]
        above = row < column
        keys.append(row[above] * n + column[above])
        values.append(block.data[above])
        stored += len(keys[-1])
        if stored > STORED_LIMIT:
            raise ValueError(
                f"this map of {n:,} areas is so densely connected that more than {STORED_LIMIT:,} pairs are connected; "
                "check its edges for areas with very many neighbours, or use the uniform design"
            )
    return Communicability(PairValues(n, np.concatenate(keys), np.concatenate(values)), diagonal)


def _root_of_diagonal_from_below(A: sparse.csr_array) -> FloatArray:
    """√(1 + (A²)_ii/2 + (A³)_ii/6 + (A⁴)_ii/24) ≤ √(e^A)_ii."""
    A2 = (A @ A).tocsr()
    # A is symmetric, so row sums of A² ∘ A and A² ∘ A² are the diagonals of A³ and A⁴, without another product.
    twice, thrice, four = A2.diagonal(), (A2 * A).sum(axis=1), (A2 * A2).sum(axis=1)
    return np.sqrt(1 + twice / 2 + thrice / 6 + four / 24)


def _rows_of_exponential(A: sparse.csr_array, rows: IntArray, scale: FloatArray) -> sparse.coo_array:
    """Sum some rows of e^A without small entries, columns in order."""
    start = (np.ones(len(rows)), rows, np.arange(len(rows) + 1))
    term = total = sparse.csr_array(start, shape=(len(rows), A.shape[0]))
    for k in range(1, TERMS):
        term = term @ A
        row = np.repeat(np.arange(len(rows)), np.diff(term.indptr))
        data = term.data / k
        large = data >= DROP * scale[rows[row]] * scale[term.indices]
        if not large.any():
            total.sort_indices()
            return total.tocoo()
        kept = np.concatenate([[0], np.cumsum(large)])[term.indptr]
        term = sparse.csr_array((data[large], term.indices[large], kept), shape=term.shape)
        total = total + term
    raise ValueError(TOO_MANY_WALKS)
