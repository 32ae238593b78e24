"""What a fit says of the population of judges, for the adaptive design."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judge", "0002_answers_are_append_only"),
        ("studies", "0006_outlines_are_coordinates"),
    ]

    operations = [
        migrations.CreateModel(
            name="PopulationMap",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("fit_number", models.PositiveIntegerField()),
                ("packed", models.BinaryField()),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="population_map", to="studies.study"
                    ),
                ),
            ],
        ),
    ]
