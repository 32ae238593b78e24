"""`judgemap simulate`: the paper's simulation studies, on any map."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from judgemap.cli import inputs
from judgemap.cli.progress import counting_progress
from judgemap.geo.maps import Areas
from judgemap.study.folder import write_whole

if TYPE_CHECKING:
    from judgemap.study.experiments.runner import Experiment, Results

Output = Annotated[Path, typer.Option("-o", "--output", help="Folder for the sets, the table and the picture.")]
Quick = Annotated[bool, typer.Option("--quick", help="A small run, to see what it does; other options still apply.")]
Sets = Annotated[int | None, typer.Option(help="Sets of strengths to simulate.  [default: the paper's]")]
Comparisons = Annotated[int | None, typer.Option(help="Comparisons in each set.  [default: the paper's]")]
Alpha = Annotated[float | None, typer.Option(help="α, the strengths' standard deviation.  [default: 3]")]
Chains = Annotated[int | None, typer.Option(help="Chains of each fit.")]
Draws = Annotated[int | None, typer.Option(help="Draws kept from each chain.")]
Cores = Annotated[int | None, typer.Option(min=1, help="Processes; the results do not depend on it.")]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster: its scheduler, as tcp://host:8786.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summary as JSON instead of the table.")]

app = typer.Typer(help="Run the paper's simulation studies on a map.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
@inputs.with_areas
def scalability(
    *,
    areas: Areas,
    output: Output,
    quick: Quick = False,
    sets: Sets = None,
    comparisons: Comparisons = None,
    alpha: Alpha = None,
    chains: Chains = None,
    draws: Draws = None,
    cores: Cores = None,
    cluster: Cluster = None,
    seed: inputs.Seed = None,
    as_json: AsJson = False,
) -> None:
    """Compare samplers by effective draws per second: Pólya-Gamma Gibbs, single site, block walk, ours.

    100 sets of strengths, 2,000 comparisons each. If interrupted, run it again to continue.

    Example: judgemap simulate scalability --edges edges.csv -o scalability --seed 1
    """
    from judgemap.study.experiments.scalability import Scalability

    small = {"sets": 2, "draws": 150} if quick else {}
    chosen = _chosen(small, sets=sets, comparisons=comparisons, alpha=alpha, chains=chains, draws=draws)
    wanted = chosen.pop("sets", Scalability.paper_sets)
    _simulate(Scalability(**chosen), wanted, areas, output, _Where(cores, cluster, seed, as_json))


@app.command()
@inputs.with_areas
def clustering(
    *,
    areas: Areas,
    output: Output,
    quick: Quick = False,
    sets: Sets = None,
    comparisons: Comparisons = None,
    beta: Annotated[float | None, typer.Option(help="β, weight of an area's link to itself.  [default: 1e-8]")] = None,
    kappa0: Annotated[
        float | None,
        typer.Option(help="Weight of clusters' prior mean; if small, centres lie far apart.  [default: 1]"),
    ] = None,
    a0: Annotated[float | None, typer.Option(help="Shape of the variance within clusters.  [default: 1]")] = None,
    b0: Annotated[float | None, typer.Option(help="Scale of the variance within clusters.  [default: 1]")] = None,
    chains: Chains = None,
    draws: Draws = None,
    cores: Cores = None,
    cluster: Cluster = None,
    seed: inputs.Seed = None,
    as_json: AsJson = False,
) -> None:
    """Recover simulated clusters and strengths: Rand index, adjusted Rand index, absolute error.

    50 sets of clusters, 2,000 comparisons each. If interrupted, run it again to continue.

    Example: judgemap simulate clustering --areas wards.gpkg -o clustering --seed 1
    """
    from judgemap.study.experiments.clustering import Clustering

    small = {"sets": 4, "draws": 200} if quick else {}
    given = {
        "comparisons": comparisons,
        "beta": beta,
        "kappa0": kappa0,
        "a0": a0,
        "b0": b0,
        "chains": chains,
        "draws": draws,
    }
    chosen = _chosen(small, sets=sets, **given)
    wanted = chosen.pop("sets", Clustering.paper_sets)
    _simulate(Clustering(**chosen), wanted, areas, output, _Where(cores, cluster, seed, as_json))


@app.command()
@inputs.with_areas
def scheduling(
    *,
    areas: Areas,
    output: Output,
    quick: Quick = False,
    sets: Sets = None,
    comparisons: Comparisons = None,
    alpha: Alpha = None,
    sampler: Annotated[str | None, typer.Option(help="hmc (default), or gibbs: the paper's.")] = None,
    chains: Chains = None,
    warmup: Annotated[int | None, typer.Option(help="Draws discarded at the start of each chain.")] = None,
    draws: Draws = None,
    cores: Cores = None,
    cluster: Cluster = None,
    seed: inputs.Seed = None,
    as_json: AsJson = False,
) -> None:
    """Compare designs by how much they tell: uniform, naive spatial, principal component, optimal.

    1,000 sets of strengths, 500 comparisons with each design. If interrupted, run it again to continue.

    Example: judgemap simulate scheduling --areas wards.gpkg -o scheduling --seed 1
    """
    from judgemap.study.experiments.scheduling import Scheduling

    small = {"sets": 20, "draws": 100} if quick else {}
    given = {"comparisons": comparisons, "alpha": alpha, "sampler": sampler, "chains": chains, "warmup": warmup}
    chosen = _chosen(small, sets=sets, draws=draws, **given)
    wanted = chosen.pop("sets", Scheduling.paper_sets)
    _simulate(Scheduling(**chosen), wanted, areas, output, _Where(cores, cluster, seed, as_json))


@app.command()
@inputs.with_areas
def robustness(
    *,
    areas: Areas,
    output: Output,
    quick: Quick = False,
    sets: Annotated[int | None, typer.Option(help="Sets of strengths to simulate.  [default: 80]")] = None,
    comparisons: Annotated[int | None, typer.Option(help="Comparisons in each set.  [default: 2000]")] = None,
    judges: Annotated[int | None, typer.Option(help="Judges in each set.  [default: 12]")] = None,
    alpha: Alpha = None,
    behaviours: Annotated[str | None, typer.Option(help="Which to try, as careless,hot-spots.  [default: all]")] = None,
    chains: Chains = None,
    draws: Draws = None,
    cores: Cores = None,
    cluster: Cluster = None,
    seed: inputs.Seed = None,
    as_json: AsJson = False,
) -> None:
    """Let judges answer otherwise than the model says, and see what it does to the intervals, and what the remedy does.

    80 sets of strengths, 12 judges with 2,000 comparisons for each way of answering. Run again, it goes on where it
    stopped.

    Example: judgemap simulate robustness --areas wards.gpkg -o robustness --seed 1
    """
    from judgemap.study.experiments.robustness import Robustness

    small = {"sets": 2, "chains": 4, "draws": 50} if quick else {}
    named = None if behaviours is None else tuple(each.strip() for each in behaviours.split(",") if each.strip())
    given = {"comparisons": comparisons, "judges": judges, "alpha": alpha, "behaviours": named}
    chosen = _chosen(small, sets=sets, chains=chains, draws=draws, **given)
    wanted = chosen.pop("sets", Robustness.paper_sets)
    _simulate(Robustness(**chosen), wanted, areas, output, _Where(cores, cluster, seed, as_json))


class _Where(NamedTuple):
    """On what, from which seed, and how it is told."""

    cores: int | None
    cluster: str | None
    seed: int | None
    as_json: bool


def _chosen(small: dict[str, Any], **given: object) -> dict[str, Any]:
    """Keep what was given on the command line, then what --quick sets; the rest has the study's own defaults."""
    return small | {name: value for name, value in given.items() if value is not None}


def _simulate(experiment: "Experiment", sets: int, areas: Areas, output: Path, where: _Where) -> None:
    """Run what is missing, and write sets.csv, summary.csv and the picture."""
    from judgemap.study.experiments import backends, runner

    stored = runner.stored_seed(output)
    seed = inputs.choose_seed(stored if where.seed is None else where.seed)
    job = runner.Job(experiment, areas.graph, sets, seed)
    if where.cluster is None:
        backend = backends.on_cores(where.cores or inputs.available_cores())
    else:
        backend = backends.on_cluster(where.cluster)
    try:
        with counting_progress("sets") as watch:
            results = runner.conduct(job, output, backend, watch)
    except KeyboardInterrupt:
        done = runner.finished_sets(output, sets)
        typer.echo(f"judgemap: interrupted after {done} of {sets} sets; run the command again to continue", err=True)
        raise typer.Exit(130) from None
    write_whole(output / "sets.csv", runner.to_csv(results.rows).encode())
    write_whole(output / "summary.csv", runner.to_csv(results.summary()).encode())
    _tell(results, areas, output, where)


def _tell(results: "Results", areas: Areas, output: Path, where: _Where) -> None:
    from judgemap.report.experiments import remarks, summary_picture, summary_table

    name = results.job.experiment.name
    summary_picture(results).save(output / f"{name}.svg")
    if where.as_json:
        record = {**results.job.record(), "sets": len(results.sets), "cpu_seconds": round(results.cpu_seconds, 1)}
        typer.echo(json.dumps({**record, "summary": results.summary()}, indent=2, ensure_ascii=False))
        return
    table = summary_table(results)
    typer.echo(f"{table.caption}, {len(areas)} areas, seed {results.job.seed}.\n\n{table.text()}\n")
    for note in (*areas.notes, *remarks(results)):
        typer.echo(f"Note: {note}")
    typer.echo(f"{results.cpu_seconds:.0f} s of CPU time in all. The table, every set and the picture are in {output}/")
