"""`judgemap simulate`: the paper's simulation studies, on any map."""

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judgemap.cli import inputs
from judgemap.cli.progress import counting_progress
from judgemap.core.threads import available_cores
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.fit.folder import write_whole

if TYPE_CHECKING:
    import pandas as pd

    from judgemap.study.simulations.runner import Experiment, Results

Output = Annotated[Path, typer.Option("-o", "--output", help="Folder for the sets and the table.")]
Quick = Annotated[bool, typer.Option("--quick", help="A small trial run; other options still apply.")]
Sets = Annotated[int | None, typer.Option(help="Sets of strengths to simulate.  [default: the paper's]")]
Pairs = Annotated[int | None, typer.Option(help="How many pairs are compared in each set.  [default: the paper's]")]
Alpha = Annotated[float | None, typer.Option(help="α, the strengths' standard deviation.  [default: 3]")]
Chains = Annotated[int | None, typer.Option(help="Chains of each fit.")]
Draws = Annotated[int | None, typer.Option(help="Draws kept from each chain.")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster: its scheduler, as tcp://host:8786.")
]

app = typer.Typer(help="Run the paper's simulation studies on a map.", no_args_is_help=True, rich_markup_mode=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The options that all studies share: how much to draw, where to run and write, the seed, and what to print."""

    output: Output
    quick: Quick = False
    chains: Chains = None
    draws: Draws = None
    cores: inputs.Processes = None
    cluster: Cluster = None
    seed: inputs.Seed = None
    as_json: inputs.AsJson = False


def _with_run(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a `Run` instead of its parameter ``run``."""
    fields = inspect.signature(Run).parameters.values()
    return inputs.with_options(command, "run", {each.name: (each.annotation, each.default) for each in fields}, Run)


@app.command()
@inputs.with_areas
@_with_run
def scalability(*, areas: Areas, run: Run, sets: Sets = None, pairs: Pairs = None, alpha: Alpha = None) -> None:
    """Compare samplers by effective draws per second: Pólya-Gamma Gibbs, its rivals, and ours.

    100 sets of strengths, 2,000 comparisons each. If interrupted, run it again to continue.

    Example: judgemap simulate scalability --edges edges.csv -o scalability --seed 1
    """
    from judgemap.study.simulations.scalability import Scalability

    small = {"sets": 2, "draws": 150}
    _simulate(Scalability, small, areas, run, sets=sets, comparisons=pairs, alpha=alpha)


@app.command()
@inputs.with_areas
@_with_run
def clustering(
    *,
    areas: Areas,
    run: Run,
    sets: Sets = None,
    pairs: Pairs = None,
    beta: Annotated[float | None, typer.Option(help="β, weight of an area's link to itself.  [default: 1e-8]")] = None,
    kappa0: Annotated[
        float | None,
        typer.Option(help="Weight of the clusters' prior mean; if small, centres lie far apart. [default: 1]"),
    ] = None,
    a0: Annotated[float | None, typer.Option(help="Shape of the variance within clusters.  [default: 1]")] = None,
    b0: Annotated[float | None, typer.Option(help="Scale of the variance within clusters.  [default: 1]")] = None,
) -> None:
    """Recover simulated clusters and strengths: Rand index, adjusted Rand index, absolute error.

    50 sets of clusters, 2,000 comparisons each. If interrupted, run it again to continue.

    Example: judgemap simulate clustering --areas wards.gpkg -o clustering --seed 1
    """
    from judgemap.study.simulations.clustering import Clustering

    given = {"comparisons": pairs, "beta": beta, "kappa0": kappa0, "a0": a0, "b0": b0}
    _simulate(Clustering, {"sets": 4, "draws": 200}, areas, run, sets=sets, **given)


@app.command()
@inputs.with_areas
@_with_run
def scheduling(
    *,
    areas: Areas,
    run: Run,
    sets: Sets = None,
    pairs: Pairs = None,
    alpha: Alpha = None,
    sampler: Annotated[str | None, typer.Option(help="hmc (default), or gibbs: the paper's.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Draws discarded at the start of each chain.")] = None,
) -> None:
    """Compare designs by how much they tell us: uniform, naive spatial, principal component, optimal.

    1,000 sets of strengths, 500 comparisons with each design. If interrupted, run it again to continue.

    Example: judgemap simulate scheduling --areas wards.gpkg -o scheduling --seed 1
    """
    from judgemap.study.simulations.scheduling import Scheduling

    given = {"comparisons": pairs, "alpha": alpha, "sampler": sampler, "warmup": warmup}
    _simulate(Scheduling, {"sets": 20, "draws": 100}, areas, run, sets=sets, **given)


@app.command()
@inputs.with_areas
@_with_run
def robustness(
    *,
    areas: Areas,
    run: Run,
    sets: Annotated[int | None, typer.Option(help="Sets of strengths to simulate.  [default: 80]")] = None,
    pairs: Annotated[int | None, typer.Option(help="How many pairs, by behaviour.  [default: 2000]")] = None,
    judges: Annotated[int | None, typer.Option(help="How many judges in each set.  [default: 12]")] = None,
    alpha: Alpha = None,
    behaviours: Annotated[
        str | None, typer.Option(help="Behaviours to try, as in careless,hot-spots, or none. [default: all]")
    ] = None,
    truths: Annotated[
        str | None, typer.Option(help="Maps to try, as in car,plateaus, or none. [default: all that the map allows]")
    ] = None,
    panels: Annotated[
        str | None, typer.Option(help="Judges of those maps: alike, differ, unequal. [default: all]")
    ] = None,
    lengths: Annotated[
        str | None, typer.Option(help="Early (100 answers), few or many (10 or 25 an area). [default: all]")
    ] = None,
    fits: Annotated[
        str | None, typer.Option(help="Of paper, plain, car, differ, car-differ. [default: paper,plain]")
    ] = None,
    measured: Annotated[
        Path | None, typer.Option(help="Real maps: a CSV of areas, ids first; every column of numbers is a truth.")
    ] = None,
    real_areas: Annotated[Path | None, typer.Option(help="Boundary file of the areas in that table.")] = None,
    places: Annotated[
        str | None, typer.Option(help="Parts of that file, by how names of areas begin: Derby,Leicester.")
    ] = None,
) -> None:
    """See whether intervals are right if judges or maps are not as the model assumes, fit by fit.

    80 sets; in each, judges who misbehave, and maps of every kind (draws from the priors, hot spots, plateaus, slopes,
    covariates, measured values) seen by judges alike or not, early or late. If interrupted, run it again to continue.

    Example: judgemap simulate robustness --areas wards.gpkg -o robustness --seed 1
    """
    from judgemap.study.simulations.robustness import Robustness, read_real

    named = {"behaviours": behaviours, "truths": truths, "panels": panels, "lengths": lengths, "fits": fits}
    given: dict[str, object] = {name: None if text is None else _listed(text) for name, text in named.items()}
    given |= {"comparisons": pairs, "judges": judges, "alpha": alpha}
    if measured is not None:
        if real_areas is None:
            raise StudyError("--measured needs --real-areas, the boundary file of the areas in that table")
        given["real"] = read_real(measured, real_areas, _listed(places or "none"))
    given |= {"points": None if areas.geometry is None else areas.centroids() / 1000}
    _simulate(Robustness, {"sets": 2, "chains": 4, "draws": 50}, areas, run, sets=sets, **given)


def _listed(text: str) -> tuple[str, ...]:
    """Split a list at its commas; "none" is an empty one."""
    return () if text.strip() == "none" else tuple(each.strip() for each in text.split(",") if each.strip())


def _simulate(
    kind: "type[Experiment]", small: dict[str, int], areas: Areas, run: Run, *, sets: int | None, **given: object
) -> None:
    """Run the sets that are missing, and write sets.csv and summary.csv.

    Options given on the command line override ``small``, which --quick uses; both override the study's defaults.
    """
    import pandas as pd

    from judgemap.study.simulations import runner

    quick = small if run.quick else {}
    size = quick.get("sets", kind.paper_sets) if sets is None else sets
    wanted = {"chains": run.chains, "draws": run.draws, **given}
    settings = quick | {name: value for name, value in wanted.items() if value is not None}
    settings.pop("sets", None)
    seed = inputs.choose_seed(runner.stored_seed(run.output) if run.seed is None else run.seed)
    job = runner.Job(kind(**settings), areas.graph, size, seed)  # type: ignore[arg-type]
    on_cores = runner.on_cores(run.cores or available_cores())
    backend = on_cores if run.cluster is None else runner.on_cluster(run.cluster)
    try:
        with counting_progress("sets") as watch:
            results = runner.conduct(job, run.output, backend, watch)
    except KeyboardInterrupt:
        done = len(runner.finished(run.output, size))
        typer.echo(
            f"judgemap: interrupted after {done:,} of {size:,} sets; run the command again to continue", err=True
        )
        raise typer.Exit(130) from None
    write_whole(run.output / "sets.csv", pd.DataFrame(results.rows).to_csv(index=False).encode())
    write_whole(run.output / "summary.csv", results.summary().to_csv(index=False).encode())
    _tell(results, areas, run)


def _tell(results: "Results", areas: Areas, run: Run) -> None:
    name, summary = results.job.experiment.name, results.summary()
    if run.as_json:
        from judgemap.study.fit.record import json_value

        record = {**results.job.record(), "sets": len(results.sets), "cpu_seconds": round(results.cpu_seconds, 1)}
        told = json_value({**record, "summary": summary.to_dict("records")})
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    typer.echo(f"{name.capitalize()}, {len(results.sets):,} sets, {len(areas):,} areas, seed {results.job.seed}.\n")
    typer.echo(f"{_table(summary)}\n")
    for note in (*areas.notes, *results.remarks()):
        typer.echo(f"Note: {note}")
    typer.echo(f"{results.cpu_seconds:.0f} s of CPU time in all. The table and every set are in {run.output}/")


def _table(summary: "pd.DataFrame") -> str:
    """Write summary.csv for people; what is compared stands side by side if that is fewer than what was measured."""
    table = summary.drop(columns="sets")
    if len(table) < len(table.columns):
        table = table.set_index(table.columns[0]).T.rename_axis(columns="").reset_index(names="")
    return table.to_string(index=False, float_format=lambda value: f"{value:.4g}", na_rep="")
