"""`judgemap demo`: a simulated study on Chicago's map, from truth to page."""

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from judgemap.cli.inputs import available_cores
from judgemap.cli.progress import sampling_progress
from judgemap.geo.examples import chicago
from judgemap.study.example import simulate_study
from judgemap.study.fit import fit_spatial


def demo(
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the study and its page.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Another seed is another truth and other answers.")] = 1,
) -> None:
    """Simulate twelve judges on Chicago's 77 community areas, fit, and open the page.

    Example: judgemap demo -o demo --seed 1
    """
    typer.echo("Reading Chicago's map …", err=True)
    study = simulate_study(np.random.default_rng(seed), chicago())
    chains = 8
    with sampling_progress() as watch:
        cores = available_cores()
        result = fit_spatial(study.data, study.areas, seed=seed, chains=chains, cores=cores, watch=watch)
    typer.echo("Drawing the maps …", err=True)
    from judgemap.report.briefing import demo_page

    result.save(output / "results")
    study.data.to_frame().to_csv(output / "comparisons.csv", index=False)
    page = output / "index.html"
    page.write_text(demo_page(result, study), encoding="utf-8")
    typer.echo(f"The page is {page}; the fit is in {output / 'results'}/")
    if sys.stdout.isatty():
        webbrowser.open(page.resolve().as_uri())
