"""How judges are asked, and who may be one."""

import pytest

GOOD = {
    "recommended": "20",
    "maximum": "40",
    "ties": "on",
    "access": "personal",
    "design": "principal",
    "language": "en",
    "more_languages": ["fr"],
    "base_map": "",
    "base_map_credit": "",
}


def url(study):
    return f"/studies/{study.slug}/judging"


def test_the_settings_are_kept_as_a_version(owned, clients):
    assert clients["teammate"].post(url(owned), GOOD).status_code == 302
    owned.refresh_from_db()
    version = owned.version
    assert (version.recommended, version.maximum, version.ties, version.skips) == (20, 40, True, False)
    assert (version.design, version.languages) == ("principal", ["en", "fr"])
    assert version.number == 2


def test_the_designs_lead_to_the_plan(owned, clients):
    assert f'<a href="/studies/{owned.slug}/dashboard/planning">' in clients["owner"].get(url(owned)).content.decode()


def test_a_language_taken_away_keeps_its_translation_in_the_old_version(owned, clients):
    clients["owner"].post(url(owned), GOOD | {"more_languages": []})
    owned.refresh_from_db()
    assert owned.version.translations == {}
    assert "fr" in owned.versions.get(number=1).translations


def test_an_open_link_comes_and_goes(owned, clients):
    clients["owner"].post(url(owned), GOOD | {"access": "open"})
    owned.refresh_from_db()
    code = owned.join_code
    assert f"/s/{code}/" in clients["owner"].get(f"/studies/{owned.slug}/").content.decode()
    assert clients["anonymous"].get(f"/s/{code}/").status_code == 200
    clients["owner"].post(url(owned), GOOD)
    assert clients["anonymous"].get(f"/s/{code}/").status_code == 404


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"recommended": "50"}, "recommended"),
        ({"recommended": "0"}, "recommended"),
        ({"maximum": "999999999999"}, "maximum"),
        ({"maximum": "many"}, "maximum"),
        ({"access": "all"}, "access"),
        ({"design": "best"}, "design"),
        ({"language": "xx"}, "language"),
        ({"more_languages": ["xx"]}, "more_languages"),
        ({"base_map": "http://tiles.example.org/{z}/{x}/{y}.png"}, "base_map"),
        ({"base_map": "https://tiles.example.org/"}, "base_map"),
        ({"base_map": "https://a.example; script-src * /{z}/{x}/{y}"}, "base_map"),
        ({"base_map_credit": "x" * 201}, "base_map_credit"),
    ],
)
def test_the_error_stands_beside_the_field(owned, clients, changed, field):
    response = clients["owner"].post(url(owned), GOOD | changed)
    assert response.status_code == 400
    assert list(response.context["form"].errors) == [field]
    owned.refresh_from_db()
    assert owned.version.number == 1


def test_a_base_map_is_allowed_by_the_policy_of_the_pair_page_only(owned, clients, judge):
    tiles = {"base_map": "https://tiles.example.org/{z}/{x}/{y}.png", "more_languages": ["fr", "ar"]}
    clients["owner"].post(url(owned), GOOD | tiles)
    assert "https://tiles.example.org" in judge.get()["Content-Security-Policy"]
    assert "tiles.example" not in clients["owner"].get(url(owned))["Content-Security-Policy"]
