"""Plots for notebooks: the report's figures on the reader's own matplotlib axes or on new ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from judgemap.errors import StudyError
from judgemap.report.figures import clusters, maps
from judgemap.report.figures import fit as figures
from judgemap.report.figures.ground import ground
from judgemap.report.figures.picture import WIDTH, Picture, style
from judgemap.study.clusters import ClusterFit
from judgemap.study.result import Fit


@dataclass(frozen=True, slots=True, eq=False)
class FitPlots:
    """The plots of a fit, `fit.plot`: each draws on ``ax``, or on a new figure, and returns the axes.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> fit.plot.alpha().get_xlabel()
    'α'
    """

    fit: Fit

    def __repr__(self) -> str:
        return f"the plots of {self.fit!r}: {', '.join(name for name in dir(self) if name[0] != '_' and name != 'fit')}"

    def map(self, *, title: str = "", ax: Axes | None = None) -> Axes:
        """Draw the map: every area's posterior median of risk, with the ten highest numbered.

        >>> import judgemap as jm
        >>> areas, data = jm.example_study(seed=1)
        >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
        >>> fit.plot.map(title="Risk").texts[0].get_text()
        'Risk'
        """
        return self._draw(maps.risk_map, self._map_height(title), ax, title=title)

    def uncertainty(self, *, title: str = "", ax: Axes | None = None) -> Axes:
        """Draw the map of every area's posterior standard deviation."""
        return self._draw(maps.uncertainty_map, self._map_height(title), ax, title=title)

    def p_top(self, k: int = 10, *, title: str = "", ax: Axes | None = None) -> Axes:
        """Draw the map of the probability that an area is among the k highest risks."""
        return self._draw(maps.p_top_map, self._map_height(title), ax, k=k, title=title)

    def intervals(self, top: int = 20, *, ax: Axes | None = None) -> Axes:
        """Draw the highest areas' risk with 95 % intervals."""
        return self._draw(figures.risk_intervals, 44 + 15.5 * min(top, len(self.fit.map)), ax, top=top)

    def ranks(self, top: int = 20, *, ax: Axes | None = None) -> Axes:
        """Draw the highest areas' ranks with 95 % intervals."""
        return self._draw(figures.rank_intervals, 44 + 15.5 * min(top, len(self.fit.map)), ax, top=top)

    def alpha(self, *, ax: Axes | None = None) -> Axes:
        """Draw the posterior of α, the prior's standard deviation."""
        return self._draw(figures.alpha_posterior, 210, ax)

    def convergence(self, *, ax: Axes | None = None) -> Axes:
        """Draw every area's R-hat against its effective sample size."""
        return self._draw(figures.convergence, 230, ax)

    def variance(self, *, ax: Axes | None = None) -> Axes:
        """Draw every area's posterior variance against its posterior median."""
        return self._draw(figures.variance_against_median, 260, ax)

    def clusters(self, *, title: str = "", ax: Axes | None = None) -> Axes:
        """Draw the map of the clusters, for a fit from `fit_clusters`."""
        if not isinstance(self.fit, ClusterFit):
            raise StudyError("only a fit of clusters has clusters to draw; make one with fit_clusters")
        extra = clusters.LINE * self.fit.best.n_clusters
        return self._draw(clusters.cluster_map, self._map_height(title) + extra, ax, title=title)

    def _map_height(self, title: str) -> float:
        return ground(self.fit.map).height + maps.LEGEND + (maps.TITLE if title else 0)

    def _draw(self, figure: Callable[..., Picture], height: float, ax: Axes | None, **options: Any) -> Axes:  # noqa: ANN401 - the figure's own
        if ax is None:
            from matplotlib import pyplot as plt  # so that a notebook shows the figure

            # Made outside the style: a notebook's first figure changes matplotlib's settings, and the style would undo
            # that.
            sheet = plt.figure(figsize=(WIDTH / 72, height / 72), layout="constrained")
            with style():
                ax = sheet.subplots()
        figure(self.fit, **options, ax=ax)
        return ax
