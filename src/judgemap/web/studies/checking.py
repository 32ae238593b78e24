"""How many areas a study may have, how long its texts may be, and how much it may ask of a judge."""

from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.study.data.definition import TEXTS, StudyDefinition
from judgemap.web.studies.upload.reading import MOST_AREAS

LONGEST = {
    "title": 200, "question": 300, "example": 20_000, "consent": 20_000, "instructions": 20_000, "thanks": 20_000,
    "base_map": 300, "base_map_credit": 200,
}  # fmt: skip
MOST = 10_000
"""The most pairs that one judge can be asked for."""


def check_size(n_areas: int) -> None:
    """Refuse a map with too few areas to compare, or with more than pages and counts can tell apart."""
    if n_areas < 2:
        raise StudyError(_("a study needs at least two areas"))
    if n_areas > MOST_AREAS:
        raise StudyError(
            _("the map has %(areas)s areas; up to %(most)s can be judged, so use larger areas or part of the map")
            % {"areas": f"{n_areas:,}", "most": f"{MOST_AREAS:,}"}
        )


def check_limits(definition: StudyDefinition) -> None:
    """Refuse what does not fit into the database, and texts with characters that no page can show."""
    texts = {key: getattr(definition, key) for key in LONGEST}
    for language, translated in definition.translations.items():
        texts |= {f"translations.{language}.{key}": translated[key] for key in TEXTS if key in translated}
    for key, text in texts.items():
        field = key.rpartition(".")[2]
        longest = LONGEST[field]
        if not isinstance(text, str) or len(text) > longest:
            raise StudyError(
                _("%(key)s is too long; write at most %(longest)s characters") % {"key": key, "longest": longest}, field
            )
        if not all(each.isprintable() or each in "\n\r\t\u200e\u200f\u00ad\u200c\u200d\u00a0" for each in text):
            raise StudyError(_("%(key)s has characters that cannot be shown; type it again") % {"key": key}, field)
    if definition.maximum > MOST:
        raise StudyError(
            _("maximum is %(maximum)s; nobody judges more than %(most)s pairs")
            % {"maximum": f"{definition.maximum:,}", "most": f"{MOST:,}"},
            field="maximum",
        )
