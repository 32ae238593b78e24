"""Links for judges: shown once, and kept as hashes."""

import csv
import io
import re

import pytest

from judgemap.web.judge.models import Judge
from judgemap.web.server.tokens import hashed
from judgemap.web.studies.editing import close_study
from judgemap.web.studies.models import Act

LINK = re.compile(r'href="http://testserver/j/([\w-]{22})/"')


def url(study):
    return f"/studies/{study.slug}/judges"


def test_links_are_shown_once_and_work(owned, clients):
    page = clients["owner"].post(url(owned), {"judges": "3", "anyway": "yes"}).content.decode()
    tokens = LINK.findall(page)
    assert len(set(tokens)) == 3
    assert page.count("data:image/svg+xml") == 3
    assert all(clients["anonymous"].get(f"/j/{token}/").status_code == 200 for token in tokens)
    assert {hashed(token) for token in tokens} == set(Judge.objects.values_list("token_hash", flat=True))
    later = clients["owner"].get(url(owned)).content.decode()
    assert not LINK.findall(later)
    assert later.count("<code>") == 3


def test_inviting_is_one_act_of_whoever_asked(owned, clients, people):
    before = set(Act.objects.values_list("pk", flat=True))
    clients["teammate"].post(url(owned), {"judges": "3", "anyway": "yes"})
    act = Act.objects.exclude(pk__in=before).get()
    assert (act.verb, act.researcher, act.detail) == ("invited", people["teammate"], {"judges": 3})


def test_the_page_with_links_is_not_cached(owned, clients):
    assert "no-store" in clients["owner"].post(url(owned), {"judges": "1", "anyway": "yes"})["Cache-Control"]


def test_the_table_has_the_links_of_this_study_only(owned, clients):
    tokens = LINK.findall(clients["owner"].post(url(owned), {"judges": "2", "anyway": "yes"}).content.decode())
    response = clients["owner"].post(f"{url(owned)}.csv", {"token": [*tokens, "A" * 22, "=1+1", ""]})
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert [row["link"] for row in rows] == [f"http://testserver/j/{token}/" for token in tokens]
    assert {row["judge"] for row in rows} == set(Judge.objects.values_list("name", flat=True))
    assert response["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize("judges", ["0", "-1", "201", "x", "1e3", ""])
def test_numbers_out_of_range_make_no_judge(owned, clients, judges):
    response = clients["owner"].post(url(owned), {"judges": judges, "anyway": "yes"})
    assert response.status_code == 400
    assert list(response.context["form"].errors) == ["judges"]
    assert not Judge.objects.exists()


def test_a_closed_study_takes_no_more_judges(owned, clients):
    close_study(owned)
    assert "Make the links" not in clients["owner"].post(url(owned), {"judges": "3", "anyway": "yes"}).content.decode()
    assert not Judge.objects.exists()


def test_links_carry_the_public_name_of_the_server(owned, clients, settings):
    settings.PUBLIC_URL = "https://studies.example.org"
    page = clients["owner"].post(url(owned), {"judges": "1", "anyway": "yes"}).content.decode()
    assert 'href="https://studies.example.org/j/' in page
    assert "https://studies.example.org/invitation/" in clients["owner"].post("/account/researchers/").content.decode()


def test_the_first_invitation_checks_the_address(owned, clients):
    page = clients["owner"].get(url(owned))
    assert "no computer called &#x27;testserver&#x27; can be found" in page.content.decode()
    refused = clients["owner"].post(url(owned), {"judges": "2"})
    assert list(refused.context["form"].errors) == ["anyway"]
    assert not Judge.objects.exists()
    clients["owner"].post(url(owned), {"judges": "2", "anyway": "yes"})
    assert clients["owner"].get(url(owned)).context["form"].problem is None, "it is only asked before the first"


def test_the_text_of_the_invitation_is_in_every_language_of_the_study(owned, clients):
    page = clients["owner"].get(url(owned)).text
    for words in ("Dear colleague", "Chère collègue", "{link}", owned.version.question):
        assert words in page


def test_reminders_are_the_links_not_used_yet(owned, clients, visit):
    answered, waiting = visit(), visit()
    answered.answer("left")
    pasted = (
        f"judge,link\nann,http://x/j/{answered.token}/\nbob,http://x/j/{waiting.token}/\nnobody,http://x/j/{'A' * 22}/"
    )
    page = clients["owner"].post(f"{url(owned)}/reminders", {"links": pasted})
    assert [each.whose for each in page.context["unused"]] == [waiting.name]
    assert [each.whose for each in page.context["begun"]] == [answered.name]
    assert page.context["known"] == 2
    assert LINK.findall(page.text) == [waiting.token, answered.token]


@pytest.mark.parametrize("pasted", ["", "no links here", "http://x/j/" + "A" * 22])
def test_reminders_without_a_link_of_the_study_say_what_to_paste(owned, clients, judge, pasted):
    page = clients["owner"].post(f"{url(owned)}/reminders", {"links": pasted}).text
    assert "What you pasted contains no link to this study" in page
