"""The areas of a study, read from the database in the form the statistics use."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from django.db.models import F, Q, QuerySet

from judgemap.core.model.graph import AreaGraph
from judgemap.geo.maps import Areas
from judgemap.study.data.definition import AreasSource
from judgemap.web.studies.models import Area, Edge, Study, StudyVersion


def edges_in(version: StudyVersion) -> QuerySet[Edge]:
    """Return the edges that a version has."""
    still_there = Q(removed_in=None) | Q(removed_in__gt=version.number)
    return Edge.objects.filter(still_there, study_id=version.study_id, added_in__lte=version.number)


def load_graph(version: StudyVersion) -> AreaGraph:
    """Return which areas are neighbours in a version, by the areas' positions."""
    edges = edges_in(version).values_list(F("a__position"), F("b__position"))
    n_areas = Area.objects.filter(study_id=version.study_id).count()
    return AreaGraph(n_areas, np.array(list(edges), dtype=np.int64).reshape(-1, 2))


def area_names(study: Study) -> list[str]:
    """Return the names of a study's areas, by position."""
    return list(Area.objects.filter(study=study).order_by("position").values_list("name", flat=True))


def load_areas(version: StudyVersion) -> Areas:
    """Return a version's areas with names, graph and outlines, ready for a fit."""
    rows = list(Area.objects.filter(study_id=version.study_id).order_by("position"))
    geometry = None
    if all(row.outline for row in rows):
        import geopandas
        import shapely

        geometry = geopandas.GeoSeries(shapely.from_geojson([row.outline for row in rows]), crs="EPSG:4326")
    return Areas(tuple(row.code for row in rows), tuple(row.name for row in rows), load_graph(version), geometry)


def source_of(version: StudyVersion) -> AreasSource:
    """Return where a version's areas came from, with the edges that were added and removed by hand up to then.

    If edges were added by hand, the bridges are listed too: they might not be found again if an edge joins the same
    parts.
    """
    options = {key: value for key, value in version.source.items() if key not in ("extra_edges", "removed_edges")}
    pairs = Edge.objects.filter(study_id=version.study_id, added_in__lte=version.number).order_by("pk")
    rows = list(pairs.values_list("a__code", "b__code", "origin", "removed_in"))
    there = {(a, b) for a, b, _, gone in rows if gone is None or gone > version.number}
    added = [(a, b) for a, b, origin, _ in rows if origin != Edge.Origin.BORDER and (a, b) in there]
    if all(origin != Edge.Origin.ADDED for *_, origin, _ in rows):
        added = []
    removed = [(a, b) for a, b, *_ in rows if (a, b) not in there]
    extra = [(a, b) for a, b in version.source.get("extra_edges", []) if {(a, b), (b, a)} & there]
    parted = [(a, b) for a, b in version.source.get("removed_edges", []) if not {(a, b), (b, a)} & there]
    return AreasSource(
        **options, extra_edges=tuple(dict.fromkeys(extra + added)), removed_edges=tuple(dict.fromkeys(parted + removed))
    )


MANY = 1_000
"""With more areas than this, judges are asked which places they know before the first pair."""
NUMBERED = re.compile(r"^(?P<region>.*?\w.*?)[\s,.–-]+(?:\d[\w/.-]*|[A-Z])$")
"""A name that ends in a number or a letter, such as "Nottingham 012A", and what comes before."""
LEAST_SHARE = 0.9
"""Names are taken to contain regions if at least this share of the areas is in a region with others."""


def regions_in(names: Sequence[str]) -> list[str]:
    """Return the region that each area's name gives, or only empty strings if names have no such form.

    >>> regions_in(["Nottingham 012A", "Nottingham 012B", "West Berkshire 001C", "West Berkshire 002A"])
    ['Nottingham', 'Nottingham', 'West Berkshire', 'West Berkshire']
    >>> regions_in(["Castle", "Trent", "Hyde Park"])
    ['', '', '']
    """
    found = [match["region"] if (match := NUMBERED.match(name)) else "" for name in names]
    return _worth_it(found)


def _worth_it(regions: Sequence[str]) -> list[str]:
    """Keep regions that help to choose: several of them, nearly all with more than one area."""
    count = Counter(regions)
    shared = sum(areas for region, areas in count.items() if region and areas > 1)
    helpful = len(count.keys() - {""}) > 1 and shared >= LEAST_SHARE * len(regions)
    return list(regions) if helpful else [""] * len(regions)
