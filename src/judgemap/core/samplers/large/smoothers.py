"""Priors λ ~ N(0, α² C) that never form a matrix, for maps of tens of thousands of areas.

A `Smoother` provides what the engine for large maps (`core.samplers.large`) needs from C: products with its inverse,
noise, and its entries for when a matrix is needed after all. `Communicability` is the paper's prior and `Independent`
that of the standard model; `core.car` and `core.multiresolution` have the others.
"""

from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from judgemap.core.model.graph import AreaGraph
from judgemap.core.types import FloatArray

SPAN_LIMIT = 30.0
"""If the eigenvalues of A span more than this, e^A cannot be inverted in double precision."""
REACH = (15, 1e-7)
"""Longest walk, in borders, and smallest contribution that go into a mass matrix in single precision."""


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


def log_density(smoother: Smoother, log_variance: FloatArray, size: FloatArray) -> FloatArray:
    """Return log N(λ; 0, e^τ C) up to a constant, where ``size`` is λᵀC⁻¹λ.

    >>> log_density(Independent(2), np.zeros(1), np.array([4.0]))
    array([-2.])
    """
    return -(smoother.n_areas * log_variance + size * np.exp(-log_variance)) / 2


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
        from judgemap.core.samplers.large import walks

        self.graph, self._walks = graph, walks
        self.low, self.high = walks.spectrum(graph)
        if self.high - self.low > SPAN_LIMIT:
            raise ValueError(
                f"the graph's eigenvalues span {self.high - self.low:.0f}: some areas border very many others and e^A "
                "cannot be inverted in double precision; check the edges"
            )
        self.borders = walks.Borders.of(graph)
        self.root: FloatArray = np.sqrt(walks.exponential_diagonal(self.borders, 1.0))

    @property
    def n_areas(self) -> int:
        """The number of areas."""
        return self.graph.n_areas

    @cached_property
    def diagonal(self) -> FloatArray:
        """D_ii (e^{−A})_ii."""
        found: FloatArray = self.root**2 * self._walks.exponential_diagonal(self.borders, -1.0)
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
        self._walks.add_exponential_columns(self.borders, scales, REACH, begin, panel)

    def _root(self) -> FloatArray:
        return self.root[:, None]

    def _power(self, power: float, vectors: FloatArray) -> FloatArray:
        """e^{sA} times each column."""
        polynomial = self._walks.exponential_polynomial(power, self.low, self.high)
        vectors, result = np.ascontiguousarray(vectors), np.empty_like(vectors)
        self._walks.apply_polynomial(self.borders, polynomial, vectors, result)
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
