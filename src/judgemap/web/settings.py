"""Settings of the study server: typed readers of the environment, safe by default; docs/server.md lists them."""

import os
import secrets
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _


def read_text(name: str, default: str) -> str:
    """Read a text from the environment."""
    return os.environ.get(name, "").strip() or default


def read_list(name: str) -> list[str]:
    """Read a comma-separated list from the environment."""
    return [each.strip() for each in os.environ.get(name, "").split(",") if each.strip()]


def read_number(name: str, default: float) -> float:
    """Read a number above zero from the environment."""
    text = read_text(name, str(default))
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise ImproperlyConfigured(f"{name} is {text!r}; it must be a number above zero")
    return number


def read_count(name: str, default: int) -> int:
    """Read a whole number of at least one from the environment."""
    number = read_number(name, default)
    if number < 1 or number != int(number):
        raise ImproperlyConfigured(f"{name} is {read_text(name, '')!r}; it must be a whole number of at least 1")
    return int(number)


def read_choice(name: str, choices: tuple[str, ...]) -> str:
    """Read one of the ``choices`` from the environment; the first is the default."""
    text = read_text(name, choices[0]).lower()
    if text not in choices:
        raise ImproperlyConfigured(f"{name} is {text!r}; it must be one of {', '.join(choices)}")
    return text


PREPARED_AFTER = 3
"""After how many runs a statement is prepared; planning is half of PostgreSQL's work for a judgement."""


def read_database(url: str, data: Path) -> dict[str, object]:
    """Describe the database: PostgreSQL at ``url``, or SQLite in the data folder if that is empty.

    >>> database = read_database("postgresql://anna:s%40fe@db.example/judgemap?sslmode=require", Path())
    >>> database["HOST"], database["PASSWORD"], database["OPTIONS"]["sslmode"]
    ('db.example', 's@fe', 'require')
    """
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(data / "judgemap.sqlite3"),
            "CONN_MAX_AGE": None,
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
                "PRAGMA secure_delete=ON;",  # overwrites what a judge withdraws
            },
        }
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql"):
        raise ImproperlyConfigured(f"DATABASE_URL begins with {parts.scheme!r}; it must begin with 'postgresql://'")
    options = dict(parse_qsl(parts.query))
    prepared = options.pop("prepared", "yes") != "no"
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", None) or parts.hostname or "",
        "PORT": str(parts.port or options.pop("port", "")),
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **options,
            "server_side_binding": prepared,
            "prepare_threshold": PREPARED_AFTER if prepared else None,
        },
    }


def read_mail(url: str) -> dict[str, str | int]:
    """Describe the mail server: port 465 uses TLS from the start, port 25 none, and any other switches to it.

    >>> mail = read_mail("smtp://anna:s%40fe@mail.example")
    >>> mail["EMAIL_HOST"], mail["EMAIL_PORT"], mail["EMAIL_HOST_PASSWORD"], mail["EMAIL_USE_TLS"]
    ('mail.example', 587, 's@fe', True)
    """
    if not url:
        return {"EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend"}
    parts = urlsplit(url)
    if parts.scheme != "smtp" or not parts.hostname:
        raise ImproperlyConfigured("JUDGEMAP_MAIL must read 'smtp://user:password@host:587'")
    port = parts.port or 587
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port,
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": port == 465,
        "EMAIL_USE_TLS": port not in (25, 465),
        "EMAIL_TIMEOUT": 20,
    }


SHORTEST_KEY = 32


def read_secret_key(data: Path) -> str:
    """Read the secret key; if none has been made yet, return one that lasts as long as this process."""
    path = data / "secret-key"
    if key := read_text("JUDGEMAP_SECRET_KEY", ""):
        if not is_strong(key):
            raise ImproperlyConfigured(
                f"JUDGEMAP_SECRET_KEY is too easy to guess; it must have at least {SHORTEST_KEY} random characters, "
                "such as those printed by 'openssl rand -base64 48'"
            )
        return key
    if not path.exists():
        return secrets.token_urlsafe(50)
    if not is_strong(key := path.read_bytes().decode("ascii", "replace").strip()):
        raise ImproperlyConfigured(
            f"{path} is empty, cut short or damaged; put your copy of the secret key there, or delete the file for a "
            "new key, with which researchers have to sign in again and turn on the second step again"
        )
    return key


def is_strong(key: str) -> bool:
    """Say whether a secret key is long enough, and not one character again and again."""
    return len(key) >= SHORTEST_KEY and len(set(key)) >= SHORTEST_KEY // 4 and key.isascii()


DATA = Path(read_text("JUDGEMAP_DATA", "judgemap-data")).absolute()
PUBLIC_URL = read_text("JUDGEMAP_URL", "").rstrip("/")
ANSWERS_PER_SECOND = read_number("JUDGEMAP_ANSWERS_PER_SECOND", 4)
BEHIND_TLS = PUBLIC_URL.startswith("https://")
PUBLIC_HOST = urlsplit(PUBLIC_URL).hostname

DEBUG = False
SECRET_KEY = read_secret_key(DATA)
ALLOWED_HOSTS = [
    "localhost",
    "127.0.0.1",
    "[::1]",
    *([PUBLIC_HOST] if PUBLIC_HOST else []),
    *read_list("JUDGEMAP_HOSTS"),
]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_HOST else []

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "django.forms",
    "csp",
    "django_htmx",
    "leaflet",
    "judgemap.web.accounts",
    "judgemap.web.studies",
    "judgemap.web.judge",
    "judgemap.web.people",
    "judgemap.web.dashboard",
    "judgemap.web.results",
    "judgemap.web.api",
    "judgemap.web",
    "allauth",
    "allauth.account",
    "allauth.mfa",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "judgemap.web.server.middleware.limit_bodies",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "judgemap.web.server.middleware.keep_private",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "judgemap.web.server.middleware.researchers_language",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
ROOT_URLCONF = "judgemap.web.urls"
AUTH_USER_MODEL = "accounts.Researcher"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).parent / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": [
                "django.contrib.humanize.templatetags.humanize",
                "django.templatetags.i18n",
                "django.templatetags.static",
                "judgemap.web.server.filters",
            ],
        },
    }
]

DATABASE_CONNECTIONS = read_count("JUDGEMAP_DATABASE_CONNECTIONS", 10)
DATABASES = {"default": read_database(read_text("DATABASE_URL", ""), DATA)}
PASSWORD_HASHERS = [
    "judgemap.web.accounts.adapter.PatientScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]

AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "studies:list"
LOGOUT_REDIRECT_URL = ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_ADAPTER = "judgemap.web.accounts.adapter.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = False
ACCOUNT_RATE_LIMITS = {"login": "30/m/ip", "login_failed": "20/m/ip,5/15m/key"}
MFA_TOTP_ISSUER = "judgemap"
MFA_ADAPTER = "judgemap.web.accounts.adapter.SecondStepAdapter"
ALLAUTH_TRUSTED_PROXY_COUNT = 1 if BEHIND_TLS else 0
SESSION_COOKIE_AGE = 12 * 3600
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "accounts_count",
        "OPTIONS": {"MAX_ENTRIES": 1_000_000},
    }
}
"""Rate limits keep their counts in the database, so that all processes share them, until they expire.

With Django's default, 300 entries, strangers could push out everybody's counts by making 300 of their own.
"""
MAIL = read_mail(read_text("JUDGEMAP_MAIL", ""))
globals().update(MAIL)
MAIL_IS_SENT = "EMAIL_HOST" in MAIL
DEFAULT_FROM_EMAIL = read_text("JUDGEMAP_MAIL_FROM", f"judgemap@{PUBLIC_HOST or 'localhost'}")
BACKUP_RECIPIENTS = read_list("JUDGEMAP_BACKUP_TO")
FORM_RENDERER = "judgemap.web.server.forms.Renderer"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("fr", _("French")), ("es", _("Spanish")), ("ar", _("Arabic"))]
RESEARCHERS_LANGUAGES = [LANGUAGE_CODE]
"""Languages whose catalogues have all of researchers' texts too (``make messages``): half a page helps nobody."""
LOCALE_SOURCE = Path(__file__).parent / "locale"
LOCALE_PATHS = [LOCALE_SOURCE, DATA / "locale"]
"""Translations are already compiled in a wheel; in a checkout, they are compiled when the server starts."""
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = DATA / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
LEAFLET_CONFIG = {"TILES": [], "NO_GLOBALS": False}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "judgemap.web.server.errors.csrf_failure"
SECURE_SSL_REDIRECT = BEHIND_TLS
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if BEHIND_TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = BEHIND_TLS
SILENCED_SYSTEM_CHECKS = ["security.W021"]
"""W021 asks for preloading. Leaving browsers' preload lists takes months, for every subdomain."""
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000
DATA_UPLOAD_MAX_NUMBER_FILES = 4
LONGEST_BODY = 101_000_000
"""The largest request that is accepted, including files, in bytes."""

LOG_FORMAT = read_choice("JUDGEMAP_LOG_FORMAT", ("lines", "json"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"outages": {"()": "judgemap.web.server.logs.OneLineForOutages"}},
    "formatters": {
        "lines": {
            "class": "judgemap.web.server.logs.Lines",
            "format": "{asctime} {levelname} {name} {message}",
            "style": "{",
        },
        "json": {"()": "judgemap.web.server.logs.JsonLines"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT, "filters": ["outages"]}},
    "root": {"handlers": ["stderr"], "level": read_text("JUDGEMAP_LOG_LEVEL", "WARNING").upper()},
    "loggers": {
        "django": {"handlers": [], "level": "NOTSET", "propagate": True},
        "django.request": {"level": "ERROR"},
        "django.server": {"handlers": [], "level": "ERROR", "propagate": True},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "django.security.csrf": {"level": "ERROR"},
        "psycopg.pool": {"level": "ERROR"},  # it warns at every attempt; one line about the outage is enough
    },
}
"""No address, browser or personal link is logged: the server keeps no access log, and formatters hide the rest."""
