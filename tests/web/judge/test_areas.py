"""All areas on one map: which of them the judge does not know, and takes back."""

from judgemap.web.judge.models import Answer, UnknownArea


def tick(judge, *positions):
    """Save the page with these areas ticked, as a browser sends it."""
    listed = judge.get("areas").context["listed"]
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": [str(each) for each in positions], "listed": listed})


def unknown_to(judge):
    return sorted(UnknownArea.objects.filter(judge=judge.name).values_list("area__position", flat=True))


def test_lists_every_area_with_its_shape(judge):
    page = judge.get("areas").text
    assert page.count('type="checkbox"') == 16
    assert page.count("data-area=") == 16
    assert "checked" not in page


def test_ticked_areas_are_stored_and_taken_back(judge):
    tick(judge, 1, 5)
    assert unknown_to(judge) == [1, 5]
    assert judge.get("areas").text.count("checked") == 2
    tick(judge, 5)
    assert unknown_to(judge) == [5]


def test_a_mark_made_since_the_page_was_shown_stays(judge):
    """In another window, or on an area that the page did not list."""
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": ["1", "5", "9"], "listed": ""})
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": ["2"], "listed": "0,1,2,3"})
    assert unknown_to(judge) == [2, 5, 9]


def test_an_open_pair_with_such_an_area_is_left_alone_and_does_not_count(judge, study):
    shown = judge.pair()
    left = study.areas.get(name=shown["left"]).position
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": [str(left)]})
    after = judge.pair()
    assert after["pair"] != shown["pair"]
    assert after["counter"] == shown["counter"]
    assert Answer.objects.get().outcome == "unknown"


def test_with_fewer_than_two_known_it_says_so_and_goes_on_when_one_is_back(judge):
    tick(judge, *range(15))
    assert judge.get()["Location"] == f"/j/{judge.token}/areas"
    assert "fewer than two" in judge.get("areas").text
    tick(judge, *range(14))
    shown = judge.pair()
    assert {shown["left"], shown["right"]} == {"Ward 4.3", "Ward 4.4"}


def test_rubbish_and_other_studies_areas_are_passed_over(judge):
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": ["x", "-1", "999999", "2"]})
    assert list(UnknownArea.objects.values_list("area__position", flat=True)) == [2]


def test_before_consent_there_is_nothing_to_mark(visit):
    visitor = visit(agreed=False)
    assert visitor.get("areas")["Location"] == f"/j/{visitor.token}/"
    visitor.client.post(f"/j/{visitor.token}/areas", {"unknown": ["2"]})
    assert not UnknownArea.objects.exists()


def test_one_judges_areas_are_not_anothers(judge, visit):
    other = visit()
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": ["2"]})
    assert "checked" not in other.get("areas").text
