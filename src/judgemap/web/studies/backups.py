"""Scheduled backups: which are kept, and what happens to those with answers that had to be deleted.

Every backup is an entry in the audit log. When a study's answers are deleted, so are the backups that contain them, as
soon as there is a newer one.
"""

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.server.backup import back_up
from judgemap.web.server.encryption import NO_LOCK, Lock
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Act, Study

logger = logging.getLogger(__name__)
WRITTEN, DELETED = "backed up", "backups deleted"
NAME = re.compile(r"judgemap-(\d{8}-\d{6})\.sqlite3(\.age)?")
MOMENT = "%Y%m%d-%H%M%S"


@dataclass(frozen=True, slots=True)
class Rotation:
    """How many backups are kept: the last one of each day and of each week, for this many days and weeks."""

    daily: int = 7
    weekly: int = 4

    def kept(self, moments: Iterable[datetime]) -> set[datetime]:
        """Return the moments whose backups are kept; days and weeks without a backup do not count.

        >>> days = [datetime(2026, 11, day, hour) for day in range(1, 31) for hour in (2, 14)]
        >>> sorted(moment.day for moment in Rotation(daily=3, weekly=3).kept(days))
        [22, 28, 29, 30]
        """
        ordered = sorted(moments)
        last_of_day = {moment.date(): moment for moment in ordered}
        last_of_week = {moment.isocalendar()[:2]: moment for moment in ordered}
        days, weeks = list(last_of_day.values()), list(last_of_week.values())
        return {*days[-self.daily :], *(weeks[-self.weekly :] if self.weekly else [])}


def make_backup(path: Path, lock: Lock = NO_LOCK, *, verify: bool = False) -> Path:
    """Write a backup and note it in the log; then delete backups with answers that had to be removed."""
    _write(path, lock, verify=verify)
    delete_all_stale()
    return path


def back_up_into(folder: Path, rotation: Rotation, lock: Lock = NO_LOCK, *, verify: bool = False) -> Path:
    """Write a backup into a folder under a name with its time, and delete there what the rotation does not keep."""
    path = make_backup(folder / _new_name(lock), lock, verify=verify)
    there = {moment: each for each in folder.iterdir() if (moment := _moment(each)) is not None}
    kept = rotation.kept(there)
    for moment, each in there.items():
        if moment not in kept:
            each.unlink(missing_ok=True)
    return path


def stale_backups(study: Study) -> list[Path]:
    """Return the backups that still exist from when a study had the answers that have now been removed."""
    if study.answers_removed_at is None:
        return []
    acts = Act.objects.filter(verb=WRITTEN, at__gte=study.created_at, at__lt=study.answers_removed_at)
    paths = (Path(file) for file in acts.order_by("pk").values_list("detail__file", flat=True))
    return [path for path in dict.fromkeys(paths) if path.exists()]


def delete_all_stale() -> None:
    """Delete the old backups of every study whose answers had to be removed; see `delete_stale`."""
    for study in Study.objects.exclude(answers_removed_at=None):
        delete_stale(study)


def delete_stale(study: Study) -> list[Path]:
    """Delete the backups with answers that had to be removed, once their folder has a newer one; return them."""
    deleted = []
    for path in stale_backups(study):
        try:
            _make_sure_of_newer(path, study)
            path.unlink()
        except (OSError, StudyError) as error:
            logger.warning("a backup with answers that had to go is still there: %s", error)
        else:
            deleted.append(path)
    if deleted:
        record(study, None, DELETED, {"files": [str(path) for path in deleted]})
    return deleted


def _make_sure_of_newer(path: Path, study: Study) -> None:
    """Raise unless the folder has a backup from after the removal, or one can be written there in the same way."""
    newer = Act.objects.filter(verb=WRITTEN, at__gte=study.answers_removed_at).values_list("detail__file", flat=True)
    if any(each.parent == path.parent and each.exists() for each in map(Path, newer)):
        return
    how = Act.objects.filter(verb=WRITTEN, detail__file=str(path)).latest("pk").detail
    if how["encrypted"] == "passphrase":
        raise StudyError(f"{path} is deleted when there is a newer backup, and that needs its passphrase")
    lock = Lock(tuple(how["recipients"]))
    _write(path.parent / _new_name(lock), lock, verify=True)


def _write(path: Path, lock: Lock, *, verify: bool) -> None:
    """Write a backup, and then the log's entry about it, which the backup itself does not contain."""
    back_up(path, lock, verify=verify)
    encrypted = "passphrase" if lock.passphrase else "public key" if lock.recipients else "no"
    detail = {"file": str(path.absolute()), "encrypted": encrypted, "recipients": list(lock.recipients)}
    record(None, None, WRITTEN, detail | {"verified": verify})


def _new_name(lock: Lock) -> str:
    return f"judgemap-{timezone.now().astimezone(UTC):{MOMENT}}.sqlite3{'.age' if lock else ''}"


def _moment(path: Path) -> datetime | None:
    """Return when a backup with a name of ours was written; None for any other file."""
    name = NAME.fullmatch(path.name)
    return datetime.strptime(name[1], MOMENT).replace(tzinfo=UTC) if name else None
