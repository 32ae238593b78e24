"""Small boundary files for tests."""

import json
import zipfile
from pathlib import Path

import geopandas
import shapely

BRITISH_GRID = "EPSG:27700"


def wards(**columns: list[object]) -> geopandas.GeoDataFrame:
    """Three squares in a row, a kilometre wide, or as many as the columns have rows."""
    columns = columns or {"code": ["W1", "W2", "W3"], "name": ["Castle", "Trent", "Sherwood"]}
    rows = len(next(iter(columns.values())))
    squares = [shapely.box(x * 1000, 0, (x + 1) * 1000, 1000) for x in range(rows)]
    return geopandas.GeoDataFrame(columns, geometry=squares, crs=BRITISH_GRID)


def zipped(folder: Path, inside: str = "") -> Path:
    """Zip every file of a folder."""
    path = folder.parent / f"{folder.name}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, inside + file.name)
    return path


def shapefile(tmp_path: Path, frame: geopandas.GeoDataFrame, name: str = "wards") -> Path:
    folder = tmp_path / "shapefile"
    folder.mkdir(exist_ok=True)
    frame.to_file(folder / f"{name}.shp")
    return folder / f"{name}.shp"


def geojson(tmp_path: Path, *geometries: dict[str, object] | None) -> Path:
    features = [
        {"type": "Feature", "properties": {"id": f"W{row}"}, "geometry": geometry}
        for row, geometry in enumerate(geometries, start=1)
    ]
    path = tmp_path / "wards.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path
