"""`judgemap study`: everything a study needs, without a browser. The server may be running at the same time."""

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judgemap.cli.main import Group
from judgemap.cli.serving import DATA, DataFolder, server_address
from judgemap.errors import StudyError
from judgemap.web.start import connect, use_data_folder

if TYPE_CHECKING:
    from judgemap.web.studies.models import Study

Slug = Annotated[str, typer.Argument(help="The study's name, as shown by 'judgemap study list'.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]

SAFE = "Keep the data safe"

app = typer.Typer(help="Make, run, export and back up studies.", cls=Group, no_args_is_help=True, rich_markup_mode=None)


def _find(name: str, data: Path) -> "Study":
    """Connect to the database, and find a study in it."""
    connect(data)
    from judgemap.web.studies.editing import find_study

    return find_study(name)


@app.command()
def new(
    definition: Annotated[Path, typer.Argument(help="The study.toml; its map should be in the same folder.")],
    owner: Annotated[str, typer.Option(help="Email address of the researcher who will own it.")] = "",
    data: DataFolder = DATA,
) -> None:
    """Make a draft study from a study.toml.

    Example: judgemap study new wards/study.toml --owner anna@example.org
    """
    connect(data, create=True)
    from judgemap.study.data.definition import read_definition, read_study_areas
    from judgemap.web.accounts.actions import find_researcher
    from judgemap.web.studies.making import create_study

    researcher = find_researcher(owner) if owner else None
    read = read_definition(definition)
    areas = read_study_areas(read, definition.parent)
    study = create_study(read, areas, researcher)
    for note in areas.notes:
        typer.echo(note)
    if read.base_map:
        typer.echo("The base map is on: whoever serves its tiles can see which judges look at which areas.")
    if researcher is None:
        typer.echo(f"No researcher can see it until it has an owner: judgemap researcher own {study.slug} EMAIL")
    typer.echo(f"Study {study.slug}: a draft with {len(areas):,} areas. Open it with: judgemap study open {study.slug}")


@app.command(name="open")
def open_study(study: Slug, data: DataFolder = DATA) -> None:
    """Open a study to its judges, also one that was paused or closed.

    Example: judgemap study open wards
    """
    found = _find(study, data)
    from judgemap.web.studies import editing

    opened = (editing.reopen_study if found.status == "closed" else editing.open_study)(found)
    typer.echo(f"Study {study} is open.")
    if opened.join_code:
        typer.echo(f"Anyone can join at {server_address('')}/s/{opened.join_code}/")


@app.command()
def invite(
    study: Slug,
    judges: Annotated[int, typer.Option(help="How many judges to invite, each with a link.", min=1, max=10_000)] = 1,
    url: Annotated[str, typer.Option(help="The server's address.", envvar="JUDGEMAP_URL")] = "",
    group: Annotated[str, typer.Option(help="The group of judges they join; created if it does not exist.")] = "",
    qr: Annotated[Path | None, typer.Option(help="Folder for the links as QR codes, one SVG file each.")] = None,
    data: DataFolder = DATA,
    *,
    as_json: AsJson = False,
) -> None:
    """Make personal links for judges. They are shown only once: the server keeps only hashes.

    Example: judgemap study invite wards --judges 12
    """
    asked = _find(study, data)
    from judgemap.web.judge.joining import invite as make_links
    from judgemap.web.people.inviting import group_named
    from judgemap.web.server.tokens import check_address

    invited = make_links(asked, judges, group=group_named(asked, group) if group else None)
    links = [{"judge": each.name, "link": f"{server_address(url)}/j/{each.token}/"} for each in invited]
    if qr is not None:
        _draw_codes(qr, links)
    typer.echo(json.dumps(links) if as_json else "\n".join(each["link"] for each in links))
    if not as_json and (problem := check_address(server_address(url))):
        typer.echo(f"Judges may not be able to open these links. {problem}", err=True)


@app.command(name="list")
def list_studies(data: DataFolder = DATA, *, as_json: AsJson = False) -> None:
    """List the studies.

    Example: judgemap study list --json
    """
    connect(data)
    from judgemap.web.people.inviting import studies_overview

    studies = studies_overview()
    if as_json:
        typer.echo(json.dumps(studies, ensure_ascii=False))
        return
    for each in studies:
        counts = f"{each['areas']:,} areas, {each['judges']:,} judges, {each['judged']:,} answers"
        typer.echo(f"{each['study']}  {each['status']}  {counts}  {each['title']}")
    if not studies:
        typer.echo("There are no studies yet. Make one with: judgemap study new STUDY.toml")


@app.command()
def pause(study: Slug, data: DataFolder = DATA) -> None:
    """Pause a study: judges cannot answer for now.

    Example: judgemap study pause wards
    """
    found = _find(study, data)
    from judgemap.web.studies.editing import pause_study

    pause_study(found)
    typer.echo(f"Study {study} is paused. Resume it with: judgemap study open {study}")


@app.command()
def close(study: Slug, data: DataFolder = DATA) -> None:
    """Close a study; its answers are kept.

    Example: judgemap study close wards
    """
    found = _find(study, data)
    from judgemap.web.studies.editing import close_study

    close_study(found)
    typer.echo(f"Study {study} is closed. Reopen it with: judgemap study open {study}")


@app.command()
def delete(
    study: Slug,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Bring a deleted study back.")] = False,
    data: DataFolder = DATA,
) -> None:
    """Delete a study, or bring back one deleted in the last seven days.

    Example: judgemap study delete wards
    """
    found = _find(study, data)
    from judgemap.web.studies.keeping import GRACE, bring_back, delete_study

    if undo:
        bring_back(found)
        typer.echo(f"Study {study} is back.")
        return
    if not yes and typer.prompt(f"Type the name of the study, {study}, to delete it") != study:
        raise StudyError("the name does not match; nothing was deleted")
    delete_study(found, study)
    typer.echo(
        f"Study {study} is deleted. For {GRACE.days} days, bring it back with: judgemap study delete {study} --undo"
    )


@app.command()
def basemap(
    study: Slug,
    file: Annotated[Path | None, typer.Argument(help="An extract: .osm.pbf, .osm, or a GeoPackage.")] = None,
    credit: Annotated[str, typer.Option(help="Map credit, shown wherever the map is drawn.")] = "",
    data: DataFolder = DATA,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the base map.")] = False,
) -> None:
    """Draw streets and places under the judges' maps, from an OpenStreetMap extract of the study's region.

    Judges' browsers load them from this server only. Any earlier base map is replaced.

    Example: judgemap study basemap wards nottinghamshire-latest.osm.pbf
    """
    found = _find(study, data)
    from judgemap.cli.progress import share_progress
    from judgemap.web.studies.basemap.making import CREDIT, check_file, make_here, remove_base_map

    if remove:
        remove_base_map(found)
        typer.echo(f"Study {study} has no base map.")
        return
    if file is None:
        raise StudyError(f"name an extract: judgemap study basemap {study} FILE.osm.pbf")
    check_file(file)
    with share_progress("base map") as tell:
        made = make_here(found, file, credit or CREDIT, tell)
    typer.echo(made.said)
    typer.echo(f"Study {study} has a base map of {made.size / 1e6:.1f} MB. Its credit: {made.credit}")


@app.command()
def export(
    study: Slug,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The zip file to write.")] = None,
    data: DataFolder = DATA,
) -> None:
    """Write every pair and answer in a study to a zip file.

    Example: judgemap study export wards -o wards.zip
    """
    chosen = _find(study, data)
    from judgemap.web.people.export import export_study
    from judgemap.web.studies.log import record

    path = export_study(chosen, output or Path(f"{study}.zip"))
    record(chosen, None, "exported", {})
    typer.echo(f"Written: {path}")


@app.command(rich_help_panel=SAFE)
def retain(
    study: Annotated[str, typer.Argument(help="The study whose day to set or show; all studies if left out.")] = "",
    until: Annotated[
        datetime | None, typer.Option(help="The last day on which answers are kept.", formats=["%Y-%m-%d"])
    ] = None,
    data: DataFolder = DATA,
) -> None:
    """Set the day until which answers are kept; delete those that are due, and print the certificates.

    A running worker deletes them by itself. Without one, run this once a day.

    Example: judgemap study retain wards --until 2027-06-30
    """
    connect(data)
    from judgemap.web.people.retention import keep_promises, retention_lines
    from judgemap.web.studies.editing import find_study, set_end

    chosen = find_study(study) if study else None
    if until is not None:
        if chosen is None:
            raise StudyError("--until needs a study; name it: judgemap study retain STUDY --until DAY")
        set_end(chosen, until.date())
    keep_promises()
    for line in retention_lines(chosen):
        typer.echo(line)


@app.command(rich_help_panel=SAFE)
def verify(
    head: Annotated[str, typer.Option(help="A head printed earlier by this command, to check against.")] = "",
    data: DataFolder = DATA,
) -> None:
    """Check that nobody has changed the audit log, and print its head; exit status 2 if somebody has.

    Keep the head elsewhere: with it you can detect even a log rewritten from the start.

    Example: judgemap study verify --head "$(cat last-head)"
    """
    connect(data)
    from judgemap.web.studies.log import log_head, parse_head, verify_log

    faults = verify_log(parse_head(head) if head else None)
    for fault in faults:
        typer.echo(f"{fault[:1].upper()}{fault[1:]}.")
    if faults:
        raise StudyError(f"the log was changed (places: {len(faults)}); compare it with a backup from before")
    typer.echo(f"The log is intact: {log_head().number:,} entries. Its head: {log_head()}")


def _draw_codes(folder: Path, links: list[dict[str, str]]) -> None:
    import segno

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each in links:
            segno.make(each["link"], error="m").save(str(folder / f"{each['judge']}.svg"), scale=6)
    except OSError as error:
        raise StudyError(f"{folder} cannot be written ({error.strerror}); name another folder") from None


@app.command(rich_help_panel=SAFE)
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
    from judgemap.web.server.backup import Lock
    from judgemap.web.studies.backups import make_backup

    note_withdrawals()  # so that the list is complete since before the backup
    words = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=True) if passphrase else ""
    lock = Lock(() if passphrase else tuple(to or settings.BACKUP_RECIPIENTS), words)
    written = make_backup(output, lock, daily=daily, weekly=weekly, verify=verify)
    checked = " It was read back, and every row matches." if verify else ""
    typer.echo(f"Written: {written}.{checked} Keep a copy of the data folder's secret-key elsewhere too.")


@app.command(rich_help_panel=SAFE)
def backup_key(
    output: Annotated[Path, typer.Argument(help="The file to write the secret key to; it must not exist yet.")],
) -> None:
    """Make a key pair for backups: the public key is for the server, the secret key for somewhere else.

    Example: judgemap study backup-key restore-key.txt
    """
    from judgemap.web.server.backup import make_key

    recipient = make_key(output)
    typer.echo(recipient)
    typer.echo(f"Give the server this public key: JUDGEMAP_BACKUP_TO={recipient}", err=True)
    typer.echo(f"Keep {output} away from the server: without it nobody can open the backups.", err=True)


@app.command(rich_help_panel=SAFE)
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
    from judgemap.web.server import backup

    asked = copy.is_file() and backup.needs_passphrase(copy)
    opener = backup.Key(key, typer.prompt("Passphrase", hide_input=True) if asked else "")
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


@app.command(rich_help_panel=SAFE)
def upgrade(data: DataFolder = DATA) -> None:
    """Bring the database of an earlier version up to date, while no server runs. Back it up first.

    Judges who have a page open meanwhile keep their answer, and send it when the server is back.

    Example: judgemap study upgrade --data studies
    """
    use_data_folder(data)
    from judgemap.web.server.database import migrate

    migrate(upgrading=True)
    typer.echo("The database is up to date. Start the server again.")
