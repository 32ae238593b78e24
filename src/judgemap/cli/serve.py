"""`judgemap serve`: the study server."""

from typing import Annotated

import typer

from judgemap.cli.data_folder import DATA, DataFolder


def serve(
    data: DataFolder = DATA,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for all of this machine's addresses.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=1, max=65535)] = 8000,
    workers: Annotated[
        int | None,
        typer.Option(help="Server processes. [default: one with SQLite, one per CPU with PostgreSQL]", min=1, max=64),
    ] = None,
    fitters: Annotated[
        int,
        typer.Option(
            help="Workers to start with the server for fits; 0 if 'judgemap worker' is running.", min=0, max=64
        ),
    ] = 1,
    metrics_port: Annotated[
        int | None,
        typer.Option(help="Port for Prometheus, at /metrics; do not expose it to the internet.", min=1, max=65535),
    ] = None,
) -> None:
    """Serve studies to judges and researchers, until Ctrl-C.

    Example: judgemap serve --data studies --port 8000
    """
    from judgemap.web import start

    start.serve(start.ServerOptions(data, host, port, workers, fitters, metrics_port), typer.echo)
