"""Statements compiled once. Writing one anew takes the ORM ten times as long as the database takes to answer it."""

from collections.abc import Callable
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Field, Model, QuerySet

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


def insert(row: Model) -> None:
    """Insert a new row as it is: no signals, and no defaults but those that the row already has."""
    sql, fields = _insertion(type(row), connection.vendor)
    values = [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        row.pk = cursor.fetchone()[0]
    row._state.adding, row._state.db = False, connection.alias  # noqa: SLF001 - Django's


def update(row: Model, *names: str) -> None:
    """Write some fields of a row that is there."""
    sql, fields = _change(type(row), names, connection.vendor)
    values = [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


@lru_cache
def _insertion(model: type[Model], vendor: str) -> tuple[str, "list[Field[Any, Any]]"]:  # noqa: ARG001 - quotes differ
    meta = model._meta  # noqa: SLF001 - Django's
    fields = [field for field in meta.concrete_fields if not field.primary_key]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(field.column) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    returned = quote(meta.pk.column)
    return f"INSERT INTO {quote(meta.db_table)} ({columns}) VALUES ({places}) RETURNING {returned}", fields  # noqa: S608


@lru_cache
def _change(model: type[Model], names: tuple[str, ...], vendor: str) -> tuple[str, "list[Field[Any, Any]]"]:  # noqa: ARG001
    meta = model._meta  # noqa: SLF001 - Django's
    by_name = {field.name: field for field in meta.concrete_fields}
    fields = [by_name[name] for name in names]
    quote = connection.ops.quote_name
    changes = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    sql = f"UPDATE {quote(meta.db_table)} SET {changes} WHERE {quote(meta.pk.column)} = %s"  # noqa: S608
    return sql, [*fields, meta.pk]
