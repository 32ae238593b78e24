"""The risk map over the study's base map, as one picture that needs no other file: for the briefing."""

import json

from judgemap.report.pages.finish import add_streets
from judgemap.web.results.layers import by_risk, layer_makers
from judgemap.web.results.models import FitRun
from judgemap.web.studies.basemap.pictures import Frame, layers
from judgemap.web.studies.maps import BADGE, Badge, Ground, lay_ground

PIXELS = 700
"""The width that the picture is drawn for: about that of a printed page."""
AREAS = 'fill-opacity=".55" stroke="#4a5a6a" stroke-width="1" stroke-linejoin="round"'
NUMBERS = f'font-size="{BADGE:g}" text-anchor="middle" dominant-baseline="central" font-family="system-ui, sans-serif"'


def with_streets(html: str, run: FitRun) -> str:
    """Show the map over its streets in a briefing, if the researcher has switched them on."""
    study = run.study
    if not html or study.base_map is None or not study.base_map.in_results or not study.outline:
        return html
    alt = f"Map of {len(run.rows):,} areas shaded by estimated risk, over streets and places."
    caption = (
        "Numbered as on the first page, with paler colours so that the streets show through. Streets and places: "
        f"{study.base_map.credit}."
    )
    return add_streets(html, _picture(run, study.base_map.pk), alt, caption)


def _picture(run: FitRun, base_map: int) -> str:
    ground = lay_ground(run.study, run.version)
    frame = Frame(*json.loads(run.study.outline)["box"])
    badges = ground.badges(by_risk(run.rows)[:10])
    taken = [(each.x - BADGE, each.y - BADGE, each.x + BADGE, each.y + BADGE) for each in badges]
    under, names = layers(base_map, frame, PIXELS, taken)
    fills = layer_makers(run.rows, {})["risk"]().fills
    areas = "".join(f'<path d="{place.path}" fill="{fill}"/>' for place, fill in zip(ground.places, fills, strict=True))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{ground.view_box}" {_size(ground)}>{under}'
        f"<g {AREAS}>{areas}</g>{names}<g {NUMBERS}>{''.join(map(_number, badges))}</g></svg>"
    )


def _size(ground: Ground) -> str:
    """Return the picture's size, without which some programs show it tiny."""
    return f'width="{ground.box[2]}" height="{ground.box[3]}"'


def _number(badge: Badge) -> str:
    line = f'<path d="M{badge.area_x} {badge.area_y}L{badge.x} {badge.y}" stroke="#14212e"/>' if badge.apart else ""
    place = f'cx="{badge.x}" cy="{badge.y}" r="{BADGE:g}"'
    circle = f'<circle {place} fill="#fff" stroke="#14212e" stroke-width="1.6"/>'
    return f'{line}{circle}<text x="{badge.x}" y="{badge.y}" font-weight="700">{badge.text}</text>'
