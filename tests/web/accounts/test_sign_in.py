"""Signing in: password, lock-out, second step, no sign-up, reset only if the server sends mail."""

import base64
import hashlib
import hmac
import os
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.conf import settings
from django.contrib.auth.hashers import ScryptPasswordHasher
from django.core import mail
from django.test import Client
from django.utils import timezone

from judgemap.web.accounts.adapter import NICENESS, PatientScryptPasswordHasher, SecondStepAdapter
from judgemap.web.accounts.models import Count

PASSWORD = "four plain words here"  # noqa: S105
SECRET = "JBSWY3DPEHPK3PXP"  # noqa: S105
WRONG = {"password": "wrong"}


def sign_in(client, email="owner@example.org", password=PASSWORD, **more):
    return client.post("/account/login/", {"login": email, "password": password}, **more)


def confirm(client):
    """Type the password once more, as is asked before the second step is changed."""
    return client.post("/account/confirm/", {"password": PASSWORD})


def code_now(secret: str) -> str:
    digest = hmac.new(base64.b32decode(secret), struct.pack(">Q", int(time.time()) // 30), hashlib.sha1).digest()
    offset = digest[19] & 15
    return f"{(struct.unpack('>I', digest[offset : offset + 4])[0] & 0x7FFFFFFF) % 10**6:06d}"


def test_a_researcher_signs_in_and_out(people):
    client = Client()
    assert sign_in(client, "OWNER@example.org")["Location"] == "/studies/"
    assert client.get("/studies/").status_code == 200
    client.post("/account/logout/")
    assert client.get("/studies/").status_code == 302


def test_after_signing_in_one_is_where_one_wanted_to_be(people):
    response = sign_in(Client(), QUERY_STRING="next=/account/")
    assert response["Location"] == "/account/"
    assert sign_in(Client(), QUERY_STRING="next=https://evil.example/")["Location"] == "/studies/"


@pytest.mark.parametrize(("email", "password"), [("owner@example.org", "wrong"), ("nobody@example.org", PASSWORD)])
def test_wrong_passwords_and_unknown_addresses_look_the_same(people, email, password):
    page = sign_in(Client(), email, password).text
    assert "The email address and/or password you specified are not correct." in page


def test_the_sixth_try_is_locked_out_even_with_the_right_password(people):
    for _ in range(5):
        sign_in(Client(), **WRONG)
    page = sign_in(Client()).text
    assert "Too many failed login attempts" in page
    assert sign_in(Client(), "teammate@example.org").status_code == 302


def test_another_host_header_or_spelling_gives_no_more_guesses(people):
    for number in range(1, 6):
        spelt = "owner@example.org".replace("owner", "owner"[:number].upper() + "owner"[number:])
        sign_in(Client(), spelt, **WRONG, headers={"Host": f"localhost:{8000 + number}"})
    assert "Too many failed login attempts" in sign_in(Client(), headers={"Host": "127.0.0.1:8006"}).text


def test_what_is_counted_names_no_address(people):
    sign_in(Client(REMOTE_ADDR="203.0.113.77"), **WRONG)
    kept = " ".join(f"{row.cache_key} {base64.b64decode(row.value)!r}" for row in Count.objects.all())
    assert Count.objects.exists()
    assert "203.0.113.77" not in kept
    assert "owner@example.org" not in kept


def test_old_counts_are_forgotten_at_the_next_sign_in(people):
    sign_in(Client(), **WRONG)
    old = set(Count.objects.values_list("pk", flat=True))
    Count.objects.update(expires=timezone.now() - timedelta(seconds=1))
    sign_in(Client(), "teammate@example.org")
    assert old
    assert not Count.objects.filter(expires__lt=timezone.now()).exists()


def test_many_tries_from_one_place_are_slowed(people):
    statuses = [sign_in(Client(), f"nobody{i}@example.org").status_code for i in range(40)]
    assert statuses[-1] == 429


def test_passwords_are_hashed_slowly_where_it_counts():
    from judgemap.web import settings as ours

    assert ours.PASSWORD_HASHERS[0].endswith("ScryptPasswordHasher")


def test_two_passwords_are_hashed_at_a_time_and_after_everybody_else(monkeypatch):
    """Twenty-four people who sign in at once would otherwise keep judges waiting."""
    busy, most, priorities = [], [], set()

    def encode(hasher, password, salt, *_):
        busy.append(password)
        most.append(len(busy))
        priorities.add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        time.sleep(0.02)
        busy.remove(password)
        return f"{salt} {password}"

    monkeypatch.setattr(ScryptPasswordHasher, "encode", encode)
    with ThreadPoolExecutor(8) as people:
        made = list(people.map(lambda each: PatientScryptPasswordHasher().encode(str(each), "salt"), range(8)))
    assert made == [f"salt {each}" for each in range(8)]
    assert max(most) == 2
    assert priorities == {NICENESS}
    assert NICENESS > 0


def test_a_second_step_is_asked_for_and_recovery_codes_help(people):
    client = Client()
    sign_in(client)
    assert client.get("/account/two-factor/totp/activate/")["Location"].startswith("/account/confirm/")
    confirm(client)
    page = client.get("/account/two-factor/totp/activate/")
    secret = page.context["form"].secret
    assert client.post("/account/two-factor/totp/activate/", {"code": "000000"}).context["form"].errors
    assert client.post("/account/two-factor/totp/activate/", {"code": code_now(secret)}).status_code == 302
    codes = RecoveryCodes(Authenticator.objects.get(type="recovery_codes")).get_unused_codes()
    assert all(code in client.get("/account/two-factor/recovery-codes/").text for code in codes)

    later = Client()
    assert sign_in(later)["Location"] == "/account/two-factor/authenticate/"
    assert later.get("/studies/").status_code == 302
    assert later.post("/account/two-factor/authenticate/", {"code": "123"}).status_code == 200
    assert later.post("/account/two-factor/authenticate/", {"code": codes[0]}).status_code == 302
    assert later.get("/studies/").status_code == 200

    reused = Client()
    sign_in(reused)
    reused.post("/account/two-factor/authenticate/", {"code": codes[0]})
    assert reused.get("/studies/").status_code == 302


def test_secrets_of_the_second_step_are_encrypted(people):
    kept = [TOTP.activate(people["owner"], SECRET), RecoveryCodes.activate(people["owner"])]
    assert kept[0].validate_code(code_now(SECRET))
    stored = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert SECRET not in stored
    assert SecondStepAdapter().decrypt(kept[1].instance.data["seed"]) not in stored


def test_with_another_secret_key_no_code_fits_and_nothing_breaks(people, settings):
    TOTP.activate(people["owner"], SECRET)
    settings.SECRET_KEY = "another" * 10
    client = Client()
    sign_in(client)
    page = client.post("/account/two-factor/authenticate/", {"code": code_now(SECRET)})
    assert (page.status_code, client.get("/studies/").status_code) == (200, 302)


def test_a_password_is_changed_by_who_knows_the_old_one(people, clients):
    fields = {"oldpassword": "wrong", "password1": "another good one", "password2": "another good one"}
    assert clients["owner"].post("/account/password/change/", fields).context["form"].errors["oldpassword"]
    assert clients["owner"].post("/account/password/change/", fields | {"oldpassword": PASSWORD}).status_code == 302
    people["owner"].refresh_from_db()
    assert people["owner"].check_password("another good one")


def test_without_mail_the_page_says_whom_to_ask(people):
    page = Client().post("/account/password/reset/", {"email": "owner@example.org"}).text
    assert "This server does not send email." in page
    assert not mail.outbox


def test_with_mail_a_link_resets_the_password_once(people, monkeypatch):
    monkeypatch.setattr(settings, "MAIL_IS_SENT", True)
    client = Client()
    assert client.post("/account/password/reset/", {"email": "owner@example.org"}).status_code == 302
    link = next(word for word in mail.outbox[0].body.split() if "/password/reset/key/" in word)
    page = client.get(link.removeprefix("http://testserver"), follow=True)
    action = page.redirect_chain[-1][0]
    assert client.post(action, {"password1": "another good one", "password2": "another good one"}).status_code == 302
    people["owner"].refresh_from_db()
    assert people["owner"].check_password("another good one")
    used = Client().get(link.removeprefix("http://testserver"), follow=True).text
    assert "already been used" in used


OPEN = ["login/", "signup/", "inactive/", "password/reset/", "password/reset/sent/", "password/reset/done/"]
BEHIND = ["", "password/change/", "two-factor/", "two-factor/totp/activate/", "confirm/", "logout/"]


@pytest.mark.parametrize("page", OPEN + BEHIND)
def test_pages_are_ours_without_inline_script_and_ask_for_a_sign_in_where_they_need_one(people, page):
    browser = Client()
    if page in BEHIND:
        assert browser.get(f"/account/{page}").status_code == 302
        sign_in(browser)
        confirm(browser)
    response = browser.get(f"/account/{page}")
    assert response.status_code == 200
    assert "studies/researcher.css" in response.text
    assert "style=" not in response.text
    assert page in BEHIND or "<script" not in response.text
    assert "'unsafe-inline'" not in response["Content-Security-Policy"]


def test_a_form_without_its_token_is_refused(people):
    assert sign_in(Client(enforce_csrf_checks=True)).status_code == 403
