import re

import pytest

import judgemap as jm
from judgemap.report.figures.schedules import exposure_map, how_alike
from judgemap.report.pages.planning import (
    at_planned,
    by_length,
    curves,
    grid_picture,
    grid_table,
    plan_page,
    sentences,
)
from judgemap.study.plan.schedules import read_weights


@pytest.fixture(scope="module")
def plan(bare_study):
    designs = ["uniform", "principal", "optimal", "adaptive"]
    return jm.plan(bare_study.areas, 4, 20, seed=1, designs=designs, simulations=6)


def test_picture_names_what_it_shows(plan, words):
    shown = words(curves(plan))
    assert {"uniform", "principal", "optimal", "adaptive", "comparisons", "80", "120"} <= set(shown)
    assert any("found of the three worst" in text for text in shown)
    assert "At 80 —" in curves(plan).alt
    assert curves(plan).svg() == curves(plan).svg()


def test_tables_hold_the_plans_numbers(plan):
    table = at_planned(plan)
    assert [str(row[0]) for row in table.rows] == list(plan.designs)
    sd = plan.at_planned("adaptive", "sd")
    assert table.rows[3][1].text == f"{sd.middle:.2f}"
    assert table.rows[3][1].beside == f"{sd.low:.2f}–{sd.high:.2f}"
    assert table.rows[0][4].text == "80"
    assert [str(row[0]) for row in by_length(plan, "optimal").rows] == ["20", "40", "60", "80", "120"]


def test_the_grid_of_judges_and_answers(plan):
    assert [str(row[0]) for row in grid_table(plan).rows] == ["5", "10", "20", "40", "80", "160", "no limit"]
    row, column = plan.at
    assert grid_table(plan).rows[row][1 + column].text == f"{plan.over_grid('sd')[row, column]:.2f}"
    assert "4 judges × 20" in grid_picture(plan).alt
    alone = jm.plan(plan.areas, 1, 20, seed=1, designs=["uniform"], simulations=6)
    assert alone.panels == (1, 2, 4)
    assert "1 judge × 20" in grid_picture(alone).alt


def test_page_is_whole_in_itself(plan):
    html = plan_page(plan)
    for sentence in sentences(plan):
        assert sentence.replace(" %", "\u00a0%").replace("'", "&#39;") in html
    assert not re.search(r'(src|href)="http', html)
    assert "assume that judges answer as the model says" in html


def test_exposure_map_shades_what_the_design_asks(study):
    drawn = jm.schedule(study.areas, "optimal", 500, seed=1)
    picture = exposure_map(drawn)
    expected = drawn.expected()
    most = study.areas.names[int(expected.argmax())]
    assert f"Highest: {most}" in picture.alt
    assert f"{expected.max():.1f} times ({most})" in picture.caption
    assert f"in this list, {drawn.asked().min()} to {drawn.asked().max()} times" in picture.caption


def test_how_alike_pairs_are(bare_study, tmp_path):
    path = tmp_path / "weights.csv"
    path.write_text("area_a,area_b,weight\n1,2,6\n2,3,3\n3,4,1\n")
    drawn = jm.schedule(bare_study.areas, read_weights(path, bare_study.areas), 9, seed=1, options=FREE)
    assert how_alike(drawn) == "Of 91 pairs, 1 (1 %) are within 5 % of the most likely, and 88 are never asked."


FREE = jm.ListOptions(connected=False)
