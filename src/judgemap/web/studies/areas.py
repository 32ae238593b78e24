"""The areas of a study, out of the database as the statistics know them."""

import numpy as np
from django.db.models import F, Q

from judgemap.core.graph import AreaGraph
from judgemap.geo.maps import Areas
from judgemap.web.studies.models import Area, Edge, StudyVersion


def load_graph(version: StudyVersion) -> AreaGraph:
    """Return who borders whom in a version, by the areas' positions."""
    edges = (
        Edge.objects.filter(study_id=version.study_id, added_in__lte=version.number)
        .filter(Q(removed_in=None) | Q(removed_in__gt=version.number))
        .values_list(F("a__position"), F("b__position"))
    )
    n_areas = Area.objects.filter(study_id=version.study_id).count()
    return AreaGraph(n_areas, np.array(list(edges), dtype=np.int64).reshape(-1, 2))


def load_areas(version: StudyVersion) -> Areas:
    """Return a version's areas with names, graph and outlines, ready for a fit."""
    rows = list(Area.objects.filter(study_id=version.study_id).order_by("position"))
    geometry = None
    if all(row.outline for row in rows):
        import geopandas
        import shapely

        geometry = geopandas.GeoSeries(shapely.from_geojson([row.outline for row in rows]), crs="EPSG:4326")
    return Areas(tuple(row.code for row in rows), tuple(row.name for row in rows), load_graph(version), geometry)
