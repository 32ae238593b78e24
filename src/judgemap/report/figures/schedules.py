"""What a schedule asks: a map of how often each area appears, and how alike pairs are."""

import numpy as np

from judgemap.report.figures.colours import Scale
from judgemap.report.figures.maps import choropleth
from judgemap.report.figures.picture import Picture
from judgemap.report.words.text import DESIGNS
from judgemap.study.plan.schedules import Schedule


def exposure_map(schedule: Schedule) -> Picture:
    """Draw how often the design asks about each area, on average."""
    scale = Scale("PuBuGn", f"Times asked, on average in {len(schedule):,} pairs", "rarely", "often")
    return choropleth(schedule.areas, schedule.expected(), scale, how_often(schedule))


def how_alike(schedule: Schedule) -> str:
    """Say how many pairs are about as likely as the most likely one.

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
    summary = f"Of {n_pairs:,} pairs, {alike:,} ({100 * alike / n_pairs:.0f} %) are within 5 % of the most likely"
    return f"{summary}, and {never:,} are never asked." if never else f"{summary}."


def how_often(schedule: Schedule) -> str:
    """Say in a sentence how often areas come up: with the design, and in this list.

    >>> how_often(jm.schedule(jm.chicago(), "uniform", 77, seed=1))[:61]
    'With the uniform design, every area comes up 2.0 times on ave'
    """
    known = schedule.design.areas
    expected, asked = schedule.expected()[known], schedule.asked()[known]
    least, most = (known[place] for place in (int(expected.argmin()), int(expected.argmax())))
    names = schedule.areas.names
    everywhere = "every area" if len(known) == len(schedule.areas) else f"each of the {len(known):,} known areas"
    if np.ptp(expected) < 0.005 * expected.mean():
        summary = f"{everywhere} comes up {expected.mean():.1f} times on average"
    else:
        summary = (
            f"areas come up {expected.min():.1f} times ({names[least]}) to {expected.max():.1f} times "
            f"({names[most]}) on average"
        )
    low, high = int(asked.min()), int(asked.max())
    drawn = f"{low} times each" if low == high else f"{low} to {high} times"
    return f"With the {DESIGNS[schedule.name]}, {summary}; in this list, {drawn}."
