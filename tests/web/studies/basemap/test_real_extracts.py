"""Real extracts, with districts drawn over them."""

import geopandas
import numpy as np
import pytest
import shapely
from osm_extracts import real_extract

from judgemap.core.model.graph import AreaGraph
from judgemap.geo.basemap.tiles import LARGEST, unpack
from judgemap.geo.maps import Areas
from judgemap.web.studies import making
from judgemap.web.studies.basemap.making import make_here

PLACES = {
    "Helsinki.osm.pbf": (24.936, 60.165, 24.953, 60.179),
    "test.osm.pbf": (26.931, 60.5205, 26.969, 60.5395),
}


def districts(west: float, south: float, east: float, north: float, across: int = 3) -> Areas:
    """Squares over a box of longitude and latitude, named by row and column."""
    xs, ys = np.linspace(west, east, across + 1), np.linspace(south, north, across + 1)
    squares = [shapely.box(xs[i], ys[j], xs[i + 1], ys[j + 1]) for j in range(across) for i in range(across)]
    ids = tuple(f"D{i}" for i in range(across * across))
    edges = [(i, i + 1) for i in range(across * across - 1)]
    return Areas(ids, ids, AreaGraph(across * across, np.array(edges)), geopandas.GeoSeries(squares, crs=4326))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name.startswith("Helsinki") else ()) for name in PLACES]
)
@pytest.mark.usefixtures("read_here")
def test_a_real_extract_becomes_a_base_map(db, definition, name):
    path = real_extract(name)
    study = making.create_study(definition, districts(*PLACES[name]))
    made = make_here(study, path, "© OpenStreetMap contributors", lambda share, doing: None)
    assert "no roads in" not in made.said
    tiles = {(tile.level, tile.column, tile.row): bytes(tile.content) for tile in made.tiles.all()}
    assert max(map(len, tiles.values())) <= LARGEST
    content = [unpack(tile) for tile in tiles.values()]
    named = {name[3] for tile in content for name in tile.names}
    if name.startswith("Helsinki"):
        assert {"Kluuvi", "Mannerheimintie", "Annankatu"} <= named
    assert {"street", "secondary"} <= {kind for tile in content for kind in tile.paths}
