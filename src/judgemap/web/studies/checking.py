"""What is checked before a study is stored or opened: its size, its texts, and whether its question is right."""

import re
from dataclasses import dataclass

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from judgemap.errors import StudyError
from judgemap.study.data.definition import CONSENT, LONGEST, TEXTS, StudyDefinition
from judgemap.web.server.tokens import check_address
from judgemap.web.studies.models import Study, StudyVersion
from judgemap.web.studies.upload.reading import MOST_AREAS

MOST = 10_000
"""The most pairs that one judge can be asked for."""
PAIR_SECONDS = 10
"""About how long a judge takes for a pair."""
SHOWN = "\n\r\t\u200e\u200f\u00ad\u200c\u200d\u00a0"
"""Characters that are not printable by themselves but belong in texts."""
WORDS = {
    "en": ("lower|lowest|fewer|fewest", "higher|highest|greater|greatest"),
    "fr": ("bas|basses?|faibles?|inférieure?s?|moindres?", "hauts?|hautes?|élevée?s?|supérieure?s?"),
    "es": ("baj[oa]s?|menor(?:es)?|inferior(?:es)?", "alt[oa]s?|elevad[oa]s?|mayor(?:es)?|superior(?:es)?"),
    "ar": ("(?:ال)?(?:أقل|أدنى|أخفض)", "(?:ال)?(?:أعلى|أكثر|أكبر)"),
}
"""Words for the lower and for the higher rate, by language; "less" and "more" can mean either ("less safe")."""
CONTRADICTIONS = {
    "lower": gettext_lazy(
        "in %(language)s the question asks for the lower rate, but answers are to be read as the HIGHER rate; "
        "change the question, or what judges choose"
    ),
    "higher": gettext_lazy(
        "in %(language)s the question asks for the higher rate, but answers are to be read as the LOWER rate; "
        "change the question, or what judges choose"
    ),
}
LONG_MINUTES = 30
"""A judge who is asked for more than this may well stop before the end."""
CONTACT = re.compile(r"\S@\S+\.\w|\+?\d[\d ()/.-]{6,}\d|https?://\S")
"""An email address, a telephone number or a page."""


def check_size(n_areas: int) -> None:
    """Refuse a map with too few areas to compare, or with more than pages and counts can tell apart."""
    if n_areas < 2:
        raise StudyError(_("a study needs at least two areas"))
    if n_areas > MOST_AREAS:
        raise StudyError(
            _("the map has %(areas)s areas; up to %(most)s can be judged, so use larger areas or part of the map")
            % {"areas": f"{n_areas:,}", "most": f"{MOST_AREAS:,}"}
        )


def check_definition(definition: StudyDefinition) -> None:
    """Refuse what does not fit into the database, what no page can show, and a question that means the opposite."""
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
        if not all(each.isprintable() or each in SHOWN for each in text):
            raise StudyError(_("%(key)s has characters that cannot be shown; type it again") % {"key": key}, field)
    if definition.maximum > MOST:
        raise StudyError(
            _("maximum is %(maximum)s; nobody judges more than %(most)s pairs")
            % {"maximum": f"{definition.maximum:,}", "most": f"{MOST:,}"},
            field="maximum",
        )
    check_direction(definition)


def asked_direction(question: str, language: str) -> str:
    """Say which direction a question asks for: lower or higher; empty if its words do not tell.

    >>> asked_direction("Which ward has the LOWER rate?", "en"), asked_direction("Où le taux est-il plus élevé ?", "fr")
    ('lower', 'higher')
    >>> asked_direction("Which ward is less safe?", "en"), asked_direction("Is the lower end higher?", "en")
    ('', '')
    """
    low, high = (re.search(rf"\b(?:{words})\b", question, re.IGNORECASE) for words in WORDS.get(language, ("$^", "$^")))
    return "" if bool(low) == bool(high) else "lower" if low else "higher"


def check_direction(study: StudyDefinition | StudyVersion) -> None:
    """Refuse a question that, in any of the study's languages, asks for the opposite of how answers are read."""
    questions = {study.languages[0]: study.question} if study.languages else {}
    questions |= {language: texts.get("question", "") for language, texts in study.translations.items()}
    for language, question in questions.items():
        asked = asked_direction(question, language)
        if asked and asked != study.direction:
            name = translation.get_language_info(language)["name_translated"]
            raise StudyError(CONTRADICTIONS[asked] % {"language": name}, field="question")


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at before judges are let in: whether it looks right, what was found, and the page about it."""

    fine: bool
    said: str
    page: str = ""


def preflight(study: Study, address: str) -> list[Check]:
    """List what is worth a look before a study opens; ``address`` is what judges' links would start with."""
    version = study.version
    waiting = [code for code in version.languages if code not in version.offered]
    names = ", ".join(str(translation.get_language_info(code)["name_translated"]) for code in waiting)
    minutes = max(1, round(version.recommended * PAIR_SECONDS / 60))
    time = ngettext("about %(minutes)s minute", "about %(minutes)s minutes", minutes) % {"minutes": minutes}
    problem = check_address(address)
    asked = asked_direction(version.question, version.languages[0])
    says = {
        "lower": _("Judges choose the area with the LOWER rate, and the question says so."),
        "higher": _("Judges choose the area with the HIGHER rate, and the question says so."),
    }
    may_not_say = {
        "lower": _("Judges choose the area with the LOWER rate. Check that the question says so."),
        "higher": _("Judges choose the area with the HIGHER rate. Check that the question says so."),
    }
    return [
        Check(
            asked == version.direction,
            (says if asked == version.direction else may_not_say)[version.direction],
            "studies:texts",
        ),
        _either(
            CONTACT.search(version.consent),
            _("The consent says whom to contact."),
            _("The consent names no email address, telephone number or page to contact."),
            "studies:texts",
        ),
        _either(
            version.consent.strip() != CONSENT,
            _("The consent is your own text."),
            _("The consent is still our example: it does not say who runs the study."),
            "studies:texts",
        ),
        _either(
            version.instructions or version.example,
            _("Judges get instructions or an example."),
            _("There are no instructions and no example of how to choose."),
            "studies:texts",
        ),
        _either(
            not waiting,
            _("Judges can read the study in every language you chose."),
            _("These languages are not complete, so judges cannot choose them: %(names)s.") % {"names": names},
            "studies:texts",
        ),
        _either(
            problem is None, _("Links start with %(address)s.") % {"address": address}, str(problem), "inviting:judges"
        ),
        Check(
            minutes <= LONG_MINUTES,
            _("Each judge is asked for %(pairs)s pairs, %(time)s.")
            % {"pairs": f"{version.recommended:,}", "time": time},
            "studies:judging",
        ),
    ]


def _either(fine: object, yes: str, no: str, page: str) -> Check:
    return Check(bool(fine), yes if fine else no, page)
