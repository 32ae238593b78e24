"""A made-up town in OpenStreetMap's format: streets, a river, a railway, a park, the sea and names."""

import struct
import zlib
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

MIDDLE = (-1.24, 52.97)
"""Among the squares that the web tests' study is about: longitude and latitude."""
CREDIT = "© OpenStreetMap contributors"


class Town:
    """Nodes and ways, added one by one, and written as an .osm file."""

    def __init__(self) -> None:
        self._nodes: list[str] = []
        self._ways: list[str] = []

    def node(self, longitude: float, latitude: float, **tags: str) -> int:
        number = len(self._nodes) + 1
        self._nodes.append(f'<node id="{number}" lon="{longitude:.7f}" lat="{latitude:.7f}">{_tags(tags)}</node>')
        return number

    def way(self, points: list[tuple[float, float]], closed: bool = False, **tags: str) -> None:
        nodes = [self.node(*point) for point in points]
        nodes += nodes[:1] if closed else []
        inside = "".join(f'<nd ref="{node}"/>' for node in nodes)
        self._ways.append(f'<way id="{len(self._ways) + 1}">{inside}{_tags(tags)}</way>')

    def write(self, path: Path) -> Path:
        path.write_text(f'<?xml version="1.0"?><osm version="0.6">{"".join(self._nodes + self._ways)}</osm>')
        return path


def _tags(tags: dict[str, str]) -> str:
    return "".join(f"<tag k={quoteattr(key)} v={quoteattr(value)}/>" for key, value in tags.items())


def town(middle: tuple[float, float] = MIDDLE, reach: float = 0.06, roads: bool = True) -> Town:
    """Streets every 300 metres or so, and one of everything else, around a point."""
    made = Town()
    x, y = middle
    west, east, south, north = x - reach, x + reach, y - 0.6 * reach, y + 0.6 * reach
    lines = np.linspace(0.03, 0.97, 24)
    for number, share in enumerate(lines if roads else []):
        kind = "primary" if number == 12 else "secondary" if number % 6 == 0 else "residential"
        across, along = south + share * (north - south), west + share * (east - west)
        made.way([(west, across), (x, across), (east, across)], highway=kind, name=f"East Road {number}")
        made.way([(along, south), (along, y), (along, north)], highway=kind, name=f"North Road {number}")
    made.way([(west, south), (x, y - 0.2 * reach), (east, south)], waterway="river", name="River Leen")
    made.way([(west, y + 0.1 * reach), (east, y + 0.15 * reach)], railway="rail")
    square = [(x, y), (x + 0.3 * reach, y), (x + 0.3 * reach, y + 0.2 * reach), (x, y + 0.2 * reach)]
    made.way(square, closed=True, leisure="park", name="Arboretum")
    made.way([(px - 0.5 * reach, py) for px, py in square], closed=True, natural="water")
    made.way([(px, py - 0.4 * reach) for px, py in square], closed=True, landuse="residential")
    made.way([(west, y), (east, y)], highway="footway")
    made.node(x, y, place="town", name="Nottingham")
    made.node(x + 0.2 * reach, y + 0.1 * reach, place="suburb", name="Sherwood <b>&amp;</b>")
    made.node(x - 0.2 * reach, y + 0.12 * reach, railway="station", name="Midland")
    return made


def pbf_bomb(blobs: int = 20, each: int = 70_000_000) -> bytes:
    """An .osm.pbf of a few kilobytes whose blocks unpack to a gigabyte and more of zeros."""
    header = _blob(b"OSMHeader", b"\x22\x0eOsmSchema-V0.6", 16)
    return header + blobs * _blob(b"OSMData", bytes(each), each)


def _blob(kind: bytes, content: bytes, size: int) -> bytes:
    body = b"\x10" + _varint(size) + b"\x1a" + _length_and(zlib.compress(content, 9))
    head = b"\x0a" + _length_and(kind) + b"\x18" + _varint(len(body))
    return struct.pack(">I", len(head)) + head + body


def _length_and(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _varint(number: int) -> bytes:
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])
