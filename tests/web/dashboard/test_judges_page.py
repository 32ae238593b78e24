"""The judges' page: the same numbers as the library's on the export, and what can be done about judges."""

import re
from itertools import pairwise

import numpy as np
import pytest
from django.urls import reverse

import judgemap as jm
from judgemap.errors import StudyError
from judgemap.report.words.text import share
from judgemap.study.assess.findings import Findings
from judgemap.study.assess.judges import judge_table
from judgemap.web.dashboard.counting import count
from judgemap.web.judge import answering as judging
from judgemap.web.judge import joining
from judgemap.web.judge.models import Judge, UnknownArea
from judgemap.web.people.export import export_files
from judgemap.web.results import actions
from judgemap.web.results.files import open_fit
from judgemap.web.results.judges import judge_rows
from judgemap.web.results.models import Exclusion, FitRun, FitView
from judgemap.web.studies import editing, making
from judgemap.web.studies.models import Act


@pytest.fixture
def library(played, fitted, tmp_path):
    """What the library says of the judges, from the export."""
    files = dict(export_files(played))
    for name in ("comparisons.csv", "areas.geojson"):
        (tmp_path / name).write_text(files[name])
    areas = jm.read_areas(tmp_path / "areas.geojson", id="id", name="name")
    data = jm.read_comparisons(tmp_path / "comparisons.csv", areas, winner_is="lower")
    return judge_table(open_fit(fitted), data).set_index("judge")


def page(client, name: str, study, *more: str) -> str:
    response = client.get(reverse(f"fits:{name}", args=[study.slug, *more]))
    assert response.status_code == 200
    return response.text


def test_the_rows_are_the_librarys(played, fitted, library):
    rows = judge_rows(played, count(played), Findings.from_dict(fitted.findings).judges)
    assert {row.name for row in rows} == set(library.index)
    for row in rows:
        expected = library.loc[row.name]
        said = row.answers
        assert (said.shown, said.decided, said.left, said.tie, said.skipped) == tuple(
            int(expected[each]) for each in ("comparisons", "decided", "left", "ties", "skipped")
        )
        assert said.unknown <= expected["unknown"] <= said.unknown + 1  # the open pair counts as unknown in the export
        if said.decided:
            assert (said.left_share, *row.left_interval) == tuple(expected[["left_share", "left_low", "left_high"]])
        assert row.seconds == list(expected[["seconds_low", "seconds_median", "seconds_high"]])
        assert row.repeats == expected["repeats"]
        if row.repeats:
            assert row.consistency == expected["consistency"]
        for each in ("infit", "outfit", "agreement", "agreement_expected"):
            shown, wanted = getattr(row.fitted, each), expected[each]
            close = pytest.approx(wanted, rel=1e-4)  # findings have five figures
            assert (shown is None and np.isnan(wanted)) or shown == close


def test_the_page_shows_them(played, fitted, library, clients):
    html = page(clients["owner"], "judges", played)
    lines = re.findall(r"<tr >(.*?)</tr>", html, re.DOTALL)
    assert len(lines) == len(library)
    for row in lines:
        name = re.search(r"<code>(\w+)</code>", row)[1]
        cells = [re.sub(r"\s*<.*", "", each, flags=re.DOTALL) for each in re.findall(r"<td>(.*?)</td>", row, re.DOTALL)]
        expected = library.loc[name]
        judged = int(expected["decided"] + expected["ties"] + expected["skipped"])
        assert cells[1] == str(judged)
        assert cells[2] == share(expected["ties"] / judged)
        assert cells[4] == f"{expected['seconds_median']:.1f} s"
        assert cells[7] == (share(expected["agreement"]) if expected["decided"] else "–")
        assert cells[8] == (f"{expected['infit']:.2f}" if expected["decided"] else "–")
    assert "not for assessing people" in html
    assert f"come from fit {fitted.number}" in html


def test_surprises_are_those_of_the_fit(played, fitted, clients):
    judge = fitted.findings["judges"][0]["judge"]
    first = {"judge": judge, "chosen_name": "Vale", "other_name": "Loop", "probability": 0.04}
    FitRun.objects.filter(pk=fitted.pk).update(findings=fitted.findings | {"surprises": [first]})
    for html in (page(clients["teammate"], "judges", played), page(clients["teammate"], "judge", played, judge)):
        assert "Vale" in html.split("Surprising decisions</h2>")[1]


def test_one_judge_has_times_and_unknown_areas(played, clients):
    unknown = UnknownArea.objects.filter(judge__study=played).select_related("area")[0]
    html = page(clients["owner"], "judge", played, unknown.judge_id)
    assert unknown.area.name in html.split("Areas not known")[1]
    assert "Half of the pairs took between" in html
    assert "not for assessing a person" in html


def test_repeats_are_counted_pair_by_pair(owned, edit):
    edit(recommended=100, maximum=100, repeats=0.3)
    token = joining.invite(owned, 1)[0].token
    judging.give_consent(token, "en", 0)
    choices: dict[frozenset, list[str]] = {}
    rng = np.random.default_rng(1)
    for _ in range(100):
        pair = judging.current_pair(token)
        side = str(rng.choice(["left", "right"]))
        judging.answer(token, judging.GivenAnswer(pair.token, side, seen_ms=1000))
        chosen = pair.left_id if side == "left" else pair.right_id
        choices.setdefault(frozenset((pair.left_id, pair.right_id)), []).append(str(chosen))
    row = judge_rows(owned, count(owned), [])[0]
    assert row.repeats == sum(len(each) - 1 for each in choices.values()) > 20
    assert row.repeated == sum(a == b for each in choices.values() for a, b in pairwise(each))


def act(client, study, what: str, names, *, follow: bool = False, **more):
    fields = {"act": what, "judge": names} | more
    return client.post(reverse("fits:act", args=[study.slug]), fields, follow=follow)


def test_leaving_out_and_taking_back_is_kept_in_the_log(played, clients, people):
    name = Judge.objects.filter(study=played, judged__gt=5).first().name
    act(clients["teammate"], played, "leave out", name, reason="answered for a colleague")
    exclusion = Exclusion.objects.get()
    assert (exclusion.judge_id, exclusion.by) == (name, people["teammate"])
    assert "answered for a colleague" in page(clients["owner"], "judges", played)
    assert "answered for a colleague" in page(clients["owner"], "judge", played, name)
    act(clients["owner"], played, "take back", name)
    assert not Exclusion.objects.exists()
    acts = [(each.verb, each.detail) for each in Act.objects.order_by("pk") if each.verb.startswith("judges")]
    assert acts == [
        ("judges left out", {"judges": [name], "reason": "answered for a colleague"}),
        ("judges included again", {"judges": [name]}),
    ]


@pytest.mark.parametrize(
    ("what", "fields", "sentence"),
    [
        ("leave out", {"judge": []}, "Choose at least one judge"),
        ("leave out", {"reason": "  "}, "Give a reason for leaving these judges out"),
        ("take back", {}, "nothing to undo"),
        ("without", {"judge": ["nobody"]}, "not in the study"),
        ("only", {"judge": []}, "Choose at least one judge"),
    ],
)
def test_what_cannot_be_done_is_said(played, clients, what, fields, sentence):
    name = Judge.objects.filter(study=played, judged__gt=0).first().name
    form = {"judge": name, "reason": "x"} | fields
    assert sentence in act(clients["owner"], played, what, form.pop("judge"), follow=True, **form).text
    assert not Exclusion.objects.exists()
    assert not FitRun.objects.exists()


@pytest.mark.parametrize(("what", "field"), [("without", "left_out"), ("only", "only")])
def test_a_refit_leads_to_where_it_is_compared(played, fitted, clients, what, field):
    names = sorted(Judge.objects.filter(study=played, judged__gt=10).values_list("name", flat=True))[:2]
    response = act(clients["owner"], played, what, names, reason="both were trained elsewhere")
    new = FitRun.objects.get(number=2)
    assert new.note == "both were trained elsewhere"
    assert getattr(new, field) == names
    assert new.settings == fitted.settings
    assert response["Location"] == f"/studies/{played.slug}/fits/1/compare?with=2"


def test_a_refit_asks_for_both_fits_where_answers_came_in_since(played, fitted, clients, visit):
    visit(of=played).answer("left")
    name = Judge.objects.filter(study=played, judged__gt=10).first().name
    response = act(clients["owner"], played, "without", name)
    base, new = FitRun.objects.filter(number__gt=1).order_by("number")
    assert (base.left_out, new.left_out) == ([], [name])
    assert response["Location"] == f"/studies/{played.slug}/fits/"
    assert "fits/2/compare?with=3" in clients["owner"].get(response["Location"]).text


def test_a_fit_without_some_judges_does_not_hide_them(played, fitted, clients, ask_fit, make_fit):
    name = Judge.objects.filter(study=played, judged__gt=10).first().name
    later = make_fit(ask_fit(played))
    assert "come from fit 2," in page(clients["owner"], "judges", played)
    FitRun.objects.filter(pk=later.pk).update(left_out=[name])
    assert "come from fit 1," in page(clients["owner"], "judges", played)
    actions.leave_out(played, [name], "a reason")
    assert "come from fit 2," in page(clients["owner"], "judges", played)


def test_those_left_out_stay_out_of_a_refit(played, clients):
    out, other = Judge.objects.filter(study=played, judged__gt=10).order_by("name").values_list("name", flat=True)[:2]
    actions.leave_out(played, [out], "a reason")
    base, new = actions.refit(played, "without", [other])
    assert base.left_out == [out]
    assert new.left_out == sorted([out, other])


def test_one_who_withdrew_cannot_be_left_out(played):
    gone = Judge.objects.get(study=played, withdrawn_at__isnull=False)
    with pytest.raises(StudyError, match="have withdrawn"):
        actions.leave_out(played, [gone.name], "x")


def test_a_fit_in_which_judges_differ_tells_how(played, fitted, clients):
    first, second, *_ = fitted.findings["judges"]
    first |= {"distance": 1.234, "distance_low": 0.8, "distance_high": 1.9, "p_another_view": 0.97, "p_little": 0.01}
    second |= {"distance": 0.4, "distance_low": 0.1, "distance_high": 0.9, "p_another_view": 0.1, "p_little": 0.2}
    fitted.save()
    FitView.objects.create(fit=fitted, judge=first["judge"], rows=fitted.rows)
    html = page(clients["teammate"], "judges", played)
    row = re.search(rf'aria-label="Choose {first["judge"]}".*?</tr>', html, re.S)[0]
    assert '1.23 <span class="help">0.80 to 1.90</span>' in row
    assert 'another view <span class="help">97 %</span>' in row
    assert "like the others" in re.search(rf'aria-label="Choose {second["judge"]}".*?</tr>', html, re.S)[0]
    own = page(clients["owner"], "judge", played, first["judge"])
    assert "another view" in own
    assert "97 %" in own
    assert reverse("results:judge_maps", args=[played.slug, fitted.number]) + f"?judge={first['judge']}" in own
    assert "See it beside" not in page(clients["owner"], "judge", played, second["judge"])


def test_a_fit_without_a_judge_is_beside_the_last(played, fitted, clients):
    name = fitted.findings["judges"][0]["judge"]
    address = reverse("results:compare", args=[played.slug, fitted.number])
    assert address not in page(clients["owner"], "judge", played, name)
    fitted.pk, fitted.number, fitted.left_out = None, fitted.number + 1, [name]
    fitted.save()
    assert f"{address}?with={fitted.number}" in page(clients["owner"], "judge", played, name)


def test_judges_who_differ_in_a_fit_that_takes_them_as_alike(played, fitted, clients):
    address = reverse("fits:remedy", args=[played.slug, fitted.number])
    assert address not in page(clients["owner"], "judges", played)
    fitted.info |= {"notes": ["Judges differ."], "note_kinds": ["judges differ"]}
    fitted.save()
    assert address in page(clients["owner"], "judges", played)


def test_a_judge_of_another_study_is_not_found(played, clients, areas, definition, visit):
    other = visit(of=editing.open_study(making.create_study(definition, areas)))
    other.answer("left")
    assert clients["owner"].get(reverse("fits:judge", args=[played.slug, other.name])).status_code == 404
    known = Judge.objects.filter(study=played, judged__gt=5).first().name
    response = act(clients["owner"], played, "leave out", [known, other.name], reason="x", follow=True)
    assert "not in the study" in response.text
    assert not Exclusion.objects.exists()
