"""The audit log: who did what to which study, and when, in a chain that shows whether it was changed.

Every entry carries a digest of its own content and of the digest before it, so editing, removing or inserting one
breaks the chain. Rewriting all of it, head included, is detected by a head kept elsewhere.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping

from django.db import transaction
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Researcher
from judgemap.web.studies.models import Act, LogHead, Study


def record(study: Study | None, researcher: Researcher | None, verb: str, detail: Mapping[str, object]) -> Act:
    """Write an act into the audit log, at the end of its chain."""
    with transaction.atomic():
        head, _ = LogHead.objects.select_for_update().get_or_create(pk=LogHead.ONLY)  # one process at a time
        act = Act(study=study, researcher=researcher, verb=verb, detail=json.loads(json.dumps(detail)))
        act.number, act.at = head.number + 1, timezone.now()
        act.study_key, act.researcher_key = act.study_id, act.researcher_id
        act.digest = digest_of(act, head.digest)
        act.save(force_insert=True)
        head.number, head.digest = act.number, act.digest
        head.save()
        return act


def digest_of(act: Act, previous: str) -> str:
    """Return the digest of an act after another one.

    It covers the keys as they were when the act was written; what they point to may be gone since.

    >>> from datetime import UTC, datetime
    >>> digest_of(Act(number=1, at=datetime(2026, 5, 4, tzinfo=UTC), verb="open", study_key=3), "")[:8]
    '0a54aee0'
    """
    content = [previous, act.number, act.at.isoformat(), act.verb, act.detail, act.study_key, act.researcher_key]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def log_head() -> LogHead:
    """Return the last act's number and digest as the database has them."""
    return LogHead.objects.filter(pk=LogHead.ONLY).first() or LogHead()


def parse_head(text: str) -> LogHead:
    """Read a head that was kept elsewhere: it proves what the log was."""
    number, _, digest = text.strip().partition("-")
    if not number.isdecimal() or len(digest) != 64:
        raise StudyError(f"{text!r} is not the head of a log; 'judgemap study verify' prints one, such as 57-3f2a…")
    return LogHead(number=int(number), digest=digest)


def verify_log(kept: LogHead | None = None) -> list[str]:
    """Check the whole log, and say where it was changed; a head kept elsewhere also reveals a rewritten log."""
    acts = Act.objects.order_by("number", "pk")
    chain = acts.exclude(number=None)
    found = [f"an entry {act.verb!r} of {act.at:%Y-%m-%d %H:%M} was inserted" for act in acts.filter(number=None)]
    found += broken_links(chain.iterator(), log_head())
    found += [
        f"entry {act.number} was changed: it belongs to another study or researcher" for act in chain if _moved(act)
    ]
    if kept is not None and not acts.filter(number=kept.number, digest=kept.digest).exists():
        found.append(f"entry {kept.number} is not the one recorded in the head you kept: the log was rewritten")
    return found


def broken_links(chain: Iterable[Act], head: LogHead) -> Iterator[str]:
    """Say where a chain of acts, in order, does not hold together."""
    number, digest = 0, ""
    for act in chain:
        if act.number != number + 1:
            yield f"entries {number + 1} to {(act.number or 0) - 1} are missing"
        elif act.digest != digest_of(act, digest):
            yield f"entry {act.number}, {act.verb!r} of {act.at:%Y-%m-%d %H:%M}, was changed"
        number, digest = act.number or 0, act.digest
    if (number, digest) != (head.number, head.digest):
        yield f"the log ends with entry {number}, and its head says {head.number}: entries were removed or inserted"


def _moved(act: Act) -> bool:
    """Say whether an act points elsewhere than it did; it may point to nothing only if its target is gone."""
    for model, now, then in ((Study, act.study_id, act.study_key), (Researcher, act.researcher_id, act.researcher_key)):
        if now is not None and now != then:
            return True
        if now is None and then is not None and model._base_manager.filter(pk=then, created_at__lte=act.at).exists():  # noqa: SLF001
            return True
    return False
