"""Fits side by side: the correlations, changes and maps are those of the library's fits."""

import re

import numpy as np
import pytest
import scipy.stats

from judgemap.report.figures.colours import RISK
from judgemap.study.assess.comparing import compare_fits
from judgemap.web.results.compare import change_limits, draw_scatter
from judgemap.web.results.models import FitRun
from judgemap.web.studies.models import Act


def number(value: float) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


@pytest.fixture
def three(answered, keep):
    return [keep(answered, name) for name in ("spatial", "without", "clusters")]


def tables(html: str, text_of) -> list[list[list[str]]]:
    return [
        [
            [text_of(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)]
            for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.S)
        ]
        for body in re.findall(r"<tbody>(.*?)</tbody>", html, re.S)
    ]


def test_every_two_fits_have_their_correlations(three, page, made, text_of):
    html = page(three[0], "compare", **{"with": ["2", "3"]}).content.decode()
    risks = [np.median(made[name].fit.risk, axis=0) for name in ("spatial", "without", "clusters")]
    titles = ["Fit 1: spatial model", "Fit 2: spatial model, without anna000000", "Fit 3: cluster model"]
    expected = [
        [titles[a], titles[b], f"{scipy.stats.pearsonr(risks[a], risks[b])[0]:.3f}",
         f"{scipy.stats.spearmanr(risks[a], risks[b])[0]:.3f}"]
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]  # fmt: skip
    assert tables(html, text_of)[0] == expected


def test_fits_that_disagree_about_the_leader_say_so(three, page, text_of):
    first, other, _ = three
    leader = max(first.rows, key=lambda row: row["risk_median"])["name"]
    rival = min(first.rows, key=lambda row: row["risk_median"])["name"]
    for row in other.rows:
        row["risk_median"] = {leader: 8.0, rival: 7.0}.get(row["name"], row["risk_median"])
    other.save()
    agree = text_of(page(first, "compare", **{"with": "2"}).content.decode())
    assert f"Both put {leader} first." in agree
    next(row for row in other.rows if row["name"] == rival)["risk_median"] = 9.0
    other.save()
    disagree = text_of(page(first, "compare", **{"with": "2"}).content.decode())
    assert f"this fit puts {leader} first, the other {rival}. Do not rely on either being the highest." in disagree


def test_the_largest_changes_are_the_librarys(three, page, made, text_of):
    html = page(three[0], "compare", **{"with": "2"}).content.decode()
    compared = compare_fits(made["spatial"].fit, made["without"].fit)
    areas = compared.areas.set_index("name")
    rows = tables(html, text_of)[1]
    assert len(rows) == 10
    changes = np.abs(areas["change"].to_numpy())
    assert [row[0] for row in rows] == areas.index[np.argsort(-changes, kind="stable")[:10]].tolist()
    for name, here, there, change, place in rows:
        area = areas.loc[name]
        assert here.split()[0] == number(area["risk_base"])
        assert there.split()[0] == number(area["risk_other"])
        assert change.removeprefix("+") == number(area["change"])
        assert place == f"{area['rank_base']} → {area['rank_other']}"
    assert f"{compared.same_top} of the {compared.top} areas of highest risk are the same" in text_of(html)


def test_maps_share_one_scale(three, page, made):
    html = page(three[0], "compare", **{"with": ["2", "3"]}).content.decode()
    risks = [np.median(made[name].fit.risk, axis=0) for name in ("spatial", "without", "clusters")]
    limits = RISK.limits_for(np.concatenate(risks))
    colours = RISK.shades(limits)
    maps = re.findall(r'aria-label="Map of estimated risk.*?</svg>', html, re.S)
    assert len(maps) == 3
    for drawn, risk in zip(maps, risks, strict=True):
        fills = {
            int(area): fill
            for fill, group in re.findall(r'<g fill="(#\w+)">(.*?)</g>', drawn, re.S)
            for area in re.findall(r'href="#a(\d+)"', group)
        }
        classes = np.searchsorted(limits, risk, side="right") - 1
        assert [fills[area] for area in range(len(risk))] == [colours[each] for each in classes]


def test_the_map_of_the_change_has_signs_as_well_as_colours(three, page, made):
    html = page(three[0], "compare", **{"with": "3"}).content.decode()
    change = np.median(made["clusters"].fit.risk, axis=0) - np.median(made["spatial"].fit.risk, axis=0)
    cuts = change_limits(float(np.abs(change).max()))
    drawn = re.search(r'aria-label="Map of the change.*?</svg>', html, re.S)[0]
    assert drawn.count(">+</text>") == (change >= cuts[5]).sum()
    assert drawn.count(">−</text>") == (change < cuts[2]).sum()


def test_points_of_the_scatter_lie_where_the_risks_are():
    base, other = np.array([-1.0, 0.0, 2.0]), np.array([-1.0, 1.0, 2.0])
    scatter = draw_scatter(base, other, ["a", "b", "c"])
    assert scatter.points == [(0.0, 300.0, "a"), (100.0, 100.0, "b"), (300.0, 0.0, "c")]
    assert (scatter.ticks[0], scatter.ticks[-1]) == ((0.0, 300.0, "−1"), (300.0, 0.0, "2"))


def test_fits_of_other_answers_say_so(three, page, text_of):
    words = text_of(page(three[0], "compare", **{"with": ["2", "3"]}).content.decode())
    assert re.search(r"The fits use different answers: \d+ comparisons here, \d+ there", words)
    assert "Both fits use the same answers." in words


def test_a_fit_under_way_refreshes_the_page(answered, keep, page):
    run = keep(answered)
    keep(answered, status="running", progress=0.4, rows=[], info={})
    html = page(run, "compare", **{"with": "2"}).content.decode()
    assert 'hx-trigger="every 3s"' in html
    assert "40 %" in html
    FitRun.objects.filter(number=2).update(status="failed", said="No answers are left.")
    html = page(run, "compare", **{"with": "2"}).content.decode()
    assert "hx-trigger" not in html
    assert "No answers are left." in html


def test_nothing_is_held_beside_itself(run, page):
    html = page(run, "compare", **{"with": "1"}).content.decode()
    assert "There are no other fits" in html
    assert "How similar they are" not in html


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


def test_what_cannot_be_asked_for_is_said(answered, keep, clients, page):
    run = keep(answered)
    for each in range(20):
        FitRun.objects.create(study=answered, version=answered.version, number=10 + each)
    address = page(run, "compare").wsgi_request.path.replace("compare", "sensitivity")
    response = clients["owner"].post(address, follow=True)
    assert "20 fits of this study are already waiting" in response.content.decode()
