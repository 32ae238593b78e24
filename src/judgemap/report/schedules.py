"""What a schedule asks: a map of how often each area comes, and the most and least likely pairs."""

from dataclasses import replace

import numpy as np

from judgemap.core.designs import extreme_pairs
from judgemap.report.colours import Scale
from judgemap.report.maps import choropleth
from judgemap.report.picture import Picture
from judgemap.report.tables import Cell, Table, columns
from judgemap.study.schedules import Schedule

NAMES = {
    "uniform": "uniform design",
    "naive": "naive spatial design",
    "principal": "principal component design",
    "optimal": "optimal design",
    "adaptive": "adaptive design",
    "weights": "design by given weights",
}
"""What designs are called in a sentence."""


def exposure_map(schedule: Schedule, title: str = "") -> Picture:
    """Draw how often the design asks each area in so many pairs, on average.

    >>> import judgemap as jm
    >>> picture = exposure_map(jm.schedule(jm.chicago(), "principal", 500, seed=1))
    >>> picture.caption[:51]
    'By the principal component design, an area is asked'
    """
    scale = Scale("PuBuGn", f"Times asked, on average in {len(schedule):,} pairs", "seldom", "often")
    picture = choropleth(schedule.areas, schedule.expected(), scale, title=title)
    return replace(picture, caption=how_often(schedule))


def likely_pairs(schedule: Schedule, count: int = 5) -> Table:
    """List the most and the least likely pairs: how many draws one of them takes, and that against all pairs alike.

    >>> import judgemap as jm
    >>> table = likely_pairs(jm.schedule(jm.chicago(), "principal", 500, seed=1), count=2)
    >>> len(table.rows)
    4
    """
    areas, design = schedule.areas, schedule.design
    size = len(design.areas)
    n_pairs = size * (size - 1) // 2
    count = max(1, min(count, n_pairs // 2))
    rows = []
    for word, pairs in zip(("most likely", "least likely"), extreme_pairs(design, count), strict=True):
        for first, second in pairs.tolist():
            chance = float(design.probability(first, second))
            rows.append(
                (
                    Cell(word),
                    Cell(areas.names[first]),
                    Cell(areas.names[second]),
                    Cell(f"{1 / chance:,.0f}" if chance else "never"),
                    Cell(f"{chance * n_pairs:.2f}"),
                )
            )
    heads = columns(["Pair", "Area", "Area"], ["One draw in", "Against all alike"])
    return Table(f"The most and the least likely of {n_pairs:,} pairs", heads, tuple(rows))


def how_alike(schedule: Schedule) -> str:
    """Say how many pairs are about as likely as the most likely one, so that those few named are not taken for rare.

    >>> import judgemap as jm
    >>> how_alike(jm.schedule(jm.chicago(), "uniform", 77, seed=1))
    'All 2,926 pairs are equally likely.'
    """
    design = schedule.design
    size = len(design.areas)
    n_pairs = size * (size - 1) // 2
    stored = np.maximum(design.base + design.offsets.within(design.areas).values, 0.0)
    plain = n_pairs - len(stored)
    most = max(float(stored.max(initial=0.0)), design.base if plain else 0.0)
    least = min(float(stored.min(initial=np.inf)), design.base if plain else np.inf)
    if most - least < 1e-9 * most:
        return f"All {n_pairs:,} pairs are equally likely."
    alike = int((stored >= 0.95 * most).sum()) + plain * int(design.base >= 0.95 * most)
    never = int((stored <= 1e-9 * most).sum()) + plain * int(design.base <= 1e-9 * most)
    said = f"Of {n_pairs:,} pairs, {alike:,} ({100 * alike / n_pairs:.0f} %) come within 5 % of the most likely"
    return f"{said}, and {never:,} are never asked." if never else f"{said}."


def how_often(schedule: Schedule) -> str:
    """Say in a sentence how often areas are asked: by the design, and in this list.

    >>> import judgemap as jm
    >>> how_often(jm.schedule(jm.chicago(), "uniform", 77, seed=1))[:60]
    'By the uniform design, every area is asked 2.0 times on aver'
    """
    known = schedule.design.areas
    expected, asked = schedule.expected()[known], schedule.asked()[known]
    least, most = (known[place] for place in (int(expected.argmin()), int(expected.argmax())))
    names = schedule.areas.names
    everywhere = "every area" if len(known) == len(schedule.areas) else f"each of the {len(known)} known areas"
    if np.ptp(expected) < 0.005 * expected.mean():
        said = f"{everywhere} is asked {expected.mean():.1f} times on average"
    else:
        said = (
            f"an area is asked {expected.min():.1f} times ({names[least]}) to {expected.max():.1f} times "
            f"({names[most]}) on average"
        )
    low, high = int(asked.min()), int(asked.max())
    drawn = f"{low} times each" if low == high else f"{low} to {high} times"
    return f"By the {NAMES[schedule.name]}, {said}; in this list, {drawn}."
