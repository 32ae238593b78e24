"""A judge who withdraws takes the tally along, in the same transaction. Kept so by a trigger."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

FORWARDS = {
    "sqlite": [
        "CREATE TRIGGER tally_goes_with_withdrawal AFTER UPDATE OF withdrawn_at ON judge_judge "
        "WHEN NEW.withdrawn_at IS NOT NULL "
        "BEGIN DELETE FROM dashboard_judgetally WHERE judge_id = NEW.name; END"
    ],
    "postgresql": [
        "CREATE FUNCTION tally_goes_with_withdrawal() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN DELETE FROM dashboard_judgetally WHERE judge_id = NEW.name; RETURN NULL; END $$",
        "CREATE TRIGGER tally_goes_with_withdrawal AFTER UPDATE OF withdrawn_at ON judge_judge "
        "FOR EACH ROW WHEN (NEW.withdrawn_at IS NOT NULL) EXECUTE FUNCTION tally_goes_with_withdrawal()",
    ],
}
BACKWARDS = {
    "sqlite": ["DROP TRIGGER tally_goes_with_withdrawal"],
    "postgresql": [
        "DROP TRIGGER tally_goes_with_withdrawal ON judge_judge",
        "DROP FUNCTION tally_goes_with_withdrawal()",
    ],
}


def add_trigger(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001
    for statement in FORWARDS[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def drop_trigger(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001
    for statement in BACKWARDS[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0001_models")]
    operations = [migrations.RunPython(add_trigger, drop_trigger)]
