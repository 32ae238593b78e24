"""Mass matrices for large maps: coordinates in which the posterior is nearly N(0, I), or the equivalent.

A mass M ≈ H, the curvature at the mode, has a ``position`` x for the strengths and a momentum v. Under the Gaussian
N(m, M⁻¹), trajectories rotate (x − c, v) like the hands of a clock; kicks by ``pull(∇log p) + x − c`` account for the
difference from it. A trajectory is exact for any mass and for any ``pull`` that depends only on x, because the
Metropolis test uses true energies; a better mass is accepted more often.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from judgemap.core.samplers.large.model import Centre
from judgemap.core.threads import halves
from judgemap.core.types import FloatArray

Singles = NDArray[np.float32]

PANEL = 512
"""Columns of the factor in one panel."""
CHUNK = 4096
"""Rows of a panel processed at a time, whatever the number of threads."""
JITTERS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)
"""Relative amounts added to the diagonal until the matrix is positive definite in single precision."""
KICK_TOLERANCE, NOISE_TOLERANCE = 1e-3, 1e-7
"""Tolerances of conjugate gradients: kicks may be rough, momenta may not."""


class Mass(Protocol):
    """What trajectories need from a mass. Arrays are (areas, chains), float64."""

    centre: FloatArray
    """The position of the mode, (areas, 1)."""

    def strengths(self, position: FloatArray) -> FloatArray:
        """Return λ, which is linear in the position."""

    def position(self, strengths: FloatArray) -> FloatArray:
        """Invert `strengths`."""

    def pull(self, gradient: FloatArray) -> FloatArray:
        """Turn ∇log p(λ) into the acceleration of the position."""

    def kinetic(self, momentum: FloatArray) -> FloatArray:
        """Return the kinetic energy of each chain, which must match the distribution of `noise` exactly."""

    def noise(self, rng: np.random.Generator, chains: int) -> FloatArray:
        """Draw momenta."""


class DenseMass:
    """x = Lᵀλ with LLᵀ = H, a Cholesky factor in single precision; momenta are N(0, I).

    L is stored in panels of columns, on and below the diagonal: 2N² bytes. The diagonal square of each panel is stored
    inverted, so that solving becomes multiplying.
    """

    def __init__(self, centre: Centre) -> None:
        self.workers = centre.curvature.model.workers
        self.begins = range(0, centre.curvature.model.counts.n_areas, PANEL)
        for jitter in JITTERS:
            self.panels = [_panel(centre, begin, jitter) for begin in self.begins]
            if self._factor():
                break
        else:
            raise FloatingPointError("the curvature is not positive definite in single precision")
        self.centre = self.position(centre.strengths[:, None])

    def _factor(self) -> bool:
        """Factor in place, panel by panel from the left; return False if the matrix is not positive definite."""
        for number, (begin, panel) in enumerate(zip(self.begins, self.panels, strict=True)):
            width = panel.shape[1]
            # An earlier panel of width w starting at s holds its rows from s on; the first w of them are inverted.
            before = [left[begin - start :] for start, left in zip(self.begins[:number], self.panels, strict=False)]

            def take_off(
                rows: slice, panel: Singles = panel, before: list[Singles] = before, width: int = width
            ) -> None:
                for left in before:
                    panel[rows] -= left[rows] @ left[:width].T

            chunks = [slice(first, first + CHUNK) for first in range(0, len(panel), CHUNK)]
            self.workers.each(take_off, chunks)
            factor, failed = lapack.spotrf(panel[:width], lower=1)
            if failed:
                return False
            panel[:width] = np.tril(lapack.strtri(factor, lower=1)[0])

            def divide(rows: slice, panel: Singles = panel, width: int = width) -> None:
                below = slice(max(rows.start, width), rows.stop)
                panel[below] = panel[below] @ panel[:width].T

            self.workers.each(divide, chunks)
        return True

    def strengths(self, position: FloatArray) -> FloatArray:
        """Return L⁻ᵀx."""
        x = position.astype(np.float32)
        for begin, panel in zip(reversed(self.begins), reversed(self.panels), strict=True):
            width = panel.shape[1]
            end = begin + width
            below, known = panel[width:], x[end:]

            def meet(rows: slice, below: Singles = below, known: Singles = known) -> Singles:
                met: Singles = below[rows].T @ known[rows]
                return met

            parts = self.workers.each(meet, halves(len(below)))
            x[begin:end] = panel[:width].T @ (x[begin:end] - parts[0] - parts[1])
        return x.astype(np.float64)

    def position(self, strengths: FloatArray) -> FloatArray:
        """Return Lᵀλ."""
        values, result = strengths.astype(np.float32), np.empty(strengths.shape)
        for begin, panel in zip(self.begins, self.panels, strict=True):
            width = panel.shape[1]
            end = begin + width
            square = np.linalg.inv(panel[:width].astype(np.float64))
            result[begin:end] = square.T @ values[begin:end] + panel[width:].T @ values[end:]
        return result

    def pull(self, gradient: FloatArray) -> FloatArray:
        """L⁻¹g."""
        g = gradient.astype(np.float32)
        for begin, panel in zip(self.begins, self.panels, strict=True):
            width = panel.shape[1]
            end = begin + width
            here = panel[:width] @ g[begin:end]
            g[begin:end] = here
            below, rest = panel[width:], g[end:]

            def take_off(rows: slice, below: Singles = below, rest: Singles = rest, here: Singles = here) -> None:
                rest[rows] -= below[rows] @ here

            self.workers.each(take_off, halves(len(below)))
        return g.astype(np.float64)

    def kinetic(self, momentum: FloatArray) -> FloatArray:
        """|v|²/2."""
        energy: FloatArray = np.einsum("ik,ik->k", momentum, momentum) / 2
        return energy

    def noise(self, rng: np.random.Generator, chains: int) -> FloatArray:
        """Draw standard normal momenta."""
        return rng.standard_normal((len(self.centre), chains))


class FreeMass:
    """x = λ, and H is never formed: H⁻¹ by conjugate gradients; momenta are N(0, H⁻¹).

    For maps with too many areas to store a factor. It needs only a few vectors of memory per chain.
    """

    def __init__(self, centre: Centre) -> None:
        self.curvature = centre.curvature
        self.centre = centre.strengths[:, None]

    def strengths(self, position: FloatArray) -> FloatArray:
        """Return x."""
        return position

    def position(self, strengths: FloatArray) -> FloatArray:
        """Return λ."""
        return strengths

    def pull(self, gradient: FloatArray) -> FloatArray:
        """H⁻¹g, approximately."""
        return self.curvature.solve(gradient, KICK_TOLERANCE)

    def kinetic(self, momentum: FloatArray) -> FloatArray:
        """vᵀHv/2."""
        energy: FloatArray = np.einsum("ik,ik->k", momentum, self.curvature.times(momentum)) / 2
        return energy

    def noise(self, rng: np.random.Generator, chains: int) -> FloatArray:
        """H⁻¹ times a draw from N(0, H)."""
        return self.curvature.solve(self.curvature.noise(rng, chains), NOISE_TOLERANCE)


def dense_bytes(n_areas: int) -> int:
    """Return the size of a `DenseMass` in bytes.

    >>> dense_bytes(32_844) // 10**6
    2191
    """
    return 2 * n_areas * (n_areas + PANEL)


def _panel(centre: Centre, begin: int, jitter: float) -> Singles:
    """Write the columns of H from ``begin`` on, on and below the diagonal."""
    curvature = centre.curvature
    counts, w, n = curvature.model.counts, curvature.weights, curvature.model.counts.n_areas
    panel: Singles = np.zeros((n - begin, min(PANEL, n - begin)), dtype=np.float32)
    width = panel.shape[1]
    curvature.model.smoother.add_columns(float(np.exp(-curvature.log_variance)), begin, panel)
    here = np.flatnonzero((counts.first >= begin) & (counts.first < begin + width))
    panel[counts.second[here] - begin, counts.first[here] - begin] -= w[here]
    columns = np.arange(width)
    panel[columns, columns] = curvature.diagonal[begin : begin + width] * (1 + jitter)
    return panel
