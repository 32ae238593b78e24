"""A study has a day up to which its answers are kept, and remembers when they were removed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0006_outlines_are_coordinates"),
    ]

    operations = [
        migrations.AddField(
            model_name="study",
            name="answers_removed_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="study",
            name="answers_until",
            field=models.DateField(null=True),
        ),
    ]
