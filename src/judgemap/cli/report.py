"""`judgemap report`: a page to read, print and mail, from a folder of results."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    results: Annotated[Path, typer.Argument(help="A folder that 'judgemap fit' wrote.")],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write, .html.")],
    spatial: Annotated[
        Path | None, typer.Option(help="Results of the spatial model, to hold a clustering against.")
    ] = None,
) -> None:
    """Write one self-contained HTML page of a fit.

    Example: judgemap report results -o report.html
    """
    from judgemap.errors import StudyError
    from judgemap.report.briefing import fit_page
    from judgemap.study.result import load_fit

    html = fit_page(load_fit(results), None if spatial is None else load_fit(spatial))
    try:
        output.write_text(html, encoding="utf-8")
    except OSError as error:
        raise StudyError(f"{output} cannot be written ({error.strerror}); name another file") from None
    typer.echo(f"The page is {output}")
