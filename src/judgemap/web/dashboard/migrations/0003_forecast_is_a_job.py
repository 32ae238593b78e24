"""A forecast has the fields and states of every job."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0002_tallies_go_with_withdrawal"), ("fits", "0001_models")]

    operations = [
        migrations.RemoveConstraint(model_name="forecast", name="forecast_status"),
        migrations.AddField(model_name="forecast", name="cancel_asked", field=models.BooleanField(default=False)),
        migrations.AddField(model_name="forecast", name="finished_at", field=models.DateTimeField(null=True)),
        migrations.AddField(model_name="forecast", name="log", field=models.TextField(blank=True)),
        migrations.AddField(model_name="forecast", name="started_at", field=models.DateTimeField(null=True)),
        migrations.AlterField(model_name="forecast", name="asked_at", field=models.DateTimeField(auto_now_add=True)),
        migrations.AlterField(model_name="forecast", name="heard_at", field=models.DateTimeField(null=True)),
        migrations.AlterField(
            model_name="forecast",
            name="status",
            field=models.CharField(
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
        migrations.AddConstraint(
            model_name="forecast",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["waiting", "running", "done", "failed", "cancelled", "lost"])),
                name="forecast_status",
            ),
        ),
    ]
