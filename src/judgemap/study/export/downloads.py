"""A fit in other programs' formats: tables, maps and draws, one file each."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from judgemap.errors import NotInstalledError, StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.study.export.replication import replication
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.folder import check_file
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import View

__all__ = ["FORMATS", "OF_A_MAP", "Format", "areas_table", "draws_table", "kind_of", "replication", "write_download"]


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: its ending, its media type, what it contains, and the function that writes it."""

    ending: str
    media_type: str
    says: str
    write: Callable[[Fit, Path], None]


def areas_table(fit: Fit) -> pd.DataFrame:
    """Return the table of areas.csv; for a clustering, with each area's cluster and its probability.

    If judges differ, ``view`` says whose map it is: the population's or the panel's.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> areas_table(jm.fit_standard(data, areas, seed=1, chains=2, draws=100)).shape
    (77, 11)
    """
    if isinstance(fit, ClusterFit):
        return fit.areas.merge(fit.clusters.drop(columns="name"), on="id")
    return fit.areas if fit.record.view is View.POOLED else fit.areas.assign(view=fit.record.view.value)


def draws_table(fit: Fit) -> pd.DataFrame:
    """Return every draw of every area's risk, one row per draw and area: chain, draw, area, risk.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> draws_table(jm.fit_standard(data, areas, seed=1, chains=2, draws=100)).columns.to_list()
    ['chain', 'draw', 'area', 'risk']
    """
    return fit.posterior["risk"].to_dataframe().reset_index()[["chain", "draw", "area", "risk"]]


def write_download(fit: Fit, kind: str, path: str | Path) -> Path:
    """Write one file of a fit, completely or not at all; `FORMATS` lists the kinds.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_standard(data, areas, seed=1, chains=2, draws=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_download(fit, "parquet", Path(folder, "areas.parquet"))
    ...     pd.read_parquet(path).shape
    (77, 12)
    """
    path = Path(path)
    if kind not in FORMATS:
        raise StudyError(f"there is no format {kind!r}{did_you_mean(kind, FORMATS)}; choose one of {quoted(FORMATS)}")
    if kind in OF_A_MAP and fit.map.geometry is None:
        raise StudyError(f"this fit has no map, which {kind} is for; choose 'csv' or 'parquet' instead")
    check_file(path)
    if FORMATS[kind].media_type == PARQUET and find_spec("pyarrow") is None:
        raise NotInstalledError("pyarrow", "parquet")
    try:
        with tempfile.TemporaryDirectory(prefix=".judgemap-", dir=path.parent) as folder:
            draft = Path(folder, f"draft{FORMATS[kind].ending}")
            FORMATS[kind].write(fit, draft)
            draft.replace(path)
    except OSError as error:
        raise StudyError(f"{path} cannot be written ({error.strerror or error}); name another file") from None
    return path


def kind_of(path: str | Path) -> str:
    """Infer the kind of file from the ending of its name.

    >>> kind_of("wards.gpkg"), kind_of("wards.draws.parquet")
    ('gpkg', 'draws')
    """
    name = Path(path).name.casefold()
    fitting = [kind for kind, each in FORMATS.items() if name.endswith(each.ending)]
    if not fitting:
        endings = quoted([each.ending for each in FORMATS.values()])
        raise StudyError(f"{name}: its ending is not a known format; use one of {endings}, or say --as")
    return max(fitting, key=lambda kind: len(FORMATS[kind].ending))


def _write_csv(fit: Fit, path: Path) -> None:
    areas_table(fit).to_csv(path, index=False)


def _write_geojson(fit: Fit, path: Path) -> None:
    frame = fit.map.to_frame().to_crs("EPSG:4326").merge(areas_table(fit).drop(columns="name"), on="id")
    frame.to_file(path, driver="GeoJSON", COORDINATE_PRECISION=6)


def _write_gpkg(fit: Fit, path: Path) -> None:
    frame = fit.map.to_frame().merge(areas_table(fit).drop(columns="name"), on="id")
    frame.to_file(path, driver="GPKG", layer="areas")


def _write_parquet(fit: Fit, path: Path) -> None:
    table = areas_table(fit)
    if fit.map.geometry is None:
        table.to_parquet(path, index=False)
    else:
        fit.map.to_frame().merge(table.drop(columns="name"), on="id").to_parquet(path, index=False)


def _write_draws(fit: Fit, path: Path) -> None:
    table = draws_table(fit)
    table["area"] = table["area"].astype("category")
    if fit.record.view is not View.POOLED:
        table["view"] = pd.Categorical([fit.record.view.value] * len(table))
    table.to_parquet(path, index=False)


def wide_draws(fit: Fit) -> pd.DataFrame:
    """Return every draw in the layout of the R package posterior: a row per draw, a column per area's risk, and α².

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> wide_draws(jm.fit_standard(data, areas, seed=1, chains=2, draws=100)).columns[:4].to_list()
    ['.chain', '.iteration', '.draw', 'risk[1]']
    """
    chains, draws, _ = fit.posterior["risk"].shape
    number = np.arange(chains * draws)
    counted = {".chain": number // draws + 1, ".iteration": number % draws + 1, ".draw": number + 1}
    risk = pd.DataFrame(fit.risk, columns=[f"risk[{area}]" for area in fit.map.ids])
    scalars = {
        str(name): values.to_numpy().ravel()
        for name, values in fit.posterior.data_vars.items()
        if values.dims == ("chain", "draw")
    }
    return pd.concat([pd.DataFrame(counted), risk, pd.DataFrame(scalars)], axis=1)


def _write_draws_csv(fit: Fit, path: Path) -> None:
    wide_draws(fit).to_csv(path, index=False, float_format="%.9g")


def _write_netcdf(fit: Fit, path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        shutil.copyfile(fit.save(Path(folder, "results")) / "posterior.nc", path)


PARQUET = "application/vnd.apache.parquet"
FORMATS: dict[str, Format] = {
    "csv": Format(".csv", "text/csv", "a table, for spreadsheets and R", _write_csv),
    "geojson": Format(".geojson", "application/geo+json", "the map, for web maps and QGIS", _write_geojson),
    "gpkg": Format(".gpkg", "application/geopackage+sqlite3", "the map, for QGIS and ArcGIS", _write_gpkg),
    "parquet": Format(".parquet", PARQUET, "the table, with the map if there is one (GeoParquet)", _write_parquet),
    "draws": Format(".draws.parquet", PARQUET, "every draw of every area's risk, one row per draw", _write_draws),
    "draws-csv": Format(".draws.csv", "text/csv", "every draw, one row per draw, for R", _write_draws_csv),
    "netcdf": Format(
        ".nc", "application/netcdf", "the posterior and the sampling statistics, for ArviZ", _write_netcdf
    ),
}
"""The formats in which a fit can be written, by name."""
OF_A_MAP = ("geojson", "gpkg")
"""The formats that need a map."""
