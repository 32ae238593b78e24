"""An area's outline on the map is kept as coordinates; earlier versions kept the SVG path that pages draw."""

import json
import re
from itertools import accumulate

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

BATCH = 500


def to_rings(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    areas = apps.get_model("studies", "Area").objects.using(schema_editor.connection.alias)
    rows = list(areas.exclude(shape="").only("pk", "shape"))
    for area in rows:
        area.rings = json.dumps(rings_of(area.shape), separators=(",", ":"))
    areas.bulk_update(rows, ["rings"], batch_size=BATCH)


def to_paths(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    areas = apps.get_model("studies", "Area").objects.using(schema_editor.connection.alias)
    rows = list(areas.exclude(rings="").only("pk", "rings"))
    for area in rows:
        area.shape = path_of(json.loads(area.rings))
    areas.bulk_update(rows, ["shape"], batch_size=BATCH)


def rings_of(path: str) -> list[list[int]]:
    """Read a path of rings, each an absolute point and relative steps: "M0 0l10 0 0 5z"."""
    rings = []
    for text in path.removesuffix("z").split("z"):
        numbers = [int(number) for number in re.findall(r"-?\d+", text)]
        points = zip(accumulate(numbers[::2]), accumulate(numbers[1::2]), strict=True)
        rings.append([number for point in points for number in point])
    return rings


def path_of(rings: list[list[int]]) -> str:
    steps = [" ".join(str(b - a) for a, b in zip(ring, ring[2:], strict=False)) for ring in rings]
    return "".join(f"M{ring[0]} {ring[1]}l{step}z" for ring, step in zip(rings, steps, strict=True))


class Migration(migrations.Migration):
    dependencies = [("studies", "0005_repeats")]

    operations = [
        migrations.AddField(model_name="area", name="rings", field=models.TextField(blank=True)),
        migrations.RunPython(to_rings, to_paths),
        migrations.RemoveField(model_name="area", name="shape"),
    ]
