"""A fit in other programs' formats: tables, maps and draws, one file each."""

import io
import json
import shlex
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from judgemap.core.model.prior import InverseGamma
from judgemap.errors import NotInstalledError, StudyError
from judgemap.geo.csvfiles import check_known, csv_text, defused, quoted
from judgemap.geo.maps import Areas
from judgemap.study.assess.beside import Grouping, outlines_by, results_by
from judgemap.study.assess.findings import Rates
from judgemap.study.data.comparisons import Comparisons, check_map
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.folder import check_file, new_folder, write_whole
from judgemap.study.fit.priors import PRIORS
from judgemap.study.fit.record import FitRecord, data_notes
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import EFFECTS, FitSettings, View

if TYPE_CHECKING:
    import geopandas

__all__ = ["FORMATS", "OF_A_MAP", "Format", "areas_table", "draws_table", "kind_of", "replication", "write_download"]

By = Grouping | Rates | None
"""What a table has: results by group, or rates beside the risks, or the risks alone."""


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: its ending, its media type, what it contains, and the function that writes it."""

    ending: str
    media_type: str
    says: str
    write: Callable[[Fit, "By", Path], None]


def areas_table(fit: Fit) -> pd.DataFrame:
    """Return the table of areas.csv; for a clustering, with each area's cluster and its probability.

    If judges differ, ``view`` says whose map it is: the population's or the panel's.
    """
    if isinstance(fit, ClusterFit):
        return fit.areas.merge(fit.clusters.drop(columns="name"), on="id")
    return fit.areas if fit.record.view is View.POOLED else fit.areas.assign(view=fit.record.view.value)


def draws_table(fit: Fit) -> pd.DataFrame:
    """Return every draw of every area's risk, one row per draw and area: chain, draw, area, risk."""
    axes = ["chain", "draw", "area"]
    every = pd.MultiIndex.from_product([fit.posterior[axis] for axis in axes], names=axes)
    return pd.DataFrame({"risk": fit.posterior["risk"].ravel()}, index=every).reset_index()


def write_download(fit: Fit, kind: str, path: str | Path, by: By = None) -> Path:
    """Write one file of a fit, completely or not at all; `FORMATS` lists the kinds.

    ``by`` gives results by group, or rates too.
    """
    path = Path(path)
    check_known("format", kind, FORMATS)
    if kind in OF_A_MAP and fit.map.geometry is None:
        raise StudyError(f"this fit has no map, which {kind} is for; choose 'csv' or 'parquet' instead")
    if by is not None and kind not in OF_GROUPS:
        raise StudyError(f"results by group and rates cannot be written as {kind!r}; choose one of {quoted(OF_GROUPS)}")
    check_file(path)
    if FORMATS[kind].media_type == PARQUET and find_spec("pyarrow") is None:
        raise NotInstalledError("pyarrow", "parquet")
    try:
        with tempfile.TemporaryDirectory(prefix=".judgemap-", dir=path.parent) as folder:
            draft = Path(folder, f"draft{FORMATS[kind].ending}")
            FORMATS[kind].write(fit, by, draft)
            draft.replace(path)
    except OSError as error:
        raise StudyError(f"{path} cannot be written ({error.strerror or error}); name another file") from None
    return path


def kind_of(path: str | Path) -> str:
    """Infer the kind of file from the ending of its name."""
    name = Path(path).name.casefold()
    fitting = [kind for kind, each in FORMATS.items() if name.endswith(each.ending)]
    if not fitting:
        endings = quoted([each.ending for each in FORMATS.values()])
        raise StudyError(f"{name}: its ending is not a known format; use one of {endings}, or say --as")
    return max(fitting, key=lambda kind: len(FORMATS[kind].ending))


def _table(fit: Fit, by: By) -> pd.DataFrame:
    if isinstance(by, Grouping):
        return results_by(fit, by)
    table = areas_table(fit)
    return table if by is None else table.merge(by.table.drop(columns="name"), on="id")


def _drawn(fit: Fit, by: By) -> "geopandas.GeoDataFrame":
    """Join the table to the outlines of its areas or groups."""
    if isinstance(by, Grouping):
        return outlines_by(fit.map, by).merge(results_by(fit, by), on="group")
    return fit.map.to_frame().merge(_table(fit, by).drop(columns="name"), on="id")


def _write_csv(fit: Fit, by: By, path: Path) -> None:
    text = _without_formulas(_table(fit, by)).to_csv(index=False)
    # Excel takes a file without the mark to be in the machine's own encoding, which matters only beyond ASCII.
    path.write_text(text, encoding="utf-8" if text.isascii() else "utf-8-sig", newline="")


def _write_xlsx(fit: Fit, by: By, path: Path) -> None:
    """Write a sheet with the table and one that says what its columns mean."""
    import pyogrio

    table = _table(fit, by)
    meanings = pd.DataFrame({"column": table.columns, "meaning": [meaning_of(each) for each in table.columns]})
    if isinstance(by, Rates):
        meanings.loc[len(meanings)] = ["", by.sentence]
    pyogrio.write_dataframe(table, path, layer="results", driver="XLSX")
    pyogrio.write_dataframe(meanings, path, layer="columns", driver="XLSX", append=True)


MEANINGS = {
    "id": "the id of the area",
    "name": "the name of the area",
    "group": "the name of the group of areas",
    "areas": "how many areas the group has",
    "risk_median": "posterior median of risk, on the scale of log odds; the average area has 0; high is bad",
    "risk_mean": "posterior mean of risk",
    "risk_sd": "posterior standard deviation of risk",
    "risk_low": "lower end of the 95 % interval of risk",
    "risk_high": "upper end of the 95 % interval of risk",
    "rank": "place by median risk, 1 for the highest",
    "rank_low": "lower end of the 95 % interval of the rank",
    "rank_high": "upper end of the 95 % interval of the rank",
    "cluster": "the cluster of the partition shown, 1 for the highest risk",
    "probability": "the probability that the area belongs to that cluster",
    "recorded": "the count of the area that the rates rest on, if it has one",
    "rests_on": "how many areas have counts, on which all rates and cases rest",
    "rate_median": "posterior median of the rate",
    "rate_low": "lower end of the 95 % interval of the rate",
    "rate_high": "upper end of the 95 % interval of the rate",
    "cases_median": "posterior median of the number of cases",
    "cases_low": "lower end of the 95 % interval of the number of cases",
    "cases_high": "upper end of the 95 % interval of the number of cases",
    "view": "whose map it is, if judges differ: the population's or the panel's",
}
"""What the columns of a table of results mean."""


def meaning_of(column: str) -> str:
    """Say what a column of a table of results means."""
    if column.startswith("p_top"):
        return f"the probability of being among the {column.removeprefix('p_top')} highest risks"
    return MEANINGS.get(column, "")


def _write_geojson(fit: Fit, by: By, path: Path) -> None:
    _drawn(fit, by).to_crs("EPSG:4326").to_file(path, driver="GeoJSON", COORDINATE_PRECISION=6)


def _write_gpkg(fit: Fit, by: By, path: Path) -> None:
    _drawn(fit, by).to_file(path, driver="GPKG", layer="groups" if isinstance(by, Grouping) else "areas")


def _write_parquet(fit: Fit, by: By, path: Path) -> None:
    table = _table(fit, by) if fit.map.geometry is None else _drawn(fit, by)
    table.to_parquet(path, index=False)


def _write_draws(fit: Fit, by: By, path: Path) -> None:  # noqa: ARG001 - `OF_GROUPS` leaves it out
    table = draws_table(fit)
    table["area"] = table["area"].astype("category")
    if fit.record.view is not View.POOLED:
        table["view"] = pd.Categorical([fit.record.view.value] * len(table))
    table.to_parquet(path, index=False)


def wide_draws(fit: Fit) -> pd.DataFrame:
    """Return every draw in the layout of the R package posterior: a row per draw, a column per area's risk, and α²."""
    chains, draws, _ = fit.posterior["risk"].shape
    number = np.arange(chains * draws)
    counted = {".chain": number // draws + 1, ".iteration": number % draws + 1, ".draw": number + 1}
    risk = pd.DataFrame(fit.risk, columns=[f"risk[{area}]" for area in fit.map.ids])
    scalars = {
        name: values.ravel() for name, (axes, values) in fit.posterior.arrays.items() if axes == ("chain", "draw")
    }
    return pd.concat([pd.DataFrame(counted), risk, pd.DataFrame(scalars)], axis=1)


def _write_draws_csv(fit: Fit, by: By, path: Path) -> None:  # noqa: ARG001
    wide_draws(fit).to_csv(path, index=False, float_format="%.9g")


def _write_netcdf(fit: Fit, by: By, path: Path) -> None:  # noqa: ARG001
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        shutil.copyfile(fit.save(Path(folder, "results")) / "posterior.nc", path)


PARQUET = "application/vnd.apache.parquet"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
FORMATS: dict[str, Format] = {
    "csv": Format(".csv", "text/csv", "a table, for spreadsheets and R", _write_csv),
    "xlsx": Format(".xlsx", XLSX, "a spreadsheet, with a sheet that says what its columns mean", _write_xlsx),
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
OF_GROUPS = ("csv", "xlsx", "geojson", "gpkg", "parquet")
"""The formats that results by group and rates can have."""


Judges = Literal["numbered", "kept"]
"""What judges are called in an archive: 1, 2, 3 in order of appearance, or as in the data."""
A_MOMENT = (1980, 1, 1, 0, 0, 0)
"""The date of every file in an archive, because when it was packed does not matter."""


def replication(
    fit: Fit,
    comparisons: Comparisons,
    definition_toml: str | None,
    path: str | Path,
    *,
    areas: Areas | None = None,
    judges: Judges = "numbered",
) -> Path:
    """Write a zip file from which `judgemap fit` reproduces the numbers of a fit, from exactly its comparisons.

    ``areas`` are as they were when the fit was made. They matter, and only for the last digits, if the prior depends on
    centroids: a saved fit has outlines rounded to six decimal places of a degree. Judges are "numbered" 1, 2, 3 in the
    order of the table, so that the archive can be published, or their names "kept".
    """
    path = Path(path)
    check_file(path)
    if comparisons.digest() != fit.record.data.sha256:
        raise StudyError("these comparisons are not the ones that were fitted; give the same complete file")
    if not fit.record.complete:
        raise StudyError("the fit was interrupted, so it cannot be reproduced; fit again")
    places = areas or fit.map
    if places.ids != fit.map.ids:
        raise StudyError("these areas are not the ones that were fitted; give the same map")
    files = dict(_files(fit, comparisons, places, judges))
    if definition_toml is not None:
        files["study.toml"] = definition_toml.encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, A_MOMENT)
            entry.external_attr = (0o755 if name.endswith(".sh") else 0o644) << 16
            archive.writestr(entry, files[name], zipfile.ZIP_DEFLATED)
    return write_whole(path, packed.getvalue())


def settings_of(fit: Fit) -> FitSettings:
    """Return settings from which a command makes the same fit; not if its prior was built in Python."""
    used = fit.record.correlation
    if used is None or fit.record.model == "standard":
        return fit.settings
    if used.kind not in PRIORS:
        raise StudyError(
            f"the fit's prior, {used.kind!r}, was built in Python: no command can build it; archive your script"
        )
    return replace(fit.settings, prior=used.kind, length=used.length)


def _files(fit: Fit, data: Comparisons, areas: Areas, judges: Judges) -> Iterator[tuple[str, bytes]]:
    shown = _numbered(data) if judges == "numbered" else data
    yield "comparisons.csv", _without_formulas(shown.to_frame()).to_csv(index=False).encode()
    yield "areas.csv", csv_text(("id", "name"), zip(areas.ids, areas.names, strict=True)).encode()
    pairs = [(areas.ids[a], areas.ids[b]) for a, b in areas.graph.edges.tolist()]
    places = ["--area-names", "areas.csv"]
    if pairs:
        yield "edges.csv", csv_text(("area_a", "area_b"), pairs).encode()
        places = ["--edges", "edges.csv", *places]
    if areas.geometry is not None and pairs:
        yield "areas.gpkg", _map(areas)
        places = ["--areas", "areas.gpkg", "--id", "id", "--name", "name", "--edges", "edges.csv"]
    if fit.map.figures is not None:
        yield "figures.csv", fit.map.figures.to_csv().encode()
        places += ["--figures", "figures.csv"]
    words = ["judgemap", "fit", "comparisons.csv", *places, "--winner-is", data.winner_is, *settings_of(fit).options()]
    command = shlex.join([*words, "-o", "results"])
    yield "command.sh", f"#!/bin/sh\nset -e\n{command}\n".encode()
    yield "fit.json", (json.dumps(_record(fit, data, shown).to_dict(), indent=2, ensure_ascii=False) + "\n").encode()
    packages = package_versions()
    yield "requirements.txt", "".join(f"{name}=={number}\n" for name, number in packages.items()).encode()
    yield "README.md", _readme(fit, shown, command).encode()


def _numbered(data: Comparisons) -> Comparisons:
    """Call the judges 1, 2, 3 in order of appearance; answers without a judge stay without one."""
    return replace(data, judges=tuple(str(number) for number in range(1, len(data.judges) + 1)))


def _record(fit: Fit, data: Comparisons, shown: Comparisons) -> FitRecord:
    """Return the record of a fit, with judges called what they are called in the archive."""
    made = data_notes(shown, data.counts().decided(), fit.map, fit.record.model)
    named = {note.kind: note for note in made if note.names_judges}
    notes = tuple(named.get(note.kind, note) for note in fit.record.notes)
    return replace(fit.record, notes=notes)


def _without_formulas(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Defuse the columns of text, which may contain names from other people's maps and from judges."""
    texts = [column for column in ("judge", "left", "right", "id", "name", "group") if column in frame]
    return frame.assign(**{column: frame[column].map(defused, na_action="ignore") for column in texts})


def _map(areas: Areas) -> bytes:
    """Write the outlines in the map's own coordinates, to the last digit."""
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        path = Path(folder, "areas.gpkg")
        areas.to_frame().to_file(path, driver="GPKG", layer="areas")
        return path.read_bytes()


def package_versions() -> dict[str, str]:
    """Return the versions of judgemap and of every package it needs to fit, as pip would."""
    from packaging.requirements import Requirement

    installed: dict[str, str] = {}
    wanted = ["judgemap"]
    while wanted:
        name = wanted.pop()
        if name in installed:
            continue
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
        needed = [Requirement(text) for text in requires(name) or []]
        wanted += [each.name.lower() for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    return {"judgemap": installed.pop("judgemap"), **dict(sorted(installed.items()))}


def _readme(fit: Fit, shown: Comparisons, command: str) -> str:
    record, data = fit.record, fit.record.data
    made = f"judgemap {record.versions['judgemap']}, Python {record.versions['python']}, seed {record.seed}"
    return f"""# Replication archive

A fit of the {record.model} model to {data.used:,} comparisons of {data.areas:,} areas ({made}).
To reproduce it, in an empty folder:

    python -m pip install -r requirements.txt
    {command}

`results/areas.csv` then has the same numbers. With other versions of numpy and scipy, or on another kind of processor,
the draws may differ: medians and intervals then agree within their Monte Carlo error.

| file | |
|---|---|
| comparisons.csv | every pair shown: judge, left, right, outcome, seconds |
| areas.csv, edges.csv | the areas, and which of them are neighbours |
| areas.gpkg | their outlines, if there is a map |
| study.toml | what was asked and how, if the data come from a study |
| fit.json | the record of the fit: model, priors, seed, diagnostics, notes |
| requirements.txt | the versions of all packages used |
| command.sh | the command above |

SHA-256 of the answers, as in fit.json and from `jm.read_comparisons(…).digest()`: {shown.digest()}
"""


MARK = "speedybbt.R"
"""The script, which also distinguishes such a folder from somebody's other files."""
FILES = (MARK, "comparisons.csv", "areas.csv", "covariance.csv")

SCRIPT = """# Written by judgemap: fits its {model} model again with speedyBBT, and shows both results side by side.
# install.packages("speedyBBT")
library(speedyBBT)

comparisons <- read.csv("comparisons.csv")
areas <- read.csv("areas.csv")
covariance <- as.matrix(read.csv("covariance.csv", header = FALSE))
dimnames(covariance) <- NULL

# item1 is always the winner and outcome always 1, as in speedyBBT's own examples. The names of the function and of its
# arguments differ between versions, so they are looked up.
fit <- if (exists("speedy_BBTm")) speedy_BBTm else speedyBBTm
called <- function(pattern) {{
  found <- grep(pattern, names(formals(fit)), value = TRUE)
  if (length(found) == 0) stop("this version of speedyBBT has no argument like '", pattern, "'", call. = FALSE)
  found[1]
}}
given <- list(comparisons$outcome, comparisons$item1, comparisons$item2)
given[[called("prior.*(var|cov)")]] <- covariance
given[[called("^n.?iter")]] <- 5000
given[[called("^chi")]] <- {scale}
given[[called("^psi")]] <- {shape}
draws <- do.call(fit, given)
if (inherits(draws, "mcmc")) {{
  lambda <- as.matrix(draws)[, paste0("lambda[", areas$item, "]")]
}} else {{
  lambda <- parameter(draws, "lambda")
}}
risk <- {sign} * (lambda - rowMeans(lambda))
areas$speedybbt_mean <- colMeans(risk)
areas$speedybbt_sd <- apply(risk, 2, sd)
print(areas)
cat("Correlation of the means:", cor(areas$risk_mean, areas$speedybbt_mean), "\\n")
"""


def export_speedybbt(fit: Fit, data: Comparisons, folder: str | Path) -> int:
    """Write what speedyBBT reads: comparisons by number, prior covariance, our results, and a script to run it.

    speedyBBT's model is ours with α² inferred and no ties. Return the number of decided answers it will read.
    """
    prior = fit.settings.variance
    again = _remedy(fit)
    if again or not isinstance(prior, InverseGamma):
        raise StudyError(f"speedyBBT does not have this model: fit {again}, and export that fit")
    check_map(data, fit.map)
    decided = np.flatnonzero(data.decided)
    first_won = data.outcome[decided] == 0
    winner = np.where(first_won, data.left[decided], data.right[decided]) + 1
    loser = np.where(first_won, data.right[decided], data.left[decided]) + 1
    judges = [data.judges[code] if code >= 0 else "" for code in data.judge[decided]]
    script = SCRIPT.format(
        model=fit.record.model, scale=f"{prior.scale:g}", shape=f"{prior.shape:g}", sign=f"{fit.record.sign:g}"
    )
    with new_folder(Path(folder), FILES) as draft:
        rows = zip(judges, winner.tolist(), loser.tolist(), [1] * len(decided), strict=True)
        text = csv_text(("judge", "item1", "item2", "outcome"), rows)
        (draft / "comparisons.csv").write_text(text, encoding="utf-8")
        table = fit.areas[["id", "name", "risk_mean", "risk_sd"]]
        numbered = table.assign(item=np.arange(1, len(table) + 1))[["item", *table.columns]]
        numbered.to_csv(draft / "areas.csv", index=False)
        np.savetxt(draft / "covariance.csv", fit.covariance.matrix, delimiter=",", fmt="%.17g")
        (draft / MARK).write_text(script, encoding="utf-8")
    return len(decided)


def _remedy(fit: Fit) -> str:
    """Say which options make a fit that speedyBBT can repeat; empty if this one is."""
    settings = fit.settings
    if settings.model == "clusters":
        return "with --model spatial"
    found = [] if settings.alpha is None else ["with α² inferred, not fixed"]
    found += [] if isinstance(settings.variance, InverseGamma) and not settings.differ else ["--as-in-paper"]
    found += [f"without --{name}" for name in EFFECTS if getattr(settings, name)]
    found += ["with --smoothness paper"] if settings.smoothness == "infer" else []
    found += ["with --ties leave-out"] if fit.record.data.ties else []
    return ", ".join(found)
