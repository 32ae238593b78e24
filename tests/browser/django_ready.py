"""Django, set up in the data folder of the tests as this is imported; no layer below the study server needs it."""

import os
from pathlib import Path

os.environ["DJANGO_SETTINGS_MODULE"] = "judgemap.web.settings"

import django
from django.conf import settings

from judgemap.web.start import compile_translations

settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
compile_translations(settings.LOCALE_SOURCE, Path(os.environ["JUDGEMAP_DATA"]) / "locale")
django.setup()
