"""Three ways to send a base map to judges, on the same extract: what a first view weighs, and what is stored.

    python benchmarks/base_maps.py EXTRACT WEST SOUTH EAST NORTH [--across 3]

Districts are drawn over the box, ``--across`` of them in each row. Each way has the same things on the same levels:

- own: compressed JSON with SVG paths, as the server does it; drawn by 3.6 kB of script;
- mvt: Mapbox vector tiles, written by GDAL; to draw them a page needs a library (Leaflet with Leaflet.VectorGrid 1.3.0:
  42 kB before compression besides Leaflet's own, MapLibre GL: over 800 kB), which is not counted here;
- webp: pictures of 1024 pixels, for screens with two pixels per point, drawn by Pillow from the same paths.
"""

import argparse
import io
import json
import re
import resource
import tempfile
import time
from pathlib import Path

import geopandas
import numpy as np
import pyogrio
import shapely

from judgemap.geo.basemap.extract import Extract, read_extract
from judgemap.geo.basemap.kinds import GROUND, GROWTH, KINDS, MIDDLE
from judgemap.geo.basemap.tiles import UNITS, WORLD, box_of, cut_tiles, needed_tiles, unpack

RESULTS = Path(__file__).with_name("results") / "base_maps.json"
NUMBERS = re.compile(r"-?\d+|[Mlz]")


def scenes(box: tuple[float, float, float, float], across: int) -> list[tuple[float, float, float]]:
    """Place square districts in a box of longitude and latitude, each with its surroundings, in Web Mercator."""
    west, south, east, north = box
    corners = [[west, south], [east, north]]
    plane = geopandas.GeoSeries(shapely.points(corners), crs=4326).to_crs(3857)
    (left, bottom), (right, top) = shapely.get_coordinates(plane.to_numpy())
    side = (right - left) / across
    rows = max(1, round((top - bottom) / side))
    return [
        (left + i * side - 0.9 * side, top - j * side + 0.9 * side, 2.8 * side)
        for i in range(across)
        for j in range(rows)
    ]


def mvt(extract: Extract, levels: list[int], folder: Path) -> int:
    """Write the same shapes as Mapbox vector tiles, and return their bytes, compressed as GDAL does."""
    rows = [(kind.name, shape) for kind in KINDS for shape in extract.of(kind.name) if kind.level <= max(levels)]
    metres = shapely.transform([row[1] for row in rows], lambda at: (at - 0.5) * [WORLD, -WORLD])
    frame = geopandas.GeoDataFrame({"kind": [row[0] for row in rows]}, geometry=metres, crs=3857)
    # A level of ours is drawn 512 to 1024 pixels wide, as tiles of 512 pixels of the same number are.
    options = {"MINZOOM": str(min(levels)), "MAXZOOM": str(max(levels)), "EXTENT": "1024"}
    pyogrio.write_dataframe(frame, folder / "tiles", driver="MVT", **options)
    return sum(path.stat().st_size for path in (folder / "tiles").rglob("*.pbf"))


def webp(tile: bytes, level: int) -> int:
    """Draw a tile as a picture of 1024 pixels, and return its bytes."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (UNITS, UNITS), GROUND)
    pen = ImageDraw.Draw(picture)
    content = unpack(tile)
    for kind in KINDS:
        width = max(1, round(2 * kind.width * GROWTH ** (level - MIDDLE)))
        for points in lines(content.get(kind.name, "")):
            if kind.width:
                pen.line(points, fill=kind.colour, width=width, joint="curve")
            elif len(points) > 2:
                pen.polygon(points, fill=kind.colour)
    file = io.BytesIO()
    picture.save(file, "WEBP", quality=80)
    return len(file.getvalue())


def lines(path: str) -> list[list[tuple[int, int]]]:
    """Read a path of ours back into lines."""
    found: list[list[tuple[int, int]]] = []
    numbers: list[int] = []
    for part in [*NUMBERS.findall(path), "M"]:
        if part == "M" and numbers:
            steps = np.cumsum(np.reshape(numbers, (-1, 2)), axis=0)
            found.append([(x, y) for x, y in steps.tolist()])
            numbers = []
        elif part not in "Mlz":
            numbers.append(int(part))
    return found


def quiet(share: float, doing: str) -> None:
    """Ignore progress."""


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("extract", type=Path)
    parser.add_argument("box", type=float, nargs=4)
    parser.add_argument("--across", type=int, default=3)
    given = parser.parse_args()
    boxes = scenes(tuple(given.box), given.across)
    needed = needed_tiles(boxes)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        extract = read_extract(given.extract, box_of(needed), Path(folder), quiet)
        read = time.process_time() - began
        began = time.process_time()
        made = cut_tiles(extract, needed, quiet)
        cut = time.process_time() - began
        began = time.process_time()
        vector = mvt(extract, sorted({level for level, *_ in made.tiles}), Path(folder))
        vector_seconds = time.process_time() - began
    began = time.process_time()
    pictures = sum(webp(tile, level) for (level, *_), tile in made.tiles.items())
    drawing = time.process_time() - began
    own = sum(map(len, made.tiles.values()))
    result = {
        "extract": given.extract.name,
        "extract_bytes": given.extract.stat().st_size,
        "areas": len(boxes),
        "tiles": len(made.tiles),
        "lightened": made.lightened,
        "read_cpu_seconds": round(read, 2),
        "memory_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "own": {"bytes": own, "mean": round(own / len(made.tiles)), "largest": max(map(len, made.tiles.values())),
                "cpu_seconds": round(cut, 2)},
        "mvt": {"bytes": vector, "cpu_seconds": round(vector_seconds, 2)},
        "webp": {"bytes": pictures, "mean": round(pictures / len(made.tiles)), "cpu_seconds": round(drawing, 2)},
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    earlier = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(earlier | {given.extract.name: result}, indent=1) + "\n")


if __name__ == "__main__":
    main()
