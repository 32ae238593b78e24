"""Deleting studies and bringing them back, and copies of them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.results.models import FitRun
from judgemap.web.studies.areas import load_graph
from judgemap.web.studies.keeping import GRACE, delete_study, remove_due
from judgemap.web.studies.log import verify_log
from judgemap.web.studies.models import Act, Draft, Drawing, Study, StudyVersion


def test_the_title_must_be_typed(owned, clients):
    page = f"/studies/{owned.slug}/delete"
    assert clients["owner"].get(page).status_code == 200
    refused = clients["owner"].post(page, {"title": "wrong"})
    assert refused.status_code == 400
    assert "exactly: Wards" in str(refused.context["form"].errors["title"])
    assert clients["teammate"].post(page, {"title": "Wards"}).status_code == 403
    owned.refresh_from_db()
    assert owned.deleted_at is None


def test_a_deleted_study_is_out_of_sight_and_can_come_back(owned, clients, judge):
    open_pair = judge.pair()["pair"]
    clients["owner"].post(f"/studies/{owned.slug}/delete", {"title": " Wards "})
    for name in ("owner", "teammate"):
        assert clients[name].get(f"/studies/{owned.slug}/").status_code == 404
    assert "Bring it back" in clients["owner"].get("/studies/").content.decode()
    assert judge.answer("left", pair=open_pair).status_code != 200
    assert clients["stranger"].post(f"/studies/{owned.slug}/undelete").status_code == 404
    clients["owner"].post(f"/studies/{owned.slug}/undelete")
    owned.refresh_from_db()
    assert (owned.status, owned.deleted_at) == ("paused", None)
    assert clients["owner"].get(f"/studies/{owned.slug}/").status_code == 200
    assert {"deleted", "brought back"} <= set(Act.objects.values_list("verb", flat=True))


def test_after_the_grace_period_everything_goes_but_the_log(owned, judge):
    judge.answer("left")
    FitRun.objects.create(study=owned, number=1, version=owned.version)
    delete_study(owned, "Wards", owned.owner)
    remove_due()
    assert Study.objects.filter(pk=owned.pk).exists()
    Study.objects.update(deleted_at=timezone.now() - GRACE - timedelta(minutes=1))
    remove_due()
    for model in (Study, StudyVersion, Judge, Pair, Answer, FitRun, Drawing):
        assert not model.objects.exists(), model
    removed = Act.objects.get(verb="removed")
    assert removed.detail == {"study": "wards", "title": "Wards", "areas": 16, "judges": 1}
    assert verify_log() == []


def test_the_wrong_name_deletes_nothing(owned):
    with pytest.raises(StudyError, match="title of the study exactly"):
        delete_study(owned, "", None)


def test_a_copy_has_the_map_and_the_texts_and_no_judges(owned, clients, judge, carry_out):
    clients["owner"].post(f"/studies/{owned.slug}/map", {"a": "0", "b": "1"})
    first, second = (clients["owner"].post(f"/studies/{owned.slug}/duplicate")["Location"] for _ in range(2))
    assert first == second, "a button pressed twice makes one copy"
    carry_out(Draft.objects.get())
    copy = Study.objects.exclude(pk=owned.pk).get()
    owned.refresh_from_db()
    assert (copy.status, copy.version.title, copy.owner) == ("draft", "Wards (copy)", owned.owner)
    assert copy.version.thanks == owned.version.thanks
    assert load_graph(copy.version).edges.tolist() == load_graph(owned.version).edges.tolist()
    assert copy.judges.count() == 0
    assert Drawing.objects.get(study=copy).paths == Drawing.objects.get(study=owned).paths
