"""Languages: per study, chosen by the judge; every text is translated."""

from pathlib import Path

import polib
import pytest
from django.conf import settings


def test_the_judge_chooses_and_the_choice_stays(judge):
    judge.post("language", language="fr")
    page = judge.get().text
    assert '<html lang="fr" dir="ltr">' in page
    assert "Quel quartier ?" in page
    assert judge.pair()["counter"] == "1 sur environ 3"
    assert judge.answer("left").json()["counter"] == "2 sur environ 3"


def test_arabic_runs_right_to_left_and_falls_back_to_the_studys_own_texts(judge):
    judge.post("language", language="ar")
    page = judge.get().text
    assert '<html lang="ar" dir="rtl">' in page
    assert "أي حي؟" in page
    assert "Wards" in page, "the title is not translated"


def test_the_browsers_wish_is_taken_until_the_judge_chooses(visit):
    visitor = visit(agreed=False)
    assert 'lang="fr"' in visitor.get(**{"Accept-Language": "de-DE,fr-CA;q=0.8,en;q=0.5"}).text
    visitor.post("language", language="en")
    assert '<html lang="en"' in visitor.get(**{"Accept-Language": "fr"}).text


def test_a_language_that_the_study_does_not_have_is_passed_over(judge, edit):
    edit(languages=("en",), translations={})
    judge.post("language", language="fr")
    assert '<html lang="en"' in judge.get(**{"Accept-Language": "fr"}).text


@pytest.mark.parametrize("language", ["fr", "es", "ar"])
def test_every_text_is_translated_and_keeps_its_blanks(language):
    catalogue = polib.pofile(str(Path(settings.LOCALE_SOURCE, language, "LC_MESSAGES", "django.po")))
    assert not catalogue.untranslated_entries()
    assert not catalogue.fuzzy_entries()
    for entry in catalogue:
        for text in [entry.msgstr, *entry.msgstr_plural.values()]:
            for blank in (
                "%(number)d",
                "%(total)d",
                "%(n)s",
                "%(most)s",
                "%(host)s",
                "%(day)s",
                "%(title)s",
                "<strong>",
            ):
                assert not text or (blank in text) == (blank in entry.msgid)


@pytest.mark.parametrize("language", ["fr", "es", "ar"])
def test_no_text_of_the_templates_is_missing_from_the_catalogues(language):
    import re

    web = Path(settings.LOCALE_SOURCE).parent
    catalogue = polib.pofile(str(web / "locale" / language / "LC_MESSAGES/django.po"))
    known = {entry.msgid for entry in catalogue}
    texts = {
        text
        for page in [*(web / "judge").glob("templates/**/*.*"), *(web / "people").glob("templates/**/*.txt")]
        for _, text in re.findall(r"{% translate (['\"])(.*?)\1 ", page.read_text(encoding="utf-8"))
    }
    assert texts
    assert texts <= known


def test_a_refusal_speaks_the_judges_language(judge):
    judge.post("language", language="fr")
    assert judge.answer("left", pair="A" * 22).json()["said"].startswith("Cette paire")
