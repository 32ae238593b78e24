"""The database queries of a judgement: a handful that all use an index, for any number of areas and answers."""

from functools import lru_cache

from django.db.models import Exists, F, OuterRef, QuerySet

from judgemap.web.judge.fastpath import PreparedQuery
from judgemap.web.judge.models import Consent, Judge, Pair, UnknownArea
from judgemap.web.server.tokens import hashed
from judgemap.web.studies.models import Area, Study, StudyVersion


def judges() -> QuerySet[Judge]:
    """Return judges with their study and its version, and whether they agreed to the current consent text."""
    return Judge.objects.select_related("study__current").annotate(consented=Exists(_agreed()))


def hold_judge(token: str) -> Judge | None:
    """Lock the row of a link's judge until the end of the transaction; the study's long texts are not read."""
    rows = _HELD(token_hash=hashed(token))
    if not rows:
        return None
    judge = rows[0]
    facts = [judge.study_id, judge.study_status, judge.study_version]  # type: ignore[attr-defined]
    judge.study = Study.from_db(None, ["id", "status", "current_id"], facts)
    judge.study.current = _version(facts[2])
    return judge


def find_pair(judge: Judge, token: str) -> Pair | None:
    """Find the pair that was shown to this judge under a token."""
    rows = _PAIR(judge_name=judge.name, token=token)
    return rows[0] if rows else None


def unknown_positions(judge: Judge) -> set[int]:
    """Return the positions of the areas that the judge does not know."""
    return {row.position for row in _UNKNOWN(judge_name=judge.name)}  # type: ignore[attr-defined]


def two_areas(study_id: int, left: int, right: int) -> tuple[Area, Area]:
    """Return two areas of a study by position, with their scenes."""
    by_position = {area.position: area for area in _AREAS(study_id=study_id, left=left, right=right)}
    return by_position[left], by_position[right]


def _agreed() -> QuerySet[Consent]:
    return Consent.objects.filter(judge=OuterRef("pk"), text_digest=OuterRef("study__current__consent_digest"))


def _held(token_hash: str) -> QuerySet[Judge]:
    facts = {"study_status": F("study__status"), "study_version": F("study__current_id")}
    held = Judge.objects.select_for_update(of=("self",)).filter(token_hash=token_hash)
    return held.annotate(consented=Exists(_agreed()), **facts)


def _unknown(judge_name: str) -> QuerySet[UnknownArea]:
    return UnknownArea.objects.filter(judge_id=judge_name).annotate(position=F("area__position"))


def _areas(study_id: int, left: int, right: int) -> QuerySet[Area]:
    return Area.objects.filter(study_id=study_id, position__in=(left, right)).only("study", "position", "name", "scene")


_HELD = PreparedQuery(Judge, _held, token_hash="hash")  # noqa: S106 - an example
_PAIR = PreparedQuery(
    Pair,
    lambda judge_name, token: Pair.objects.filter(judge_id=judge_name, token=token),
    judge_name="judge",
    token="token",  # noqa: S106
)
_UNKNOWN = PreparedQuery(UnknownArea, _unknown, judge_name="judge")
_AREAS = PreparedQuery(Area, _areas, study_id=101, left=102, right=103)


@lru_cache(maxsize=256)
def _version(version_id: int) -> StudyVersion:
    """Cache versions, which never change once they are made."""
    return StudyVersion.objects.defer("packed_design").get(pk=version_id)
