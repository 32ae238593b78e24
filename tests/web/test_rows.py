"""Fixtures write their rows again only where that gives what they would make."""

import pytest
from django.db import connection, transaction

from judgemap.web.accounts.models import Researcher
from judgemap.web.studies.models import Study


def test_what_others_changed_is_not_undone(people, rows):
    if connection.vendor != "sqlite":
        pytest.skip("on PostgreSQL everything is made anew")
    owner, made = Researcher.objects.filter(pk=people["owner"].pk), []

    def call_anna() -> str:
        made.append(owner.update(name="Anna"))
        return owner.get().name

    for address, times in (("", 1), ("", 1), ("anna@example.org", 2)):
        with transaction.atomic():
            if address:
                owner.update(email=address)
            assert rows.once("Anna", call_anna) == owner.get().name == "Anna"
            assert len(made) == times
            assert owner.get().email == (address or people["owner"].email)
            transaction.set_rollback(True)
    assert owner.get().name == people["owner"].name


def test_other_keys_make_other_rows(people, rows):
    made = [rows.once("study", lambda: Study.objects.create(slug=f"study-{Study.objects.count()}")) for _ in range(2)]
    assert [study.slug for study in made] == ["study-0", "study-1"]
    assert Study.objects.count() == 2
