"""`judgemap plan`: what precision to expect, before you ask anyone."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judgemap.cli import inputs
from judgemap.cli.progress import counting_progress, stoppable
from judgemap.core.threads import available_cores
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.fit.folder import check_file, write_whole
from judgemap.study.plan.planning import DESIGNS, SECONDS
from judgemap.study.plan.planning import plan as simulate

if TYPE_CHECKING:
    from judgemap.study.plan.planning import StudyPlan


@inputs.with_areas
def plan(
    *,
    areas: Areas,
    judges: Annotated[int, typer.Option(help="How many judges.")] = 10,
    per_judge: Annotated[int, typer.Option(help="How many comparisons from each.")] = 50,
    alpha: Annotated[
        float | None, typer.Option(help="Guess at α, the standard deviation of the strengths.  [default: 3]")
    ] = None,
    pilot: Annotated[
        Path | None, typer.Option(help="Folder of a fit of the same areas, to use instead of the guess.")
    ] = None,
    designs: Annotated[
        str, typer.Option(help=f"Designs to try, out of {', '.join(DESIGNS)}.")
    ] = "uniform,principal,optimal,adaptive",
    judge_spread: Annotated[
        float | None,
        typer.Option(
            help="Guess at how far judges differ, relative to areas (σ/α); 0 if they are alike.  "
            "[default: the pilot's, or 0.5]"
        ),
    ] = None,
    answer_seconds: Annotated[float, typer.Option(help="Seconds a judge takes per answer.")] = SECONDS,
    simulations: Annotated[int, typer.Option(help="Simulated studies under each design.")] = 40,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Page to write, such as plan.html."),
    ] = None,
    cores: inputs.Processes = None,
    seed: inputs.Seed = None,
    as_json: inputs.AsJson = False,
) -> None:
    """Simulate studies under each design and say what precision to expect, before you ask anyone.

    Example: judgemap plan --areas wards.gpkg --judges 12 --per-judge 50 -o plan.html --seed 1
    """
    if output is not None:  # before minutes of simulation
        if output.suffix.lower() not in (".html", ".htm"):
            raise StudyError(f"{output}: a plan is an .html page; --json prints it for programs")
        check_file(output)
    seed, fitted = inputs.choose_seed(seed), None
    if pilot is not None:
        from judgemap.study.fit.result import load_fit

        fitted = load_fit(pilot)
    with stoppable(), counting_progress("studies") as watch:
        planned = simulate(
            areas,
            judges,
            per_judge,
            seed=seed,
            alpha=alpha,
            judge_spread=judge_spread,
            pilot=fitted,
            designs=[each.strip() for each in designs.split(",") if each.strip()],
            answer_seconds=answer_seconds,
            simulations=simulations,
            cores=cores or available_cores(),
            watch=watch,
        )
    if output is not None:
        from judgemap.report.pages.planning import plan_page

        write_whole(output, plan_page(planned).encode())
    typer.echo(json.dumps(planned.to_dict(), indent=2, ensure_ascii=False) if as_json else describe(planned))
    if output is not None and not as_json:
        typer.echo(f"The plan is in {output}")


def describe(planned: "StudyPlan") -> str:
    """Say in a few lines and tables what to expect."""
    from judgemap.report.pages.planning import at_planned, by_length, grid_table, sentences

    record = planned.record
    tried = f"{record.simulations} simulated studies under each of {len(planned.designs)} designs"
    first = f"{record.areas:,} areas, true risks {record.truth}; {tried}, seed {record.seed}, {record.seconds:.0f} s."
    tables = (at_planned(planned), by_length(planned, planned.reference), grid_table(planned))
    shown = [f"{table.caption}\n\n{table.text()}\n" for table in tables]
    return "\n".join([first, "", *sentences(planned), "", *shown, *(f"Note: {note}" for note in record.notes)]).rstrip()
