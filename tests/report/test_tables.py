"""The table of the highest-risk areas holds the fit's own numbers."""

from judgemap.report.words.tables import Cell, Column, Table, by_group, highest_risk, signed
from judgemap.study.assess.beside import group_areas, results_by


def test_rows_are_the_fits_numbers(fit):
    table = highest_risk(fit)
    expected = fit.areas.nlargest(10, "risk_median")
    assert [row[1].text for row in table.rows] == expected["name"].tolist()
    for place, (row, area) in enumerate(zip(table.rows, expected.to_dict("records"), strict=True), start=1):
        rank, _, risk, chance = row
        assert str(rank) == f"{place} ({area['rank_low']}–{area['rank_high']})"
        assert str(risk) == f"{area['risk_median']:.2f} ({area['risk_low']:.2f} to {area['risk_high']:.2f})"
        if 0.01 <= area["p_top10"] <= 0.99:
            assert chance.text == f"{100 * area['p_top10']:.0f} %"
        else:
            assert chance.text == ("> 99 %" if area["p_top10"] > 0.5 else "< 1 %")


def test_text_lines_up(fit):
    head, rule, *rows = highest_risk(fit).text().splitlines()
    assert len(rows) == 10
    assert len({len(line) for line in (head, rule, *rows)}) == 1
    starts = {row.index(area) for row, area in zip(rows, [row[1].text for row in highest_risk(fit).rows], strict=True)}
    assert starts == {head.index("Area")}


def test_wide_letters_take_two_columns():
    columns = (Column("Area"), Column("Risk", numeric=True))
    lines = Table("", columns, ((Cell("东城区"), Cell("1")), (Cell("Castle"), Cell("2")))).text().splitlines()
    assert lines[2] == "东城区     1"
    assert lines[3] == "Castle     2"


def test_groups_are_listed_by_risk(fit):
    by = group_areas(fit.map, ["A to L" if name < "M" else "M to Z" for name in fit.map.names])
    found = results_by(fit, by)
    table = by_group(by, found)
    assert [row[1].text for row in table.rows] == found["group"].tolist()
    assert table.rows[0][3].text == signed(found["risk_median"][0])
    assert [str(column) for column in table.columns][-1] == "P(highest)"
