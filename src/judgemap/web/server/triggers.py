"""Triggers: what the database itself keeps true, whoever writes to it.

They are made again after every migration, because SQLite loses the triggers of a table that a migration makes anew.
"""

from dataclasses import dataclass
from typing import Any

from django.db import connections
from django.db.models.signals import post_migrate


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger: ``event`` on ``table``, in rows where ``when``, is refused with a message or followed by ``then``."""

    name: str
    table: str
    event: str
    when: str = "TRUE"
    refuse: str = ""
    then: str = ""

    def statements(self, vendor: str) -> list[str]:
        """Return the SQL that makes the trigger, replacing one of the same name."""
        moment = "BEFORE" if self.refuse else "AFTER"
        if vendor == "sqlite":
            when = self.when.replace("IS DISTINCT FROM", "IS NOT")
            act = f"SELECT RAISE(ABORT, '{self.refuse}')" if self.refuse else self.then
            made = f"CREATE TRIGGER {self.name} {moment} {self.event} ON {self.table} WHEN {when} BEGIN {act}; END"
            return [f"DROP TRIGGER IF EXISTS {self.name}", made]
        act = f"RAISE EXCEPTION '{self.refuse}'" if self.refuse else self.then
        fires = f"{moment} {self.event} ON {self.table} FOR EACH ROW WHEN ({self.when})"
        body = f"$$ BEGIN {act}; RETURN NULL; END $$"
        return [
            f"CREATE OR REPLACE FUNCTION {self.name}() RETURNS trigger LANGUAGE plpgsql AS {body}",
            f"DROP TRIGGER IF EXISTS {self.name} ON {self.table}",
            f"CREATE TRIGGER {self.name} {fires} EXECUTE FUNCTION {self.name}()",
        ]


def keep_trigger(trigger: Trigger, app: Any) -> None:  # noqa: ANN401 - an AppConfig, whose type is generic
    """Make the trigger after every migration of the app's tables."""

    def make(using: str, **_: object) -> None:
        with connections[using].cursor() as cursor:
            for statement in trigger.statements(connections[using].vendor):
                cursor.execute(statement)

    post_migrate.connect(make, sender=app, weak=False, dispatch_uid=trigger.name)
