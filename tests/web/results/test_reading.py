"""A link for reading: what it shows, to whom, until when; and that nobody learns anything without it."""

from datetime import UTC, datetime

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from judgemap.web.results.models import FitRun, ReadingLink
from judgemap.web.results.reading import PASSWORDS, make_link
from judgemap.web.server.logs import scrub
from judgemap.web.studies.models import Act, Study

EVERYTHING = {"name": "Council", "shows": ["map", "table", "briefing"], "password": "", "until": None, "embeds": False}
HORSE, STAPLE = "correct horse", "battery staple"
PARTS = ("map", "table", "briefing")
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def stranger() -> Client:
    PASSWORDS.forget()
    return Client()


@pytest.fixture
def link(run):
    """Make a link, and return the address of any of its pages."""

    def made(**given):
        token = make_link(run, EVERYTHING | given)
        return lambda name="page": reverse(f"reading:{name}", args=[token])

    return made


def test_a_stranger_reads_what_the_link_shows(run, link, stranger):
    at = link()
    page = stranger.get(at())
    assert page.status_code == 200
    assert [row["rank"] for row in page.context["rows"]] == list(range(1, len(run.rows) + 1))
    assert page["Cache-Control"] == "no-store"
    assert page["Referrer-Policy"] == "no-referrer"
    assert page["X-Frame-Options"] == "DENY"
    assert stranger.get(at("map"))["Content-Type"] == "image/svg+xml"
    assert stranger.get(at("table")).content.decode("utf-8-sig").startswith("id,name,risk_median")
    assert "sandbox" in stranger.get(at("briefing"))["Content-Security-Policy"]
    assert not stranger.cookies


def test_it_shows_neither_judges_nor_answers(run, link, stranger):
    at = link()
    said = "".join(stranger.get(at(name)).text for name in ("page", *PARTS))
    for judge in run.study.judges.values_list("name", flat=True):
        assert judge not in said
    assert run.study.slug not in stranger.get(at()).text
    assert 'href="/studies/' not in said


@pytest.mark.parametrize("part", PARTS)
def test_it_shows_only_what_was_chosen(link, stranger, part):
    at = link(shows=[each for each in PARTS if each != part])
    assert stranger.get(at(part)).status_code == 404
    assert reverse(f"reading:{part}", args=["x"]).rsplit("/", 1)[1] not in stranger.get(at()).text


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (ReadingLink, {"until": LONG_AGO}),
        (ReadingLink, {"revoked_at": LONG_AGO}),
        (FitRun, {"status": "failed"}),
        (Study, {"deleted_at": LONG_AGO}),
    ],
)
def test_a_link_that_is_over_is_answered_like_one_that_never_was(run, link, stranger, model, change):
    at = link(until=timezone.localdate())
    assert stranger.get(at()).status_code == 200
    model.objects.update(**change)
    never = stranger.get(reverse("reading:page", args=["never-was-a-link-here1"]))
    for name in ("page", *PARTS):
        gone = stranger.get(at(name))
        assert gone.status_code == never.status_code == 404
        assert gone.content == never.content
    assert run.version.title not in never.text


def test_a_password_opens_it_and_a_wrong_one_does_not(run, link, stranger):
    at = link(password=HORSE)
    shut = stranger.get(at())
    assert shut.status_code == 200
    assert run.version.title not in shut.text
    assert [stranger.get(at(part)).status_code for part in PARTS] == [404] * 3
    assert stranger.post(at(), {"password": STAPLE}).status_code == 403
    assert stranger.post(at(), {"password": HORSE}).status_code == 302
    assert run.version.title in stranger.get(at()).text
    assert [stranger.get(at(part)).status_code for part in PARTS] == [200] * 3
    assert ReadingLink.objects.get().password.count(HORSE) == 0
    for _ in range(12):
        last = Client().post(at(), {"password": "guess"})
    assert last.status_code == 403
    assert Client().post(at(), {"password": HORSE}).status_code == 403, "too many tries in a minute"


def test_the_cookie_of_one_link_opens_no_other(link, stranger):
    one, other = link(password=HORSE), link(password=STAPLE)
    stranger.post(one(), {"password": HORSE})
    for cookie in stranger.cookies.values():
        cookie["path"] = "/"
    assert "password" in stranger.get(other()).text.lower()
    assert stranger.get(other("map")).status_code == 404


def test_only_a_link_that_allows_it_is_shown_in_frames(link, stranger):
    page = stranger.get(link(embeds=True)())
    assert "X-Frame-Options" not in page
    assert "frame-ancestors *" in page["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in stranger.get(link()())["Content-Security-Policy"]
    with pytest.raises(IntegrityError), transaction.atomic():
        link(embeds=True, password=HORSE)


def test_researchers_make_and_revoke_links_and_the_log_knows(run, clients, stranger):
    where = reverse("results:share", args=[run.study.slug, run.number])
    given = {"name": "Council", "shows": ["map"], "until": timezone.localdate().isoformat()}
    made = clients["owner"].post(where, given).context["made"]
    path = "/r/" + made.split("/r/")[1]
    assert stranger.get(path).status_code == 200
    assert made.split("/r/")[1].strip("/") not in clients["owner"].get(where).text, "shown once"
    kept = ReadingLink.objects.get()
    clients["owner"].post(reverse("results:revoke_link", args=[run.study.slug, run.number]), {"link": kept.pk})
    assert stranger.get(path).status_code == 404
    assert Act.objects.filter(verb__startswith="reading link").count() == 2
    assert path.split("/")[2] not in scrub(f"GET {path}")


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"shows": []}, {"shows": ["judges"]}, {"until": "2020-01-01"}, {"password": "short"},
     {"embeds": "on", "password": HORSE}],
)  # fmt: skip
def test_links_that_cannot_be(run, clients, wrong):
    where = reverse("results:share", args=[run.study.slug, run.number])
    assert clients["owner"].post(where, {"name": "Council", "shows": ["map"], **wrong}).status_code == 400
    assert not ReadingLink.objects.exists()


def test_a_link_of_another_fit_is_not_revoked(run, keep, link, clients):
    other, at = keep(run.study), link()
    key = ReadingLink.objects.get().pk
    clients["owner"].post(reverse("results:revoke_link", args=[run.study.slug, other.number]), {"link": key})
    assert Client().get(at()).status_code == 200
