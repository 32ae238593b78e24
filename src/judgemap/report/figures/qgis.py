"""A style for QGIS inside a GeoPackage, so that a map of results opens in the colours of our own maps.

QGIS looks for a table ``layer_styles`` in the file, and applies the style that is marked as the layer's default.
"""

import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from judgemap.core.types import FloatArray
from judgemap.report.figures.colours import RISK
from judgemap.report.words.text import number

COLUMN = "risk_median"
TABLE = """
CREATE TABLE layer_styles (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, f_table_catalog TEXT(256), f_table_schema TEXT(256),
    f_table_name TEXT(256), f_geometry_column TEXT(256), styleName TEXT(30), styleQML TEXT, styleSLD TEXT,
    useAsDefault BOOLEAN, description TEXT, owner TEXT(30), ui TEXT(30),
    update_time DATETIME DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
)
"""
CONTENTS = """
INSERT INTO gpkg_contents (table_name, data_type, identifier, description, last_change, srs_id)
VALUES ('layer_styles', 'attributes', 'layer_styles', '', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 0)
"""
STYLE = """
INSERT INTO layer_styles (f_table_catalog, f_table_schema, f_table_name, f_geometry_column, styleName, styleQML,
                          styleSLD, useAsDefault, description, owner)
VALUES ('', '', ?, ?, 'risk', ?, '', 1, 'Risk, posterior median', 'judgemap')
"""


def add_style(path: Path) -> Path:
    """Colour the only layer of a GeoPackage of results by risk, in the classes of the risk map."""
    with closing(sqlite3.connect(path)) as file, file:
        layer, geometry = file.execute("SELECT table_name, column_name FROM gpkg_geometry_columns").fetchone()
        values = np.array([row[0] for row in file.execute(f'SELECT "{COLUMN}" FROM "{layer}"')])  # noqa: S608 - ours
        file.execute(TABLE)
        file.execute(CONTENTS)
        file.execute(STYLE, (layer, geometry, risk_style(values)))
    return path


def risk_style(values: FloatArray) -> str:
    """Write QGIS's description of a map in classes: limits, labels and colours.

    >>> style = risk_style(np.array([-1.0, 0.2, 2.0]))
    >>> style.count("<range "), 'attr="risk_median"' in style
    (7, True)
    """
    limits = RISK.limits_for(values)
    root = ET.Element("qgis", version="3.28", styleCategories="Symbology")
    how = {"type": "graduatedSymbol", "attr": COLUMN, "graduatedMethod": "GraduatedColor", "symbollevels": "0"}
    renderer = ET.SubElement(root, "renderer-v2", how)
    ranges, symbols = ET.SubElement(renderer, "ranges"), ET.SubElement(renderer, "symbols")
    for place, ((low, high), colour) in enumerate(zip(pairwise(limits.tolist()), RISK.shades(limits), strict=True)):
        label = f"{number(low)} to {number(high)}"
        about = {"lower": f"{low:.9f}", "upper": f"{high:.9f}", "symbol": str(place), "label": label, "render": "true"}
        ET.SubElement(ranges, "range", about)
        symbol = ET.SubElement(symbols, "symbol", type="fill", name=str(place), alpha="1", clip_to_extent="1")
        options = ET.SubElement(
            ET.SubElement(symbol, "layer", {"class": "SimpleFill", "enabled": "1", "pass": "0", "locked": "0"}),
            "Option",
            type="Map",
        )
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        look = {"color": f"{red},{green},{blue},255", "outline_color": "117,130,143,255", "outline_width": "0.1"}
        for name, value in (look | {"outline_width_unit": "MM", "style": "solid"}).items():
            ET.SubElement(options, "Option", name=name, type="QString", value=value)
    return "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n" + ET.tostring(root, encoding="unicode")
