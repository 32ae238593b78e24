"""Makes the trigger of `0002_tallies_go_with_withdrawal` again: SQLite loses it when a column is added to judges."""

from importlib import import_module

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

FORWARDS = import_module("judgemap.web.dashboard.migrations.0002_tallies_go_with_withdrawal").FORWARDS


def make_again(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001
    """Make the trigger, where it is SQLite's."""
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER IF EXISTS tally_goes_with_withdrawal")
        for statement in FORWARDS["sqlite"]:
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0005_study_counts"), ("judge", "0005_places")]

    operations = [migrations.RunPython(make_again, migrations.RunPython.noop)]
