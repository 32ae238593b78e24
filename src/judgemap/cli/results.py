"""`judgemap report` and `judgemap export`: from a folder of results, a briefing, every figure, and other files."""

from dataclasses import replace
from datetime import date
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judgemap.cli.inputs import MapView
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas, read_areas

if TYPE_CHECKING:
    import geopandas

    from judgemap.study.assess.findings import Rates
    from judgemap.study.data.comparisons import Comparisons
    from judgemap.study.export import By, Judges
    from judgemap.study.fit.result import Fit

ByOption = Annotated[
    str | None, typer.Option(help="Results by district or other group: a boundary file, or a column of the figures.")
]
WeightedByOption = Annotated[
    str, typer.Option(help="How areas count in their group: equal, area (surface), or a column of the figures.")
]


def report(
    results: Annotated[Path, typer.Argument(help="A folder that 'judgemap fit' wrote.")],
    *,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The briefing to write: .html, or .pdf.")
    ] = None,
    study: Annotated[Path | None, typer.Option(help="study.toml, for the title and question.")] = None,
    comparisons: Annotated[
        Path | None,
        typer.Option(
            help="The comparisons.csv that was fitted, for how many judges there were and how long they took."
        ),
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(help="Results of the clustering model beside one without clusters, or the other way round."),
    ] = None,
    against: Annotated[
        list[str] | None, typer.Option(help="Another fit to compare with, as in 'without judge 12=DIR'. Repeatable.")
    ] = None,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Also as PDF, two pages and an annex; needs Chromium or Chrome.")
    ] = False,
    pictures: Annotated[
        Path | None, typer.Option(help="Folder for every figure as SVG and PDF, one journal column wide.")
    ] = None,
    author: Annotated[str | None, typer.Option(help="Who wrote the briefing. [default: from study.toml]")] = None,
    contact: Annotated[str | None, typer.Option(help="Whom to ask about it.")] = None,
    next_steps: Annotated[
        str | None, typer.Option(help="What to do next, in your own words; a briefing needs it.")
    ] = None,
    view: MapView = None,
    width: Annotated[float, typer.Option(min=20, max=400, help="Width of the figures in millimetres.")] = 88.0,
    by: ByOption = None,
    weighted_by: WeightedByOption = "equal",
    column: Annotated[
        list[str] | None, typer.Option(help="Hold the map against a column of the fit's figures. Repeatable.")
    ] = None,
) -> None:
    """Write the briefing of a fit, one self-contained page in plain language, or all its figures, or both.

    Example: judgemap report results -o report.html --study study.toml --next-steps "Visit the ten highest." --pdf
    """
    if output is None and pictures is None:
        raise StudyError("nothing to write: name a page with -o report.html, or a folder with --pictures pictures")
    if output is None and pdf:
        raise StudyError("--pdf needs -o: name the page, as in -o report.html")
    if output is not None and output.suffix.lower() not in (".html", ".htm", ".pdf"):
        raise StudyError(f"{output.name}: a briefing is .html or .pdf; end the name in one of them")
    from judgemap.report.pages.briefing import Gallery, briefing, read_about
    from judgemap.report.pages.briefing.front import verdict
    from judgemap.report.words.tables import verdict_lines
    from judgemap.study.assess.beside import group_areas
    from judgemap.study.fit.folder import check_file, check_folder

    if output is not None:
        check_file(output)
    if pictures is not None:
        from judgemap.report.pages.briefing.about import MARK

        check_folder(pictures, MARK)
    fit = open_fit(results, view)
    other = None if beside is None else _beside(fit, beside)
    about = replace(read_about(fit, study, comparisons), others=_named(against or []), made=date.today())
    given = {"author": author, "contact": contact, "next_steps": next_steps}
    words = replace(about.words, **{name: text for name, text in given.items() if text is not None})
    if output is not None and not words.next_steps.strip():
        raise StudyError(
            "a briefing says what follows from the map, which only you know; write it with --next-steps, or as "
            "next_steps under [briefing] in study.toml"
        )
    groups = [group_areas(fit.map, each, weights=weighted_by) for each in ([by] if by else [])]
    about = replace(about, words=words, groups=groups, columns=column or [])
    about.check(fit)
    gallery = Gallery(fit, about, other)
    if output is not None:
        for path in _write(briefing(fit, about, other, gallery), output, pdf=pdf):
            typer.echo(f"The {'annex' if path.stem.endswith('-annex') else 'briefing'} is {path}")
        typer.echo("\n".join(verdict_lines(verdict(fit, about))).rstrip())
    if pictures is not None:
        from judgemap.report.pages.briefing.about import write_figures

        drawn = gallery.everything
        typer.echo(f"{len(drawn)} figures are in {write_figures(drawn, pictures, width)}/")


def open_fit(folder: Path, view: str | None = None) -> "Fit":
    """Read a fit, in a given ``view``, from a folder that a user named; a `StudyError` says what is wrong with it."""
    from judgemap.study.fit.result import load_fit

    if not folder.exists():
        raise StudyError(f"there is no folder {folder}; check its name, or make a fit with 'judgemap fit'")
    if not folder.is_dir():
        raise StudyError(f"{folder} is a file; name the folder that 'judgemap fit' wrote")
    fit = load_fit(folder)
    return fit if view is None else fit.seen_by(view)


def _beside(fit: "Fit", folder: Path) -> "Fit":
    """Read the fit of the other model: one of the two has clusters."""
    other = open_fit(folder)
    if "clusters" not in (fit.record.model, other.record.model):
        raise StudyError(
            f"--beside: {folder} is a fit of the {other.record.model} model, and so has no clusters to add; "
            "fit the clustering one with 'judgemap fit --model clusters', or compare fits with --against"
        )
    return other


def _named(against: list[str]) -> "dict[str, Fit]":
    """Read fits given as NAME=DIR, or just as DIR, which is then named after its folder."""
    fits = {}
    for text in against:
        name, _, folder = text.rpartition("=")
        name = name or Path(folder).name
        if name in fits or name == "this fit":
            raise StudyError(f"--against: there are two fits called {name!r}; give each a name, as in 'name=DIR'")
        fits[name] = open_fit(Path(folder))
    return fits


def _write(html: str, output: Path, *, pdf: bool) -> list[Path]:
    from judgemap.study.fit.folder import write_whole

    written = []
    if output.suffix.lower() != ".pdf":
        written.append(write_whole(output, html.encode()))
    if pdf or not written:
        from judgemap.report.pages.finish import annex_alone, two_pages, write_pdf

        annex = output.with_name(f"{output.stem}-annex.pdf")
        written.append(write_pdf(two_pages(html), output.with_suffix(".pdf")))
        written.append(write_pdf(annex_alone(html), annex))
    return written


def export(
    results: Annotated[Path, typer.Argument(help="A folder that 'judgemap fit' wrote.")],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write.")],
    kind: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="csv, xlsx, geojson, gpkg, parquet, draws, draws-csv, netcdf, speedybbt or replication. [default: "
            "from the file's ending]",
        ),
    ] = None,
    by: ByOption = None,
    weighted_by: WeightedByOption = "equal",
    figures: Annotated[
        list[Path] | None,
        typer.Option(help="CSV or XLSX with figures of the areas. Repeatable. [default: those that were fitted with]"),
    ] = None,
    rates: Annotated[
        str | None,
        typer.Option(help="Rates too: the column of the figures with recorded cases, empty where none are known."),
    ] = None,
    expected: Annotated[str | None, typer.Option(help="For rates: the column of the population.")] = None,
    missed: Annotated[
        str, typer.Option(help="For rates: the share of cases that are not recorded, as a range, such as 0.1-0.4.")
    ] = "0",
    totals: Annotated[
        str | None, typer.Option(help="For rates: the column with the known total of each area's district; needs --by.")
    ] = None,
    comparisons: Annotated[
        Path | None, typer.Option(help="For a replication archive or speedyBBT: the comparisons.csv that was fitted.")
    ] = None,
    study: Annotated[Path | None, typer.Option(help="For a replication archive: study.toml, if you have one.")] = None,
    areas: Annotated[
        Path | None, typer.Option(help="For a replication archive: the map, if the prior uses centroids.")
    ] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="The map's id column; guessed if left out.")] = None,
    view: MapView = None,
    keep_judge_names: Annotated[
        bool,
        typer.Option("--keep-judge-names", help="In a replication archive: keep judges' names, not numbers for them."),
    ] = False,
) -> None:
    """Write results for another program: CSV, XLSX, GeoJSON, GeoPackage, Parquet, NetCDF, speedyBBT, or to replicate.

    The archive is a zip file with data, settings, versions and the command that gives the same numbers.

    Example: judgemap export results -o wards.gpkg

    Example: judgemap export results -o districts.xlsx --by districts.gpkg

    Example: judgemap export results -o rates.xlsx --figures cases.csv --rates cases --expected population

    Example: judgemap export results -o wards.zip --comparisons comparisons.csv

    Example: judgemap export results -o for-r --as speedybbt --comparisons comparisons.csv
    """
    from judgemap.study.assess.beside import group_areas
    from judgemap.study.assess.findings import Rates
    from judgemap.study.export import kind_of, write_download

    if results == Path("speedybbt") and not results.exists():
        raise StudyError(
            "name the fit's folder first: judgemap export results --as speedybbt --comparisons comparisons.csv -o for-r"
        )

    kind = kind or ("replication" if output.suffix.casefold() == ".zip" else kind_of(output))
    if kind == "replication":
        judges: Judges = "kept" if keep_judge_names else "numbered"
        _archive(
            results, output, comparisons, study, judges, None if areas is None else read_areas(areas, id=id_column)
        )
    elif kind == "speedybbt":
        _for_speedybbt(results, output, comparisons)
    elif comparisons is not None or study is not None or areas is not None:
        raise StudyError("--comparisons, --study and --areas are for a replication archive; add --as replication")
    else:
        fit = open_fit(results, view)
        fit = replace(fit, map=reduce(Areas.with_figures, figures or [], fit.map))
        if rates is not None:
            told: By = _rates(fit, rates, expected, missed, by or "", totals or "")
        elif expected is not None or totals is not None or missed != "0":
            raise StudyError(
                "--expected, --missed and --totals are for rates; say which column has the counts: --rates"
            )
        elif by is None and (figures or weighted_by != "equal"):
            raise StudyError("--figures and --weighted-by are for results by group or rates; add --by or --rates")
        else:
            told = None if by is None else group_areas(fit.map, by, weights=weighted_by)
        written = write_download(fit, kind, output, told)
        if kind == "gpkg":
            from judgemap.report.figures.qgis import add_style

            add_style(written)
        for note in () if told is None else [told.sentence] if isinstance(told, Rates) else told.notes:
            typer.echo(f"Note: {note}")
    typer.echo(f"Written: {output}")


def _rates(fit: "Fit", counts: str, expected: str | None, missed: str, by: str, totals: str) -> "Rates":
    from judgemap.study.assess.rates import rates

    if expected is None:
        raise StudyError("rates need the population of each area; name its column with --expected")
    first, _, last = missed.partition("-")
    try:
        share = float(first), float(last or first)
    except ValueError:
        raise StudyError(f"--missed is {missed!r}; give a range such as 0.1-0.4") from None
    return rates(fit, counts, expected, missed=share, by=by, totals=totals)


def _with_data(results: Path, comparisons: Path | None, what: str) -> "tuple[Fit, Comparisons]":
    """Read a fit and its data, for ``what`` needs both."""
    from judgemap.study.data.comparisons import read_comparisons

    if comparisons is None:
        raise StudyError(f"{what} needs the data; say where it is: --comparisons comparisons.csv")
    fit = open_fit(results)
    return fit, read_comparisons(comparisons, fit.map, fit.record.winner_is)


def _for_speedybbt(results: Path, output: Path, comparisons: Path | None) -> None:
    from judgemap.study.export import export_speedybbt

    fit, data = _with_data(results, comparisons, "speedyBBT")
    read = export_speedybbt(fit, data, output)
    typer.echo(
        f"speedyBBT reads {read:,} of {len(data):,} answers, those with a winner; run speedybbt.R in the folder."
    )


def _archive(
    results: Path, output: Path, comparisons: Path | None, study: Path | None, judges: "Judges", areas: Areas | None
) -> None:
    from judgemap.study.data.definition import read_definition
    from judgemap.study.export import replication

    fit, data = _with_data(results, comparisons, "a replication archive")
    if study is not None:
        read_definition(study)
    places = None if areas is None else replace(fit.map, geometry=_outlines(areas, fit.map))
    text = None if study is None else study.read_text(encoding="utf-8")
    replication(fit, data, text, output, areas=places, judges=judges)


def _outlines(given: Areas, fitted: Areas) -> "geopandas.GeoSeries | None":
    """Return only the outlines of a map with the fit's areas: the fit has its own record of neighbours."""
    if given.ids != fitted.ids:
        raise StudyError("this map does not have the fit's areas in the same order; give the map you fitted, with --id")
    return given.geometry
