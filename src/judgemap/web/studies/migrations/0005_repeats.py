"""The share of pairs that a judge is shown again."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0004_label_points"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="studyversion",
            name="repeats",
            field=models.FloatField(default=0.0),
        ),
        migrations.AddConstraint(
            model_name="studyversion",
            constraint=models.CheckConstraint(
                condition=models.Q(("repeats__gte", 0), ("repeats__lt", 0.5)), name="version_repeats_are_few"
            ),
        ),
    ]
