"""An act in the audit log is never changed, but that it loses its study or its researcher with them. By a trigger."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

CHANGED = (
    "OLD.verb IS DISTINCT FROM NEW.verb OR OLD.at IS DISTINCT FROM NEW.at"
    " OR CAST(OLD.detail AS text) IS DISTINCT FROM CAST(NEW.detail AS text)"
    " OR (NEW.study_id IS NOT NULL AND OLD.study_id IS DISTINCT FROM NEW.study_id)"
    " OR (NEW.researcher_id IS NOT NULL AND OLD.researcher_id IS DISTINCT FROM NEW.researcher_id)"
)
FORWARDS = {
    "sqlite": [
        f"CREATE TRIGGER act_append_only BEFORE UPDATE ON studies_act WHEN {CHANGED.replace('IS DISTINCT FROM', 'IS NOT')} "
        "BEGIN SELECT RAISE(ABORT, 'acts are only ever added'); END",
    ],
    "postgresql": [
        "CREATE FUNCTION act_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'acts are only ever added'; END $$",
        f"CREATE TRIGGER act_append_only BEFORE UPDATE ON studies_act FOR EACH ROW WHEN ({CHANGED}) "
        "EXECUTE FUNCTION act_append_only()",
    ],
}
BACKWARDS = {
    "sqlite": ["DROP TRIGGER act_append_only"],
    "postgresql": [
        "DROP TRIGGER act_append_only ON studies_act",
        "DROP FUNCTION act_append_only()",
    ],
}


def add_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001
    for statement in FORWARDS[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def drop_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001
    for statement in BACKWARDS[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("studies", "0001_models")]
    operations = [migrations.RunPython(add_triggers, drop_triggers)]
