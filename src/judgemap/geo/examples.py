"""Maps that come with the software that judgemap is built on."""

from dataclasses import replace
from importlib import resources
from pathlib import Path

from judgemap.geo.maps import Areas, read_areas

SPELLINGS = {"OHARE": "O'Hare", "MCKINLEY PARK": "McKinley Park"}
"""Names that capitals hide the spelling of."""


def chicago() -> Areas:
    """Return Chicago's 77 community areas, by their official numbers, from the map inside libpysal.

    The file does not say its reference system: it is EPSG:3435, Illinois East in feet.

    >>> areas = chicago()
    >>> len(areas), areas.names[areas.lookup["76"]]
    (77, "O'Hare")
    """
    path = Path(str(resources.files("libpysal"))) / "examples" / "chicago" / "Chicago77.shp"
    areas = read_areas(path, id="AREA_NUMBE", name="COMMUNITY", crs="EPSG:3435")
    return replace(areas, names=tuple(SPELLINGS.get(name, name.title()) for name in areas.names))
