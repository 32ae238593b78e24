"""Maps of fits in which judges differ, as the panel and each judge see them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fits", "0002_no_second_queue")]
    operations = [
        migrations.CreateModel(
            name="FitView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("judge", models.CharField(blank=True, max_length=10)),
                ("rows", models.JSONField(default=list)),
                ("findings", models.JSONField(default=dict)),
                (
                    "fit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="views", to="fits.fitrun"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("fit", "judge"), name="fit_view_once")],
            },
        ),
    ]
