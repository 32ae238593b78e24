"""Keep BLAS to one thread: small matrices are faster that way, and rounding does not depend on the number of cores."""

import os
from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401 - loads its own BLAS, which must be there before we look for libraries
from threadpoolctl import ThreadpoolController


def pieces(length: int, size: int) -> list[slice]:
    """Cut a range into pieces of one size, at least 1; the last may be shorter.

    >>> pieces(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, size)
    return [slice(first, min(first + size, length)) for first in range(0, length, size)]


def one_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread: from now on, or inside a ``with`` block."""
    return _libraries().limit(limits=1)


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries once: scanning everything a process has loaded takes as long as a small fit's warm-up."""
    return ThreadpoolController()


def available_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
