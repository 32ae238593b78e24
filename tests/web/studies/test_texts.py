"""What judges read, its translations, who asks, and how judges are asked."""

import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from PIL import Image, PngImagePlugin

from judgemap.errors import StudyError
from judgemap.web.judge import joining
from judgemap.web.studies import editing
from judgemap.web.studies.models import Act, Imprint

PAGE, JUDGING = "/studies/wards/texts", "/studies/wards/judging"
TEXTS = {
    "title": "Wards again",
    "question": "Which has the HIGHER rate?",
    "direction": "higher",
    "example": "For **example** <script>alert(1)</script>",
    "instructions": "",
    "consent": "I agree.",
    "thanks": "Bye",
}


def test_saving_what_is_there_makes_no_version(owned, clients):
    form = clients["owner"].get(PAGE).context["form"]
    assert clients["owner"].post(PAGE, {key: str(value) for key, value in form.initial.items()}).status_code == 302
    owned.refresh_from_db()
    assert owned.version.number == 1


def test_an_edit_of_an_older_version_is_not_taken(owned, clients):
    clients["owner"].post(PAGE, TEXTS | {"based_on": "1"})
    response = clients["teammate"].post(PAGE, TEXTS | {"based_on": "1", "title": "Mine"})
    assert response.status_code == 400
    assert "Someone else has changed this study." in response.text
    owned.refresh_from_db()
    assert owned.version.title == "Wards again"


def test_a_preview_stores_nothing_and_runs_nothing(owned, clients):
    page = clients["owner"].post(PAGE, TEXTS | {"preview": "yes"}).text
    assert "<strong>example</strong>" in page
    assert "<script>alert" not in page
    owned.refresh_from_db()
    assert owned.version.number == 1


def test_the_preview_beside_a_field_is_clean(clients):
    response = clients["stranger"].post("/markdown", {"text": "*a* <img src=x onerror=alert(1)> [b](javascript:c)"})
    assert response.text == "<p><em>a</em> &lt;img src=x onerror=alert(1)&gt; [b](javascript:c)</p>\n"
    assert clients["anonymous"].post("/markdown", {"text": "a"}).status_code == 302
    assert clients["owner"].get("/markdown").status_code == 405


def test_a_translation_is_read_by_judges(owned, clients, visit):
    judge = visit(agreed=False)
    fields = {"question": "Quel secteur ?", "consent": "D'accord.", "based_on": "1"}
    assert clients["owner"].post("/studies/wards/texts/fr", fields).status_code == 302
    assert "Quel secteur ?" in judge.get(**{"Accept-Language": "fr"}).text
    before = owned.version.translations
    owned.refresh_from_db()
    assert owned.version.translations == before | {"fr": {"question": "Quel secteur ?", "consent": "D'accord."}}


def test_judges_choose_a_language_only_when_what_matters_is_translated(owned, clients, visit):
    judge = visit(agreed=False)
    clients["owner"].post("/studies/wards/texts/fr", {"question": "Quel secteur ?", "based_on": "1"})
    page = judge.get(**{"Accept-Language": "fr"}).text
    assert 'lang="en"' in page
    assert 'value="fr"' not in page
    judge.post("language", language="fr")
    assert 'lang="en"' in judge.get().text
    overview = clients["owner"].get("/studies/wards/").text
    assert "Judges cannot read the study in French yet" in overview
    beside = clients["owner"].get("/studies/wards/texts/fr").text
    assert "Still to translate: consent" in beside
    assert "Which ward has the LOWER rate?" in beside, "the source stands beside the translation"


def test_only_languages_of_the_study_are_translated_into(owned, clients):
    assert clients["owner"].get("/studies/wards/texts/de").status_code == 302
    assert clients["owner"].get("/studies/wards/texts/en").status_code == 302
    assert clients["owner"].post("/studies/wards/texts/de", {"question": "Was?"}).status_code == 302
    owned.refresh_from_db()
    assert owned.version.number == 1


GOOD = {
    "recommended": "20",
    "maximum": "40",
    "ties": "on",
    "access": "personal",
    "design": "principal",
    "language": "en",
    "more_languages": ["fr"],
    "base_map": "",
    "base_map_credit": "",
}


def test_the_settings_are_kept_as_a_version(owned, clients):
    assert clients["teammate"].post(JUDGING, GOOD).status_code == 302
    owned.refresh_from_db()
    version = owned.version
    assert (version.recommended, version.maximum, version.ties, version.skips) == (20, 40, True, False)
    assert (version.design, version.languages) == ("principal", ["en", "fr"])
    assert version.number == 2


def test_a_language_taken_away_keeps_its_translation_in_the_old_version(owned, clients):
    clients["owner"].post(JUDGING, GOOD | {"more_languages": []})
    owned.refresh_from_db()
    assert owned.version.translations == {}
    assert "fr" in owned.versions.get(number=1).translations


def test_an_open_link_comes_and_goes(owned, clients):
    clients["owner"].post(JUDGING, GOOD | {"access": "open"})
    owned.refresh_from_db()
    code = owned.join_code
    assert f"/s/{code}/" in clients["owner"].get("/studies/wards/").text
    assert clients["anonymous"].get(f"/s/{code}/").status_code == 200
    clients["owner"].post(JUDGING, GOOD)
    assert clients["anonymous"].get(f"/s/{code}/").status_code == 404


WORDS = {"organisation": "Town <Council>", "contact": "hill@town.example", "privacy": "We keep **little**."}


def drawn(kind: str = "PNG", size: tuple[int, int] = (900, 90), **more) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "#123456").save(file, kind, **more)
    return file.getvalue()


def test_judges_and_briefings_show_who_asks(owned, clients, client):
    study = owned
    where = reverse("studies:imprint", args=[study.slug])
    given = {**WORDS, "logo": SimpleUploadedFile("logo.png", drawn())}
    assert clients["owner"].post(where, given).status_code == 302
    kept = Imprint.objects.get(study=study)
    assert Image.open(io.BytesIO(kept.logo)).size == (300, 30)
    link = joining.invite(study, 1)[0].token
    said = client.get(f"/j/{link}/").text
    for each in ("Town &lt;Council&gt;", "hill@town.example", "<strong>little</strong>", "data:image/png;base64,"):
        assert each in said
    assert Act.objects.filter(study=study, verb="imprint").exists()
    assert (kept.words.organisation, kept.words.contact) == ("Town <Council>", "hill@town.example")
    assert clients["owner"].post(where, WORDS).status_code == 302
    assert Imprint.objects.get(study=study).logo, "saving again leaves it"
    clients["owner"].post(where, {**WORDS, "no_logo": "on"})
    assert not Imprint.objects.get(study=study).logo


@pytest.mark.parametrize(
    "content",
    [b"<svg onload='alert(1)'/>", b"", b"\x89PNG\r\n\x1a\n and so on", drawn("GIF"), drawn()[:60], b"x" * 2_000_001],
)
def test_what_is_no_logo(content):
    with pytest.raises(StudyError):
        editing.redraw_logo(content)


def test_a_logo_of_too_many_pixels_is_not_decoded():
    with pytest.raises(StudyError, match="too many pixels"):
        editing.redraw_logo(drawn("PNG", (6000, 5000)))


def test_only_pixels_are_kept():
    hidden = PngImagePlugin.PngInfo()
    hidden.add_text("place", "51.5, -0.1")
    assert b"51.5" in drawn(pnginfo=hidden)
    assert b"51.5" not in editing.redraw_logo(drawn(pnginfo=hidden) + b"51.5")
    assert editing.redraw_logo(drawn("JPEG")).startswith(b"\x89PNG")
