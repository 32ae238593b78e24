"""Fits side by side: the correlations, changes and maps are those of the library's fits."""

import re

import numpy as np
import pytest
import scipy.stats

from judgemap.report.figures.colours import RISK
from judgemap.study.assess.comparing import compare_fits
from judgemap.web.results.compare import Side, change_limits, draw_scatter
from judgemap.web.results.models import FitRun
from judgemap.web.studies.models import Act

NAMES = ("spatial", "without", "clusters")


@pytest.fixture
def three(answered, keep):
    return [keep(answered, name) for name in NAMES]


@pytest.fixture
def compared(three, page):
    """What the page shows of the first fit beside others."""

    def got(*numbers: int):
        return page(three[0], "compare", **{"with": [str(each) for each in numbers]}).context

    return got


@pytest.fixture(scope="session")
def risks(made):
    return [np.median(made[name].fit.risk, axis=0) for name in NAMES]


def test_every_two_fits_have_their_correlations(compared, risks):
    paper = "as in the paper"
    titles = [
        f"Fit 1: spatial model, {paper}",
        f"Fit 2: spatial model, without anna000000, {paper}",
        "Fit 3: cluster model",
    ]
    found = [
        (first.title, second.title, alike.pearson, alike.spearman)
        for first, second, alike in compared(2, 3)["likeness"]
    ]
    for (first, second, *values), (a, b) in zip(found, ((0, 1), (0, 2), (1, 2)), strict=True):
        assert (first, second) == (titles[a], titles[b])
        both = scipy.stats.pearsonr(risks[a], risks[b])[0], scipy.stats.spearmanr(risks[a], risks[b])[0]
        assert values == pytest.approx(both)


def test_fits_that_disagree_about_the_leader_say_so(three, page, text_of):
    first, other, _ = three
    leader, rival = (pick(first.rows, key=lambda row: row["risk_median"])["name"] for pick in (max, min))
    said = []
    for height in (7.0, 9.0):
        for row in other.rows:
            row["risk_median"] = {leader: 8.0, rival: height}.get(row["name"], row["risk_median"])
        other.save()
        text = text_of(page(first, "compare", **{"with": "2"}).text)
        said.append(re.search(r"areas of highest risk are the same\. (.*?) The fits use different answers", text)[1])
    assert (leader in said[0], rival in said[0]) == (True, False)
    assert (leader in said[1], rival in said[1]) == (True, True)


def test_the_largest_changes_are_the_librarys(three, page, made, text_of):
    response = page(three[0], "compare", **{"with": "2"})
    other, library = response.context["others"][0], compare_fits(made["spatial"].fit, made["without"].fit)
    areas = library.areas.set_index("name")
    order = areas.index[np.argsort(-np.abs(areas["change"].to_numpy()), kind="stable")[:10]].tolist()
    assert [each.base["name"] for each in other.movers] == order
    for each in other.movers:
        area = areas.loc[each.base["name"]]
        found = each.base["risk_median"], each.other["risk_median"], each.base_place, each.other_place
        assert found == pytest.approx(tuple(area[["risk_base", "risk_other", "rank_base", "rank_other"]]))
        assert float(each.change.replace("−", "-")) == pytest.approx(area["change"], abs=0.0051)
        low, high = (float(end.replace("−", "-")) for end in each.interval.split(" to "))
        spread = 2 * 1.96 * np.hypot(each.base["risk_sd"], each.other["risk_sd"])
        assert (low + high, high - low) == pytest.approx((2 * area["change"], spread), abs=0.011)
    assert (other.alike.same_top, other.alike.top) == (library.same_top, library.top)
    assert f"{library.same_top} of the {library.top} areas of highest risk are the same" in text_of(response.text)


def test_maps_share_one_scale(compared, risks):
    limits = RISK.limits_for(np.concatenate(risks))
    colours = RISK.shades(limits)
    for drawn, risk in zip(compared(2, 3)["maps"].drawn, risks, strict=True):
        fills = {area: colour for colour, members in drawn.fills for area in members}
        classes = np.searchsorted(limits, risk, side="right") - 1
        assert [fills[area] for area in range(len(risk))] == [colours[each] for each in classes]


def test_the_map_of_the_change_has_signs_as_well_as_colours(compared, risks):
    change = risks[2] - risks[0]
    cuts = change_limits(float(np.abs(change).max()))
    signs = [sign for *_, sign in compared(3)["others"][0].change.drawn[0].signs]
    assert (signs.count("+"), signs.count("−")) == ((change >= cuts[5]).sum(), (change < cuts[2]).sum())


def test_points_of_the_scatter_lie_where_the_risks_are():
    base, other = ([{"name": name, "risk_median": risk} for name, risk in zip("abc", risks, strict=True)]
                   for risks in ((-1.0, 0.0, 2.0), (-1.0, 1.0, 2.0)))  # fmt: skip
    scatter = draw_scatter(Side("", base, ""), Side("", other, ""))
    assert scatter.points == [(0.0, 300.0, "a"), (100.0, 100.0, "b"), (300.0, 0.0, "c")]
    assert (scatter.ticks[0], scatter.ticks[-1]) == ((0.0, 300.0, "−1"), (300.0, 0.0, "2"))


def test_fits_of_other_answers_say_so(three, page, text_of):
    text = text_of(page(three[0], "compare", **{"with": ["2", "3"]}).text)
    here, there = (run.record.data.used for run in three[:2])
    assert f"The fits use different answers: {here} comparisons here, {there} there." in text
    assert text.count("Both fits use the same answers.") == 1


def test_a_fit_under_way_refreshes_the_page(answered, keep, page):
    run = keep(answered)
    keep(answered, status="running", progress=0.4, rows=[], info={})
    html = page(run, "compare", **{"with": "2"}).text
    assert 'hx-trigger="every 3s"' in html
    assert "40 %" in html
    FitRun.objects.filter(number=2).update(status="failed", said="No answers are left.")
    html = page(run, "compare", **{"with": "2"}).text
    assert "hx-trigger" not in html
    assert "No answers are left." in html


def test_other_priors_are_asked_for_once(run, clients, page):
    address = page(run, "compare").wsgi_request.path.replace("compare", "sensitivity")
    first = clients["owner"].post(address)
    asked = FitRun.objects.exclude(pk=run.pk).order_by("number")
    assert first["Location"].endswith("compare?with=2&with=3&with=4")
    assert [(each.settings["chi"], each.settings["omega"]) for each in asked] == [(0.01, 0.01), (1.0, 1.0), (2.0, 1.0)]
    same = {"seed": 1, "draws": run.settings["draws"], "model": "spatial"}
    assert all(same.items() <= each.settings.items() for each in asked)
    assert {each.note for each in asked} == {"other priors than fit 1"}
    assert clients["owner"].post(address)["Location"] == first["Location"]
    assert FitRun.objects.count() == 4
    assert Act.objects.filter(verb="fit asked for").count() == 3


def test_a_cluster_fit_is_tried_with_other_betas(answered, keep, clients, page):
    run = keep(answered, "clusters")
    clients["owner"].post(page(run, "compare").wsgi_request.path.replace("compare", "sensitivity"))
    betas = FitRun.objects.exclude(pk=run.pk).order_by("number").values_list("settings__beta", flat=True)
    assert list(betas) == [1e-10, 1e-6, 1e-4]
