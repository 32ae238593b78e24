"""The audit log: who did what to which study, and when, in a chain that shows whether it was changed.

Every entry carries a digest of its own content and of the digest before it, so editing, removing or inserting one
breaks the chain. Rewriting all of it, head included, is detected by a head kept elsewhere.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Researcher
from judgemap.web.studies.models import Act, LogHead, Study


@dataclass(frozen=True, slots=True)
class Entry:
    """What the digest of an act covers."""

    number: int
    at: datetime
    verb: str
    detail: Mapping[str, object]
    study: int | None
    researcher: int | None
    """Keys as they were when the act was written; what they point to may be gone since."""

    def digest(self, previous: str) -> str:
        """Return the digest of this act after another one.

        >>> from datetime import UTC
        >>> act = Entry(1, datetime(2026, 5, 4, tzinfo=UTC), "open", {}, 3, None)
        >>> act.digest("")[:8]
        '0a54aee0'
        """
        content = [previous, self.number, self.at.isoformat(), self.verb, self.detail, self.study, self.researcher]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Head:
    """The last act of a log: its number and its digest. Kept elsewhere, it proves what the log was."""

    number: int
    digest: str

    def __str__(self) -> str:
        return f"{self.number}-{self.digest}"

    @classmethod
    def parse(cls, text: str) -> "Head":
        """Read a head from text.

        >>> Head.parse(f"12-{64 * 'a'}").number
        12
        """
        number, _, digest = text.strip().partition("-")
        if not number.isdecimal() or len(digest) != 64:
            raise StudyError(f"{text!r} is not the head of a log; 'judgemap study verify' prints one, such as 57-3f2a…")
        return cls(int(number), digest)


def record(study: Study | None, researcher: Researcher | None, verb: str, detail: Mapping[str, object]) -> Act:
    """Write an act into the audit log, at the end of its chain."""
    with transaction.atomic():
        LogHead.objects.get_or_create(pk=LogHead.ONLY)
        head = LogHead.objects.select_for_update().get(pk=LogHead.ONLY)  # one process at a time
        keys = (study.pk if study else None, researcher.pk if researcher else None)
        entry = Entry(head.number + 1, timezone.now(), verb, json.loads(json.dumps(detail)), *keys)
        head.number, head.digest = entry.number, entry.digest(head.digest)
        head.save()
        return Act.objects.create(
            study=study, researcher=researcher, verb=verb, detail=entry.detail, at=entry.at, number=entry.number,
            digest=head.digest, study_key=entry.study, researcher_key=entry.researcher,
        )  # fmt: skip


def log_head() -> Head:
    """Return the head of the log as the database has it."""
    head = LogHead.objects.filter(pk=LogHead.ONLY).first() or LogHead()
    return Head(head.number, head.digest)


def verify_log(kept: Head | None = None) -> list[str]:
    """Check the whole log, and say where it was changed; a head kept elsewhere also reveals a rewritten log."""
    acts = Act.objects.order_by("number", "pk")
    chain = acts.exclude(number=None)
    found = [f"an entry {act.verb!r} of {act.at:%Y-%m-%d %H:%M} was inserted" for act in acts.filter(number=None)]
    found += broken_links(((_entry(act), act.digest) for act in chain.iterator()), log_head())
    found += [
        f"entry {act.number} was changed: it belongs to another study or researcher" for act in chain if _moved(act)
    ]
    if kept is not None and not acts.filter(number=kept.number, digest=kept.digest).exists():
        found.append(f"entry {kept.number} is not the one recorded in the head you kept: the log was rewritten")
    return found


def broken_links(chain: Iterable[tuple[Entry, str]], head: Head) -> Iterator[str]:
    """Say where a chain of acts with their digests, in order, does not hold together."""
    number, digest = 0, ""
    for entry, kept in chain:
        if entry.number != number + 1:
            yield f"entries {number + 1} to {entry.number - 1} are missing"
        elif entry.digest(digest) != kept:
            yield f"entry {entry.number}, {entry.verb!r} of {entry.at:%Y-%m-%d %H:%M}, was changed"
        number, digest = entry.number, kept
    if (number, digest) != (head.number, head.digest):
        yield f"the log ends with entry {number}, and its head says {head.number}: entries were removed or inserted"


def _entry(act: Act) -> Entry:
    return Entry(act.number or 0, act.at, act.verb, act.detail, act.study_key, act.researcher_key)


def _moved(act: Act) -> bool:
    """Say whether an act points elsewhere than it did; it may point to nothing only if its target is gone."""
    for model, now, then in ((Study, act.study_id, act.study_key), (Researcher, act.researcher_id, act.researcher_key)):
        if now is not None and now != then:
            return True
        if now is None and then is not None and model._base_manager.filter(pk=then, created_at__lte=act.at).exists():  # noqa: SLF001
            return True
    return False
