"""The export, as a researcher downloads it."""

import csv
import io
import zipfile

import pytest
from django.test import Client

from judgemap.web.studies.models import Act

pytestmark = pytest.mark.django_db(transaction=True)
"""An export sees the database at one moment, in its own transaction."""


def test_the_zip_file_has_the_answers(owned, clients, judge, people):
    judge.answer("left")
    response = clients["teammate"].post(f"/studies/{owned.slug}/export")
    assert response["Content-Disposition"] == 'attachment; filename="wards.zip"'
    with zipfile.ZipFile(io.BytesIO(response.getvalue())) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("comparisons.csv").decode())))
    assert [row["outcome"] for row in rows] == ["left", "unknown"]
    assert Act.objects.filter(verb="exported", researcher=people["teammate"]).count() == 1


@pytest.mark.parametrize(("who", "status"), [("owner", 200), ("teammate", 200), ("stranger", 404), ("anonymous", 302)])
def test_each_gets_what_they_may(owned, clients, who, status):
    response = clients[who].post(f"/studies/{owned.slug}/export")
    response.getvalue()
    assert response.status_code == status
    assert Act.objects.filter(verb="exported").exists() == (status == 200)


def test_the_wrong_method_and_a_missing_token_are_refused(owned, clients, people):
    assert clients["owner"].get(f"/studies/{owned.slug}/export").status_code == 405
    client = Client(enforce_csrf_checks=True)
    client.force_login(people["owner"])
    assert client.post(f"/studies/{owned.slug}/export").status_code == 403
    assert not Act.objects.filter(verb="exported").exists()
