"""A program with a token."""

from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.test import Client

from judgemap.web.api import cursor
from judgemap.web.api.models import SCOPES
from judgemap.web.api.tokens import make_token


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    """Hand out answers at once: nothing is committed late in these tests, except where they say so."""
    monkeypatch.setattr(cursor, "COMMITTED_AFTER", timedelta(0))


@dataclass
class Program:
    """Something that reads the interface."""

    token: str

    def get(self, path: str = "", **asked):
        address = f"/api/v1/studies{path}"
        return Client().get(address, asked, headers={"Authorization": f"Bearer {self.token}"})

    def read(self, path: str = "", **asked):
        response = self.get(path, **asked)
        assert response.status_code == 200, response.content
        return response.json()


@pytest.fixture
def program(owned, people):
    """Make a program with one of the owner's tokens for the study, or with other scopes, or for all studies."""

    def make(scopes=tuple(SCOPES), reach="study", who="owner", study=None) -> Program:
        return Program(make_token(study or owned, people[who], name="test", scopes=scopes, days=30, reach=reach))

    return make
