"""Keep BLAS to one thread: small matrices are faster that way, and rounding does not depend on the number of cores."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

import scipy.linalg  # noqa: F401 - loads its own BLAS, which must be there before we look for libraries
from threadpoolctl import ThreadpoolController

T = TypeVar("T")
S = TypeVar("S")


class Workers:
    """Threads for work cut into pieces; the pieces, and so the rounding, do not depend on the number of threads.

    >>> Workers(2).each(abs, [-1, 2])
    [1, 2]
    """

    def __init__(self, cores: int = 1) -> None:
        self.pool = ThreadPoolExecutor(cores) if cores > 1 else None

    def each(self, work: Callable[[T], S], pieces: Iterable[T]) -> list[S]:
        """Do the work on every piece."""
        return list(map(work, pieces) if self.pool is None else self.pool.map(work, pieces))


def pieces(length: int, size: int) -> list[slice]:
    """Cut a range into pieces of one size, at least 1; the last may be shorter.

    >>> pieces(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, size)
    return [slice(first, min(first + size, length)) for first in range(0, length, size)]


def halves(length: int) -> list[slice]:
    """Cut a range in two.

    >>> halves(5)
    [slice(0, 2, None), slice(2, 5, None)]
    """
    return [slice(0, length // 2), slice(length // 2, length)]


def one_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread inside a ``with`` block.

    >>> from threadpoolctl import threadpool_info
    >>> with one_thread():
    ...     {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}
    {1}
    """
    limit: AbstractContextManager[object] = _libraries().limit(limits=1)
    return limit


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries once: scanning everything a process has loaded takes as long as a small fit's warm-up."""
    return ThreadpoolController()


def available_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
