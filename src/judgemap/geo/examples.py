"""Maps that come with the software that judgemap is built on."""

from importlib import resources

import geopandas

from judgemap.geo.maps import Areas, areas_from_frame

SPELLINGS = {"OHARE": "O'Hare", "MCKINLEY PARK": "McKinley Park"}
"""Names whose spelling the file's capitals hide."""


def chicago() -> Areas:
    """Return Chicago's 77 community areas, by their official numbers, from the map inside libpysal.

    The file does not say its reference system: it is EPSG:3435, Illinois East in feet.

    >>> areas = chicago()
    >>> len(areas), areas.names[areas.lookup["76"]]
    (77, "O'Hare")
    """
    path = resources.files("libpysal") / "examples" / "chicago" / "Chicago77.shp"
    frame = geopandas.read_file(str(path)).set_crs("EPSG:3435")
    frame["COMMUNITY"] = [SPELLINGS.get(name, name.title()) for name in frame["COMMUNITY"]]
    return areas_from_frame(frame, id="AREA_NUMBE", name="COMMUNITY")
