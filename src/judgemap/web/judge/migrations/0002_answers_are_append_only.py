"""An answer is never changed: a changed mind is a new revision. Kept so by a trigger."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

FORWARDS = {
    "sqlite": [
        "CREATE TRIGGER answer_append_only BEFORE UPDATE ON judge_answer "
        "BEGIN SELECT RAISE(ABORT, 'answers are only ever added'); END"
    ],
    "postgresql": [
        "CREATE FUNCTION answer_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'answers are only ever added'; END $$",
        "CREATE TRIGGER answer_append_only BEFORE UPDATE ON judge_answer "
        "FOR EACH ROW EXECUTE FUNCTION answer_append_only()",
    ],
}
BACKWARDS = {
    "sqlite": ["DROP TRIGGER answer_append_only"],
    "postgresql": ["DROP TRIGGER answer_append_only ON judge_answer", "DROP FUNCTION answer_append_only()"],
}


def add_trigger(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001
    for statement in FORWARDS[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


def drop_trigger(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001
    for statement in BACKWARDS[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("judge", "0001_models")]
    operations = [migrations.RunPython(add_trigger, drop_trigger)]
