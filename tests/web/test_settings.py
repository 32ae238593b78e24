"""Settings: safe by default, and strict behind TLS."""

import os
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from judgemap.web.settings import read_count, read_database, read_number, read_secret_key

SHOW = "import json; from judgemap.web import settings as s; print(json.dumps([getattr(s, n) for n in {names!r}]))"


def settings_with(names: list[str], **environment: str) -> list:
    import json

    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JUDGEMAP", "DJANGO", "DATABASE"))}
    done = subprocess.run(
        [sys.executable, "-c", SHOW.format(names=names)], capture_output=True, text=True, check=True,
        env=kept | environment,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_by_default_only_this_machine_and_no_debug():
    debug, hosts, key = settings_with(["DEBUG", "ALLOWED_HOSTS", "SECRET_KEY"])
    assert debug is False
    assert hosts == ["localhost", "127.0.0.1", "[::1]"]
    assert len(key) > 50


def test_behind_tls_cookies_are_secure_and_the_browser_remembers():
    names = [
        "SESSION_COOKIE_SECURE",
        "CSRF_COOKIE_SECURE",
        "SECURE_SSL_REDIRECT",
        "SECURE_HSTS_SECONDS",
        "ALLOWED_HOSTS",
    ]
    *secure, seconds, hosts = settings_with(names, JUDGEMAP_URL="https://cj.example.org/")
    assert secure == [True, True, True]
    assert seconds == 365 * 24 * 3600
    assert "cj.example.org" in hosts


@pytest.mark.parametrize("key", ["short", "a" * 60, "0123456789" * 3])
def test_a_secret_key_that_can_be_guessed_is_refused(key, monkeypatch, tmp_path):
    monkeypatch.setenv("JUDGEMAP_SECRET_KEY", key)
    with pytest.raises(ImproperlyConfigured, match="at least 32 random characters"):
        read_secret_key(tmp_path)


def test_a_good_secret_key_is_taken(monkeypatch, tmp_path):
    monkeypatch.setenv("JUDGEMAP_SECRET_KEY", "q83vASNFZ4mrze8BI0VniQq83vASNFZ4mrze")
    assert read_secret_key(tmp_path).startswith("q83v")


@pytest.mark.parametrize("text", ["0", "-1", "many", "nan", "inf"])
def test_a_number_must_be_one(monkeypatch, text):
    monkeypatch.setenv("JUDGEMAP_ANSWERS_PER_SECOND", text)
    with pytest.raises(ImproperlyConfigured, match="must be a number above zero"):
        read_number("JUDGEMAP_ANSWERS_PER_SECOND", 4)


@pytest.mark.parametrize("text", ["0.5", "2.5"])
def test_a_count_must_be_whole(monkeypatch, text):
    monkeypatch.setenv("JUDGEMAP_DATABASE_CONNECTIONS", text)
    with pytest.raises(ImproperlyConfigured, match="must be a whole number of at least 1"):
        read_count("JUDGEMAP_DATABASE_CONNECTIONS", 10)


def test_another_database_is_refused(tmp_path):
    with pytest.raises(ImproperlyConfigured, match="must begin with 'postgresql://'"):
        read_database("mysql://x", tmp_path)


def test_sqlite_is_told_to_be_safe(tmp_path):
    options = read_database("", tmp_path)["OPTIONS"]
    assert options["transaction_mode"] == "IMMEDIATE"
    assert all(each in options["init_command"] for each in ("WAL", "synchronous=FULL", "foreign_keys=ON"))


@pytest.mark.parametrize(("query", "options"), [
    ("", {"server_side_binding": True, "prepare_threshold": 3}),
    ("?prepared=no", {"server_side_binding": False, "prepare_threshold": None}),
])  # fmt: skip
def test_statements_are_prepared_unless_a_pooler_shares_sessions(query, options, tmp_path):
    assert read_database(f"postgresql://db.example/judgemap{query}", tmp_path)["OPTIONS"] == options
