"""Counts of studies with very many answers are kept."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0004_panel_plan"), ("studies", "0015_tiles")]

    operations = [
        migrations.CreateModel(
            name="StudyCounts",
            fields=[
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="counts",
                        serialize=False,
                        to="studies.study",
                    ),
                ),
                ("kept_at", models.DateTimeField()),
                ("packed", models.BinaryField()),
            ],
        ),
    ]
