"""Everything that changes a study once it is made, and what is refused.

Each act is one transaction, and the audit log records it.
"""

import hashlib
import io
import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date

import numpy as np
from django.conf import settings
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judgemap.core.model.graph import AreaGraph
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.study.data.definition import LONGEST, TEXTS, StudyDefinition
from judgemap.web.accounts.models import Researcher
from judgemap.web.server.tokens import make_token
from judgemap.web.studies.areas import load_graph, prepare_design, source_of
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Area, Edge, Imprint, Study, StudyVersion
from judgemap.web.studies.upload.reading import MOST_AREAS

VERSION_FIELDS = (
    "title", "question", "direction", "example", "consent", "instructions", "thanks", "design", "recommended",
    "maximum", "ties", "skips", "repeats", "base_map", "base_map_credit",
)  # fmt: skip


def edit_study(study: Study, definition: StudyDefinition, author: Researcher | None = None) -> StudyVersion:
    """Store an edit as a new version. Areas and edges stay as they are; no answer is touched.

    The edit was made from what ``study`` was when it was read; if somebody has changed it since, the edit is refused.
    """
    check_languages(definition)
    packed = prepare_design(definition.design, load_graph(study.version), definition.recommended)
    read = state_of(study)
    with transaction.atomic():
        study = locked(study)
        if state_of(study) != read:
            raise StudyError(_("Someone else has changed this study. Reload the page and make your change again."))
        if study.status == Study.Status.CLOSED:
            text = _("study %(slug)s is closed; reopen it, or make a copy, to edit it")
            raise StudyError(text, slug=f"{study.slug!r}")
        if definition.access == "open" and study.join_code is None:
            study.join_code = make_token()
        elif definition.access == "personal":
            study.join_code = None
        study.asks_places = definition.asks_places and bool(study.outline)
        change_end(study, definition.answers_until, author)
        version = add_version(study, definition, packed, author)
        record(study, author, "edited", {"version": version.number})
    return version


def state_of(study: Study) -> tuple[object, ...]:
    """Return what tells two states of a study's definition apart."""
    return study.current_id, study.answers_until, study.join_code


def change_edge(study: Study, a: Area, b: Area, author: Researcher | None = None) -> Edge | None:
    """Make two areas neighbours, or separate them if they are, in a new version of the study.

    Returns the edge, or None if it was removed.
    """
    first, second = sorted((a, b), key=lambda area: area.pk)
    while True:
        before = study.version
        graph = load_graph(before)
        edges = {tuple(each) for each in graph.edges.tolist()} ^ {tuple(sorted((a.position, b.position)))}
        changed = AreaGraph(graph.n_areas, np.array(sorted(edges), dtype=np.int64))
        packed = prepare_design(before.design, changed, before.recommended)
        with transaction.atomic():
            study = locked(study)
            if study.status == Study.Status.CLOSED:
                raise StudyError(_("study %(slug)s is closed; reopen it to change its edges"), slug=f"{study.slug!r}")
            if study.version.pk != before.pk:
                continue  # edited meanwhile: our design, which can take long to make, is for another graph
            definition, number = definition_of(study), before.number + 1
            edge = Edge.objects.filter(a=first, b=second, removed_in=None).first()
            if edge is None:
                edge = Edge.objects.create(study=study, a=first, b=second, origin=Edge.Origin.ADDED, added_in=number)
            else:
                edge.removed_in = number
                edge.save(update_fields=["removed_in"])
            add_version(study, definition, packed, author)
            verb = "edge removed" if edge.removed_in else "edge added"
            record(study, author, verb, {"edge": [first.code, second.code]})
        return None if edge.removed_in else edge


def open_study(study: Study, by: Researcher | None = None) -> Study:
    """Open a study to its judges, unless its question asks for the opposite of how answers are read."""
    check_direction(study.version)
    return _move(study, Study.Status.OPEN, by, {Study.Status.DRAFT, Study.Status.PAUSED})


def pause_study(study: Study, by: Researcher | None = None) -> Study:
    """Pause a study: judges cannot answer for now."""
    return _move(study, Study.Status.PAUSED, by, {Study.Status.OPEN})


def close_study(study: Study, by: Researcher | None = None) -> Study:
    """End the study; its answers stay."""
    return _move(study, Study.Status.CLOSED, by, {Study.Status.DRAFT, Study.Status.OPEN, Study.Status.PAUSED})


def reopen_study(study: Study, by: Researcher | None = None) -> Study:
    """Open a closed study again: judges' links work as before. Once its answers are removed, it stays closed."""
    check_direction(study.version)
    with transaction.atomic():
        if locked(study).answers_removed_at is not None:
            text = _("the answers of study %(slug)s were removed, so it stays closed; duplicate it to ask again")
            raise StudyError(text, slug=f"{study.slug!r}")
        return _move(study, Study.Status.OPEN, by, {Study.Status.CLOSED}, "reopened")


def find_study(slug: str) -> Study:
    """Find a study by its name in addresses; if there is none, the error lists those there are."""
    made = Study.objects.exclude(current=None)
    study = made.select_related("current").filter(slug=slug).first()
    if study is None:
        slugs = list(made.order_by("slug").values_list("slug", flat=True))
        there = f"there are {quoted(slugs)}" if slugs else "there are no studies yet"
        text = _("there is no study %(slug)s%(hint)s; %(there)s")
        raise StudyError(text, slug=f"{slug!r}", hint=did_you_mean(slug, slugs), there=there)
    return study


def definition_of(study: Study, version: StudyVersion | None = None) -> StudyDefinition:
    """Return the definition that a version was made from, with the edges that were added and removed by hand."""
    version = version or study.version
    return StudyDefinition(
        **{field: getattr(version, field) for field in VERSION_FIELDS},
        asks_places=study.asks_places,
        access="open" if study.join_code else "personal",
        languages=tuple(version.languages),
        translations=version.translations,
        areas=source_of(version),
        answers_until=study.answers_until,
    )


def _move(
    study: Study, status: Study.Status, by: Researcher | None, allowed: set[Study.Status], verb: str = ""
) -> Study:
    with transaction.atomic():
        study = locked(study)
        if study.status == status:
            return study
        if study.status not in allowed:
            text = _("study %(slug)s is %(status)s and cannot become %(wanted)s")
            raise StudyError(text, slug=f"{study.slug!r}", status=study.status, wanted=status.value)
        study.status = status
        study.opened_at = study.opened_at or (timezone.now() if status == Study.Status.OPEN else None)
        study.closed_at = timezone.now() if status == Study.Status.CLOSED else None
        study.save(update_fields=["status", "opened_at", "closed_at"])
        record(study, by, verb or status.value, {})
    return study


def locked(study: Study, *, deleted: bool = False) -> Study:
    """Lock a study's row and read it again; refuse one that is gone, or unless ``deleted``, one deleted meanwhile."""
    found = Study.objects.select_for_update(of=("self",)).select_related("current").filter(pk=study.pk).first()
    if found is None or (found.deleted_at is not None and not deleted):
        raise StudyError(_("this study was deleted or made again meanwhile; reload the page"))
    return found


def add_version(
    study: Study, definition: StudyDefinition, packed_design: bytes | None, author: Researcher | None
) -> StudyVersion:
    """Store a definition as the study's next version, which is in force from then on."""
    translated = [definition.translations.get(each, {}).get("consent", "") for each in definition.languages]
    # The separator occurs in no text, so words that move from one language to the next change the digest.
    consent = "\x1e".join([definition.consent, *translated])
    last = StudyVersion.objects.filter(study=study).order_by("-number").values_list("number", flat=True).first()
    version = StudyVersion.objects.create(
        study=study,
        number=(last or 0) + 1,
        author=author,
        packed_design=packed_design,
        consent_digest=hashlib.sha256(consent.encode()).hexdigest(),
        languages=list(definition.languages),
        translations={language: dict(texts) for language, texts in definition.translations.items()},
        source={field: value for field, value in asdict(definition.areas).items() if value},
        **{field: getattr(definition, field) for field in VERSION_FIELDS},
    )
    study.current = version
    study.save(update_fields=["current", "join_code", "owner", "answers_until", "asks_places"])
    return version


def change_study(study: Study, by: Researcher, after: StudyDefinition) -> bool:
    """Store changes to a study as a new version; False if nothing changed."""
    check_definition(after)
    if after == definition_of(study):
        return False
    edit_study(study, after, by)
    return True


def set_end(study: Study, until: date | None, by: Researcher | None = None) -> Study:
    """Set the last day on which a study's answers are kept, even if the study is closed."""
    with transaction.atomic():
        study = locked(study, deleted=True)
        change_end(study, until, by)
        study.save(update_fields=["answers_until"])
    return study


def change_end(study: Study, until: date | None, by: Researcher | None) -> None:
    """Change a study's last day; the caller has locked the study's row, and saves it."""
    if until == study.answers_until:
        return
    check_end(until)
    promised = study.answers_until
    if study.answers_removed_at is not None:
        text = _("the answers in study %(slug)s have been deleted, so the date cannot be changed")
        raise StudyError(text, "answers_until", slug=f"{study.slug!r}")
    later = promised is not None and (until is None or until > promised)
    if later and study.judges.filter(consents__isnull=False).exists():
        text = (
            f"judges have agreed that their answers will be deleted after {promised}; you can only "
            f"bring the date forward"
        )
        raise StudyError(text, field="answers_until")
    study.answers_until = until
    record(study, by, "end of answers set", {"until": str(until or "no end")})


def check_end(until: date | None) -> None:
    """Refuse a last day in the past."""
    if until is not None and until < timezone.now().date():
        text = _("answers_until is %(until)s, which is in the past; choose a date in the future")
        raise StudyError(text, "answers_until", until=until)


MOST = 10_000
"""The most pairs that one judge can be asked for."""
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


def check_languages(definition: StudyDefinition) -> None:
    """Refuse languages that judges' pages do not speak."""
    known = [code for code, _ in settings.LANGUAGES]
    for language in definition.languages:
        if language not in known:
            text = f"languages: {language!r} is not translated yet; there are {quoted(known)}"
            raise StudyError(text, field="languages")


def check_size(n_areas: int) -> None:
    """Refuse a map with too few areas to compare, or with more than pages and counts can tell apart."""
    if n_areas < 2:
        raise StudyError(_("a study needs at least two areas"))
    if n_areas > MOST_AREAS:
        text = _("the map has %(areas)s areas; up to %(most)s can be judged, so use larger areas or part of the map")
        raise StudyError(text, areas=n_areas, most=MOST_AREAS)


def check_definition(definition: StudyDefinition) -> None:
    """Refuse what does not fit into the database, what no page can show, and a question that means the opposite."""
    texts = {key: getattr(definition, key) for key in LONGEST}
    for language, translated in definition.translations.items():
        texts |= {f"translations.{language}.{key}": translated[key] for key in TEXTS if key in translated}
    for key, text in texts.items():
        field = key.rpartition(".")[2]
        longest = LONGEST[field]
        if not isinstance(text, str) or len(text) > longest:
            said = _("%(key)s is too long; write at most %(longest)s characters")
            raise StudyError(said, field, key=key, longest=longest)
        if not all(each.isprintable() or each in SHOWN for each in text):
            raise StudyError(_("%(key)s has characters that cannot be shown; type it again"), field, key=key)
    if definition.maximum > MOST:
        text = _("maximum is %(maximum)s; nobody judges more than %(most)s pairs")
        raise StudyError(text, "maximum", maximum=definition.maximum, most=MOST)
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
            raise StudyError(str(CONTRADICTIONS[asked]), "question", language=name)


LARGEST_LOGO, LOGO_BOX, MOST_PIXELS = 2_000_000, (300, 100), 25_000_000
"""The most bytes and pixels of a picture that is uploaded as a logo, and the box that it is made to fit."""


def redraw_logo(content: bytes) -> bytes:
    """Draw a PNG or JPEG again as a small PNG: nothing that a file could hide besides its pixels is kept."""
    from PIL import Image

    if len(content) > LARGEST_LOGO:
        raise StudyError(_("this picture has more than 2 MB; make it smaller"), "logo")
    try:
        with Image.open(io.BytesIO(content), formats=["PNG", "JPEG"]) as picture:
            drawn = picture.convert("RGBA") if picture.width * picture.height <= MOST_PIXELS else None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise StudyError(_("this is not a PNG or JPEG picture; save the logo as one"), "logo") from None
    if drawn is None:
        raise StudyError(_("this picture has too many pixels; make it smaller"), "logo")
    drawn.thumbnail(LOGO_BOX)
    clean, packed = Image.new("RGBA", drawn.size), io.BytesIO()
    clean.paste(drawn)
    clean.save(packed, "PNG", optimize=True)
    return packed.getvalue()


def set_imprint(study: Study, given: Mapping[str, object], by: Researcher | None = None) -> None:
    """Store what is given of a study's imprint; the rest stays as it is."""
    with transaction.atomic():
        Imprint.objects.update_or_create(study=study, defaults=given)
        record(study, by, "imprint", {"changed": list(given)})
