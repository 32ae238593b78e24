"""`judgemap study backup`, `backup-key`, `restore` and `upgrade`: commands for the whole database."""

from pathlib import Path
from typing import Annotated

import typer

from judgemap.cli.data_folder import DATA, DataFolder, connect


def backup(
    output: Annotated[Path, typer.Argument(help="A new file, or an existing folder for scheduled backups.")],
    to: Annotated[
        list[str] | None,
        typer.Option(
            help="Public key to encrypt to; may be repeated. Default: JUDGEMAP_BACKUP_TO.", show_default=False
        ),
    ] = None,
    daily: Annotated[int, typer.Option(help="In a folder: keep daily backups for this many days.", min=1)] = 7,
    weekly: Annotated[int, typer.Option(help="In a folder: keep weekly backups for this many weeks.", min=0)] = 4,
    data: DataFolder = DATA,
    *,
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Ask for a passphrase to encrypt with.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Read it back and compare every row.")] = False,
) -> None:
    """Write a consistent copy of the whole database, while the server runs.

    Into a folder, each backup gets a name with its time, and older ones are deleted as --daily and --weekly say.

    Example: judgemap study backup /backups/ --verify
    """
    connect(data)
    from django.conf import settings

    from judgemap.web.people.retention import note_withdrawals
    from judgemap.web.server.encryption import Lock
    from judgemap.web.studies.backups import Rotation, back_up_into, make_backup

    note_withdrawals()  # so that the list is complete since before the backup
    words = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=True) if passphrase else ""
    lock = Lock(() if passphrase else tuple(to or settings.BACKUP_RECIPIENTS), words)
    if output.is_dir():
        written = back_up_into(output, Rotation(daily, weekly), lock, verify=verify)
    else:
        written = make_backup(output, lock, verify=verify)
    checked = " It was read back, and every row matches." if verify else ""
    typer.echo(f"Written: {written}.{checked} Keep a copy of the data folder's secret-key elsewhere too.")


def backup_key(
    output: Annotated[Path, typer.Argument(help="The file to write the secret key to; it must not exist yet.")],
) -> None:
    """Make a key pair for backups: the public key is for the server, the secret key for somewhere else.

    Example: judgemap study backup-key restore-key.txt
    """
    from judgemap.web.server.encryption import make_key

    recipient = make_key(output)
    typer.echo(recipient)
    typer.echo(f"Give the server this public key: JUDGEMAP_BACKUP_TO={recipient}", err=True)
    typer.echo(f"Keep {output} away from the server: without it nobody can open the backups.", err=True)


def restore(
    copy: Annotated[Path, typer.Argument(help="A file that 'judgemap study backup' wrote.")],
    key: Annotated[Path | None, typer.Option(help="The file with the secret key that opens it.")] = None,
    data: DataFolder = DATA,
    *,
    check: Annotated[bool, typer.Option("--check", help="Check the whole backup without restoring it.")] = False,
) -> None:
    """Fill a new data folder, or an empty PostgreSQL database, from a backup.

    Where the backup has a passphrase, it is asked for. Answers whose last day is over are not restored, nor those of
    judges who withdrew since, as far as this data folder knows them.

    Example: judgemap study restore studies-monday.sqlite3 --data new-folder
    """
    connect(data, create=True)
    from django.db import transaction

    from judgemap.web.people import retention
    from judgemap.web.server import backup, encryption

    asked = copy.is_file() and encryption.needs_passphrase(copy)
    opener = encryption.Key(key, typer.prompt("Passphrase", hide_input=True) if asked else "")
    with backup.opened(copy, opener) as (content, seal):
        if sentence := retention.missing_withdrawals(seal):
            typer.echo(sentence, err=True)
        if check:
            typer.echo(f"{copy} is complete and can be restored.")
            return
        with transaction.atomic():
            backup.restore(copy, content)
            withdrawn = retention.withdraw_again()
            certificates = retention.remove_due()
    typer.echo(f"Restored from {copy}.")
    if withdrawn:
        typer.echo(f"{withdrawn} judges withdrew after this backup was made, so their answers were removed again.")
    for certificate in certificates:
        typer.echo(f"{certificate.study}: these answers were due to be deleted, so they were removed again.")
    retention.erase_hidden()
    retention.note_withdrawals()


def upgrade(data: DataFolder = DATA) -> None:
    """Bring the database of an earlier version up to date, while no server runs. Back it up first.

    Judges who have a page open meanwhile keep their answer, and send it when the server is back.

    Example: judgemap study upgrade --data studies
    """
    from judgemap.web import start

    start.use_data_folder(data)
    start.upgrade()
    typer.echo("The database is up to date. Start the server again.")
