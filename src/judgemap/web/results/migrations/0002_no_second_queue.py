"""Fits wait in their own table; the one in which earlier versions queued them again goes."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

QUEUE = "django_tasks_database_dbtaskresult"


def drop_queue(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001
    if QUEUE in schema_editor.connection.introspection.table_names():
        schema_editor.execute(f"DROP TABLE {schema_editor.quote_name(QUEUE)}")


class Migration(migrations.Migration):
    dependencies = [("fits", "0001_models")]
    operations = [migrations.RunPython(drop_queue, migrations.RunPython.noop)]
