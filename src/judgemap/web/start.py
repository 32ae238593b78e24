"""Starting the study server: the data folder, the database, the files that pages use, and granian."""

import os
import secrets
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from judgemap.errors import StudyError
from judgemap.web.server.supervise import (
    NO_WORKERS,
    SERVER,
    Workers,
    allow_connections,
    check_port,
    restarting,
    use_own_folder,
)

MOST_CONNECTIONS = 4096
"""How many clients one process keeps connected, most of them idle."""
SECONDS_IDLE = 30
"""A connection that sends no complete request for this many seconds is closed."""
MOST_SECONDS_APART = 5.0
"""By how much this machine's clock may differ from the database's."""
NICENESS = 5
"""Judges are served before exports are written."""
PRIVATE = 0o077
"""The umask of the server and its workers: only their own user can read what they write."""
DATABASE_FILES = ("judgemap.sqlite3", "judgemap.sqlite3-wal", "judgemap.sqlite3-shm")


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Where the server keeps its data, and where it listens."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    processes: int | None = None
    """Processes; by default one with SQLite, which has one writer at a time, and one per CPU with PostgreSQL."""
    workers: int = 1
    """How many workers for fits start with the server; 0 if they run elsewhere."""
    metrics_port: int | None = None
    """The port for Prometheus metrics, on the same address; None for none."""
    new_key: bool = False
    """Whether the secret key may differ from the one that the database was used with."""


def use_data_folder(data: Path, *, create: bool = False) -> None:
    """Set up Django to use a data folder; call this once per process.

    Only with ``create`` is a missing folder, database or secret key made: a mistyped name must not become a server.
    """
    if not create and not _is_there(data):
        raise StudyError(
            f"there is no study server's data in {data}; check --data, or start a server there: "
            f"judgemap serve --data {data}"
        )
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        if create:
            _make_secret_key(data / "secret-key")
        _keep_private(data)
    except OSError as error:
        raise StudyError(f"{data} cannot be used as a data folder ({error.strerror}); name another") from None
    os.environ["JUDGEMAP_DATA"] = str(data.absolute())
    os.environ["DJANGO_SETTINGS_MODULE"] = "judgemap.web.settings"
    source = Path(__file__).parent / "locale"
    if not any(source.glob("*/LC_MESSAGES/*.mo")):  # a checkout; a wheel has them
        compile_translations(source, data / "locale")
    import django
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise StudyError(f"{error}") from None


def connect(data: Path, *, create: bool = False) -> None:
    """Use a data folder and its database: one of another version is refused, and an empty one unless ``create``."""
    use_data_folder(data, create=create)
    from judgemap.web.server.database import migrate

    migrate(create=create)


def keep_withdrawals() -> None:
    """Begin or complete the list of judges who withdrew, and withdraw any whom a copy of the database brought back."""
    from django.db import transaction

    from judgemap.web.people.retention import note_withdrawals, withdraw_again

    with transaction.atomic():
        withdraw_again()
    note_withdrawals()


def serve(options: ServerOptions, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    from django.db import connections
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings

    for port in filter(None, (options.port, options.metrics_port)):
        check_port(options.host, port)
    os.umask(PRIVATE)
    if options.host not in ("0.0.0.0", "::"):  # noqa: S104 - not host names
        host = f"[{options.host}]" if ":" in options.host else options.host
        os.environ["JUDGEMAP_HOSTS"] = ",".join(filter(None, (os.environ.get("JUDGEMAP_HOSTS"), host)))
    connect(options.data, create=True)  # reads the hosts
    from judgemap.web.server.database import too_many_connections
    from judgemap.web.server.readers import missing_walls

    use_own_folder()
    check_machine(new_key=options.new_key)
    keep_withdrawals()
    collect_static()
    first_researcher(options, say)
    remember_address(options)
    processes = options.processes or (1 if connections["default"].vendor == "sqlite" else os.cpu_count() or 2)
    for sentence in filter(None, (missing_walls(), too_many_connections(processes, options.workers))):
        say(sentence)
    say(f"judgemap is serving {public_address(options)} from {options.data.absolute()}. Stop it with Ctrl-C.")
    server = restarting()(
        "judgemap.web.wsgi:gateway",
        address=options.host,
        port=options.port,
        interface=Interfaces.RSGI,
        workers=processes,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=1000 * SECONDS_IDLE),
        backpressure=allow_connections(MOST_CONNECTIONS),
        log_access=False,
        log_enabled=False,
        websockets=False,
        respawn_failed_workers=True,
        workers_kill_timeout=20,
    )
    os.environ[SERVER] = str(os.getpid())
    if not options.workers:
        os.environ[NO_WORKERS] = "yes"
    if options.metrics_port is not None:
        from judgemap.web.server.health import start_metrics

        start_metrics(options.data, options.host, options.metrics_port)
    connections.close_all()  # the server's processes are its forks, and must not share a connection
    workers = Workers(options.workers)
    workers.start()
    try:
        server.serve()
    finally:
        workers.stop()


def check_machine(*, new_key: bool = False) -> None:
    """Refuse to work beside servers that have another secret key, or on a clock that differs from the database's."""
    from django.db import connection

    from judgemap.web.accounts.actions import check_key

    check_key(is_new=new_key)
    if connection.vendor == "sqlite":  # on this machine, so by its clock
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        ahead = time.time() - float(cursor.fetchone()[0])
    if abs(ahead) > MOST_SECONDS_APART:
        raise StudyError(
            f"this machine's clock is {abs(ahead):.0f} seconds {'ahead of' if ahead > 0 else 'behind'} the database's; "
            "set both by a time server, and start again"
        )


def work() -> None:
    """Make fits until SIGTERM; as the child of a server, use its settings and stop when it is gone."""
    os.umask(PRIVATE)
    if SERVER in os.environ:
        import django

        django.setup()
    use_own_folder()
    check_machine()
    from judgemap.web.results.running import warm_up
    from judgemap.web.server import worker

    worker.work(warm_up)


def export(slug: str, path: str) -> None:
    """Write a study's export, for a server in another process; what goes wrong is written to standard output."""
    import django

    django.setup()
    from judgemap.web.people.export import export_study
    from judgemap.web.studies.editing import find_study

    os.umask(PRIVATE)
    os.nice(NICENESS)
    try:
        export_study(find_study(slug), Path(path))
    except Exception:
        traceback.print_exc(file=sys.stdout)


def database_name() -> str:
    """Name the database without its password."""
    from django.db import connection

    database = connection.settings_dict
    return f"{database['NAME']} on {database['HOST']}" if database["HOST"] else str(database["NAME"])


def public_address(options: ServerOptions) -> str:
    """Return the address that judges use: the configured one, or where the server listens on this machine."""
    from django.conf import settings

    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)  # noqa: S104 - not host names
    host = f"[{host}]" if ":" in host else host
    return settings.PUBLIC_URL or f"http://{host}:{options.port}"


def remember_address(options: ServerOptions) -> None:
    """Keep the server's address in the data folder, for the links that commands print."""
    (options.data / "address").write_text(f"{public_address(options)}\n", encoding="utf-8")


def last_address() -> str:
    """Return the address at which the server was last started, or an empty string."""
    from django.conf import settings

    path: Path = settings.DATA / "address"
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def first_researcher(options: ServerOptions, say: Callable[[str], None]) -> None:
    """If there is no researcher yet, print a one-time link that creates the first."""
    from judgemap.web.accounts.actions import first_invitation

    token = first_invitation()
    if token is not None:
        say(
            f"There are no researchers yet. Create the first account here, within a day: "
            f"{public_address(options)}/first/{token}/"
        )


def collect_static() -> None:
    """Copy the pages' scripts and styles into the data folder, compressed and named by their content."""
    import fcntl

    from django.conf import settings
    from django.core.management import call_command

    # Servers that start at the same time on one folder would otherwise delete each other's files.
    with (settings.DATA / "collecting").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        call_command("collectstatic", interactive=False, verbosity=0)


def compile_translations(source: Path, target: Path) -> None:
    """Compile the translations that have changed into the data folder."""
    for path in sorted(source.glob("*/LC_MESSAGES/*.po")):
        compiled = target / path.relative_to(source).with_suffix(".mo")
        if not compiled.exists() or compiled.stat().st_mtime < path.stat().st_mtime:
            import polib  # an installed judgemap neither has nor needs it

            compiled.parent.mkdir(parents=True, exist_ok=True)
            polib.pofile(str(path)).save_as_mofile(str(compiled))


def _is_there(data: Path) -> bool:
    """Say whether a server has used a data folder: it has the database or, if that is PostgreSQL, the secret key."""
    if os.environ.get("DATABASE_URL"):
        return bool(os.environ.get("JUDGEMAP_SECRET_KEY")) or (data / "secret-key").is_file()
    return (data / DATABASE_FILES[0]).is_file()


def _keep_private(data: Path) -> None:
    """Let only their owner read the database and the secret key, even in a folder that others can read.

    The folder's own permissions are left alone, because it may hold other things.
    """
    if not os.environ.get("DATABASE_URL"):
        (data / DATABASE_FILES[0]).touch(mode=0o600)  # SQLite gives the files beside it the same mode
    for path in map(data.joinpath, ("secret-key", *DATABASE_FILES)):
        if path.exists() and path.stat().st_mode & PRIVATE:
            path.chmod(0o600)


def _make_secret_key(path: Path) -> None:
    """Make a secret key that only its owner can read; if two processes try at once, the first wins.

    The file gets its name once the key is on the disk, so that a full disk leaves none behind, not an empty one.
    """
    if path.exists():
        return
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix="secret-key-") as file:
        file.write(secrets.token_urlsafe(50))
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):
            path.hardlink_to(file.name)


if __name__ == "__main__":  # run by `judgemap.web.people.export.export_apart`
    export(*sys.argv[1:])
