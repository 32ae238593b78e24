"""What judges read, and its translations."""

import pytest

from judgemap.web.judge.models import Answer
from judgemap.web.studies.editing import close_study

TEXTS = {
    "title": "Wards again",
    "question": "Which has the HIGHER rate?",
    "direction": "higher",
    "example": "For **example** <script>alert(1)</script>",
    "instructions": "",
    "consent": "I agree.",
    "thanks": "Bye",
}


def url(study):
    return f"/studies/{study.slug}/texts"


def test_an_edit_is_a_new_version_and_touches_no_answer(owned, clients, judge):
    judge.answer("left")
    assert clients["owner"].post(url(owned), TEXTS | {"based_on": "1"}).status_code == 302
    owned.refresh_from_db()
    assert (owned.version.number, owned.version.title, owned.version.direction) == (2, "Wards again", "higher")
    assert owned.versions.get(number=1).title == "Wards"
    assert owned.version.author.email == "owner@example.org"
    assert Answer.objects.count() == 1


def test_a_new_consent_text_is_asked_for_again(owned, clients, judge):
    clients["owner"].post(url(owned), TEXTS | {"based_on": "1"})
    assert "I agree." in judge.get().content.decode()


def test_saving_what_is_there_makes_no_version(owned, clients):
    form = clients["owner"].get(url(owned)).context["form"]
    assert (
        clients["owner"].post(url(owned), {key: str(value) for key, value in form.initial.items()}).status_code == 302
    )
    owned.refresh_from_db()
    assert owned.version.number == 1


def test_an_edit_of_an_older_version_is_not_taken(owned, clients):
    clients["owner"].post(url(owned), TEXTS | {"based_on": "1"})
    response = clients["teammate"].post(url(owned), TEXTS | {"based_on": "1", "title": "Mine"})
    assert response.status_code == 400
    assert "Someone else has changed this study." in response.content.decode()
    owned.refresh_from_db()
    assert owned.version.title == "Wards again"


@pytest.mark.parametrize(
    ("field", "value"),
    [("title", ""), ("title", "x" * 201), ("question", "x" * 301), ("direction", "down"), ("consent", "  ")],
)
def test_the_error_stands_beside_the_field(owned, clients, field, value):
    response = clients["owner"].post(url(owned), TEXTS | {field: value})
    assert response.status_code == 400
    assert list(response.context["form"].errors) == [field]
    assert f'id="id_{field}_error"' in response.content.decode()


def test_characters_that_no_page_shows_are_refused(owned, clients):
    response = clients["owner"].post(url(owned), TEXTS | {"thanks": "Bye\x07"})
    assert response.status_code == 400
    assert list(response.context["form"].errors) == ["thanks"]


def test_a_preview_stores_nothing_and_runs_nothing(owned, clients):
    page = clients["owner"].post(url(owned), TEXTS | {"preview": "yes"}).content.decode()
    assert "<strong>example</strong>" in page
    assert "<script>alert" not in page
    owned.refresh_from_db()
    assert owned.version.number == 1


def test_the_preview_beside_a_field_is_clean(clients):
    response = clients["stranger"].post("/markdown", {"text": "*a* <img src=x onerror=alert(1)> [b](javascript:c)"})
    assert response.content.decode() == "<p><em>a</em> &lt;img src=x onerror=alert(1)&gt; [b](javascript:c)</p>\n"
    assert clients["anonymous"].post("/markdown", {"text": "a"}).status_code == 302
    assert clients["owner"].get("/markdown").status_code == 405


def test_a_closed_study_is_not_changed(owned, clients):
    close_study(owned)
    response = clients["owner"].post(url(owned), TEXTS)
    assert response.status_code == 400
    assert "is closed" in response.content.decode()


def test_a_translation_is_read_by_judges(owned, clients, visit):
    judge = visit(agreed=False)
    fields = {"question": "Quel secteur ?", "consent": "D'accord.", "based_on": "1"}
    assert clients["owner"].post(f"{url(owned)}/fr", fields).status_code == 302
    assert "Quel secteur ?" in judge.get(**{"Accept-Language": "fr"}).content.decode()
    before = owned.version.translations
    owned.refresh_from_db()
    assert owned.version.translations == before | {"fr": {"question": "Quel secteur ?", "consent": "D'accord."}}


def test_judges_choose_a_language_only_when_what_matters_is_translated(owned, clients, visit):
    judge = visit(agreed=False)
    clients["owner"].post(f"{url(owned)}/fr", {"question": "Quel secteur ?", "based_on": "1"})
    page = judge.get(**{"Accept-Language": "fr"}).content.decode()
    assert 'lang="en"' in page
    assert 'value="fr"' not in page
    judge.post("language", language="fr")
    assert 'lang="en"' in judge.get().content.decode()
    overview = clients["owner"].get(f"/studies/{owned.slug}/").content.decode()
    assert "Judges cannot read the study in French yet" in overview
    beside = clients["owner"].get(f"{url(owned)}/fr").content.decode()
    assert "Still to translate: consent" in beside
    assert "Which ward has the LOWER rate?" in beside, "the source stands beside the translation"


def test_only_languages_of_the_study_are_translated_into(owned, clients):
    assert clients["owner"].get(f"{url(owned)}/de").status_code == 302
    assert clients["owner"].get(f"{url(owned)}/en").status_code == 302
    assert clients["owner"].post(f"{url(owned)}/de", {"question": "Was?"}).status_code == 302
    owned.refresh_from_db()
    assert owned.version.number == 1
