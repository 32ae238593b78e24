"""Priors λ ~ N(0, α² C) that never form a matrix, for maps of tens of thousands of areas.

A `Smoother` provides what the engine for large maps (`large.hmc`) needs from C: products with its inverse, noise, and
its entries for when a matrix is needed after all. `Communicability` is the paper's prior and `Independent` that of the
standard model; `model.car` and `model.multiresolution` have the others.

e^{sA} on vectors is a Chebyshev polynomial in A, and what is needed for single areas comes from walks that start there
and reach only nearby areas: no eigenvectors, and no areas × areas matrix. (`model.communicability` has e^A for every
pair of areas.)

Import this module only where it is used: numba is slow to load.
"""

from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh
from scipy.special import ive

from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.compiled import compiled
from judgemap.core.types import FloatArray, IntArray

SPAN_LIMIT = 30.0
"""If the eigenvalues of A span more than this, e^A cannot be inverted in double precision."""
REACH = (15, 1e-7)
"""Longest walk, in borders, and smallest contribution that go into a mass matrix in single precision."""
ACCURACY = 1e-13
"""For a polynomial, relative to its largest value; for a sum over walks, relative to 1."""
MOST_TERMS = 400
FEW_AREAS = 64
"""Up to this many areas all eigenvalues are computed, which takes hardly any time."""


class Smoother(Protocol):
    """What a prior N(0, α² C) of the strengths must provide. Vectors are (areas, columns), float64."""

    @property
    def name(self) -> str:
        """What the prior is called in a fit's record."""

    @property
    def n_areas(self) -> int:
        """The number of areas."""

    @property
    def length(self) -> float | None:
        """The length scale, if the prior has one."""

    @property
    def diagonal(self) -> FloatArray:
        """The diagonal of C⁻¹."""

    def precision(self, vectors: FloatArray) -> FloatArray:
        """C⁻¹ times each column."""

    def precision_noise(self, rng: np.random.Generator, columns: int) -> FloatArray:
        """Draw columns from N(0, C⁻¹)."""

    def draw(self, rng: np.random.Generator, columns: int) -> FloatArray:
        """Draw columns from N(0, C): strengths at α = 1."""

    def add_columns(self, scale: float, begin: int, panel: NDArray[np.float32]) -> None:
        """Add scale · C⁻¹ to the columns of a matrix from column ``begin`` on; ``panel`` holds its rows from there on.

        Only entries on and below the diagonal matter, and those too small for single precision may be left out: a mass
        matrix need not be exact.
        """


class Communicability:
    """C = D^{-1/2} e^A D^{-1/2}, D = diag(e^A): C⁻¹ = D^{1/2} e^{−A} D^{1/2}, and D^{-1/2} e^{A/2} ε is N(0, C).

    >>> prior = Communicability(AreaGraph(3, [[0, 1], [1, 2]]))
    >>> from judgemap.core.model.prior import communicability
    >>> exact = communicability(AreaGraph(3, [[0, 1], [1, 2]]))
    >>> bool(np.allclose(prior.precision(np.eye(3)), exact.inverse))
    True
    """

    name = "communicability"
    length = None

    def __init__(self, graph: AreaGraph) -> None:
        self.graph = graph
        self.low, self.high = spectrum(graph)
        if self.high - self.low > SPAN_LIMIT:
            raise ValueError(
                f"the graph's eigenvalues span {self.high - self.low:.0f}: some areas border very many others and e^A "
                "cannot be inverted in double precision; check the edges"
            )
        self.borders = Borders.of(graph)
        self.root: FloatArray = np.sqrt(exponential_diagonal(self.borders, 1.0))

    @property
    def n_areas(self) -> int:
        """The number of areas."""
        return self.graph.n_areas

    @cached_property
    def diagonal(self) -> FloatArray:
        """D_ii (e^{−A})_ii."""
        found: FloatArray = self.root**2 * exponential_diagonal(self.borders, -1.0)
        return found

    def precision(self, vectors: FloatArray) -> FloatArray:
        """D^{1/2} e^{−A} D^{1/2} times each column."""
        return self._root() * self._power(-1.0, self._root() * vectors)

    def precision_noise(self, rng: np.random.Generator, columns: int) -> FloatArray:
        """D^{1/2} e^{−A/2} ε."""
        return self._root() * self._power(-0.5, rng.standard_normal((self.n_areas, columns)))

    def draw(self, rng: np.random.Generator, columns: int) -> FloatArray:
        """D^{-1/2} e^{A/2} ε."""
        return self._power(0.5, rng.standard_normal((self.n_areas, columns))) / self._root()

    def add_columns(self, scale: float, begin: int, panel: NDArray[np.float32]) -> None:
        """Add columns of C⁻¹, without the walks too small for single precision."""
        scales = self.root * np.sqrt(scale)
        add_exponential_columns(self.borders, scales, REACH, begin, panel)

    def _root(self) -> FloatArray:
        return self.root[:, None]

    def _power(self, power: float, vectors: FloatArray) -> FloatArray:
        """e^{sA} times each column."""
        polynomial = exponential_polynomial(power, self.low, self.high)
        vectors, result = np.ascontiguousarray(vectors), np.empty_like(vectors)
        apply_polynomial(self.borders, polynomial, vectors, result)
        return result


class Independent:
    """C = I, the prior of the standard model.

    >>> Independent(2).precision(np.ones((2, 1))).ravel()
    array([1., 1.])
    """

    name = "independent"
    length = None

    def __init__(self, n_areas: int) -> None:
        self.n_areas = n_areas
        self.diagonal: FloatArray = np.ones(n_areas)

    def precision(self, vectors: FloatArray) -> FloatArray:
        """Return the vectors themselves."""
        return vectors

    def precision_noise(self, rng: np.random.Generator, columns: int) -> FloatArray:
        """Draw standard normal numbers."""
        return rng.standard_normal((self.n_areas, columns))

    draw = precision_noise

    def add_columns(self, scale: float, begin: int, panel: NDArray[np.float32]) -> None:  # noqa: ARG002
        """Add to the diagonal."""
        columns = np.arange(panel.shape[1])
        panel[columns, columns] += scale


class Borders(NamedTuple):
    """The neighbours of area i: ``neighbours[start[i] : start[i + 1]]``."""

    start: NDArray[np.int64]
    neighbours: NDArray[np.uint32]

    @classmethod
    def of(cls, graph: AreaGraph) -> "Borders":
        """Lay out the graph for compiled code."""
        A = graph.sparse_adjacency()
        return cls(A.indptr.astype(np.int64), A.indices.astype(np.uint32))


def spectrum(graph: AreaGraph) -> tuple[float, float]:
    """Bound the eigenvalues of A from below and above, a little generously.

    >>> low, high = spectrum(AreaGraph(3, [[0, 1], [1, 2]]))
    >>> -1.5 < low < -1.41 and 1.41 < high < 1.5
    True
    """
    A = graph.sparse_adjacency()
    if graph.n_areas <= FEW_AREAS:
        values = np.linalg.eigvalsh(A.toarray())
        low, high = float(values[0]), float(values[-1])
    else:
        start = 1.0 + np.arange(graph.n_areas) % 7 / 10  # the same on every run, but not an eigenvector
        ends = (eigsh(A, k=1, which=end, v0=start, return_eigenvectors=False, tol=1e-4) for end in ("SA", "LA"))
        low, high = (float(each[0]) for each in ends)
    margin = 0.01 * (high - low) + 1e-3
    return low - margin, high + margin


class Polynomial(NamedTuple):
    """Chebyshev coefficients of e^{sx} for x within ``half`` of ``centre``."""

    coefficients: FloatArray
    centre: float
    half: float


def exponential_polynomial(power: float, low: float, high: float) -> Polynomial:
    """e^{sx} = e^{sc} (I₀(sh) + 2 Σ I_k(sh) T_k((x − c)/h)), c and h the centre and half-width of the interval.

    >>> p = exponential_polynomial(-1.0, -2.0, 3.0)
    >>> x = np.linspace(-2, 3, 7)
    >>> bool(np.allclose(np.polynomial.chebyshev.chebval((x - p.centre) / p.half, p.coefficients), np.exp(-x)))
    True
    """
    centre, half = (low + high) / 2, (high - low) / 2
    k = np.arange(MOST_TERMS)
    size = 2 * ive(k, abs(power) * half)  # without the factor e^{|s|h}, so that the largest value is 1
    size[0] /= 2
    terms = max(2, int(np.searchsorted(-size, -ACCURACY / 10)))
    sign = np.sign(power) ** k[:terms]
    return Polynomial(sign * size[:terms] * np.exp(power * centre + abs(power) * half), centre, half)


@compiled
def apply_polynomial(borders: Borders, p: Polynomial, vectors: FloatArray, result: FloatArray) -> None:
    """Write p(A) times each column of ``vectors``, (areas, columns), into ``result``."""
    areas, columns = vectors.shape
    before, now = vectors.copy(), np.empty_like(vectors)
    row = np.empty(columns)
    for i in range(areas):
        row[:] = 0.0
        for place in range(borders.start[i], borders.start[i + 1]):
            other = vectors[borders.neighbours[place]]
            for k in range(columns):
                row[k] += other[k]
        for k in range(columns):
            now[i, k] = (row[k] - p.centre * vectors[i, k]) / p.half
            result[i, k] = p.coefficients[0] * vectors[i, k] + p.coefficients[1] * now[i, k]
    for degree in range(2, len(p.coefficients)):
        coefficient, two = p.coefficients[degree], 2.0 / p.half
        for i in range(areas):
            row[:] = 0.0
            for place in range(borders.start[i], borders.start[i + 1]):
                other = now[borders.neighbours[place]]
                for k in range(columns):
                    row[k] += other[k]
            for k in range(columns):
                new = two * (row[k] - p.centre * now[i, k]) - before[i, k]
                before[i, k] = new  # no other area reads this row of the term before last
                result[i, k] += coefficient * new
        before, now = now, before


@compiled
def add_walks(
    borders: Borders,
    power: float,
    radius: int,
    least: float,
    area: int,
    work: FloatArray,
    near: IntArray,
    seen: IntArray,
) -> int:
    """Write row ``area`` of e^{sA} into ``work[0]``, at the areas ``near``; return how many areas that is.

    Walks of up to ``radius`` steps away from the area count, until all those of one length add less than ``least``.
    ``work``, (3, areas), must be zero, and ``seen`` must not contain ``area``; `forget` clears ``work``.
    """
    total, now, then = work[0], work[1], work[2]
    near[0], seen[area], size, inner = area, area, 1, 0
    total[area] = now[area] = 1.0
    for steps in range(1, 400):
        if steps <= radius:
            outer = size
            for place in range(inner, outer):
                here = near[place]
                for at in range(borders.start[here], borders.start[here + 1]):
                    other = np.int64(borders.neighbours[at])
                    if seen[other] != area:
                        seen[other], near[size] = area, other
                        size += 1
            inner = outer
        added, factor = 0.0, power / steps
        for place in range(size):
            here, walks = near[place], 0.0
            for at in range(borders.start[here], borders.start[here + 1]):
                walks += now[borders.neighbours[at]]
            then[here] = factor * walks
            added += then[here] * then[here]
        for place in range(size):
            here = near[place]
            total[here] += then[here]
            now[here] = then[here]
        if added < least * least:
            break
    return size


@compiled
def forget(work: FloatArray, near: IntArray, size: int) -> None:
    """Clear what `add_walks` wrote."""
    for place in range(size):
        work[0, near[place]] = work[1, near[place]] = work[2, near[place]] = 0.0


@compiled
def _diagonal(borders: Borders, power: float, least: float, result: FloatArray) -> None:
    areas = len(result)
    work, near, seen = np.zeros((3, areas)), np.empty(areas, np.int64), np.full(areas, -1)
    for area in range(areas):
        size = add_walks(borders, power / 2, areas, least, area, work, near, seen)
        square = 0.0
        for place in range(size):
            square += work[0, near[place]] ** 2
        result[area] = square
        forget(work, near, size)


def exponential_diagonal(borders: Borders, power: float) -> FloatArray:
    """(e^{sA})_ii for every area i, as |e^{sA/2} e_i|²: half the power needs much shorter walks.

    >>> exponential_diagonal(Borders.of(AreaGraph(2, [[0, 1]])), 1.0).round(4)
    array([1.5431, 1.5431])
    """
    result = np.empty(len(borders.start) - 1)
    _diagonal(borders, power, ACCURACY, result)
    return result


@compiled
def _rows_among(borders: Borders, areas: IntArray, least: float, result: FloatArray) -> None:
    n_areas = len(borders.start) - 1
    work, near, seen = np.zeros((3, n_areas)), np.empty(n_areas, np.int64), np.full(n_areas, -1)
    for row in range(len(areas)):
        size = add_walks(borders, 1.0, n_areas, least, areas[row], work, near, seen)
        for column in range(len(areas)):
            result[row, column] = work[0, areas[column]]
        forget(work, near, size)


def correlation_among(graph: AreaGraph, areas: IntArray) -> FloatArray:
    """C_ij = (e^A)_ij / √((e^A)_ii (e^A)_jj) for some areas of a map of any size, at the cost of only their walks.

    >>> correlation_among(AreaGraph(4, [[0, 1], [1, 2], [2, 3]]), np.array([0, 1])).round(3)
    array([[1.   , 0.732],
           [0.732, 1.   ]])
    """
    communicability = np.empty((len(areas), len(areas)))
    _rows_among(Borders.of(graph), np.asarray(areas, dtype=np.int64), ACCURACY, communicability)
    root = np.sqrt(np.diagonal(communicability))
    correlation: FloatArray = communicability / np.outer(root, root)
    np.fill_diagonal(correlation, 1.0)
    return (correlation + correlation.T) / 2


@compiled
def add_exponential_columns(
    borders: Borders,
    scales: FloatArray,
    reach: tuple[int, float],
    begin: int,
    panel: NDArray[np.float32],
) -> None:
    """Add s_i s_j (e^{−A})_ij, i ≥ j, to a matrix from column ``begin`` on; ``panel`` holds its rows from there on.

    ``reach`` is how far walks are followed, and the least that those of one length must add: see `add_walks`.
    """
    areas = len(scales)
    work, near, seen = np.zeros((3, areas)), np.empty(areas, np.int64), np.full(areas, -1)
    for column in range(panel.shape[1]):
        area = begin + column
        size = add_walks(borders, -1.0, reach[0], reach[1], area, work, near, seen)
        for place in range(size):
            other = near[place]
            if other >= area:
                panel[other - begin, column] += scales[area] * scales[other] * work[0, other]
        forget(work, near, size)
