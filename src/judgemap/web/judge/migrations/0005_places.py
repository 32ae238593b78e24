"""Judges of large maps say which places they know."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judge", "0004_groups"), ("studies", "0012_regions")]

    operations = [migrations.AddField("judge", "places", models.JSONField(default=list))]
