"""Acts get a place in a chain, and a digest that vouches for them and for what came before."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0007_answers_end"),
    ]

    operations = [
        migrations.CreateModel(
            name="LogHead",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveBigIntegerField(default=0)),
                ("digest", models.CharField(blank=True, max_length=64)),
            ],
        ),
        migrations.AddField(
            model_name="act",
            name="digest",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name="act",
            name="number",
            field=models.PositiveBigIntegerField(null=True, unique=True),
        ),
        migrations.AddField(
            model_name="act",
            name="researcher_key",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="act",
            name="study_key",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AlterField(
            model_name="act",
            name="at",
            field=models.DateTimeField(default=django.utils.timezone.now),
        ),
    ]
