"""`judgemap worker`: makes the fits that researchers request on the study server."""

import typer

from judgemap.cli.data_folder import DATA, DataFolder, connect


def worker(data: DataFolder = DATA) -> None:
    """Make the fits that researchers ask for, until Ctrl-C. A server has one of its own unless told otherwise.

    Example: judgemap worker --data studies
    """
    from judgemap.web import start

    connect(data)
    typer.echo(f"judgemap is making fits for the studies in {start.database_name()}. Stop it with Ctrl-C.")
    start.work()
