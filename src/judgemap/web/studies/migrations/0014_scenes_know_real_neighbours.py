"""Scenes get the names of an area's real neighbours, which people who hear the page are told."""

import json

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

MOST = 12


def add(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Add the key "near" to every scene that lacks it."""
    using = schema_editor.connection.alias
    area_model, edge_model = apps.get_model("studies", "Area"), apps.get_model("studies", "Edge")
    for study in (
        area_model.objects.using(using).exclude(scene="").order_by().values_list("study", flat=True).distinct()
    ):
        areas = area_model.objects.using(using).filter(study=study)
        names = dict(areas.values_list("pk", "name"))
        near: dict[int, list[str]] = {key: [] for key in names}
        edges = edge_model.objects.using(using).filter(study=study, removed_in=None)
        for a, b in edges.values_list("a_id", "b_id"):
            near[a].append(names[b])
            near[b].append(names[a])
        for key, scene in areas.exclude(scene="").values_list("pk", "scene").iterator():
            if '"near":' not in scene:
                listed = json.dumps(sorted(near[key])[:MOST], ensure_ascii=False, separators=(",", ":"))
                areas.filter(pk=key).update(scene=f'{scene[:-1]},"near":{listed}}}')


class Migration(migrations.Migration):
    dependencies = [("studies", "0013_base_maps")]

    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
