"""Acts that wait for the disk together.

SQLite writes one transaction at a time, and a safe one waits for the disk, some milliseconds. So that a crowd of judges
does not queue for the disk one by one, the acts that are waiting when the disk is free go into one transaction: each in
a savepoint of its own, one commit for all, and nobody is told of success before it. PostgreSQL does this by itself.
"""

import threading
from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import Generic, ParamSpec, TypeVar

from django.db import connection, transaction

Given = ParamSpec("Given")
Result = TypeVar("Result")
MOST = 32
"""Acts in one transaction."""


class _Act(Generic[Result]):
    """An act that waits, and what came of it."""

    def __init__(self, do: Callable[[], Result]) -> None:
        self._do = do
        self._result: Result | None = None
        self._error: BaseException | None = None
        self.ended = False

    def run(self) -> None:
        """Do it in a savepoint; an error undoes this act alone."""
        try:
            with transaction.atomic():
                self._result = self._do()
        except Exception as error:
            self._error = error

    def fail(self, error: BaseException) -> None:
        """Say that the commit failed."""
        self._error = error

    def result(self) -> Result:
        """Return what it returned, or raise what it raised."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]


_WAITING: deque[_Act[object]] = deque()
_DISK = threading.Lock()


def in_one_commit(do: Callable[Given, Result]) -> Callable[Given, Result]:
    """Run a function in a transaction, on SQLite together with those that other threads wait for."""

    @wraps(do)
    def act(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        if connection.vendor != "sqlite" or connection.in_atomic_block:
            with transaction.atomic():
                return do(*args, **kwargs)
        own = _Act(lambda: do(*args, **kwargs))
        _WAITING.append(own)  # type: ignore[arg-type]
        with _DISK:
            while not own.ended:
                _commit([_WAITING.popleft() for _ in range(min(len(_WAITING), MOST))])
        return own.result()

    return act


def _commit(acts: list[_Act[object]]) -> None:
    try:
        with transaction.atomic():
            for each in acts:
                each.run()
    except Exception as error:
        for each in acts:
            each.fail(error)
    finally:
        for each in acts:
            each.ended = True
