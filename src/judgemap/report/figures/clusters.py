"""Pictures of a clustering: the map, risk by cluster, number of clusters, areas that belong together, other fits."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba_array
from matplotlib.patches import Rectangle

from judgemap.core.types import FloatArray
from judgemap.report.figures.colours import CHANCE, UNPLACED, UNPLACED_WORDS, area_colour, cluster_colours
from judgemap.report.figures.maps import drawn_how, fit_size, ground, kind_of, sheet
from judgemap.report.figures.picture import (
    BLUE,
    FAINT,
    INK,
    QUIET,
    SMALL,
    Picture,
    draw_against,
    draw_keys,
    drawing,
    style,
)
from judgemap.report.words.text import MODELS, capital, number_sentence, partition_sentence, percentage, signed
from judgemap.study.fit.clusters import ClusterFit, Partition
from judgemap.study.fit.result import Fit, check_fits

LINE = 15.0
"""Height of a line of the map's legend, in points."""


def cluster_map(fit: ClusterFit, title: str = "", *, ax: Axes | None = None) -> Picture:
    """Draw the clusters, red above the average and blue below; the less certain an area's cluster, the fainter it is.

    Dots mark areas that could belong to another cluster; areas without a clear cluster stay white.
    """
    shown = fit.best
    place, colours = ground(fit.map), _colours(shown)
    doubtful = np.array([each.area for each in shown.between], dtype=np.int64)
    unplaced = int((~shown.placed).sum())
    below = LINE * (shown.n_clusters + bool(len(doubtful)) + bool(unplaced)) + 8
    with style():
        figure, axes = sheet(place.height + below, title, below, ax)
        place.frame(axes)
        fills = np.array(
            [
                area_colour(colours[label - 1], chance, placed=bool(placed))
                for label, chance, placed in zip(shown.labels, shown.probability, shown.placed, strict=True)
            ]
        )
        for fill in np.unique(fills):
            place.paint(axes, np.flatnonzero(fills == fill), fill, edge=FAINT)
        place.dots(axes, 4.0, doubtful)
        words = [
            f"Cluster {k}, {group.level}: {group.areas:,} areas, mean risk {signed(group.mean)}"
            for k, group in enumerate(shown.grouping.groups, start=1)
        ]
        _key(axes, colours, words, unplaced=unplaced, dots=len(doubtful) > 0)
        fit_size(axes)
    sizes = np.bincount(shown.labels)[1:]
    listed = "; ".join(f"cluster {k} has {size:,} areas" for k, size in enumerate(sizes, start=1))
    between = f" {len(doubtful):,} areas (dots) belong to another cluster with probability 20 % or more."
    doubt = between if len(doubtful) else ""
    doubt += f" {unplaced:,} areas (white) do not clearly belong to any cluster." if unplaced else ""
    caption = (
        "Neighbouring areas of similar risk. The fainter an area, the less certain that it belongs to its cluster. "
        f"{number_sentence(shown.grouping.numbers)} {partition_sentence(shown.grouping)}{doubt}"
    )
    alt = f"{kind_of(fit.map)} of {len(fit.map):,} areas in clusters by risk and location: {listed}."
    return Picture(figure, alt, caption + drawn_how(fit.map))


def cluster_violins(fit: ClusterFit) -> Picture:
    """Draw how risk is spread in each cluster: the pooled posterior draws of its areas."""
    shown = fit.best
    colours = _colours(shown)
    risk = fit.risk[:: max(1, len(fit.risk) // 1000)]  # about a thousand draws per area show the shape
    pooled = [_without_ends(risk[:, shown.labels == k].ravel()) for k in range(1, shown.n_clusters + 1)]
    with drawing(240) as (figure, [axes]):
        bodies: Any = axes.violinplot(pooled, showextrema=False, widths=0.8, points=120)["bodies"]
        for body, colour in zip(bodies, colours, strict=True):
            body.set(facecolor=colour, edgecolor=QUIET, alpha=1.0, linewidth=0.6)
        for place, draws in enumerate(pooled, start=1):
            low, middle, high = np.quantile(draws, [0.25, 0.5, 0.75])
            axes.plot([place, place], [low, high], color=INK, linewidth=2.5, solid_capstyle="butt")
            axes.plot(place, middle, "o", color="white", markeredgecolor=INK, markersize=5)
        axes.set(xlabel="cluster", ylabel="risk", xticks=range(1, shown.n_clusters + 1))
    middles = ", ".join(f"{k}: {signed(np.median(draws))}" for k, draws in enumerate(pooled, start=1))
    caption = (
        "Risk of the areas in each cluster, leaving out the most extreme thousandth at each end. The bar "
        "spans the middle half."
    )
    return Picture(figure, f"Violins of risk in {shown.n_clusters} clusters. Medians by cluster: {middles}.", caption)


def cluster_number_bars(fit: ClusterFit) -> Picture:
    """Draw the probability of each number of clusters."""
    chances = fit.n_clusters
    with drawing(200) as (figure, [axes]):
        bars = axes.bar(chances.index.to_numpy(), chances.to_numpy(), color=BLUE, width=0.7)
        axes.bar_label(bars, [percentage(float(chance)) for chance in chances], padding=2, fontsize=SMALL)
        axes.set(xlabel="number of clusters", ylabel="probability", xticks=chances.index.to_numpy())
        axes.margins(y=0.12)
    summary = ", ".join(f"{number} with probability {percentage(float(chance))}" for number, chance in chances.items())
    caption = "Probability of each number of clusters, given the answers."
    return Picture(figure, f"Bars of the number of clusters: {summary}.", caption)


def co_clustering_matrix(fit: ClusterFit) -> Picture:
    """Draw the probability that two areas share a cluster, with areas in order of cluster and risk."""
    shown = fit.best
    risk = np.median(fit.risk, axis=0)
    order = np.lexsort((-risk, shown.labels))
    classes, limits = CHANCE.classify(fit.co_clustering[np.ix_(order, order)])
    colours = CHANCE.shades(limits)
    with drawing(330) as (figure, [axes]):
        axes.imshow(to_rgba_array(colours)[classes], interpolation="nearest", aspect="equal")
        edges = np.flatnonzero(np.diff(shown.labels[order])) + 0.5
        for edge in edges:
            axes.axhline(edge, color=INK, linewidth=0.8)
            axes.axvline(edge, color=INK, linewidth=0.8)
        middles = [float(np.flatnonzero(shown.labels[order] == k).mean()) for k in range(1, shown.n_clusters + 1)]
        names = [str(k) for k in range(1, shown.n_clusters + 1)]
        axes.set(xlabel="areas by cluster", ylabel="areas by cluster")
        axes.set_xticks(middles, names)
        axes.set_yticks(middles, names)
        words = [f"{100 * low:.0f}–{100 * high:.0f} %" for low, high in pairwise(limits)]
        draw_keys(axes, colours, words, loc="center left", bbox_to_anchor=(1.02, 0.5), title="together")
    members = [np.flatnonzero(shown.labels == k) for k in range(1, shown.n_clusters + 1)]
    inside = [float(fit.co_clustering[np.ix_(m, m)].mean()) for m in members]
    summary = "; ".join(f"within cluster {k} {percentage(chance)}" for k, chance in enumerate(inside, start=1))
    alt = f"Matrix of the probability that two of {len(fit.map):,} areas share a cluster. On average {summary}."
    return Picture(figure, alt, "The darker, the more likely two areas share a cluster. Lines separate the clusters.")


def against_spatial(fit: Fit, spatial: Fit) -> Picture:
    """Draw the posterior medians and variances of one fit, usually a clustering, against those of another."""
    check_fits(fit, spatial)
    pairs = [(each.areas["risk_median"].to_numpy(), each.areas["risk_sd"].to_numpy() ** 2) for each in (spatial, fit)]
    correlation = float(np.corrcoef(pairs[0][0], pairs[1][0])[0, 1])
    ratio = float(np.median(pairs[1][1] / pairs[0][1]))
    one, other = (MODELS[each.record.model][0] for each in (fit, spatial))
    with drawing(190, columns=2) as (figure, panels):
        for axes, column, name in zip(panels, range(2), ("posterior median", "posterior variance"), strict=True):
            draw_against(axes, pairs[0][column], pairs[1][column], name)
            axes.set(xlabel=f"{other} model", ylabel=f"{one} model" if column == 0 else "")
    summary = (
        f"Medians of the two models have correlation {correlation:.3f}. In the median area the {one} model's variance "
        f"is {ratio:.2f} times the {other} model's"
    )
    return Picture(figure, f"{capital(one)} against {other} model, area by area. {summary}.", f"{summary}.")


def _without_ends(draws: FloatArray) -> FloatArray:
    """Leave out the lowest and the highest thousandth, which would stretch a violin into a line."""
    low, high = np.quantile(draws, [0.001, 0.999])
    return np.asarray(draws[(low <= draws) & (draws <= high)])


def _colours(partition: Partition) -> list[str]:
    return cluster_colours([group.level for group in partition.grouping.groups])


def _key(axes: Axes, colours: Sequence[str], words: Sequence[str], *, unplaced: int, dots: bool) -> None:
    """Draw the map's legend: a box for each cluster, one for areas without a clear cluster, and the dot."""
    if unplaced:
        colours, words = [*colours, UNPLACED], [*words, f"{UNPLACED_WORDS}: {unplaced:,} areas"]
    for line, (colour, text) in enumerate(zip(colours, words, strict=True)):
        y = -LINE * (line + 1)
        axes.add_patch(Rectangle((10, y), 18, 10, facecolor=colour, edgecolor=QUIET, linewidth=0.5))
        axes.text(34, y + 5, text, va="center_baseline")
    if dots:
        y = -LINE * (len(colours) + 1)
        axes.plot(19, y + 5, "o", color=INK, markersize=4)
        axes.text(34, y + 5, "could belong to another cluster", va="center_baseline")
