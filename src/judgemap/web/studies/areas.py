"""A version of a study in the form the statistics use: its areas, which of them are neighbours, and its design."""

import io
from collections.abc import Sequence

import numpy as np
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext

from judgemap.core.design.designs import PairDesign, naive_spatial, principal_component, uniform
from judgemap.core.design.optimal import OPTIMAL_LIMIT, optimal
from judgemap.core.model.car import intrinsic_car
from judgemap.core.model.communicability import PairValues
from judgemap.core.model.graph import AreaGraph
from judgemap.core.types import IntArray
from judgemap.errors import StudyError
from judgemap.geo.figures import REGION, Figures
from judgemap.geo.maps import Areas
from judgemap.study.data.definition import AreasSource
from judgemap.web.studies.models import Area, Edge, StudyFigures, StudyVersion


def edges_in(version: StudyVersion) -> QuerySet[Edge]:
    """Return the edges that a version has."""
    still_there = Q(removed_in=None) | Q(removed_in__gt=version.number)
    return Edge.objects.filter(still_there, study_id=version.study_id, added_in__lte=version.number)


def area_keys(study_id: int) -> IntArray:
    """Return the keys of a study's areas, in their order, each with the area's position; an index alone has both."""
    rows = Area.objects.filter(study_id=study_id).order_by("position").values_list("pk", "position")
    keys = np.array(list(rows), dtype=np.int64).reshape(-1, 2)
    return keys[np.argsort(keys[:, 0])]


def load_graph(version: StudyVersion, among: IntArray | None = None) -> AreaGraph:
    """Return which areas are neighbours in a version, by the areas' positions, or of some areas, in the order given."""
    edges = edges_in(version).values_list(F("a__position"), F("b__position"))
    if among is not None:
        edges = edges.filter(a__position__in=among.tolist(), b__position__in=among.tolist())
    n_areas = Area.objects.filter(study_id=version.study_id).count()
    graph = AreaGraph(n_areas, np.array(list(edges), dtype=np.int64).reshape(-1, 2))
    return graph if among is None else graph.among(among)


def figures_of(study_id: int, codes: Sequence[str], regions: Sequence[str]) -> Figures | None:
    """Return the figures of a study's areas, by position, with the regions of its map among them; None if none."""
    kept = StudyFigures.objects.filter(study_id=study_id).values_list("cells", "notes").first() or ({}, [])
    cells = ({REGION: tuple(regions)} if any(regions) else {}) | {name: tuple(cells) for name, cells in kept[0].items()}
    return Figures(tuple(codes), cells, tuple(kept[1])) if cells else None


def load_areas(version: StudyVersion) -> Areas:
    """Return a version's areas with names, graph, outlines and figures, ready for a fit."""
    rows = list(Area.objects.filter(study_id=version.study_id).order_by("position"))
    geometry = None
    if all(row.outline for row in rows):
        import geopandas
        import shapely

        geometry = geopandas.GeoSeries(shapely.from_geojson([row.outline for row in rows]), crs="EPSG:4326")
    ids, names = tuple(row.code for row in rows), tuple(row.name for row in rows)
    return Areas(
        ids,
        names,
        load_graph(version),
        geometry,
        figures=figures_of(version.study_id, ids, [row.region for row in rows]),
    )


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


ALPHA = 3.0
JUDGES = 10
"""How many judges the optimal design is made for, each with the recommended number of pairs."""
WHOLE = {"adaptive": 1_000, "optimal": OPTIMAL_LIMIT, "principal": 10_000}
"""Up to this many areas a design takes the map whole; on a larger one, it works within a part that each judge knows."""
PARTS = {"adaptive": 500, "optimal": 250, "principal": 1_000}
"""The most areas of such a part, so that no judge has to wait: what they know is cut into pieces of at most so many."""
JOINING = 0.1
"""How often a judge who knows several pieces is asked about any two of their areas."""


def recommended_design(n_areas: int) -> str:
    """Name the design that needed the fewest answers in simulated studies (docs/planning.md), if it is quick enough.

    >>> recommended_design(76), recommended_design(3_141)
    ('adaptive', 'uniform')
    """
    return "adaptive" if part_size("adaptive", n_areas) is None else "uniform"


def part_size(name: str, n_areas: int) -> int | None:
    """Return the most areas among which a design works on a map of this size; None for all of them.

    >>> part_size("adaptive", 900), part_size("adaptive", 33_000), part_size("uniform", 33_000)
    (None, 500, None)
    """
    return PARTS[name] if n_areas > WHOLE.get(name, n_areas) else None


def prepare_design(name: str, graph: AreaGraph, recommended: int) -> bytes | None:
    """Make a design that takes long, and pack it; None for one that is made when a judge needs it.

    >>> packed = prepare_design("optimal", AreaGraph(4, [[0, 1], [1, 2], [2, 3]]), 20)
    >>> bool(make_design("optimal", AreaGraph(4, []), packed).probability(0, 3) > 0)
    True
    """
    if name != "optimal" or graph.n_areas > OPTIMAL_LIMIT:
        return None
    offsets = optimal(intrinsic_car(graph), ALPHA, JUDGES * recommended).offsets
    packed = io.BytesIO()
    np.savez_compressed(packed, n_areas=np.array(offsets.n_areas), keys=offsets.keys, values=offsets.values)
    return packed.getvalue()


def make_design(name: str, graph: AreaGraph, packed: bytes | None) -> PairDesign:
    """Make a design by its name, or unpack it."""
    if packed:
        with np.load(io.BytesIO(packed)) as stored:
            n_areas = int(stored["n_areas"])
            return PairDesign(np.arange(n_areas), 0.0, PairValues(n_areas, stored["keys"], stored["values"]))
    makers = {"uniform": lambda each: uniform(each.n_areas), "naive": naive_spatial, "principal": principal_component}
    if name not in makers:
        text = gettext("there is no design %(name)s; there are %(designs)s")
        raise StudyError(text, name=f"{name!r}", designs=", ".join(sorted(makers)))
    return makers[name](graph)
