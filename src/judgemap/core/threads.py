"""BLAS on one thread: small matrices are done sooner, and rounding does not depend on the number of cores."""

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which has to be there before libraries are looked for
from threadpoolctl import ThreadpoolController


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
    """Find the libraries once: looking through all that a process has loaded takes as long as a small fit's warm-up."""
    return ThreadpoolController()
