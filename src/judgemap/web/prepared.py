"""Queries compiled once. Writing a query anew takes the ORM ten times as long as the database takes to answer it."""

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Generic, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


class PreparedQuery(Generic[Row]):
    """A query whose SQL is kept by the process; only its values change.

    ``build`` takes the values by name and returns the query set. It is called once, with ``examples`` that must differ
    from each other and from every other constant in the query.
    """

    def __init__(self, model: type[Row], build: Callable[..., QuerySet[Row]], **examples: str | int) -> None:
        self._model, self._build = model, build
        self._examples = examples
        self._compiled: dict[str, tuple[str, list[Callable[[dict[str, object]], object]]]] = {}

    def __call__(self, **values: object) -> list[Row]:
        """Ask with these values, one for each example."""
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
