"""The trace of the covariance of centred strengths, which designs make small, and what a pair does to it.

With K = I − 11ᵀ/N, the strengths are reported as Kλ, because the likelihood knows nothing of their mean. For a
posterior covariance V, tr(KVK) adds up the variances of the reported strengths; asking a pair x = e_i − e_j takes from
it, per unit of information and at first order, ‖KVx‖² = xᵀ(VKV)x.
"""

import numpy as np
from scipy.linalg import lapack

from judgemap.core.types import FloatArray


def centred_trace(V: FloatArray) -> float:
    """tr(KVK) = tr V − 1ᵀV1/N.

    >>> centred_trace(np.eye(4))
    3.0
    """
    return float(np.trace(V) - V.sum() / len(V))


def centred_square(V: FloatArray) -> FloatArray:
    """VKV = (KV)ᵀ(KV), because K² = K; NumPy halves the work where it sees a matrix times its own transpose."""
    centred = V - V.mean(axis=0)
    square: FloatArray = centred.T @ centred
    return square


def contrasts(M: FloatArray) -> FloatArray:
    """xᵀMx = M_ii + M_jj − 2M_ij for the differences x = e_i − e_j of all pairs at once, as a matrix; M is symmetric.

    >>> contrasts(np.eye(2))
    array([[0., 2.], [2., 0.]])
    """
    diagonal = np.diagonal(M)
    result: FloatArray = M * -2.0
    result += diagonal[:, None]
    result += diagonal
    return result


def inverse(precision: FloatArray) -> FloatArray:
    """Invert a symmetric positive definite matrix from its Cholesky factor: half of the work of a general inverse.

    >>> inverse(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0. ], [0.  , 0.25]])
    """
    factor, failed = lapack.dpotrf(precision.T, lower=1)
    if failed:
        raise ValueError("the precision of the strengths is not positive definite; check the prior's covariance")
    result, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    upper: FloatArray = np.ascontiguousarray(result.T)
    upper += np.tril(upper.T, -1)
    return upper
