"""Uploaded files, checked from the outside before a separate process opens them."""

import io
import json
import logging
import os
import re
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext as _

from judgemap.core.model.graph import AreaGraph
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas, Bridge
from judgemap.web.server.readers import Hear, TooMuchError, run_reader, unheard, warn_of_missing

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile

LARGEST = 25_000_000
LARGEST_UNZIPPED = 250_000_000
MOST_FILES = 60
ENDINGS = (".geojson", ".json", ".topojson", ".gpkg", ".kml", ".kmz", ".zip")
TABLES = (".csv", ".tsv", ".txt", ".xlsx", ".xls", ".ods")
DRIVERS = frozenset({"GeoJSON", "TopoJSON", "GPKG", "ESRI Shapefile", "KML"})
# A file can name addresses, which GDAL would fetch on behalf of whoever uploaded it.
NO_NETWORK = {
    "GDAL_HTTP_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "CPL_VSIL_CURL_ALLOWED_EXTENSIONS": "none",
    "PROJ_NETWORK": "OFF",
}
READER = "judgemap.web.studies.upload.reading"
TOO_MUCH = "the file is too large or too complex to read here; simplify its boundaries and try again"
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is in a boundary file, as `judgemap.web.studies.upload.reading.inspect` finds it."""

    areas: int
    columns: list[dict[str, Any]]
    id: str
    name: str
    crs: str
    """The system that the file states; empty if it states none that is possible, and then ``guesses`` has some."""
    guesses: list[dict[str, Any]] = field(default_factory=list)
    layers: list[str] = field(default_factory=list)
    layer: str = ""
    """The layer that was asked for; empty for the first."""
    faults: list[dict[str, Any]] = field(default_factory=list)
    picture: dict[str, Any] = field(default_factory=dict)
    where: dict[str, float] = field(default_factory=dict)
    """Where the stated system puts the map: the middle in degrees, and how many kilometres it is across."""
    located_by: list[str] = field(default_factory=list)
    """The columns with the latitude and longitude of each area by which ``guesses`` were chosen."""


def take_file(sent: "UploadedFile") -> tuple[str, bytes]:
    """Read an uploaded boundary file, if its name, size and content are of a kind that we accept."""
    name = safe_name(sent.name or "")
    ending = Path(name).suffix.lower()
    if ending in TABLES:
        raise StudyError(
            _(
                "this is a table, which has no outlines. Find the boundaries of its areas, join the table to them by "
                "their codes in QGIS (Layer properties, Joins), and export the layer as a GeoPackage; a table of "
                "points becomes areas with “Voronoi polygons”"
            )
        )
    if ending in (".shp", ".dbf", ".shx", ".prj"):
        raise StudyError(_("a Shapefile is several files: put its .shp, .shx, .dbf and .prj into one .zip file"))
    if ending not in ENDINGS:
        raise StudyError(
            _("choose a .geojson, .topojson, .json, .gpkg, .kml or .kmz file, or a .zip file with a Shapefile in it")
        )
    if (sent.size or 0) > LARGEST:
        raise StudyError(
            _("the file is %(size)s MB; the limit is %(largest)s MB. Simplify its boundaries, or cut out what you need")
            % {"size": f"{(sent.size or 0) / 1e6:.0f}", "largest": f"{LARGEST / 1e6:.0f}"}
        )
    content = sent.read()
    if not content:
        raise StudyError(_("the file is empty; export the map again"))
    if ending in (".zip", ".kmz"):
        check_zip(content)
    return name, content


def safe_name(name: str) -> str:
    """Return a file's own name, without characters that could trip up a file system or a page.

    >>> safe_name("../../etc/my wards.GeoJSON")
    'my wards.GeoJSON'
    """
    plain = re.sub(r"[^\w .()-]", "_", re.split(r"[/\\]", name)[-1]).strip(". ")
    return f"{Path(plain).stem[:80]}{Path(plain).suffix[:10]}" or "file"


def check_zip(content: bytes) -> None:
    """Refuse a zip file that would unpack to too much, before it is unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        raise StudyError(_("the zip file cannot be opened; zip the map again, without a password")) from None
    if len(members) > MOST_FILES:
        raise StudyError(
            _("the zip file holds %(files)s files; put only the Shapefile's own into it")
            % {"files": f"{len(members):,}"}
        )
    if sum(each.file_size for each in members) > LARGEST_UNZIPPED:
        raise StudyError(
            _("the zip file unpacks to more than %(largest)s MB; simplify the boundaries")
            % {"largest": f"{LARGEST_UNZIPPED / 1e6:.0f}"}
        )
    if any(each.flag_bits & 1 for each in members):
        raise StudyError(_("the zip file has a password; zip the map again, without one"))


def inspect_file(name: str, content: bytes, layer: str = "") -> Inspection:
    """Inspect a boundary file."""
    return Inspection(**_run("inspect", name, content, {"layer": layer}))


def read_file(name: str, content: bytes, options: Mapping[str, Any], hear: Hear = unheard) -> Areas:
    """Read the areas of a boundary file with the columns, reference system and contiguity that were chosen."""
    return read_with_regions(name, content, options, hear)[0]


def read_with_regions(
    name: str, content: bytes, options: Mapping[str, Any], hear: Hear = unheard
) -> tuple[Areas, list[str]]:
    """Do the same, and also return the region of each area, if a column with regions was chosen."""
    import geopandas
    import shapely

    read = _run("read", name, content, options, hear)
    areas = Areas(
        ids=tuple(read["ids"]),
        names=tuple(read["names"]),
        graph=AreaGraph(len(read["ids"]), np.array(read["edges"], dtype=np.int64).reshape(-1, 2)),
        geometry=geopandas.GeoSeries(shapely.from_wkb(read["outlines"]), crs="EPSG:4326"),
        bridges=tuple(Bridge(a, b, km) for a, b, km in read["bridges"]),
        notes=tuple(read["notes"]),
    )
    return areas, read["regions"]


def _run(action: str, name: str, content: bytes, options: Mapping[str, Any], hear: Hear = unheard) -> dict[str, Any]:
    """Run the reader, and return what it found or raise its sentence."""
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        path = Path(folder, safe_name(name))
        path.write_bytes(content)
        arguments = [action, str(path), json.dumps(dict(options))]
        try:
            written = run_reader(READER, arguments, Path(folder), reader_environment(folder, DRIVERS), hear)
        except TooMuchError:
            raise StudyError(TOO_MUCH) from None
    try:
        answer: dict[str, Any] = json.loads(written)
    except ValueError:
        raise StudyError(TOO_MUCH) from None
    warn_of_missing(tuple(answer.pop("missing_walls")))
    if "traceback" in answer:
        logger.error("The reader of %s failed.\n%s", path.name, answer["traceback"])
    if "error" in answer:
        raise StudyError(answer["error"], answer.get("field"))
    return answer


def reader_environment(folder: str, drivers: frozenset[str]) -> dict[str, str]:
    """Return the environment of a reader, in which GDAL knows only these formats."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "VIRTUAL_ENV", "PYTHONPATH") if key in os.environ}
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    return kept | threads | NO_NETWORK | {"GDAL_SKIP": _other_drivers(drivers), "HOME": folder}


@cache
def _other_drivers(drivers: frozenset[str]) -> str:
    """List the formats that must not be opened, whatever a file claims to be."""
    import pyogrio

    return ",".join(sorted(set(pyogrio.list_drivers()) - drivers))
