"""Reads an extract and cuts it into tiles, in a separate process, confined by `judgemap.web.server.sandbox`.

Run as ``python -m judgemap.web.studies.basemap.reading FILE OPTIONS``, where OPTIONS is a file of JSON in a folder to
write in. Writes JSON.
"""

import base64
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from judgemap.errors import StudyError
from judgemap.web.server.sandbox import Limits, confine, out_of_memory, tell

LIMITS = Limits(memory=2 << 30, addresses=8 << 30, seconds=900, longest_file=3 << 30)
READING = 0.6
"""About how much of the work is reading, as a share."""


def main(arguments: list[str]) -> int:
    """Make the tiles and write them, or a sentence that says why that failed."""
    path, options = Path(arguments[0]), Path(arguments[1])
    confine(options.parent, LIMITS, path)
    try:
        result = make(path, json.loads(options.read_text())["boxes"], options.parent)
    except StudyError as error:
        result = {"error": str(error)}
    except Exception as error:
        if not out_of_memory(error):
            raise
        result = {"error": "the extract needs too much memory; choose a smaller region"}
    sys.stdout.write(json.dumps(result))
    return 0


def make(path: Path, boxes: Sequence[tuple[float, float, float]], folder: Path) -> dict[str, object]:
    """Read what lies around the scenes of a study, and cut it into tiles."""
    from judgemap.geo.basemap.extract import read_extract
    from judgemap.geo.basemap.tiles import box_of, cut_tiles, describe, needed_tiles

    needed = needed_tiles(boxes)
    extract = read_extract(path, box_of(needed), folder, lambda share, doing: tell(READING * share, doing))
    tiles = cut_tiles(extract, needed, lambda share, doing: tell(READING + (1 - READING) * share, doing))
    return {
        "said": describe(extract, tiles, boxes),
        "tiles": [[*place, base64.b64encode(tile).decode()] for place, tile in sorted(tiles.tiles.items())],
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
