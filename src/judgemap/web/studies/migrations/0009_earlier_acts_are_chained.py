"""Acts of earlier versions are put into the chain; the trigger guards what vouches for an act as well."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

FIXED = ("verb", "at", "number", "digest", "study_key", "researcher_key")
CHANGED = " OR ".join([
    *(f"OLD.{name} IS DISTINCT FROM NEW.{name}" for name in FIXED),
    "CAST(OLD.detail AS text) IS DISTINCT FROM CAST(NEW.detail AS text)",
    *(f"(NEW.{name} IS NOT NULL AND OLD.{name} IS DISTINCT FROM NEW.{name})" for name in ("study_id", "researcher_id")),
])  # fmt: skip
DROP = {
    "sqlite": ["DROP TRIGGER IF EXISTS act_append_only"],  # gone already, where the table was made anew
    "postgresql": ["DROP TRIGGER act_append_only ON studies_act"],
}
CREATE = {
    "sqlite": [
        f"CREATE TRIGGER act_append_only BEFORE UPDATE ON studies_act WHEN {CHANGED.replace('IS DISTINCT FROM', 'IS NOT')} "
        "BEGIN SELECT RAISE(ABORT, 'acts are only ever added'); END",
    ],
    "postgresql": [
        f"CREATE TRIGGER act_append_only BEFORE UPDATE ON studies_act FOR EACH ROW WHEN ({CHANGED}) "
        "EXECUTE FUNCTION act_append_only()",
    ],
}


def chain_acts(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    from judgemap.web.studies.log import Entry

    alias, vendor = schema_editor.connection.alias, schema_editor.connection.vendor
    for statement in DROP[vendor]:
        schema_editor.execute(statement)
    acts = apps.get_model("studies", "Act").objects.using(alias)
    number, digest = 0, ""
    for act in acts.order_by("pk"):
        number += 1
        entry = Entry(number, act.at, act.verb, act.detail, act.study_id, act.researcher_id)
        digest = entry.digest(digest)
        acts.filter(pk=act.pk).update(
            number=number, digest=digest, study_key=act.study_id, researcher_key=act.researcher_id
        )
    apps.get_model("studies", "LogHead").objects.using(alias).create(pk=1, number=number, digest=digest)
    for statement in CREATE[vendor]:
        schema_editor.execute(statement)


def unchain_acts(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Leave the digests, which an earlier version does not read; they are made anew on the way back."""
    alias = schema_editor.connection.alias
    for statement in DROP[schema_editor.connection.vendor]:
        schema_editor.execute(statement)
    apps.get_model("studies", "LogHead").objects.using(alias).all().delete()
    apps.get_model("studies", "Act").objects.using(alias).update(number=None, digest="")


class Migration(migrations.Migration):
    dependencies = [("studies", "0008_log_is_a_chain"), ("accounts", "0001_models")]
    operations = [migrations.RunPython(chain_acts, unchain_acts)]
