"""`judgemap prior`: the prior correlation of one area with the others."""

from pathlib import Path
from typing import Annotated

import typer

from judgemap.cli import inputs
from judgemap.geo.maps import Areas
from judgemap.study.fit.priors import PLAIN, PRIORS, prior_covariance


@inputs.with_areas
def prior(
    *,
    areas: Areas,
    of: Annotated[str, typer.Option("--of", help="The area whose correlations to draw: id or name.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Picture to write: .svg, .png or .pdf.")],
    kind: Annotated[str, typer.Option("--prior", help=f"One of {', '.join(PRIORS)}.")] = PLAIN,
    length: Annotated[
        float | None, typer.Option(help="Length scale, in km (graph-exponential: in borders crossed).")
    ] = None,
) -> None:
    """Draw the prior correlation of one area with every other.

    Example: judgemap prior --areas wards.gpkg --of "St Ann's" -o prior.svg
    """
    from judgemap.report.figures.maps import prior_correlation_map

    prior_correlation_map(areas, prior_covariance(areas, kind, length), of).save(output)
    for note in areas.notes:
        typer.echo(f"Note: {note}")
    typer.echo(f"The picture is in {output}")
