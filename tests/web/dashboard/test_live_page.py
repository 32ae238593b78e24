"""The live page: every number is the one that the export gives, and what is missing is said."""

import csv
import io
import re
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.urls import reverse
from django.utils import timezone

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.geo.maps import Areas
from judgemap.report.words.text import share
from judgemap.web.dashboard import live
from judgemap.web.dashboard.counting import add_up, count
from judgemap.web.judge.models import Judge
from judgemap.web.people.export import export_files
from judgemap.web.studies import editing, making


def exported(study) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(dict(export_files(study))["comparisons.csv"])))


def seen(study, layer: str = "judged", later: timedelta = timedelta()) -> live.Live:
    names = list(study.areas.order_by("position").values_list("name", flat=True))
    return live.look(study, add_up(count(study), len(names)), names, layer, timezone.now() + later)


def page(study, client) -> str:
    return client.get(reverse("dashboard:live", args=[study.slug])).text


def table_rows(html: str, heading: str) -> dict[str, list[str]]:
    """Read the table under a heading: what each row's header says, and its cells."""
    section = html.split(f">{heading}</h2>")[1].split("</table>", maxsplit=1)[0]
    cells = {}
    for row in re.findall(r"<tr>(.*?)</tr>", section, re.DOTALL):
        header = re.search(r"<th[^>]*>(.*?)</th>", row, re.DOTALL)
        cells[header[1]] = [each.strip() for each in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]
    return cells


def test_every_number_is_the_exports(played, clients, areas, tmp_path):
    rows = exported(played)
    answered = [row for row in rows if row["answered_at"]]
    outcomes = Counter(row["outcome"] for row in answered)
    judged = [row for row in answered if row["outcome"] != "unknown"]
    by_judge = Counter(row["judge"] for row in judged)
    html = page(played, clients["owner"])
    assert f'<dd id="judged">{len(judged)}</dd>' in html
    assert table_rows(html, "Answers") == {
        "an area was chosen": [str(outcomes["left"] + outcomes["right"]), ""],
        "about the same": [str(outcomes["tie"]), share(outcomes["tie"] / len(judged))],
        "skipped": [str(outcomes["skipped"]), share(outcomes["skipped"] / len(judged))],
        "“I don’t know this area”": [str(outcomes["unknown"]), share(outcomes["unknown"] / len(answered))],
    }
    assert table_rows(html, "Judges") == {
        "invited": ["6"],
        "have started": [str(len(by_judge))],
        "answered in the last ten minutes": ["5"],
        "reached the recommended 20": [str(sum(n >= 20 for n in by_judge.values()))],
        "reached the maximum, 40": [str(sum(n >= 40 for n in by_judge.values()))],
        "withdrew": ["1"],
    }
    (tmp_path / "comparisons.csv").write_text(dict(export_files(played))["comparisons.csv"])
    data = jm.read_comparisons(tmp_path / "comparisons.csv", areas)
    median = float(np.nanmedian(data.seconds))
    assert f"<dd>{median:.1f} s</dd>" in html
    assert seen(played).median_seconds == median
    assert data.decided.sum() == outcomes["left"] + outcomes["right"]


def test_pairs_left_are_of_all_who_have_a_link(played):
    judged = Judge.objects.filter(study=played, withdrawn_at=None).values_list("judged", flat=True)
    now = seen(played)
    assert now.wanted == 6 * 20
    assert now.left == sum(max(20 - each, 0) for each in judged)
    assert now.done == now.wanted - now.left


def test_areas_are_counted_as_in_the_export(played, clients):
    rows = exported(played)
    codes = list(played.areas.order_by("position").values_list("code", flat=True))
    shown, judged, unknown = Counter(), Counter(), Counter()
    for row in rows:
        for side in ("left", "right"):
            shown[row[side]] += 1
            judged[row[side]] += row["outcome"] != "unknown"
        if row["unknown_side"]:
            unknown[row[row["unknown_side"]]] += 1
    for layer, counts in (("shown", shown), ("judged", judged), ("unknown", unknown)):
        assert [count for _, count, _ in seen(played, layer).map.areas] == [counts[code] for code in codes]
    html = clients["owner"].get(reverse("dashboard:areas", args=[played.slug])).text
    cells = re.findall(r'<th scope="row">(.*?)</th><td>(\d+)</td><td>(\d+)</td><td>(\d+)</td>', html)
    assert {name: tuple(map(int, numbers)) for name, *numbers in cells} == {
        name: (shown[code], judged[code], unknown[code]) for name, code in played.areas.values_list("name", "code")
    }


def test_drop_out_counts_the_judges_at_each_position(played):
    reached = Counter(int(row["position"]) for row in exported(played) if row["answered_at"])
    chart = seen(played).drop_out
    assert [row[1] for row in chart.rows] == [str(reached[i + 1]) for i in range(len(reached))]
    assert len(chart.bars) == max(reached)


def test_answers_over_time_are_those_of_the_export(played):
    hours = Counter(row["answered_at"][:13] for row in exported(played) if row["answered_at"])
    chart = seen(played).over_time
    assert sum(int(row[1]) for row in chart.rows) == sum(hours.values())
    assert max(int(row[1]) for row in chart.rows) == max(hours.values())


@pytest.mark.parametrize(("days", "word"), [(1, "hour"), (30, "day"), (400, "week")])
def test_the_span_chooses_hours_days_or_weeks(days, word):
    first = int(datetime(2026, 3, 2, 10, 59, tzinfo=UTC).timestamp())
    moments = np.array([first, first + 120, first + days * 86400], dtype=np.float64)
    hours, counts = np.unique((moments // 3600).astype(np.int64), return_counts=True)
    chart = live.answers_over_time(hours, counts, (moments[0], moments[-1]))
    assert chart.title == f"Answers by {word}"
    assert sum(int(row[1]) for row in chart.rows) == 3
    assert len(chart.bars) <= 122
    if word == "week":
        assert chart.rows[0][0] == "2 Mar 2026"


def test_active_judges_answered_in_the_last_ten_minutes(played):
    assert seen(played).judges.active == 5
    assert seen(played, later=timedelta(minutes=11)).judges.active == 0


def test_the_part_comes_only_where_something_changed(played, clients, visit):
    address = reverse("dashboard:now", args=[played.slug])
    part = clients["owner"].get(address).text
    assert "<html" not in part
    digest = re.search(r"seen=(\w+)", part)[1]
    assert clients["owner"].get(address, {"seen": digest}).status_code == 204
    visit(of=played).answer("left")
    after = clients["owner"].get(address, {"seen": digest})
    assert after.status_code == 200
    assert digest not in after.text


def test_the_map_refers_to_the_shapes_of_the_page(played, clients):
    html = clients["owner"].get(reverse("dashboard:live", args=[played.slug]), {"map": "unknown"}).text
    assert set(re.findall(r'<use href="#(a\d+)"', html)) == set(re.findall(r'<path id="(a\d+)"', html))
    assert "style=" not in html
    assert 'aria-current="true">not known to a judge' in html


def test_one_judge_and_few_areas(owned, clients, visit):
    visit().answer("left")
    html = page(owned, clients["owner"])
    assert "one judge" in html
    assert "Only 2 of 16 areas" in html
    assert "groups that no answer links" not in html


def test_answers_that_link_nothing(owned, clients, visit):
    judge, pairs = visit(), set()
    while True:
        pair = judge.pair()
        areas = {pair["left"], pair["right"]}
        if not pairs:
            judge.answer("left")
            pairs = areas
        elif pairs & areas:
            judge.answer("tie")
            judge = visit()
        else:
            judge.answer("left")
            break
    assert "2 groups that no answer links" in page(owned, clients["owner"])


def test_a_study_without_a_map_has_numbers_all_the_same(definition, people, clients):
    areas = Areas(("a", "b", "c"), ("A", "B", "C"), AreaGraph(3, np.array([[0, 1], [1, 2]])), None)
    study = editing.open_study(making.create_study(definition, areas, people["owner"]))
    html = page(study, clients["owner"])
    assert "<use" not in html
    assert "All areas in a table" in html


def test_practice_is_no_part_of_how_far_judges_get(visit, study):
    visitor = visit(agreed=False)
    visitor.agree(begin="practice")
    visitor.pair()
    for _ in range(5):  # two of practice, and three that count
        visitor.answer("left")
    assert (
        seen(study).drop_out.alt
        == "Of the 1 who answered a first pair, at least half reached pair 3, and 1 reached pair 3."
    )
