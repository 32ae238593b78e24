"""The audit log: every act, by whom, never changed."""

import pytest
from django.db import DatabaseError, transaction

from judgemap.web.studies.actions import definition_of
from judgemap.web.studies.models import Act


def test_acts_are_listed_with_who_and_when(owned, clients):
    clients["teammate"].post(f"/studies/{owned.slug}/status", {"act": "pause"})
    clients["owner"].post(f"/studies/{owned.slug}/status", {"act": "open"})
    page = clients["owner"].get(f"/studies/{owned.slug}/log").content.decode()
    assert page.index("<strong>open</strong>") < page.index("<strong>paused</strong>")
    assert "teammate@example.org" in page
    assert "the server or its command line" in page


@pytest.mark.parametrize("change", [{"verb": "nothing"}, {"detail": {"a": 1}}, {"at": "2020-01-01T00:00:00Z"}])
def test_the_database_refuses_to_change_an_act(owned, people, change):
    with pytest.raises(DatabaseError, match="only ever added"), transaction.atomic():
        Act.objects.update(**change)


def test_an_act_is_not_given_to_somebody_else_but_outlives_its_researcher(owned, people):
    act = Act.objects.create(study=owned, researcher=people["stranger"], verb="tried")
    with pytest.raises(DatabaseError, match="only ever added"), transaction.atomic():
        Act.objects.filter(pk=act.pk).update(researcher=people["teammate"])
    people["stranger"].delete()
    act.refresh_from_db()
    assert act.researcher is None


def test_the_definition_is_handed_out_as_it_is_read(owned, clients):
    import tomllib

    from judgemap.study.definition import parse_definition

    response = clients["owner"].get(f"/studies/{owned.slug}/study.toml")
    assert parse_definition(tomllib.loads(response.content.decode())) == definition_of(owned)
