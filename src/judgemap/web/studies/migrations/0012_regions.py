"""Areas know their region, and studies of large maps ask judges which places they know."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("studies", "0011_drafts_drawings_deletion")]

    operations = [
        migrations.AddField("area", "region", models.CharField(blank=True, default="", max_length=200)),
        migrations.AddField("study", "asks_places", models.BooleanField(default=False)),
    ]
