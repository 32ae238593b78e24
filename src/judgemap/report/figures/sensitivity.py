"""Pictures of several fits of the same areas: each against a base, and side by side on maps."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from matplotlib.patches import Patch

from judgemap.core.assess.reliability import pearson, spearman
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.report.figures.colours import Diverging
from judgemap.report.figures.ground import ground
from judgemap.report.figures.maps import drawn_how, kind_of
from judgemap.report.figures.picture import (
    BLUE,
    INK,
    SMALL,
    WIDTH,
    Picture,
    draw_diagonal,
    drawing,
)
from judgemap.report.words.text import number
from judgemap.study.result import Fit

STANDARD = Diverging("risk", "Risk, in standard deviations over the areas", "lower risk", "higher risk")


def sensitivity_scatter(base: Fit, others: Mapping[str, Fit]) -> Picture:
    """Draw the posterior medians of other fits against those of a base, area by area.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> sensitivity_scatter(fit, {"the same": fit}).caption
    'Posterior medians of risk. the same: Pearson 1.000, Spearman 1.000.'
    """
    medians = _medians({"": base, **others})
    x, names = medians.pop(""), list(others)
    columns = min(len(names), 2)
    rows = -(-len(names) // columns)
    summary = "; ".join(
        f"{name}: Pearson {pearson(x, medians[name]):.3f}, Spearman {spearman(x, medians[name]):.3f}" for name in names
    )
    with drawing(300 if columns == 1 else 20 + 175 * rows, rows=rows, columns=columns) as (figure, panels):
        for axes, name in zip(panels, names, strict=False):
            y = medians[name]
            draw_diagonal(axes, x, y)
            axes.plot(x, y, "o", color=BLUE, markersize=3.5, alpha=0.75, markeredgewidth=0)
            axes.set_title(name, fontsize=SMALL, loc="left", pad=3)
        for axes in panels[len(names) :]:
            axes.set_axis_off()
        for axes in panels[max(len(names) - columns, 0) : len(names)]:
            axes.set_xlabel("risk, base")
        for axes in panels[::columns]:
            axes.set_ylabel("risk, other")
    alt = f"Scatter of posterior medians of {len(x):,} areas. {summary}."
    return Picture(figure, alt, f"Posterior medians of risk. {summary}.")


def sensitivity_maps(fits: Mapping[str, Fit]) -> Picture:
    """Draw the risk maps of several fits side by side, each in standard deviations over its own areas.

    Fits to fewer answers, or with another prior, spread the areas less or more, so only the order of the areas and
    their relative distances can be compared.
    """
    medians = {name: _standardised(values) for name, values in _medians(fits).items()}
    areas = next(iter(fits.values())).map
    place, names = ground(areas), list(fits)
    limits = STANDARD.limits_for(np.concatenate(list(medians.values())))
    colours = STANDARD.shades(limits)
    columns = min(len(names), 2)
    rows = -(-len(names) // columns)
    with drawing(64 + rows * (24 + place.height / columns), rows=rows, columns=columns) as (figure, panels):
        for axes in panels:
            axes.set_axis_off()
        for axes, name in zip(panels, names, strict=False):
            axes.set(xlim=(0, WIDTH), ylim=(0, place.height), aspect="equal")
            place.frame(axes)
            classes = np.clip(np.searchsorted(limits, medians[name], side="right") - 1, 0, len(colours) - 1)
            for each, colour in enumerate(colours):
                place.paint(axes, np.flatnonzero(classes == each), colour)
            axes.set_title(name, fontsize=SMALL, loc="left", color=INK)
        keys = [f"{number(low)} to {number(high)}" for low, high in pairwise(limits)]
        figure.legend(
            handles=[Patch(color=colour, label=key) for colour, key in zip(colours, keys, strict=True)],
            loc="outside lower center",
            ncols=3,
            frameon=False,
            fontsize=SMALL,
            handlelength=1.0,
            columnspacing=1.0,
        )
    highest = "; ".join(f"{name}: {areas.names[int(values.argmax())]}" for name, values in medians.items())
    alt = f"{kind_of(areas)}s of the risk of {len(areas):,} areas by {len(names):,} fits. Highest of each: {highest}."
    return Picture(figure, alt, f"{STANDARD.title}: the darker, the higher.{drawn_how(areas)}")


def _medians(fits: Mapping[str, Fit]) -> dict[str, FloatArray]:
    if len({fit.map.ids for fit in fits.values()}) > 1:
        raise StudyError("these fits are of different areas; compare fits of one study")
    if len(fits) < 1:
        raise StudyError("there is no fit to draw")
    return {name: np.median(fit.risk, axis=0) for name, fit in fits.items()}


def _standardised(values: FloatArray) -> FloatArray:
    spread = float(values.std())
    centred: FloatArray = values - values.mean()
    return centred / spread if spread > 0 else centred
