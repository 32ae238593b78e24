"""Tiles of large maps."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("studies", "0014_scenes_know_real_neighbours")]

    operations = [
        migrations.CreateModel(
            name="Tile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("level", models.PositiveSmallIntegerField()),
                ("x", models.PositiveSmallIntegerField()),
                ("y", models.PositiveSmallIntegerField()),
                ("content", models.BinaryField()),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tiles", to="studies.study"
                    ),
                ),
            ],
            options={
                "constraints": (models.UniqueConstraint(fields=("study", "level", "x", "y"), name="tile_once"),),
            },
        ),
    ]
