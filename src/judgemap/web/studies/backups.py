"""Scheduled backups: which are kept, and what happens to those with answers that had to be deleted.

Every backup is an entry in the audit log, with the last entry that its snapshot has: so the log itself, and no clock,
says which backups have answers that were deleted since. These go as soon as there is a newer one, each on its machine.
"""

import logging
import re
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname

from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.server.backup import NO_LOCK, Lock, back_up
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Act, Study

logger = logging.getLogger(__name__)
WRITTEN, DELETED = "backed up", "backups deleted"
ERASED = "answers erased"
"""The verb of the act at which the last of a study's removed answers had been deleted from the database."""
SECONDS_BETWEEN_TRIES = 3600.0
_TRY_AGAIN: dict[Path, float] = {}
"""When to try again to write the backup that replaces another, by the monotonic clock."""
NAME = re.compile(r"judgemap-(\d{8}-\d{6})\.sqlite3(\.age)?")
MOMENT = "%Y%m%d-%H%M%S"


def kept(moments: Iterable[datetime], daily: int, weekly: int) -> set[datetime]:
    """Return the moments whose backups are kept: the last one of each day and of each week, for so many of these.

    Days and weeks without a backup do not count.

    >>> days = [datetime(2026, 11, day, hour) for day in range(1, 31) for hour in (2, 14)]
    >>> sorted(moment.day for moment in kept(days, daily=3, weekly=3))
    [22, 28, 29, 30]
    """
    ordered = sorted(moments)
    days = list({moment.date(): moment for moment in ordered}.values())
    weeks = list({moment.isocalendar()[:2]: moment for moment in ordered}.values())
    return {*days[-daily:], *(weeks[-weekly:] if weekly else [])}


def make_backup(target: Path, lock: Lock = NO_LOCK, *, daily: int = 7, weekly: int = 4, verify: bool = False) -> Path:
    """Write a backup and note it in the log; then delete backups with answers that had to be removed.

    Into a folder, it is written under a name with its time, and those of days and weeks long past are deleted there.
    """
    rotation = (daily, weekly) if target.is_dir() else None
    path = target / _new_name(lock) if rotation else target
    _write(path, lock, rotation, verify=verify)
    delete_stale()
    return path


@dataclass(frozen=True, slots=True)
class Listed:
    """A backup in the log, as it was last written under its name."""

    host: str
    file: Path
    entry: int
    """The last entry of the log in its snapshot."""
    lock: Lock | None
    """What it is encrypted to; None for a passphrase."""
    is_here: bool
    """Whether it is a file on this machine."""

    def __str__(self) -> str:
        return str(self.file) if self.is_here else f"{self.file} on {self.host}"


def stale_backups(study: Study, now: int | None = None) -> list[Listed]:
    """Return the backups that still have a study's removed answers: those here, and those on other machines.

    ``now`` is where the log ends, while the answers are being removed.
    """
    erased = study.acts.filter(verb=ERASED).order_by("-number").first()
    first = study.acts.order_by("number").first()
    if first is None or (end := now if erased is None else erased.number) is None:
        return []
    return [each for each in _listed() if (first.number or 0) <= each.entry < end]


def delete_stale() -> list[Path]:
    """Delete this machine's backups with answers that had to be removed, once their folder has a newer one."""
    deleted = []
    for study in Study.objects.exclude(answers_removed_at=None):
        for each in stale_backups(study):
            if each.is_here and _try_to_delete(each):
                record(study, None, DELETED, {"host": each.host, "deleted": [str(each.file)]})
                deleted.append(each.file)
    return deleted


def _listed() -> list[Listed]:
    """Return the backups that there are: those in the log, less what it says was deleted and what is missing here."""
    written: dict[tuple[str, str], tuple[int, Lock | None]] = {}
    acts = Act.objects.filter(verb__in=(WRITTEN, DELETED)).order_by("number")
    for verb, detail in acts.values_list("verb", "detail"):
        if verb == WRITTEN:
            lock = None if detail["encrypted"] == "passphrase" else Lock(tuple(detail["recipients"]))
            written[detail["host"], detail["file"]] = (detail["entry"], lock)
        for file in detail["deleted"]:
            written.pop((detail["host"], file), None)
    listed, machine = [], gethostname()
    for (host, file), (entry, lock) in written.items():
        # Another machine's file may be here too, in a shared folder, unless it is one that this machine wrote.
        is_here = Path(file).exists() and (host == machine or (machine, file) not in written)
        if is_here or host != machine:
            listed.append(Listed(host, Path(file), entry, lock, is_here))
    return listed


def _try_to_delete(old: Listed) -> bool:
    """Delete a backup if its folder has one without the answers, or one can be written there in the same way."""
    erased = Act.objects.filter(verb=ERASED).latest("number").number or 0
    newer = (each for each in _listed() if each.is_here and each.entry >= erased)
    try:
        if not any(each.file.parent == old.file.parent for each in newer):
            if time.monotonic() < _TRY_AGAIN.get(old.file, 0):
                return False
            _TRY_AGAIN[old.file] = time.monotonic() + SECONDS_BETWEEN_TRIES
            if old.lock is None:
                raise StudyError(f"{old.file} is deleted when there is a newer backup, and that needs its passphrase")
            _write(old.file.parent / _new_name(old.lock), old.lock, verify=True)
        old.file.unlink()
    except (OSError, StudyError) as error:
        logger.warning("a backup with answers that had to go is still there: %s", error)
        return False
    return True


def _write(path: Path, lock: Lock, rotation: tuple[int, int] | None = None, *, verify: bool) -> None:
    """Write a backup, and then the log's entry about it, which the backup itself does not contain."""
    seal = back_up(path, lock, verify=verify)
    gone = _rotate(path.parent, *rotation) if rotation else []
    encrypted = "passphrase" if lock.passphrase else "public key" if lock.recipients else "no"
    detail = {"file": str(path.absolute()), "host": gethostname(), "encrypted": encrypted} | asdict(seal)
    detail |= {"recipients": list(lock.recipients), "verified": verify, "deleted": gone}
    record(None, None, WRITTEN, detail)


def _rotate(folder: Path, daily: int, weekly: int) -> list[str]:
    """Delete the backups in a folder that are not kept, and return them."""
    there = {moment: each.absolute() for each in folder.iterdir() if (moment := _moment(each)) is not None}
    gone = [there[moment] for moment in there.keys() - kept(there, daily, weekly)]
    for each in gone:
        each.unlink(missing_ok=True)
    return [str(each) for each in gone]


def _new_name(lock: Lock) -> str:
    return f"judgemap-{timezone.now().astimezone(UTC):{MOMENT}}.sqlite3{'.age' if lock else ''}"


def _moment(path: Path) -> datetime | None:
    """Return when a backup with a name of ours was written; None for any other file."""
    name = NAME.fullmatch(path.name)
    return datetime.strptime(name[1], MOMENT).replace(tzinfo=UTC) if name else None
