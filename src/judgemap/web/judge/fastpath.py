"""The fast path of an answer: queries compiled once, and writes that share a commit.

The ORM takes longer to build a query than the database takes to run it: with its five queries built anew each time, an
answer takes half as much processor time again.

SQLite writes one transaction at a time, and a safe one waits a few milliseconds for the disk. So that many judges do
not queue for the disk one by one, the writes that are waiting when the disk is free go into one transaction: each in
its own savepoint, one commit for all, and no answer is acknowledged before it. PostgreSQL does this by itself.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from operator import itemgetter
from typing import Generic, ParamSpec, TypeVar

from django.db import OperationalError, connection, transaction
from django.db.models import Model, QuerySet

Given = ParamSpec("Given")
Result = TypeVar("Result")
Row = TypeVar("Row", bound=Model)
MOST = 32
"""How many acts share one transaction at most."""


class _Act(Generic[Result]):
    """A function call that waits for its turn to write, and its outcome."""

    def __init__(self, do: Callable[[], Result]) -> None:
        self._do = do
        self._result: Result | None = None
        self._error: BaseException | None = None
        self.ended = False

    def run(self) -> None:
        """Run the call in a savepoint; an error undoes only this act."""
        try:
            with transaction.atomic():
                self._result = self._do()
        except Exception as error:
            self._error = error

    def fail(self, error: BaseException) -> None:
        """Record that nothing was stored, whatever the call returned."""
        self._error = error

    def result(self) -> Result:
        """Return what the call returned, or raise what it raised."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]


_WAITING: deque[_Act[object]] = deque()
_DISK = threading.Lock()


def in_one_commit(do: Callable[Given, Result]) -> Callable[Given, Result]:
    """Run a function in a transaction; on SQLite, it is shared with the calls that other threads wait to make."""

    @wraps(do)
    def act(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        if connection.vendor != "sqlite" or connection.in_atomic_block:
            with _all_or_nothing():
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
        with _all_or_nothing():
            for each in acts:
                each.run()
    except BaseException as error:
        for each in acts:
            each.fail(error)
        if not isinstance(error, Exception):
            raise
    finally:
        for each in acts:
            each.ended = True


@contextmanager
def _all_or_nothing() -> Iterator[None]:
    """Commit at the end, or raise.

    After some errors (a full disk, a bad read) SQLite undoes the whole transaction by itself. Django notices only when
    a savepoint is missing, and then silently leaves the outer block with a rollback.
    """
    with transaction.atomic():
        yield
        undone = connection.vendor == "sqlite" and not connection.connection.in_transaction
        if undone or connection.needs_rollback:
            raise OperationalError("the database undid the transaction; nothing of it was kept")


class PreparedQuery(Generic[Row]):
    """A query whose SQL the process caches; only its values change.

    ``build`` takes the values by name and returns the query set. It is called once, with ``examples`` that must differ
    from each other and from every other constant in the query.
    """

    def __init__(self, model: type[Row], build: Callable[..., QuerySet[Row]], **examples: str | int) -> None:
        self._model, self._build = model, build
        self._examples = examples
        self._compiled: dict[str, tuple[str, list[Callable[[dict[str, object]], object]]]] = {}

    def __call__(self, **values: object) -> list[Row]:
        """Run the query with these values, one for each example."""
        if connection.vendor not in self._compiled:
            self._compiled[connection.vendor] = self._compile()
        sql, readers = self._compiled[connection.vendor]
        return list(self._model._base_manager.raw(sql, [read(values) for read in readers]))  # noqa: SLF001 - Django's

    def _compile(self) -> tuple[str, list[Callable[[dict[str, object]], object]]]:
        sql, params = self._build(**self._examples).query.sql_with_params()
        names = {example: name for name, example in self._examples.items()}
        if not set(names) <= set(params):
            raise ValueError(f"the query has the constants {params}, and not every example of {self._examples}")
        return sql, [itemgetter(names[param]) if param in names else partial(_constant, param) for param in params]


def _constant(value: object, values: dict[str, object]) -> object:  # noqa: ARG001 - read like a value
    return value
