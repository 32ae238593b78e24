"""Forged requests: whatever somebody makes up, no answer, judge, study or account changes, and nothing is shown."""

import hashlib

import pytest
from django.test import Client

from judgemap.web.accounts.models import Invitation, Researcher
from judgemap.web.judge.models import Answer, Consent, Judge, Pair, UnknownArea
from judgemap.web.server.limits import WRONG_GUESSES
from judgemap.web.studies import editing, making
from judgemap.web.studies.models import Act, Study, StudyVersion

CSRF = 32 * "a"
TITLE = "Wards that nobody else may know of"


def state() -> list:
    """All that a forged request could change."""
    kept = [(model.__name__, list(model.objects.order_by("pk").values_list("pk", *fields))) for model, *fields in (
        (Answer, "pair_id", "revision", "outcome", "reason"), (Pair, "judge_id", "open"), (UnknownArea, "judge_id"),
        (Judge, "judged", "maximum", "went_on", "withdrawn_at", "language"), (Consent, "judge_id", "text_digest"),
        (Study, "status", "owner_id", "answers_until", "join_code"), (StudyVersion, "title", "number"), (Act, "verb"),
        (Researcher, "email", "password", "is_active"), (Invitation,),
    )]  # fmt: skip
    return [*kept, sorted(Study.colleagues.through.objects.values_list("study_id", "researcher_id"))]


class Forger:
    """Somebody with a judge's link, who makes up requests; and what there is to gain."""

    def __init__(self, study, other, visit) -> None:
        self.own, self.else_, self.newcomer, self.gone = visit(), visit(), visit(agreed=False), visit()
        self.foreign = visit(of=other)
        self.first = self.own.pair()["pair"]
        self.own.answer("left")
        self.second = self.own.pair()["pair"]
        self.own.answer("right")
        self.pair, self.theirs, self.abroad = (each.pair()["pair"] for each in (self.own, self.else_, self.foreign))
        self.theirs_gone = self.gone.pair()["pair"]
        self.gone.withdraw()
        self.study = study
        self.client = Client(enforce_csrf_checks=True)
        self.client.cookies["csrftoken"] = CSRF

    def post(self, path: str, headers: dict[str, str] | None = None, **form):
        return self.client.post(path, {"csrfmiddlewaretoken": CSRF, **form}, headers=headers or {})

    def answer(self, link: str = "", headers: dict[str, str] | None = None, **form):
        sent = {"pair": self.pair, "outcome": "left", "follows": "0"} | form
        return self.post(f"/j/{link or self.own.token}/answer", headers, **sent)

    def raw(self, method: str, body: str = "", kind: str = "application/x-www-form-urlencoded", **headers):
        return self.client.generic(method, f"/j/{self.own.token}/answer", body, content_type=kind, headers=headers)

    def bare(self, cookie: str = "", **form):
        """An answer from a browser without our cookie, or with another one."""
        browser = Client(enforce_csrf_checks=True)
        if cookie:
            browser.cookies["csrftoken"] = cookie
        return browser.post(f"/j/{self.own.token}/answer", {"pair": self.pair, "outcome": "left", **form})


def outcomes():
    given = ("", "LEFT", "both", "left ", "left-right", "left-left", "unknown", "unknown-", "unknown-up", "0", "None",
             "tie", "skipped", "l\u0435ft", "left\0", "['left']")  # fmt: skip
    return {f"outcome {each!r}": lambda f, each=each: f.answer(outcome=each) for each in given}


def pairs():
    return {
        "no pair": lambda f: f.answer(pair=""),
        "a made-up pair": lambda f: f.answer(pair=22 * "x"),
        "another judge's pair": lambda f: f.answer(pair=f.theirs),
        "a pair of another study": lambda f: f.answer(pair=f.abroad),
        "a withdrawn judge's pair": lambda f: f.answer(pair=f.theirs_gone),
        "the pair's number": lambda f: f.answer(pair=str(Pair.objects.get(token=f.pair).pk)),
        "the pair in other case": lambda f: f.answer(pair=f.pair.swapcase()),
        "the pair and a space": lambda f: f.answer(pair=f.pair + " "),
        "the pair and a null": lambda f: f.answer(pair=f.pair + "\0"),
        "half of the pair": lambda f: f.answer(pair=f.pair[:11]),
        "two pairs": lambda f: f.answer(pair=[f.pair, f.theirs]),
        "SQL for a pair": lambda f: f.answer(pair="' OR '1'='1"),
        "a link for a pair": lambda f: f.answer(pair=f.own.token),
    }


def revisions():
    return {
        "a second answer to a pair": lambda f: f.answer(pair=f.second, outcome="left"),
        "a revision of nothing": lambda f: f.answer(follows="1"),
        "a revision of one to come": lambda f: f.answer(pair=f.second, outcome="left", follows="2"),
        "a revision of a negative": lambda f: f.answer(pair=f.second, outcome="left", follows="-1"),
        "a revision of words": lambda f: f.answer(pair=f.second, outcome="left", follows="last"),
        "an earlier answer": lambda f: f.answer(pair=f.first, outcome="right", follows="1"),
        "an earlier answer, unseen": lambda f: f.answer(pair=f.first, outcome="right"),
    }


def links():
    return {
        "another's link, own pair": lambda f: f.answer(f.else_.token),
        "a link of another study": lambda f: f.answer(f.foreign.token),
        "a withdrawn link": lambda f: f.answer(f.gone.token, pair=f.theirs_gone),
        "a link that has not agreed": lambda f: f.answer(f.newcomer.token),
        "a link in other case": lambda f: f.answer(f.own.token.swapcase()),
        "a cut link": lambda f: f.answer(f.own.token[:-1]),
        "a longer link": lambda f: f.answer(f.own.token + "x"),
        "the hash of a link": lambda f: f.answer(hashlib.sha256(f.own.token.encode()).hexdigest()),
        "a judge's name for a link": lambda f: f.answer(f.own.name),
        "the study for a link": lambda f: f.answer(f.study.slug),
        "a preview for a link": lambda f: f.answer("preview000000000000000"),
        "a preview of the study": lambda f: f.client.get(f"/try/{f.study.slug}/"),
        "jumping to the end": lambda f: f.post(f"/j/{f.own.token}/jump", to="end"),
    }


def cross_site():
    body = "pair={}&outcome=left&csrfmiddlewaretoken=" + CSRF
    return {
        "no cookie": lambda f: f.bare(csrfmiddlewaretoken=CSRF),
        "no token": lambda f: f.bare(CSRF),
        "another cookie": lambda f: f.bare(32 * "b", csrfmiddlewaretoken=CSRF),
        "a short token": lambda f: f.bare("a", csrfmiddlewaretoken="a"),
        "from another site": lambda f: f.answer(headers={"Origin": "https://evil.example"}),
        "from nowhere": lambda f: f.answer(headers={"Origin": "null"}),
        "as plain text": lambda f: f.raw("POST", body.format(f.pair), "text/plain"),
        "as JSON": lambda f: f.raw("POST", '{"outcome": "left"}', "application/json", **{"X-CSRFToken": CSRF}),
        "by GET": lambda f: f.client.get(f"/j/{f.own.token}/answer?" + body.format(f.pair)),
        "by PUT": lambda f: f.raw("PUT", body.format(f.pair), **{"X-CSRFToken": CSRF}),
        "by PATCH": lambda f: f.raw("PATCH", body.format(f.pair), **{"X-CSRFToken": CSRF}),
        "by DELETE": lambda f: f.raw("DELETE", **{"X-CSRFToken": CSRF}),
        "by GET that says POST": lambda f: f.raw("GET", body.format(f.pair), **{"X-HTTP-Method-Override": "POST"}),
        "to another host": lambda f: f.answer(headers={"Host": "evil.example"}),
    }


def agreeing():
    return {
        "consent without agreeing": lambda f: f.post(f"/j/{f.newcomer.token}/consent"),
        "consent with a no": lambda f: f.post(f"/j/{f.newcomer.token}/consent", agree="no"),
        "consent by GET": lambda f: f.client.get(f"/j/{f.newcomer.token}/consent?agree=yes"),
        "consent for the withdrawn": lambda f: f.post(f"/j/{f.gone.token}/consent", agree="yes"),
        "unknown areas before consent": lambda f: f.post(f"/j/{f.newcomer.token}/areas", unknown="1"),
        "unknown areas elsewhere": lambda f: f.post(f"/j/{f.own.token}/areas", unknown=["999999", "-1", "x"]),
        "a language that is not there": lambda f: f.post(f"/j/{f.own.token}/language", language="xx"),
        "withdrawal without a code": lambda f: f.post("/withdraw", code=""),
        "withdrawal by link": lambda f: f.post("/withdraw", code=f.else_.token),
        "withdrawal by name": lambda f: f.post("/withdraw", code=f.else_.name),
        "withdrawal by a guess": lambda f: f.post("/withdraw", code="AAAA-AAAA-AAAA-AAAA"),
        "withdrawal by GET": lambda f: f.client.get(f"/withdraw?code={f.else_.code}"),
        "joining by a made-up link": lambda f: f.post("/s/" + 22 * "x" + "/"),
        "joining a study of personal links": lambda f: f.post(f"/s/{f.study.slug}/"),
    }


def researchers():
    def with_cookie(f, value: str, path: str = "/studies/wards/status"):
        browser = Client()
        browser.cookies["sessionid"] = value
        return browser.post(path, {"act": "pause"})

    def with_header(f, value: str):
        return f.client.get("/api/v1/studies", headers={"Authorization": value})

    return {
        "a made-up session": lambda f: with_cookie(f, 32 * "x"),
        "an empty session": lambda f: with_cookie(f, ""),
        "a link for a session": lambda f: with_cookie(f, f.own.token),
        "a session for the API": lambda f: with_cookie(f, 32 * "x", "/api/v1/studies"),
        "status without signing in": lambda f: f.post("/studies/wards/status", act="pause"),
        "closing without signing in": lambda f: f.post("/studies/wards/close"),
        "sharing without signing in": lambda f: f.post("/studies/wards/share", email="stranger@example.org"),
        "a used first link": lambda f: f.post("/first/" + 22 * "x" + "/", email="e@example.org", password1=TITLE),
        "a made-up invitation": lambda f: f.post(f"/invitation/{22 * 'x'}/", email="e@example.org", password1=TITLE),
        "signing up": lambda f: f.post("/account/signup/", email="e@example.org", password1=TITLE),
        "a made-up reset": lambda f: f.post("/account/password/reset/key/1-set-password/", password1=TITLE),
        "an API without a token": lambda f: f.client.get("/api/v1/studies/wards"),
        "an API with a made-up token": lambda f: with_header(f, "Bearer jm_x"),
        "an API token in the address": lambda f: f.client.get("/api/v1/studies?token=jm_x"),
        "an API by password": lambda f: with_header(f, "Basic b3duZXI6eA=="),
        "a proxy's user": lambda f: f.client.get("/studies/wards/", headers={"X-Forwarded-User": "owner@example.org"}),
        "another spelling": lambda f: f.client.get("/studies/WARDS/"),
        "a path with dots": lambda f: f.client.get("/static/../studies/wards/"),
        "an encoded path": lambda f: f.client.get("/studies/%77ards/"),
    }  # fmt: skip


KINDS = outcomes() | pairs() | revisions() | links() | cross_site() | agreeing() | researchers()


def test_there_are_many_kinds():
    assert len(KINDS) >= 75


@pytest.mark.usefixtures("people")
def test_nothing_that_is_made_up_changes_or_shows_anything(owned, areas, definition, visit, edit):
    edit(title=TITLE, ties=False, skips=False, recommended=30, maximum=30)
    owned.refresh_from_db()
    forger = Forger(owned, editing.open_study(making.create_study(definition, areas)), visit)
    before, wrong = state(), []
    assert forger.answer().status_code == 302, "the same request, not forged, is taken"
    assert state() != before
    forger.pair = forger.own.pair()["pair"]
    before = state()
    for kind, forge in KINDS.items():
        WRONG_GUESSES._level = 50.0
        response = forge(forger)
        if response.status_code >= 500 or state() != before:
            wrong.append(kind)
        if kind in researchers() and TITLE in response.text:
            wrong.append(f"{kind}: shown")
    assert wrong == []


def test_nothing_is_taken_while_a_study_is_not_open(owned, visit):
    judge = visit()
    pair = judge.pair()["pair"]
    for status in ("paused", "closed", "draft"):
        Study.objects.filter(pk=owned.pk).update(status=status)
        before = state()
        assert judge.answer("left", pair).status_code in (404, 409)
        assert state() == before
