"""The pictures of a fit that its pages show: those of its gallery that have a place there."""

from judgemap.report.briefing import Gallery
from judgemap.report.picture import Picture
from judgemap.study.clusters import ClusterFit

SHOWN = {
    "traces": "traces",
    "ranks": "ranks",
    "predictive": "win-rates",
    "variance": "variance-against-median",
}
"""What the pages call each figure of the gallery."""
OF_CLUSTERS = {"cluster-number": "number-of-clusters", "cluster-violins": "violins", "co-clustering": "together"}


def draw(gallery: Gallery) -> dict[str, Picture]:
    """Draw a fit's pictures by name. What a fit has not, such as a posterior of a fixed α, is left out."""
    wanted = SHOWN | (OF_CLUSTERS if isinstance(gallery.fit, ClusterFit) else {"alpha": "alpha"})
    return {name: gallery[figure] for name, figure in wanted.items() if figure in gallery.names}
