"""A GeoPackage with a style inside: still a GeoPackage, with the map's own classes."""

import sqlite3
from contextlib import closing
from xml.etree import ElementTree as ET

import geopandas
import numpy as np

from judgemap.report.figures.colours import RISK
from judgemap.report.figures.qgis import add_style
from judgemap.study.export import write_download


def test_the_style_has_the_classes_of_the_risk_map(fit, tmp_path):
    path = add_style(write_download(fit, "gpkg", tmp_path / "wards.gpkg"))
    table = geopandas.read_file(path, layer="areas")
    assert len(table) == len(fit.map)
    with closing(sqlite3.connect(path)) as file:
        row = file.execute(
            "SELECT f_table_name, f_geometry_column, styleQML, useAsDefault FROM layer_styles"
        ).fetchone()
        columns = file.execute("SELECT table_name, column_name FROM gpkg_geometry_columns").fetchone()
    assert (row[0], row[1]) == columns
    assert row[3] == 1
    style = ET.fromstring(row[2])  # noqa: S314 - written by us
    limits = RISK.limits_for(fit.areas["risk_median"].to_numpy())
    np.testing.assert_allclose([float(each.get("lower")) for each in style.iter("range")], limits[:-1])
    colours = [each.get("value") for each in style.iter("Option") if each.get("name") == "color"]
    shades = [",".join(str(int(shade[at : at + 2], 16)) for at in (1, 3, 5)) for shade in RISK.shades(limits)]
    assert colours == [f"{each},255" for each in shades]
