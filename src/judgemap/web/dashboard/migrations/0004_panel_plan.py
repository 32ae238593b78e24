"""Plans of how many judges to ask, and for how many answers each."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0003_forecast_is_a_job"),
        ("fits", "0003_views"),
        ("studies", "0006_outlines_are_coordinates"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="PanelPlan",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("asked_at", models.DateTimeField(auto_now_add=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                            ("lost", "Lost"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("progress", models.FloatField(default=0.0)),
                ("said", models.CharField(blank=True, max_length=400)),
                ("log", models.TextField(blank=True)),
                ("cancel_asked", models.BooleanField(default=False)),
                ("started_at", models.DateTimeField(null=True)),
                ("heard_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("judges", models.PositiveIntegerField()),
                ("per_judge", models.PositiveIntegerField()),
                ("differ", models.FloatField(null=True)),
                ("seed", models.PositiveBigIntegerField()),
                ("result", models.JSONField(default=dict)),
                (
                    "asked_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "fit",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="fits.fitrun"
                    ),
                ),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="panel_plan", to="studies.study"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["waiting", "running", "done", "failed", "cancelled", "lost"])
                        ),
                        name="panel_plan_status",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("progress__gte", 0), ("progress__lte", 1)), name="panel_plan_progress"
                    ),
                ],
            },
        ),
    ]
