"""Backups: copies of the whole database from one moment, written while the server runs, checked, and restored.

A backup is a SQLite file, whatever the database, followed by a seal: when its snapshot began, and a digest of all its
bytes. While one is being written or read, it is in files without a name, so a process that dies leaves nothing to read.
Rows are copied one by one into a database that our own migrations made, which is also how a study moves to PostgreSQL.

It may be encrypted to public keys, whose secret keys the server never sees, or with a passphrase, in the format of
`age` (https://age-encryption.org), so that `age` itself can open it too.
"""

import errno
import fcntl
import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyrage
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import DatabaseError, connection, connections, models, transaction
from django.utils import timezone
from pyrage import passphrase as scrypt
from pyrage import ssh, x25519

from judgemap.errors import StudyError
from judgemap.web.server.database import later_migrations, missing_migrations
from judgemap.web.server.supervise import sweep

BATCH = 500
CHUNK = 1 << 20
MARK = b"\njudgemap-seal "
LONGEST_SEAL = 400
PART = ".judgemap-part-"
WAL_FLAGS = 18
"""Where a SQLite file says, in two bytes, whether it has a write-ahead log."""
CHANGE_COUNTER = 24
ENCRYPTED = b"age-encryption.org/v1\n"
WITH_PASSPHRASE = ENCRYPTED + b"-> scrypt "
SHORTEST_PASSPHRASE = 12
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Lock:
    """What a backup is encrypted to: public keys, or a passphrase; with neither, it is not encrypted."""

    recipients: tuple[str, ...] = ()
    passphrase: str = ""

    def __post_init__(self) -> None:
        if self.recipients and self.passphrase:
            raise StudyError("a backup is encrypted to public keys or with a passphrase; choose one of them")
        if self.passphrase and len(self.passphrase) < SHORTEST_PASSPHRASE:
            raise StudyError(f"the passphrase is short; use {SHORTEST_PASSPHRASE} characters or more")
        for each in self.recipients:
            _read_recipient(each)

    def __bool__(self) -> bool:
        return bool(self.recipients or self.passphrase)

    def close(self, source: Path, target: Path) -> None:
        """Copy a file, encrypted if it has a lock; with a passphrase, all of it is held in memory."""
        if self.passphrase:
            target.write_bytes(scrypt.encrypt(source.read_bytes(), self.passphrase))
        elif self.recipients:
            pyrage.encrypt_file(str(source), str(target), [_read_recipient(each) for each in self.recipients])
        else:
            shutil.copyfile(source, target)


@dataclass(frozen=True, slots=True)
class Key:
    """What opens a backup: a file with the secret key, or a passphrase."""

    file: Path | None = None
    passphrase: str = ""

    def open(self, source: Path, target: Path) -> None:
        """Decrypt a file, or copy one that is not encrypted."""
        if not is_encrypted(source):
            shutil.copyfile(source, target)
        elif needs_passphrase(source):
            if not self.passphrase:
                raise StudyError(f"{source} is encrypted with a passphrase, and none was given")
            with _decrypting(source, "this passphrase"):
                content = scrypt.decrypt(source.read_bytes(), self.passphrase)
            target.write_bytes(content)
        elif self.file is None:
            raise StudyError(f"{source} is encrypted; name the file with its secret key: --key FILE")
        else:
            with _decrypting(source, f"the key in {self.file}"):
                pyrage.decrypt_file(str(source), str(target), _read_identities(self.file))


NO_LOCK, NO_KEY = Lock(), Key()


@dataclass(frozen=True, slots=True)
class Seal:
    """What a backup says about its snapshot."""

    began: str
    """A moment just before it."""
    entry: int
    """The last entry of the audit log in it, which no clock can get wrong."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """A SQLite file without a name: Django's alias for it, and a path by which only this process can open it."""

    alias: str
    path: Path


@contextmanager
def snapshot(using: str = "default") -> Iterator[None]:
    """See the database as it is at this moment, whatever others write meanwhile; do not write inside it."""
    database: Any = connections[using]  # Django's types know no transaction mode
    database.ensure_connection()
    usual = getattr(database, "transaction_mode", None)
    if database.vendor == "sqlite":
        database.transaction_mode = "DEFERRED"  # the write lock would make every judge wait
    try:
        with transaction.atomic(using):
            if database.vendor == "postgresql":
                with database.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    finally:
        if database.vendor == "sqlite":
            database.transaction_mode = usual


def back_up(path: Path, lock: Lock = NO_LOCK, *, verify: bool = False) -> Seal:
    """Write a consistent copy of the whole database into a new file that only its owner can read.

    With ``verify``, it is read back, and every row must match the original.
    """
    if path.exists():
        raise StudyError(f"{path} already exists; choose another name for the backup")
    try:
        with scratch() as draft, _appearing(path) as target:
            seal = _write(draft, verify=verify)
            lock.close(draft.path, target)
    except OSError as error:
        raise StudyError(f"{path} cannot be written ({error.strerror}); name another file") from None
    return seal


@contextmanager
def opened(path: Path, key: Key = NO_KEY) -> Iterator[tuple[Scratch, Seal]]:
    """Check all of a backup, and yield a copy of it that this version's models can read."""
    if not path.is_file():
        raise StudyError(f"{path}: there is no such file; check its name and folder")
    with scratch() as copy:
        with _sentences(path):
            key.open(path, copy.path)
            seal = _break_seal(path, copy.path)
            _check_content(path, copy.alias)
        yield copy, seal


def restore(path: Path, copy: Scratch) -> None:
    """Fill the empty database from an opened backup: every row or, if one breaks a constraint, none."""
    names = (("studies", "Study"), ("accounts", "Researcher"), ("studies", "Act"))
    if any(apps.get_model(*name)._base_manager.exists() for name in names):  # noqa: SLF001 - Django's name
        raise StudyError("the database is not empty; restore into a new data folder or a new database")
    with _sentences(path), transaction.atomic():
        copy_rows(copy.alias, "default")
        apps.get_model("accounts", "ServerKey")._base_manager.all().delete()  # noqa: SLF001 - the next server has its own
        connection.check_constraints()
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), all_models()):
                cursor.execute(statement)


@contextmanager
def scratch() -> Iterator[Scratch]:
    """Make a SQLite file in the data folder that has no name, and is gone as soon as this process is."""
    handle, name = tempfile.mkstemp(dir=settings.DATA)
    alias = f"scratch-{handle}"
    connections.databases[alias] = {
        **connections.databases["default"],
        **dict.fromkeys(("HOST", "PORT", "USER", "PASSWORD"), ""),
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": name,
        "CONN_MAX_AGE": 0,
        # A journal on the disk would have a name.
        "OPTIONS": {"init_command": "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF;"},
    }
    try:
        try:
            connections[alias].ensure_connection()
        finally:
            Path(name).unlink()
        yield Scratch(alias, Path(f"/dev/fd/{handle}"))
    finally:
        connections[alias].close()
        del connections[alias], connections.databases[alias]
        os.close(handle)


@contextmanager
def _appearing(path: Path) -> Iterator[Path]:
    """Make a file that gets its name when it is complete and on the disk.

    Some file systems have no files without a name; there, the next backup removes what a dead process left.
    """
    try:
        handle, name = os.open(path.parent, os.O_TMPFILE | os.O_RDWR, 0o600), ""
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EOPNOTSUPP, errno.EISDIR):
            raise
        sweep(path.parent, PART)
        handle, name = tempfile.mkstemp(prefix=PART, dir=path.parent)
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield Path(f"/dev/fd/{handle}")
        os.fsync(handle)
        os.link(name or f"/dev/fd/{handle}", path, src_dir_fd=handle, follow_symlinks=True)
    finally:
        os.close(handle)
        if name:
            Path(name).unlink(missing_ok=True)


def _write(draft: Scratch, *, verify: bool) -> Seal:
    began = timezone.now().isoformat()
    head = apps.get_model("studies", "LogHead")._base_manager  # noqa: SLF001 - Django's name
    with snapshot():
        seal = Seal(began, head.values_list("number", flat=True).first() or 0)
        before = fingerprints("default") if verify else {}
        if connection.vendor == "sqlite":
            connection.connection.backup(connections[draft.alias].connection)
            _leave_wal(draft.path)
        else:
            call_command("migrate", database=draft.alias, interactive=False, verbosity=0)
            copy_rows("default", draft.alias)
    after = fingerprints(draft.alias) if verify else {}
    if wrong := [name for name in before if before[name] != after[name]]:
        raise StudyError(f"the backup does not match the database ({wrong[0]}); no backup was written")
    text = MARK + json.dumps(asdict(seal)).encode() + b" "
    with draft.path.open("r+b") as file:
        digest = _digest(draft.path, file.seek(0, os.SEEK_END), text)
        file.write(text + digest + b"\n")
    return seal


def _leave_wal(path: Path) -> None:
    """Have a copy of a database with a write-ahead log keep none: that would be a file with a name."""
    with path.open("r+b") as file:
        file.seek(CHANGE_COUNTER)
        count = int.from_bytes(file.read(4))
        file.seek(WAL_FLAGS)
        file.write(b"\1\1")
        file.seek(CHANGE_COUNTER)  # so that whoever read the file before reads it again
        file.write(((count + 1) % 2**32).to_bytes(4))


def _break_seal(path: Path, copy: Path) -> Seal:
    """Compare a copy with its seal, which is then cut off."""
    size = copy.stat().st_size
    with copy.open("r+b") as file:
        file.seek(max(size - LONGEST_SEAL, 0))
        tail = file.read()
        at = tail.rfind(MARK)
        if at < 0:
            raise _damaged(path, "its end is missing")
        text, _, digest = tail[at:].rpartition(b" ")
        content = size - len(tail) + at
        if digest != _digest(copy, content, text + b" ") + b"\n":
            raise _damaged(path, "its content does not match its seal")
        file.truncate(content)
    return Seal(**json.loads(text.removeprefix(MARK)))


def _digest(path: Path, size: int, text: bytes) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while size and (chunk := file.read(min(size, CHUNK))):
            digest.update(chunk)
            size -= len(chunk)
    digest.update(text)
    return digest.hexdigest().encode()


def _check_content(path: Path, alias: str) -> None:
    """Check what was sealed: the database may have been damaged or changed before."""
    with connections[alias].cursor() as cursor:
        if cursor.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            raise _damaged(path, "its pages are inconsistent")
        if cursor.execute("PRAGMA foreign_key_check").fetchone():
            raise _damaged(path, "it has orphaned rows")
        if later := later_migrations(cursor.execute("SELECT app, name FROM django_migrations").fetchall()):
            raise StudyError(f"{path} was written by a later version of judgemap ({later[0]}); install that version")
        if missing_migrations(alias):
            call_command("migrate", database=alias, interactive=False, verbosity=0)
        for model in all_models():
            meta = model._meta  # noqa: SLF001 - Django's name
            there = {row[1] for row in cursor.execute(f'PRAGMA table_info("{meta.db_table}")').fetchall()}
            if missing := sorted({field.column for field in meta.concrete_fields} - there):
                part = f"column {missing[0]} of {meta.db_table}" if there else f"table {meta.db_table}"
                raise _damaged(path, f"its {part} is missing")


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """Say in one sentence what is wrong with a backup, whoever found it."""
    try:
        yield
    except StudyError:
        raise
    except (sqlite3.Error, DatabaseError, LookupError, ValueError, TypeError) as error:
        raise _damaged(path, str(error).partition("\n")[0]) from None
    except OSError as error:
        raise StudyError(f"{path} cannot be read ({error.strerror}); check the file and the disk") from None


def _damaged(path: Path, why: str) -> StudyError:
    return StudyError(
        f"{path} is not a backup that 'judgemap study backup' wrote, or it is damaged ({why}); use another one"
    )


def all_models() -> list[type[models.Model]]:
    """Return every table's model, except those that migrations fill."""
    filled = {"contenttypes.ContentType", "auth.Permission"}
    return [each for each in apps.get_models(include_auto_created=True)
            if each._meta.label not in filled and each._meta.managed]  # fmt: skip  # noqa: SLF001


def copy_rows(source: str, target: str) -> None:
    """Copy every row as it is into a database that holds only what its migrations put there.

    The database checks foreign keys at the end.
    """
    quote = connections[target].ops.quote_name
    with transaction.atomic(using=target), connections[target].cursor() as cursor:
        for model in all_models():
            meta = model._meta  # noqa: SLF001 - Django's name
            fields = meta.concrete_fields
            names = ", ".join(quote(field.column) for field in fields)
            places = ", ".join(["%s"] * len(fields))
            insert = f"INSERT INTO {quote(meta.db_table)} ({names}) VALUES ({places})"  # noqa: S608
            rows = (
                [field.get_db_prep_save(value, connections[target]) for field, value in zip(fields, row, strict=True)]
                for row in _rows(model, source)
            )
            cursor.execute(f"DELETE FROM {quote(meta.db_table)}")  # noqa: S608 - rows of migrations, such as the log's head
            while batch := list(islice(rows, BATCH)):
                cursor.executemany(insert, batch)


def fingerprints(using: str) -> dict[str, str]:
    """Return the count and a digest of each table's rows, the same on every kind of database."""
    return {model._meta.label: _fingerprint(model, using) for model in all_models()}  # noqa: SLF001 - Django's name


def _fingerprint(model: type[models.Model], using: str) -> str:
    digest, count = hashlib.sha256(), 0
    for row in _rows(model, using):
        # PostgreSQL sorts the keys of JSON in its own way, and returns bytes as a memoryview.
        text = json.dumps(
            row, sort_keys=True, default=lambda value: value.hex() if hasattr(value, "hex") else str(value)
        )
        digest.update(text.encode() + b"\n")
        count += 1
    return f"{count} {digest.hexdigest()}"


def _rows(model: type[models.Model], using: str) -> Iterator[Row]:
    names = [field.attname for field in model._meta.concrete_fields]  # noqa: SLF001 - Django's name
    rows = model._base_manager.using(using).order_by("pk").values_list(*names)  # noqa: SLF001
    return rows.iterator(chunk_size=BATCH)


def is_encrypted(path: Path) -> bool:
    """Say whether a file is encrypted, going by its first bytes."""
    return _begins(path, ENCRYPTED)


def needs_passphrase(path: Path) -> bool:
    """Say whether a file opens with a passphrase, and not with a key."""
    return _begins(path, WITH_PASSPHRASE)


@contextmanager
def _decrypting(path: Path, key: str) -> Iterator[None]:
    try:
        yield
    except (pyrage.DecryptError, OSError) as error:  # OSError if the content was changed
        said = " ".join(str(error).split())  # age's own words may be several lines
        raise StudyError(
            f"{path} does not open with {key} ({said}); either it was encrypted to another, or the file is damaged"
        ) from None


def _begins(path: Path, how: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(how)) == how
    except OSError as error:
        raise StudyError(f"{path} cannot be read ({error.strerror}); check who may read it") from None


def _read_recipient(text: str) -> x25519.Recipient | ssh.Recipient:
    """Read a public key: one of age, or an RSA or Ed25519 key of SSH."""
    kind = ssh if text.startswith("ssh-") else x25519
    try:
        return kind.Recipient.from_str(text)
    except pyrage.RecipientError:
        raise StudyError(
            f"{text!r} is not a public key; it begins with 'age1' or 'ssh-', and 'judgemap study backup-key' makes one"
        ) from None


def _read_identities(path: Path) -> list[x25519.Identity | ssh.Identity]:
    """Read the secret keys in a file: lines in age's format, or an SSH key without a passphrase of its own."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StudyError(f"{path} cannot be read ({error.strerror}); name the file with the secret key") from None
    lines = [line.strip() for line in content.decode(errors="replace").splitlines()]
    try:
        if keys := [x25519.Identity.from_str(line) for line in lines if line.startswith("AGE-SECRET-KEY-")]:
            return list(keys)
        return [ssh.Identity.from_buffer(content)]
    except pyrage.IdentityError:
        raise StudyError(
            f"{path} holds no secret key of age or SSH; name the file that 'judgemap study backup-key' wrote"
        ) from None


def make_key(path: Path) -> str:
    """Write a new secret key into a new file that only its owner can read; return the public key."""
    key = x25519.Identity.generate()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise StudyError(f"{path} already exists; choose another name for the key") from None
    except OSError as error:
        raise StudyError(f"{path} cannot be written ({error.strerror}); name another file") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(f"# public key: {key.to_public()}\n{key}\n")
    return str(key.to_public())
