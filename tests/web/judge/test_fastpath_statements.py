"""Prepared queries find what the query they were made of finds."""

import pytest

from judgemap.web.judge.fastpath import PreparedQuery
from judgemap.web.judge.models import Judge
from judgemap.web.judge.queries import two_areas, unknown_positions
from judgemap.web.studies.models import Area


def test_it_asks_with_new_values_each_time(study):
    by_code = PreparedQuery(Area, lambda code: Area.objects.filter(code=code).only("name"), code="x")
    assert [area.name for area in by_code(code="W00")] == ["Ward 1.1"]
    assert [area.name for area in by_code(code="W05")] == ["Ward 2.2"]
    assert by_code(code="' OR 1=1 --") == []


def test_constants_of_the_query_stay(study):
    low = PreparedQuery(Area, lambda code: Area.objects.filter(code__gte=code, position__lt=2), code="x")
    assert {area.code for area in low(code="W00")} == {"W00", "W01"}


def test_an_example_that_the_query_does_not_use_is_a_mistake(study):
    with pytest.raises(ValueError, match="not every example"):
        PreparedQuery(Area, lambda code: Area.objects.filter(code="W00"), code="x")(code="W00")


def test_both_areas_come_on_their_sides(study):
    assert [area.code for area in two_areas(study.pk, 3, 1)] == ["W03", "W01"]


def test_unknown_positions(judge):
    row = Judge.objects.get(name=judge.name)
    assert unknown_positions(row) == set()
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": ["2", "7"]})
    assert unknown_positions(row) == {2, 7}
