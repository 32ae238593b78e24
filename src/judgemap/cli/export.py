"""`judgemap export`: a fit's results as one file for another program, or as an archive to publish."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from judgemap.cli.report import open_fit
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas, read_areas

if TYPE_CHECKING:
    import geopandas


def export(
    results: Annotated[Path, typer.Argument(help="A folder that 'judgemap fit' wrote.")],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write.")],
    kind: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="csv, geojson, gpkg, parquet, draws, draws-csv, netcdf, speedybbt or replication. [default: from "
            "the file's ending]",
        ),
    ] = None,
    comparisons: Annotated[
        Path | None, typer.Option(help="For a replication archive or speedyBBT: the comparisons.csv that was fitted.")
    ] = None,
    study: Annotated[Path | None, typer.Option(help="For a replication archive: study.toml, if you have one.")] = None,
    areas: Annotated[
        Path | None,
        typer.Option(help="For a replication archive: the map, if the prior uses centroids."),
    ] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="The map's id column; guessed if left out.")] = None,
    view: Annotated[
        str | None,
        typer.Option(
            help="When judges differ: the map of the 'population' or of the 'panel'. [default: the fit's own]"
        ),
    ] = None,
    judges: Annotated[
        str, typer.Option(help="In a replication archive: judges are 'numbered', or their names are 'kept'.")
    ] = "numbered",
) -> None:
    """Write results for another program: CSV, GeoJSON, GeoPackage, Parquet, NetCDF, for speedyBBT, or to replicate it.

    The archive is a zip file with data, settings, versions and the command that gives the same numbers.

    Example: judgemap export results -o wards.gpkg

    Example: judgemap export results -o wards.zip --comparisons comparisons.csv

    Example: judgemap export results -o for-r --as speedybbt --comparisons comparisons.csv
    """
    from judgemap.study.export.downloads import kind_of, write_download

    if results == Path("speedybbt") and not results.exists():
        raise StudyError(
            "name the fit's folder first: judgemap export results --as speedybbt --comparisons comparisons.csv -o for-r"
        )

    if judges not in ("numbered", "kept"):
        raise StudyError(f"judges are 'numbered' or 'kept', not {judges!r}")
    kind = kind or ("replication" if output.suffix.casefold() == ".zip" else kind_of(output))
    if kind == "replication":
        _archive(results, output, comparisons, study, judges, _given_map(areas, id_column))
    elif kind == "speedybbt":
        _for_speedybbt(results, output, comparisons)
    elif comparisons is not None or study is not None or areas is not None:
        raise StudyError("--comparisons, --study and --areas are for a replication archive; add --as replication")
    else:
        write_download(open_fit(results, view), kind, output)
    typer.echo(f"Written: {output}")


def _for_speedybbt(results: Path, output: Path, comparisons: Path | None) -> None:
    from judgemap.study.data.comparisons import read_comparisons
    from judgemap.study.export.speedybbt import export_speedybbt

    if comparisons is None:
        raise StudyError("speedyBBT needs the data; say where it is: --comparisons comparisons.csv")
    fit = open_fit(results)
    data = read_comparisons(comparisons, fit.map, fit.record.winner_is)
    read = export_speedybbt(fit, data, output)
    typer.echo(
        f"speedyBBT reads {read:,} of {len(data):,} answers, those with a winner; run speedybbt.R in the folder."
    )


def _given_map(areas: Path | None, id_column: str | None) -> Areas | None:
    return None if areas is None else read_areas(areas, id=id_column)


def _archive(
    results: Path, output: Path, comparisons: Path | None, study: Path | None, judges: str, areas: Areas | None
) -> None:
    from judgemap.study.data.comparisons import read_comparisons
    from judgemap.study.data.definition import read_definition
    from judgemap.study.export.replication import Judges, replication

    if comparisons is None:
        raise StudyError("a replication archive includes the data; say where it is: --comparisons comparisons.csv")
    fit = open_fit(results)
    data = read_comparisons(comparisons, fit.map, fit.record.winner_is)
    if study is not None:
        read_definition(study)
    places = None if areas is None else replace(fit.map, geometry=_outlines(areas, fit.map))
    text = None if study is None else study.read_text(encoding="utf-8")
    replication(fit, data, text, output, areas=places, judges=cast("Judges", judges))


def _outlines(given: Areas, fitted: Areas) -> "geopandas.GeoSeries | None":
    """Return only the outlines of a map with the fit's areas: the fit has its own record of neighbours."""
    if given.ids != fitted.ids:
        raise StudyError("this map does not have the fit's areas in the same order; give the map you fitted, with --id")
    return given.geometry
