"""The page of tokens: who may make and revoke them, and what is kept."""

import re
import shlex
from datetime import timedelta
from html import unescape

import pytest
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.api.models import SCOPES, ApiToken
from judgemap.web.api.tokens import (
    MOST,
    find_token,
    make_token,
    revoke_token,
)
from judgemap.web.server.tokens import hashed
from judgemap.web.studies.models import Act

PAGE = "/studies/wards/api"
FORM = {"name": "nightly", "scopes": ["comparisons:read"], "reach": "study", "days": "30"}


def test_a_token_is_shown_once_and_only_its_hash_is_kept(owned, clients):
    response = clients["owner"].post(PAGE, FORM)
    made = response.context["made"]
    assert made.startswith("jm_")
    assert len(made) > 40
    assert made in response.text
    command = unescape(re.search(r"<pre[^>]*>(curl.*?)</pre>", response.text, re.S)[1])
    assert shlex.split(command.replace("\\\n", "")) == [
        "curl",
        "-H",
        f"Authorization: Bearer {made}",
        f"{response.context['address']}?format=csv",
    ]
    assert response["Cache-Control"] == "no-store"
    kept = ApiToken.objects.values().get()
    assert kept["token_hash"] == hashed(made)
    assert made not in str(kept)
    assert made not in str(list(Act.objects.values()))
    assert made not in clients["owner"].get(PAGE).text


def test_making_and_revoking_are_in_the_log(owned, clients):
    clients["owner"].post(PAGE, FORM)
    clients["owner"].post(f"{PAGE}/revoke", {"token": ApiToken.objects.get().pk})
    verbs = list(Act.objects.order_by("pk").values_list("verb", flat=True))[-2:]
    assert verbs == ["API token made", "API token revoked"]
    page = clients["owner"].get("/studies/wards/log").text
    assert "nightly" in page
    assert "comparisons:read" in page


def test_a_revoked_token_is_refused_at_once(owned, people, client):
    token = make_token(owned, people["owner"], name="nightly", scopes=["study:read"], days=30)
    header = {"Authorization": f"Bearer {token}"}
    assert client.get("/api/v1/studies", headers=header).status_code == 200
    revoke_token(owned, people["owner"], str(ApiToken.objects.get().pk))
    assert client.get("/api/v1/studies", headers=header).status_code == 401


@pytest.mark.parametrize("reach", ["study", "all"])
def test_another_researchers_token_is_not_seen_and_cannot_be_revoked(owned, draft, people, clients, reach):
    draft.owner = people["stranger"]
    draft.save()
    make_token(draft, people["stranger"], name="theirs", scopes=["study:read"], days=30, reach=reach)
    assert not clients["owner"].get(PAGE).context["tokens"]
    clients["owner"].post(f"{PAGE}/revoke", {"token": ApiToken.objects.get().pk})
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize("key", ["", "x", "-1", "9" * 40, "9" * 5000, "١", "\0"])
def test_rubbish_to_revoke(owned, clients, key):
    assert clients["owner"].post(f"{PAGE}/revoke", {"token": key}).status_code == 302


def test_there_is_an_end_to_tokens(owned, people):
    for _ in range(MOST):
        make_token(owned, people["owner"], name="one more", scopes=["study:read"], days=30)
    with pytest.raises(StudyError, match=f"you have {MOST} tokens already"):
        make_token(owned, people["owner"], name="one more", scopes=["study:read"], days=30)


def test_an_expired_token_and_one_of_somebody_gone(owned, people):
    token = make_token(owned, people["owner"], name="nightly", scopes=list(SCOPES), days=7)
    assert find_token(token) is not None
    ApiToken.objects.update(created_at=timezone.now() - timedelta(days=8), expires_at=timezone.now())
    assert find_token(token) is None
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(days=8))
    people["owner"].is_active = False
    people["owner"].save()
    assert find_token(token) is None


def test_when_a_token_was_last_used_is_on_the_page(owned, people, clients, client):
    token = make_token(owned, people["owner"], name="nightly", scopes=["study:read"], days=30)
    assert "never used" in clients["owner"].get(PAGE).text
    client.get("/api/v1/studies", headers={"Authorization": f"Bearer {token}"})
    assert "last used" in clients["owner"].get(PAGE).text
