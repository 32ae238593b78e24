"""Uploads that wait for their second step belong to studies; earlier versions kept them in an app of their own."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

EARLIER = "making_upload"


def adopt_uploads(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Put the earlier table, with its rows, in the new one's place."""
    connection = schema_editor.connection
    if EARLIER in connection.introspection.table_names():
        upload = apps.get_model("studies", "Upload")
        schema_editor.delete_model(upload)
        schema_editor.alter_db_table(upload, EARLIER, "studies_upload")


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("studies", "0002_acts_are_append_only"),
    ]

    operations = [
        migrations.CreateModel(
            name="Upload",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("content", models.BinaryField()),
                ("definition", models.TextField(blank=True)),
                ("inspection", models.JSONField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "researcher",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="uploads", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.RunPython(adopt_uploads, migrations.RunPython.noop),
    ]
