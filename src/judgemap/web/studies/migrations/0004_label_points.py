"""Where an area's label stands is found once, when the study is made; for earlier studies, here."""

import re

import numpy as np
import shapely
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

BATCH = 500


def find_points(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    areas = apps.get_model("studies", "Area").objects.using(schema_editor.connection.alias)
    rows = list(areas.exclude(shape="").only("pk", "shape"))
    for area in rows:
        area.label_x, area.label_y = point_in(area.shape)
    areas.bulk_update(rows, ["label_x", "label_y"], batch_size=BATCH)


def point_in(path: str) -> tuple[float, float]:
    """Return a point well inside the largest ring of a path with relative steps."""
    texts = [re.findall(r"-?\d+", ring) for ring in path.removesuffix("z").split("z")]
    rings = [np.cumsum(np.array(numbers, dtype=float).reshape(-1, 2), axis=0) for numbers in texts]
    polygons = [shapely.Polygon(ring).buffer(0) for ring in rings if len(ring) > 2]
    parts = [part for polygon in polygons for part in shapely.get_parts(polygon)]
    if not parts:
        x, y = rings[0].mean(axis=0)
    else:
        largest = max(parts, key=lambda part: float(part.area))
        x, y = shapely.get_coordinates(shapely.maximum_inscribed_circle(largest, tolerance=2.0))[0]
    return round(float(x), 1), round(float(y), 1)


class Migration(migrations.Migration):
    dependencies = [("studies", "0003_upload")]

    operations = [
        migrations.AddField(model_name="area", name="label_x", field=models.FloatField(null=True)),
        migrations.AddField(model_name="area", name="label_y", field=models.FloatField(null=True)),
        migrations.RunPython(find_points, migrations.RunPython.noop),
    ]
