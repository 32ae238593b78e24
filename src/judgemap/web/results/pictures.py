"""Maps of a fit as single pictures: for slides, and over streets for a briefing."""

import json
from collections.abc import Sequence

from django.utils.html import escape

from judgemap.report.pages.finish import add_streets
from judgemap.web.results.layers import Layer, by_risk, layer_makers
from judgemap.web.results.models import FitRun
from judgemap.web.studies.basemap.pictures import Frame, layers
from judgemap.web.studies.maps import BADGE, Badge, Ground, lay_ground

SLIDE = 1600
"""The width of a map for slides, in pixels."""
PIXELS = 700
"""The width that a map over streets is drawn for: about that of a printed page."""
AREAS = 'fill-opacity=".55" stroke="#4a5a6a" stroke-width="1" stroke-linejoin="round"'
NUMBERS = f'font-size="{BADGE:g}" text-anchor="middle" dominant-baseline="central" font-family="system-ui, sans-serif"'


def draw_slide(ground: Ground, layer: Layer, badges: Sequence[Badge], title: str) -> str:
    """Draw a map as one picture that needs no other file: its title above, its legend below."""
    west, north, width, height = ground.box
    below = north + height
    foot = 40 + (28 * len(layer.steps) if layer.key else 70)
    lines = "".join('<path d="M{} {}L{} {}" stroke="#8b97a3"/>'.format(*line) for line in ground.lines)
    legend = _named_key(layer, west, below + 70) if layer.key else _ramp(layer, (west, below + 66), width)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SLIDE}" height="{SLIDE * (height + 60 + foot) / width:.0f}" '
        f'viewBox="{west} {north - 60} {width} {height + 60 + foot}" font-size="18" '
        f'font-family="system-ui, sans-serif">'
        f'<rect x="{west}" y="{north - 60}" width="100%" height="100%" fill="#fff"/>'
        f'<text x="{west + 8}" y="{north - 24}" font-size="28" font-weight="700">{escape(title)}</text>'
        f'{lines}<g stroke="#75828f" stroke-width=".8" stroke-linejoin="round">{_areas(ground, layer)}</g>'
        f'<g text-anchor="middle" dominant-baseline="central">{"".join(map(_badge, badges))}</g>'
        f'<text x="{west + 8}" y="{below + 50}" font-weight="600">{escape(layer.scale.title)}</text>{legend}</svg>'
    )


def _areas(ground: Ground, layer: Layer) -> str:
    shapes = zip(ground.places, layer.fills, strict=True)
    return "".join(f'<path d="{place.path}" fill="{fill}"/>' for place, fill in shapes)


def _ramp(layer: Layer, corner: tuple[float, float], width: float) -> str:
    """Draw the legend of a layer whose classes have limits."""
    (x, y), step = (corner[0] + 8, corner[1]), min(90.0, (width - 60) / len(layer.colours))
    boxes = [
        f'<rect x="{x + step * place:.1f}" y="{y}" width="{step:.1f}" height="16" fill="{colour}"/>'
        for place, colour in enumerate(layer.colours)
    ]
    ticks = [f'<text x="{x + step * place:.1f}" y="{y + 36}">{tick}</text>' for place, tick in enumerate(layer.ticks)]
    return "".join(boxes + ticks)


def _named_key(layer: Layer, x: float, y: float) -> str:
    return "".join(
        f'<rect x="{x + 8}" y="{y + 28 * place - 16}" width="26" height="18" fill="{colour}" stroke="#75828f"/>'
        f'<text x="{x + 44}" y="{y + 28 * place}">{escape(name)}</text>'
        for place, (colour, name, _areas) in enumerate(layer.steps)
    )


def _badge(badge: Badge) -> str:
    """Draw a numbered circle, with a line to its area if it stands beside it."""
    line = f'<path d="M{badge.area_x} {badge.area_y}L{badge.x} {badge.y}" stroke="#14212e"/>' if badge.apart else ""
    place = f'cx="{badge.x}" cy="{badge.y}" r="{BADGE:g}"'
    circle = f'<circle {place} fill="#fff" stroke="#14212e" stroke-width="1.6"/>'
    return f'{line}{circle}<text x="{badge.x}" y="{badge.y}" font-weight="700">{badge.text}</text>'


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
    return add_streets(html, _over_streets(run, study.base_map.pk), alt, caption)


def _over_streets(run: FitRun, base_map: int) -> str:
    ground = lay_ground(run.study, run.version)
    frame = Frame(*json.loads(run.study.outline)["box"])
    badges = ground.badges(by_risk(run.rows)[:10])
    taken = [(each.x - BADGE, each.y - BADGE, each.x + BADGE, each.y + BADGE) for each in badges]
    under, names = layers(base_map, frame, PIXELS, taken)
    areas = _areas(ground, layer_makers(run.rows, {})["risk"]())
    size = f'width="{ground.box[2]}" height="{ground.box[3]}"'  # without which some programs show it tiny
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{ground.view_box}" {size}>{under}'
        f"<g {AREAS}>{areas}</g>{names}<g {NUMBERS}>{''.join(map(_badge, badges))}</g></svg>"
    )
