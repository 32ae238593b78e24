"""Who runs a study: the logo is drawn again, and judges and briefings show what was written."""

import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from PIL import Image, PngImagePlugin

from judgemap.errors import StudyError
from judgemap.web.judge import joining
from judgemap.web.results.models import words_of
from judgemap.web.studies import editing
from judgemap.web.studies.models import Act, Imprint

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
    said = client.get(f"/j/{link}/").content.decode()
    for each in ("Town &lt;Council&gt;", "hill@town.example", "<strong>little</strong>", "data:image/png;base64,"):
        assert each in said
    assert Act.objects.filter(study=study, verb="imprint").exists()
    assert (words_of(study).organisation, words_of(study).contact) == ("Town <Council>", "hill@town.example")
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
