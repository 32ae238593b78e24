"""Changes to a study's definition: checked against what the database holds, and kept as a version."""

from dataclasses import replace
from typing import Any

from judgemap.errors import StudyError
from judgemap.study.definition import TEXTS, StudyDefinition
from judgemap.web.accounts.models import Researcher
from judgemap.web.studies.actions import definition_of, edit_study
from judgemap.web.studies.models import Study

LONGEST = {
    "title": 200, "question": 300, "example": 20_000, "consent": 20_000, "instructions": 20_000, "thanks": 20_000,
    "base_map": 300, "base_map_credit": 200,
}  # fmt: skip
MOST = 10_000
"""The most that one judge can be asked for."""


def check_limits(definition: StudyDefinition) -> None:
    """Refuse what the database could not hold, and texts with characters that no page shows."""
    texts = {key: getattr(definition, key) for key in LONGEST}
    for language, translated in definition.translations.items():
        texts |= {f"translations.{language}.{key}": translated[key] for key in TEXTS if key in translated}
    for key, text in texts.items():
        field = key.rpartition(".")[2]
        longest = LONGEST[field]
        if not isinstance(text, str) or len(text) > longest:
            raise StudyError(f"{key} is too long; write at most {longest} characters", field)
        if not all(each.isprintable() or each in "\n\r\t\u200e\u200f\u00ad\u200c\u200d\u00a0" for each in text):
            raise StudyError(f"{key} has characters that cannot be shown; type it again", field)
    if definition.maximum > MOST:
        raise StudyError(f"maximum is {definition.maximum}; nobody judges more than {MOST:,} pairs", field="maximum")


def change_study(study: Study, by: Researcher, changes: dict[str, Any]) -> bool:
    """Keep changes to a study as a new version; False where nothing changed."""
    before = definition_of(study)
    after = replace(before, **changes)
    check_limits(after)
    if after == before:
        return False
    edit_study(study, after, by)
    return True
