"""`judgemap fit`: comparisons and areas in, a folder of results out."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from judgemap.cli import inputs
from judgemap.cli.progress import sampling_progress
from judgemap.core.prior import FixedVariance, InverseGamma, VariancePrior
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.correlation import PRIORS, prior_covariance
from judgemap.study.fit import RunOptions, fit_spatial, fit_standard
from judgemap.study.folder import check_folder
from judgemap.study.records import Direction, read_comparisons

if TYPE_CHECKING:
    from judgemap.study.result import Fit

MODELS = ("spatial", "standard")


@inputs.with_areas
def fit(
    comparisons: Annotated[Path, typer.Argument(help="comparisons.csv: judge,left,right,outcome or winner,loser.")],
    *,
    places: Areas,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the results.")],
    model: Annotated[str, typer.Option(help="spatial or standard.")] = "spatial",
    winner_is: Annotated[str, typer.Option(help="The chosen area has the 'lower' or the 'higher' rate.")] = "lower",
    prior: Annotated[str, typer.Option(help="Correlation of the spatial model, see 'judgemap prior'.")] = PRIORS[0],
    length: Annotated[float | None, typer.Option(help="Length scale of that prior, where it has one.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Fix α, the prior's standard deviation; else inferred.")] = None,
    chi: Annotated[float, typer.Option(help="Shape of the inverse-gamma prior of α².")] = 0.1,
    omega: Annotated[float, typer.Option(help="Scale of the inverse-gamma prior of α².")] = 0.1,
    sampler: Annotated[str, typer.Option(help="hmc, or gibbs: the paper's.")] = "hmc",
    chains: Annotated[int, typer.Option(help="Independent chains.")] = 8,
    warmup: Annotated[int, typer.Option(help="Draws thrown away at the start of each chain.")] = 100,
    draws: Annotated[int, typer.Option(help="Draws kept of each chain.")] = 1000,
    thin: Annotated[int, typer.Option(help="Keep one draw in so many.")] = 1,
    cores: Annotated[int | None, typer.Option(min=1, help="Threads; the results do not depend on it.")] = None,
    seed: inputs.Seed = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print fit.json instead of the table.")] = False,
) -> None:
    """Fit a model to comparisons: writes areas.csv, areas.geojson, posterior.nc and fit.json.

    Example: judgemap fit comparisons.csv --areas wards.gpkg -o results --seed 1
    """
    if model not in MODELS:
        raise StudyError(f"there is no model {model!r}; choose one of {', '.join(MODELS)}")
    variance = _variance(alpha, chi, omega)
    check_folder(output)
    data = read_comparisons(comparisons, places, cast("Direction", winner_is))
    with sampling_progress(chains) as watch:
        options: RunOptions = {
            "sampler": sampler,
            "chains": chains,
            "warmup": warmup,
            "draws": draws,
            "thin": thin,
            "cores": cores or inputs.available_cores(),
            "watch": watch,
        }
        number = inputs.choose_seed(seed)
        if model == "standard":
            result = fit_standard(data, places, seed=number, variance=variance, **options)
        else:
            covariance = prior_covariance(places, prior, length)
            result = fit_spatial(data, places, seed=number, covariance=covariance, variance=variance, **options)
    folder = result.save(output)
    typer.echo(json.dumps(result.info, indent=2, ensure_ascii=False) if as_json else describe(result, folder))


def _variance(alpha: float | None, chi: float, omega: float) -> VariancePrior:
    try:
        return InverseGamma(chi, omega) if alpha is None else FixedVariance(alpha**2)
    except ValueError as error:
        raise StudyError(str(error)) from None


def describe(fit: "Fit", folder: Path) -> str:
    """Say in a few lines what came out: the ten of highest risk, α, how well it was sampled, and what to mind."""
    from judgemap.report.tables import highest_risk

    info, data, diagnostics = fit.info, fit.info["data"], fit.info["diagnostics"]
    judges = {0: "", 1: " by 1 judge"}.get(data["judges"], f" by {data['judges']} judges")
    asked = f"{data['comparisons']} comparisons of {data['areas']} areas{judges}"
    drawn = f"{fit.posterior.sizes['chain']} × {fit.posterior.sizes['draw']} draws in {info['seconds']:.1f} s"
    worth = f"worth at least {diagnostics['ess_bulk_min']:.0f} independent ones"
    lines = [
        f"{asked}, {info['model']} model, seed {info['seed']}.",
        "",
        highest_risk(fit).text(),
        "",
        f"{drawn}, {worth}; largest R-hat {diagnostics['rhat_max']:.3f}.",
        *(f"Note: {note}" for note in info["notes"]),
        *(f"Warning: {warning}" for warning in fit.warnings),
        f"Results are in {folder}/",
    ]
    return "\n".join(lines)
