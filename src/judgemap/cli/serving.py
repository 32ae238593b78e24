"""`judgemap serve`, `worker` and `demo`: the study server, its workers, and a server with studies to try."""

import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from judgemap.web.demo.study import Demo

DataFolder = Annotated[Path, typer.Option(help="Folder of the database and the secret key.", envvar="JUDGEMAP_DATA")]
DATA = Path("judgemap-data")


def server_address(url: str) -> str:
    """Return the address that links begin with: the one given, the one configured, or where the server last started."""
    from django.conf import settings

    from judgemap.web.start import last_address

    return url.rstrip("/") or settings.PUBLIC_URL or last_address() or "http://127.0.0.1:8000"


def serve(
    data: DataFolder = DATA,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for all of this machine's addresses.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8000,
    processes: Annotated[
        int | None,
        typer.Option(help="Server processes. [default: one with SQLite, one per CPU with PostgreSQL]", min=1, max=64),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            help="Workers that make fits, started with the server; 0 if 'judgemap worker' is running.", min=0, max=64
        ),
    ] = 1,
    metrics_port: Annotated[
        int | None,
        typer.Option(help="Port for Prometheus, at /metrics; do not expose it to the internet.", min=1, max=65535),
    ] = None,
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Use another secret key than the one that the database was used with.")
    ] = False,
) -> None:
    """Serve studies to judges and researchers, until Ctrl-C.

    Example: judgemap serve --data studies --port 8000
    """
    from judgemap.web import start

    start.serve(start.ServerOptions(data, host, port, processes, workers, metrics_port, new_key), typer.echo)


def worker(data: DataFolder = DATA) -> None:
    """Make the fits that researchers ask for, until Ctrl-C. A server has one of its own unless told otherwise.

    Example: judgemap worker --data studies
    """
    from judgemap.web import start

    start.connect(data)
    from judgemap.web.server.readers import missing_walls

    if sentence := missing_walls():
        typer.echo(sentence)
    typer.echo(f"judgemap is making fits for the studies in {start.database_name()}. Stop it with Ctrl-C.")
    start.work()


def demo(
    data: Annotated[Path, typer.Option(help="Folder of the demonstration's database.")] = Path("demo"),
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8000,
    seed: Annotated[
        int, typer.Option(min=0, help="A different seed gives a different truth and different answers.")
    ] = 1,
) -> None:
    """Serve a finished study of twelve simulated judges, fitted and clustered, and an open one to try.

    Example: judgemap demo --port 8000
    """
    from judgemap.web import start
    from judgemap.web.server.supervise import check_port

    options = start.ServerOptions(data, port=port)
    check_port(options.host, port)
    start.connect(data, create=True)
    from judgemap.web.demo.study import prepare_demo

    made = prepare_demo(data, seed, typer.echo)
    address = start.public_address(options)
    typer.echo(describe(made, address, data))
    if sys.stdout.isatty():
        webbrowser.open(f"{address}/studies/")
    start.serve(options, typer.echo)


def describe(made: "Demo", address: str, data: Path) -> str:
    """Say which pages researchers and judges can open, and how to show judges streets."""
    return "\n".join(
        [
            "",
            f"Researcher  {address}/studies/{made.finished.slug}/",
            f"            sign in as {made.email} with the password {made.password}",
            f"Judge       {address}/s/{made.open.join_code}/",
            "",
            "The finished study is simulated and fitted when the server starts. Its risk map is ready in a few",
            "seconds, its clusters within a minute.",
            "",
            "To show judges streets under the areas, get an .osm.pbf of Chicago, for example from",
            f"extract.bbbike.org, and upload it at {address}/studies/{made.open.slug}/map, or run",
            f"judgemap study basemap {made.open.slug} Chicago.osm.pbf --data {data}",
            "",
        ]
    )
