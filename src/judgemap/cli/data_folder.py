"""The folder with a server's database, for the commands that work on it."""

from pathlib import Path
from typing import Annotated

import typer

DataFolder = Annotated[Path, typer.Option(help="Folder of the database and the secret key.", envvar="JUDGEMAP_DATA")]
DATA = Path("judgemap-data")


def connect(data: Path, *, create: bool = False) -> None:
    """Set up Django for a data folder; a missing one is refused, unless the command may ``create`` it."""
    from judgemap.web import start

    start.use_data_folder(data, create=create)
    start.migrate(create=create)


def server_address(url: str) -> str:
    """Return the address that links begin with: the one given, the one configured, or where the server last started."""
    from django.conf import settings

    from judgemap.web.start import last_address

    return url.rstrip("/") or settings.PUBLIC_URL or last_address() or "http://127.0.0.1:8000"
