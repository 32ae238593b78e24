"""A replication archive: the data, settings, versions and command that reproduce a fit."""

import csv
import io
import json
import math
import shlex
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from judgemap.core.model.prior import FixedVariance
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import defused
from judgemap.geo.maps import Areas
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.folder import check_file, write_whole
from judgemap.study.fit.priors import PRIORS, usual_length
from judgemap.study.fit.provenance import data_notes
from judgemap.study.fit.record import Correlation, FitRecord, PartitionChoice
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import ClusterSettings, FitSettings

if TYPE_CHECKING:
    import pandas as pd

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
    """Write a zip file from which `judgemap fit` reproduces the numbers of a fit.

    Parameters
    ----------
    fit, comparisons
        The fit, and the exact comparisons that it was made from; the hash of the data in the fit must match theirs.
    definition_toml
        The text of study.toml, if there is a study.
    path
        The zip file.
    areas
        The areas as they were when the fit was made. They matter, and only for the last digits, if the prior depends on
        centroids: a saved fit has outlines rounded to six decimal places of a degree.
    judges
        "numbered" calls the judges 1, 2, 3 in the order of the table, so that the archive can be published; "kept"
        keeps their names.

    Examples
    --------
    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_standard(data, areas, seed=1, chains=2, draws=100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     archive = replication(fit, data, None, Path(folder, "wards.zip"))
    ...     print(*zipfile.ZipFile(archive).namelist())
    README.md areas.csv areas.gpkg command.sh comparisons.csv edges.csv fit.json requirements.txt
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


def settings_of(fit: Fit, areas: Areas) -> FitSettings:
    """Recover the settings of a fit from its record in fit.json.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100, variance=jm.FixedVariance(9.0))
    >>> settings_of(fit, areas).options()
    ['--alpha', '3.0', '--chains', '2', '--warmup', '100', '--draws', '100', '--thin', '1', '--seed', '1']
    """
    record, assumed = fit.record, fit.record.hyperparameters
    told: dict[str, Any] = {"model": record.model, "sampler": record.sampler, "seed": record.seed}
    told |= record.plan.numbers()
    panel = {} if record.panel is None else record.panel.options()
    if isinstance(assumed, ClusterSettings):
        shown = record.partition or PartitionChoice()
        told |= {"clusters": shown.n_clusters, "loss": shown.loss, **asdict(assumed), **panel}
        return FitSettings(**told)
    if isinstance(assumed, FixedVariance):
        told["alpha"] = math.sqrt(assumed.value)
    else:
        told |= {"chi": assumed.shape, "omega": assumed.scale}
    if record.model == "spatial" and record.correlation is not None:
        told |= _prior(record.correlation, areas)
    return FitSettings(**told, **panel)


def _prior(correlation: Correlation, areas: Areas) -> dict[str, Any]:
    """Return the settings of a prior; a default length is computed again from the map."""
    kind, length = correlation.kind, correlation.length
    if kind not in PRIORS:
        raise StudyError(
            f"the fit's prior, {kind!r}, was built in Python: no command can build it; archive your script"
        )
    if length is None:
        return {"prior": kind}
    # Compare six digits: a saved map is rounded, and earlier versions kept no more of the length.
    return {"prior": kind, "length": None if f"{usual_length(areas, kind):g}" == f"{length:g}" else length}


def _files(fit: Fit, data: Comparisons, areas: Areas, judges: Judges) -> Iterator[tuple[str, bytes]]:
    shown = _numbered(data) if judges == "numbered" else data
    yield "comparisons.csv", _without_formulas(shown.to_frame()).to_csv(index=False).encode()
    yield "areas.csv", _csv(("id", "name"), zip(areas.ids, areas.names, strict=True))
    pairs = [(areas.ids[a], areas.ids[b]) for a, b in areas.graph.edges.tolist()]
    places = ["--area-names", "areas.csv"]
    if pairs:
        yield "edges.csv", _csv(("area_a", "area_b"), pairs)
        places = ["--edges", "edges.csv", *places]
    if areas.geometry is not None and pairs:
        yield "areas.gpkg", _map(areas)
        places = ["--areas", "areas.gpkg", "--id", "id", "--name", "name", "--edges", "edges.csv"]
    settings = settings_of(fit, areas)
    if data.tied.any() and fit.record.panel is None:
        settings = replace(settings, ties="leave-out")  # records from before ties could be modelled do not mention them
    words = ["judgemap", "fit", "comparisons.csv", *places, "--winner-is", data.winner_is, *settings.options()]
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
    return replace(fit.record, notes=notes, data=replace(fit.record.data, sha256=shown.digest()))


def _csv(columns: tuple[str, str], rows: Any) -> bytes:  # noqa: ANN401 - pairs of texts, from wherever
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([defused(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


def _without_formulas(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Defuse the columns of text, which may contain names from other people's maps and from judges."""
    texts = [column for column in ("judge", "left", "right") if column in frame]
    return frame.assign(**{column: frame[column].map(defused, na_action="ignore") for column in texts})


def _map(areas: Areas) -> bytes:
    """Write the outlines in the map's own coordinates, to the last digit."""
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        path = Path(folder, "areas.gpkg")
        areas.to_frame().to_file(path, driver="GPKG", layer="areas")
        return path.read_bytes()


def package_versions() -> dict[str, str]:
    """Return the versions of judgemap and of every package it needs to fit, as pip would.

    >>> list(package_versions())[:1], "numpy" in package_versions()
    (['judgemap'], True)
    """
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

A fit of the {record.model} model to {data.comparisons:,} comparisons of {data.areas:,} areas ({made}).
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
