"""What fits of large maps keep of each area, in rows of their own."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("fits", "0004_briefing_words")]
    operations = [
        migrations.CreateModel(
            name="FitArea",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                ("met", models.JSONField(default=list)),
                (
                    "fit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="areas", to="fits.fitrun"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("fit", "position"), name="fit_area_once")],
            },
        ),
    ]
