"""What a worker does before its first fit."""

import tempfile
from pathlib import Path


def warm_up() -> None:
    """Load what fits need and run the smallest of each kind, so that a researcher does not wait for it."""
    import geopandas
    import numpy as np
    import shapely

    from judgemap.core.graph import AreaGraph
    from judgemap.geo.maps import Areas
    from judgemap.study.comparisons import Comparisons
    from judgemap.study.settings import FitSettings
    from judgemap.web.results.fits.running import table_of

    boxes = geopandas.GeoSeries([shapely.box(i, 0, i + 1, 1) for i in range(3)], crs="EPSG:4326")
    areas = Areas(("a", "b", "c"), ("A", "B", "C"), AreaGraph(3, np.array([[0, 1], [1, 2]])), boxes)
    sides = np.array([0, 1, 0, 1]), np.array([1, 2, 2, 0])
    data = Comparisons.from_words(areas.ids, ("x",) * 4, *sides, ("left", "left", "right", "left"))
    for model in ("spatial", "clusters"):
        fit = FitSettings(model=model, chains=2, warmup=5, draws=20, thin=1, seed=1).run(data, areas)
        table_of(fit)
        with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
            fit.save(Path(folder, "results"))
