"""What is wrong with a form of a study stands beside its field, and changes nothing."""

import pytest
from django.forms import BaseForm

from judgemap.web.api.models import ApiToken
from judgemap.web.judge.models import Judge, JudgeGroup
from judgemap.web.results.models import Plan
from judgemap.web.studies.models import StudyVersion

LONG = "x" * 301
TILES = "https://a.example/{z}/{x}/{y}.png"
FORMS = {
    "texts": {"title": "Wards again", "question": "Which has the HIGHER rate?", "direction": "higher", "thanks": "Bye",
              "consent": "I agree.", "example": "", "instructions": ""},
    "judging": {"recommended": "20", "maximum": "40", "ties": "on", "access": "personal", "design": "principal",
                "language": "en", "more_languages": ["fr"], "base_map": TILES, "base_map_credit": "Somebody"},
    "share": {"email": "stranger@example.org"},
    "judges": {"judges": "2", "anyway": "yes"},
    "judges/groups": {"name": "Police", "quota": "2"},
    "api": {"name": "nightly", "scopes": ["comparisons:read"], "reach": "study", "days": "30"},
    "dashboard/plan": {"judges": "4", "per_judge": "20", "differ": "0.7"},
}  # fmt: skip
WRONG = {
    "texts": {"title": ["", LONG], "question": [LONG], "direction": ["down"], "consent": ["  "], "thanks": ["Bye\x07"]},
    "judging": {
        "recommended": ["50", "0"], "maximum": ["999999999999", "many"], "access": ["all"], "design": ["best"],
        "language": ["xx"], "more_languages": [["xx"]], "base_map_credit": [LONG],
        "base_map": ["http://tiles.example.org/{z}/{x}/{y}.png", "https://tiles.example.org/",
                     "https://a.example; script-src * /{z}/{x}/{y}"],
    },
    "share": {"email": ["nobody@example.org", "owner@example.org", "", "x", f"{LONG}@example.org"]},
    "judges": {"judges": ["0", "-1", "201", "x", "1e3", ""]},
    "judges/groups": {"name": ["", LONG], "quota": ["0"]},
    "api": {"name": ["", LONG, "\0"], "scopes": [[], ["answers:write"]], "days": ["100000", "x"], "reach": ["world"]},
    "dashboard/plan": {"judges": ["0", "9" * 40], "per_judge": ["", "many"], "differ": ["0", "nan"]},
}  # fmt: skip
CASES = [(page, field, value) for page, fields in WRONG.items() for field, values in fields.items() for value in values]


def rows(study) -> list[int]:
    """How many rows there are of what these forms make or change."""
    return [
        study.colleagues.count(),
        *(each.objects.count() for each in (StudyVersion, Judge, JudgeGroup, ApiToken, Plan)),
    ]


@pytest.mark.parametrize("page", FORMS)
def test_a_good_form_is_taken(owned, clients, page):
    before = rows(owned)
    assert clients["owner"].post(f"/studies/wards/{page}", FORMS[page]).status_code in (200, 302)
    assert sum(rows(owned)) > sum(before)


@pytest.mark.parametrize(("page", "field", "value"), CASES)
def test_a_mistake_stands_beside_its_field_and_changes_nothing(owned, clients, page, field, value):
    before = rows(owned)
    response = clients["owner"].post(f"/studies/wards/{page}", FORMS[page] | {field: value})
    assert response.status_code == 400
    shown = {id(each): each for part in response.context for each in part.flatten().values()}
    errors = [list(each.errors) for each in shown.values() if isinstance(each, BaseForm) and each.is_bound]
    assert errors == [[field]]
    assert f'id="id_{field}_error"' in response.text
    assert rows(owned) == before
