"""Judges say which part of a map they know, and are asked only about that."""

from dataclasses import replace

import pytest

from judgemap.geo.maps import Areas
from judgemap.web.judge import pages, places
from judgemap.web.judge.models import Judge, Pair, UnknownArea
from judgemap.web.people.export import export_files
from judgemap.web.studies import editing, making
from judgemap.web.studies.models import Area


@pytest.fixture
def study(db, areas, definition, request):
    """Sixteen wards in two towns."""
    regions = ["North" if i < 8 else "South" for i in range(16)]
    asking = replace(
        definition, recommended=20, maximum=30, asks_places=True, design=getattr(request, "param", "uniform")
    )
    return editing.open_study(making.create_study(asking, areas, regions=regions))


by_any_design = pytest.mark.parametrize("study", ["uniform", "adaptive"], indirect=True)


def choose(judge, *chosen):
    return judge.client.post(f"/j/{judge.token}/places", {"place": chosen})


def asked_about(judge, study, times=5):
    for _ in range(times):
        if "pair" in judge.pair():
            judge.answer("left")
    pairs = Pair.objects.filter(judge_id=judge.name).values_list("left__position", "right__position")
    return {position for pair in pairs for position in pair}


def test_the_first_page_after_consent_asks_for_places(judge):
    assert judge.get().headers["Location"] == f"/j/{judge.token}/places"
    page = judge.get("places").context
    assert [(name, count) for _, name, count, _ in page["regions"]] == [("North", 8), ("South", 8)]
    assert [(each["region"], each["name"]) for each in page["drawn"][7:9]] == [
        ("North", "Ward 2.4"),
        ("South", "Ward 3.1"),
    ]
    assert all(each["path"] and (each["x"], each["y"]) != (0, 0) for each in page["drawn"])


def test_a_map_too_large_to_draw_is_searched(judge, monkeypatch):
    monkeypatch.setattr(pages, "DRAWN", 15)
    assert judge.get("places").context["drawn"] == []


def test_the_researcher_decides_whether_judges_are_asked(study, visit, definition, areas, monkeypatch):
    editing.edit_study(study, replace(editing.definition_of(study), asks_places=False))
    judge = visit(of=editing.find_study(study.slug))
    assert judge.get().status_code == 200
    assert judge.get("places").headers["Location"] == f"/j/{judge.token}/"
    monkeypatch.setattr(making, "MANY", 10)
    assert making.create_study(definition, areas).asks_places, "nobody knows all of a map so large"
    without_map = Areas(areas.ids, areas.names, areas.graph)
    assert not making.create_study(replace(definition, asks_places=True), without_map).asks_places


@by_any_design
def test_pairs_come_from_the_chosen_region_alone(judge, study):
    assert choose(judge, "region:South").headers["Location"] == f"/j/{judge.token}/"
    assert asked_about(judge, study) <= set(range(8, 16))


@by_any_design
def test_an_area_is_found_by_name_and_brings_those_around_it(judge, study, monkeypatch):
    monkeypatch.setattr(places, "NEARBY", (2, 2))
    page = judge.client.get(f"/j/{judge.token}/places", {"q": "ward 1.1"}).text
    assert 'value="around:0"' in page
    choose(judge, "around:0")
    assert asked_about(judge, study) == {0, 1, 4}


def test_a_search_keeps_what_was_chosen(judge):
    choose(judge, "around:5")
    page = judge.client.get(f"/j/{judge.token}/places?q=ward+4").text
    assert page.index('value="around:5" checked') < page.index('value="around:12"')


@by_any_design
def test_somebody_can_know_the_whole_map(judge, study):
    choose(judge, "all", "region:South")
    assert Judge.objects.get(name=judge.name).places == ["all"]
    assert len(asked_about(judge, study)) > 2
    assert len(judge.get("areas").context["areas"]) == 16


def test_a_map_too_large_to_list_says_what_to_do(judge, monkeypatch):
    monkeypatch.setattr(pages, "MOST_LISTED", 15)
    choose(judge, "all")
    page = judge.get("areas").context
    assert (page["areas"], page["everywhere"], page["too_few"]) == ([], True, False)


def test_nothing_ticked_is_said_and_stores_nothing(judge):
    answer = choose(judge)
    assert "Tick at least one place" in judge.client.get(answer.headers["Location"]).text
    assert Judge.objects.get(name=judge.name).places == []


@pytest.mark.parametrize("rubbish", ["region:Atlantis", "around:99999999999", "around:-1", "around:x", "", "around:16"])
def test_places_that_are_not_there_are_not_kept(judge, rubbish):
    choose(judge, rubbish, "region:North")
    assert Judge.objects.get(name=judge.name).places == ["region:North"]


def test_an_open_pair_elsewhere_is_left_alone(judge):
    choose(judge, "region:North")
    before = judge.pair()["pair"]
    choose(judge, "region:South")
    assert judge.pair()["pair"] != before
    assert Pair.objects.get(token=before).answers.get().outcome == "unknown"
    again = judge.pair()["pair"]
    choose(judge, "region:South", "region:North")
    assert judge.pair()["pair"] == again


@by_any_design
def test_the_page_of_unknown_areas_lists_those_of_the_places(judge, study):
    choose(judge, "region:North")
    page = judge.get("areas").text
    assert page.count('name="unknown"') == 8
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": ["0", "1", "2", "3", "4", "5"]})
    assert asked_about(judge, study, times=3) >= {6, 7}
    choose(judge, "region:South")
    assert judge.get("areas").text.count("checked") >= 6, "what is not known is not forgotten"


def test_saving_a_page_that_lists_some_areas_keeps_the_marks_on_the_others(judge, study, monkeypatch):
    monkeypatch.setattr(pages, "MOST_LISTED", 4)
    choose(judge, "region:North", "region:South")
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": ["1", "3", "5", "7", "11", "13"]})
    page = judge.get("areas").context
    assert (page["listed"], page["too_few"]) == ("1,3,5,7", False), "what is marked comes first"
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": ["3"], "listed": page["listed"]})
    marked = UnknownArea.objects.filter(judge=judge.name).values_list("area__position", flat=True)
    assert sorted(marked) == [3, 11, 13]


def test_places_are_exported_by_the_areas_ids(judge, study):
    choose(judge, "region:North", "around:13")
    rows = dict(export_files(study))["judges.csv"].splitlines()
    assert "region:North; around:W13" in next(row for row in rows if row.startswith(judge.name))


def test_a_stranger_and_one_who_has_not_agreed_choose_nothing(visit, client):
    new = visit(agreed=False)
    assert choose(new, "region:North").headers["Location"] == f"/j/{new.token}/"
    assert Judge.objects.get(name=new.name).places == []
    assert client.post("/j/nobody/places", {"place": "all"}).status_code == 404


@pytest.mark.django_db
def test_names_tell_the_regions_where_no_column_does(areas, definition):
    """Of "Ward 1.1" and its like, all are in the one region "Ward", which would not help anybody to choose."""
    named = Areas(areas.ids, tuple(f"{'Ashby' if i < 8 else 'Belton'} {i:03}A" for i in range(16)), areas.graph)
    assert towns(making.create_study(definition, named)) == {"Ashby", "Belton"}
    assert towns(making.create_study(definition, areas)) == {""}


def towns(study):
    return set(Area.objects.filter(study=study).values_list("region", flat=True))
