"""Write what this version writes, for every later version to read: ``python tests/released/make.py``.

The files of a version under development are replaced; those of a release are never written again.
"""

import json
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

import geopandas
import numpy as np
import shapely

import judgemap as jm
from judgemap.cli.main import app

HERE = Path(__file__).parent
ANSWERS = ("left", "right", "left", "tie", "skipped", "left", "right", "right")


def squares() -> geopandas.GeoDataFrame:
    """Nine squares of a kilometre, three by three."""
    boxes = [shapely.box(x, y, x + 1000, y + 1000) for y in range(0, 3000, 1000) for x in range(0, 3000, 1000)]
    places = geopandas.GeoSeries(boxes, crs="EPSG:27700").translate(450_000, 340_000)
    named = {"code": [f"W{i}" for i in range(9)], "name": [f"Ward {i}" for i in range(9)]}
    return geopandas.GeoDataFrame(named, geometry=places)


def write_files(folder: Path) -> None:
    """Write a fit's folder and a replication archive."""
    squares().to_file(folder / "wards.geojson")
    areas = jm.read_areas(folder / "wards.geojson", id="code", name="name")
    rng = np.random.default_rng(1)
    first, second = rng.integers(9, size=200), rng.integers(9, size=200)
    rows = [
        f"{i % 3},W{a},W{b},{'left' if a > b else 'right'}"
        for i, (a, b) in enumerate(zip(first, second, strict=True))
        if a != b
    ]
    (folder / "comparisons.csv").write_text("\n".join(["judge,left,right,outcome", *rows]) + "\n")
    data = jm.read_comparisons(folder / "comparisons.csv", areas)
    jm.fit_spatial(data, areas, seed=1, chains=2, warmup=20, draws=50).save(folder / "fit")
    words = [str(folder / "fit"), "-o", str(folder / "archive.zip"), "--comparisons", str(folder / "comparisons.csv")]
    app(["export", *words], standalone_mode=False)


def write_backup(folder: Path) -> None:
    """Write the backup of a server with one open study, a judge and their answers."""
    from judgemap.web import start

    start.connect(folder / "data", create=True)
    from judgemap.study.data.definition import StudyDefinition
    from judgemap.web.judge import answering, joining
    from judgemap.web.judge.answering import GivenAnswer
    from judgemap.web.studies.editing import open_study
    from judgemap.web.studies.making import create_study

    definition = StudyDefinition(title="Wards", question="Which ward has the lower rate?", direction="lower")
    areas = jm.read_areas(folder / "wards.geojson", id="code", name="name")
    study = open_study(create_study(definition, areas, None), None)
    token = joining.invite(study, 1)[0].token
    answering.give_consent(token, "en", 0)
    for outcome in ANSWERS:
        pair = answering.current_pair(token)
        answering.answer(token, GivenAnswer(pair.token, outcome))
    app(["study", "backup", str(folder / "backup.sqlite3"), "--data", str(folder / "data")], standalone_mode=False)


def main() -> None:
    """Write everything into a folder named after the version."""
    project = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text())["project"]
    version, development, _ = project["version"].partition(".dev")
    release = HERE / version
    if release.exists() and not development:
        sys.exit(f"{release} is there already, and is never written again")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder)
        write_backup(folder)
        release.mkdir(exist_ok=True)
        with tarfile.open(release / "written.tar.xz", "w:xz") as archive:
            for each in ("fit", "archive.zip", "comparisons.csv", "wards.geojson", "backup.sqlite3"):
                archive.add(folder / each, each)
        medians = jm.load_fit(folder / "fit").areas["risk_median"].round(6).tolist()
    (release / "expected.json").write_text(json.dumps({"answers": len(ANSWERS), "risk_median": medians}) + "\n")


if __name__ == "__main__":
    main()
