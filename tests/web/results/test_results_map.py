"""The map's page: every number on it is the library's, and it works without a script."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgemap.report.figures.colours import CHANCE, RANK_WIDTH, RISK, UNCERTAINTY
from judgemap.study.assess.findings import Findings
from judgemap.study.data.comparisons import Outcome
from judgemap.web.results.risk_map import Asked, layer_makers


def minus(value: float) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def percent(chance: float) -> str:
    return "> 99 %" if chance > 0.99 else "< 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"


def areas_on(html: str) -> list[tuple[str, str, str]]:
    """Name, text and colour of every area that is drawn."""
    found = re.findall(r"<title>([^<]*)</title><path d=\"[^\"]+\" fill=\"([^\"]+)\"", html)
    return [(*said.replace("&lt;", "<").replace("&gt;", ">").split(": ", 1), fill) for said, fill in found]


@pytest.mark.parametrize("name", ["spatial", "without", "clusters"])
def test_every_number_is_the_librarys(answered, keep, made, page, table_rows, text_of, name):
    run, fit = keep(answered, name), made[name].fit
    table = fit.areas.assign(top3=fit.p_top(3).to_numpy())
    if name == "clusters":
        table = table.assign(cluster=fit.best.labels, placed=fit.best.placed)
    order = np.argsort(-table["risk_median"].to_numpy(), kind="stable")
    html = page(run, k="3").text
    shown = table_rows(html)
    assert len(shown) == len(table)
    for place, (area, cells) in enumerate(zip(order, shown, strict=True), start=1):
        row = table.iloc[area]
        expected = [
            f"{place} {row['rank_low']}–{row['rank_high']}",
            row["name"],
            f"{minus(row['risk_median'])} {minus(row['risk_low'])} to {minus(row['risk_high'])}",
            f"{row['risk_sd']:.2f}",
            percent(row["top3"]),
        ]
        assert cells == expected + ([str(row["cluster"]) if row["placed"] else "unclear"] if name == "clusters" else [])
    first = table.iloc[order[0]]
    lead = text_of(re.search(r'<p class="lead">(.*?)</p>', html, re.S)[1].replace("&nbsp;", " "))
    assert f"{first['name']} has the highest estimated risk: {minus(first['risk_median'])}, with 95 % interval" in lead
    assert f"{(table['p_top10'] > 0.95).sum()} area" in lead


@pytest.mark.parametrize(
    ("layer", "scale", "column", "write"),
    [
        ("risk", RISK, "risk_median",
         lambda row: f"{minus(row['risk_median'])} ({minus(row['risk_low'])} to {minus(row['risk_high'])})"),
        ("sd", UNCERTAINTY, "risk_sd", lambda row: f"{row['risk_sd']:.2f}"),
        ("width", RANK_WIDTH, "width",
         lambda row: f"{row['width']} places ({row['rank_low']} to {row['rank_high']})"),
        ("top5", CHANCE, "top5", lambda row: percent(row["top5"])),
        ("top10", CHANCE, "p_top10", lambda row: percent(row["p_top10"])),
    ],
)  # fmt: skip
def test_every_area_has_the_colour_and_the_words_of_its_value(run, page, made, layer, scale, column, write):
    fit = made["spatial"].fit
    table = fit.areas.assign(top5=fit.p_top(5).to_numpy(), width=fit.areas["rank_high"] - fit.areas["rank_low"])
    classes, limits = scale.classify(table[column].to_numpy(dtype=float))
    colours = scale.shades(limits)
    expected = [
        (row["name"], write(row), colours[each]) for (_, row), each in zip(table.iterrows(), classes, strict=True)
    ]
    html = page(run, layer=layer).text
    assert areas_on(html) == expected
    script = json.loads(re.search(r'<script id="layers" type="application/json">(.*?)</script>', html)[1])
    assert script[layer]["texts"] == [text for _, text, _ in expected]
    assert [script[layer]["colours"][each] for each in script[layer]["classes"]] == [each[2] for each in expected]
    np.testing.assert_allclose(script[layer]["values"], table[column], atol=1e-5)


def test_ranks_are_darkest_at_the_top(run, page, made):
    shown = areas_on(page(run, layer="rank").text)
    ranks = made["spatial"].fit.areas["rank"].to_numpy()
    fills = {fill for (_, _, fill), rank in zip(shown, ranks, strict=True) if rank <= 5}
    assert len(fills) == 1
    assert fills != {fill for (_, _, fill), rank in zip(shown, ranks, strict=True) if 5 < rank <= 10}


def test_clusters_have_a_layer_with_their_probabilities(answered, keep, page, made):
    run = keep(answered, "clusters")
    best = made["clusters"].fit.best
    shown = areas_on(page(run, layer="cluster").text)
    own = [f"{cluster} ({percent(chance)})" for cluster, chance in zip(best.labels, best.probability, strict=True)]
    expected = [text if placed else f"no clear cluster: {text}" for text, placed in zip(own, best.placed, strict=True)]
    assert [text for _, text, _ in shown] == expected
    assert {fill for (_, _, fill), placed in zip(shown, best.placed, strict=True) if not placed} <= {"#ffffff"}


def test_a_fit_without_clusters_has_no_such_layer(run, page):
    html = page(run, layer="cluster").text
    assert 'value="cluster"' not in html
    assert 'value="risk" checked' in html


def test_the_map_is_there_before_anything_is_explained(answered, keep, page):
    run = keep(answered, findings={"warnings": []}, explained_at=None)
    html = page(run, area="0").text
    assert "This is being computed" in html
    assert '<option value="10" selected>' in html
    assert len(areas_on(html)) == 16


def test_numbers_mark_the_ten_highest(run, page, made):
    html = page(run).text
    assert re.search(r'<svg id="drawing" viewBox="-?\d+ -?\d+ \d+ \d+"', html), "scripts lay the map out by it"
    assert re.findall(r"<circle cx[^>]+/>\s*<text[^>]+>(\d+)</text>", html) == [str(each) for each in range(1, 11)]


@pytest.mark.parametrize(
    ("sort", "column", "falling"),
    [("place", "risk_median", True), ("risk", "risk_median", False), ("-risk", "risk_median", True),
     ("sd", "risk_sd", False), ("-sd", "risk_sd", True), ("-chance", "p_top10", True), ("-name", "name", True)],
)  # fmt: skip
def test_the_table_sorts_without_a_script(run, page, sort, column, falling):
    values = [line.row[column] for line, _ in page(run, sort=sort).context["lines"]]
    assert values == sorted(values, reverse=falling)


def test_the_table_says_how_it_is_sorted(run, page):
    html = page(run, sort="-name").text
    assert re.search(r'class="name" aria-sort="descending"><a href="\?k=10&amp;sort=name"', html)


@pytest.mark.parametrize(("words", "count"), [("ward 2.", 4), ("W03", 1), ("WARD", 16), ("nowhere", 0), ("", 16)])
def test_the_table_filters_without_a_script(run, page, words, count):
    html = page(run, q=words).text
    assert len(re.findall(r"<tr data-row=\"\d+\" data-code=\"[^\"]+\" (?!hidden)", html)) == count
    assert f"{count} of 16 areas" in html


def test_an_area_by_link(run, page, made, said, areas, table_rows, text_of):
    fit, position = made["spatial"].fit, 5
    row = fit.areas.iloc[position]
    html = page(run, area=str(position), layer="sd").text
    part = re.search(r'<section class="detail".*?</section>', html, re.S)[0]
    text = text_of(part)
    assert text.startswith(row["name"])
    assert f"{row['rank']} {row['rank_low']} to {row['rank_high']}" in text
    assert f"Among the top 10 {percent(row['p_top10'])}" in text
    decided = said.decided & ((said.left == position) | (said.right == position))
    chosen = np.where(said.outcome == Outcome.LEFT, said.left, said.right)
    won = int((chosen[decided] == position).sum())
    assert f"Won {won} and lost {decided.sum() - won} of {decided.sum()} comparisons" in text
    met = {cells[0]: (int(cells[1]), int(cells[2])) for cells in table_rows(part)}
    others = np.where(said.left == position, said.right, said.left)[decided]
    for other, name in enumerate(areas.names):
        times = int((others == other).sum())
        times_won = int((chosen[decided][others == other] == position).sum())
        assert met.get(name, (0, 0)) == (times_won, times - times_won)
    neighbours = re.search(r'<ul class="near-by">(.*?)</ul>', part, re.S)[1]
    expected = [areas.names[other] for other in sorted(np.flatnonzero(areas.graph.adjacency()[position]))]
    assert re.findall(r">([^<>]+)</a>", neighbours) == expected
    assert f'href="?layer=sd&amp;k=10&amp;area={position - 1}"' in neighbours
    assert re.search(r'<path id="chosen" class="ring" d="M', html)


def test_the_script_gets_the_same_words_of_an_area(run, page, text_of):
    alone = page(run, "area", 5).text
    within = page(run, area="5").text
    words = text_of(alone)
    assert words in text_of(re.search(r'<section class="detail".*?</section>', within, re.S)[0])
    assert page(run, "area", 16).status_code == 404


def test_a_posterior_is_drawn_where_its_density_is_known(answered, keep, page, made):
    density = [0.0, 200.0, 800.0, 0.0]
    areas = [{"density": density, "win_rate": 0.9, "win_low": 0.1, "win_high": 0.5} for _ in range(16)]
    found = {**made["spatial"].fields["findings"], "areas": areas, "risk_edges": [-4.0, -2.0, 0.0, 2.0, 4.0]}
    html = page(keep(answered, findings=found), "area", 0).text
    assert 'd="M0 96L40.0 96.0 120.0 72.0 200.0 0.0 280.0 96.0 320 96z"' in html
    assert "It was chosen more often (90 %) than this fit expects (10 % to 50 %)." in html


def test_names_cannot_break_the_page(run, page):
    run.study.areas.filter(position=0).update(name="<script>alert(1)</script>")
    run.rows[0]["name"] = "<script>alert(1)</script>"
    run.save()
    html = page(run, area="0", q="<script>").text
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert" in html


def test_a_page_carries_no_style_that_the_policy_forbids(run, page):
    response = page(run, area="0")
    assert "style=" not in response.text
    assert "unsafe" not in response["Content-Security-Policy"]


QUERY = ["layer", "k", "sort", "q", "area", "with"]
WORDS = ["", "0", "15", "16", "-1", "9" * 30, "\0", "top", "top3", "topx", "risk", "-name", "²", "١", "Ward"]


@settings(max_examples=settings.default.max_examples // 2)
@given(st.dictionaries(st.sampled_from(QUERY), st.sampled_from(WORDS) | st.text(max_size=20), max_size=6))
def test_rubbish_in_the_address_shows_a_page(run, page, query):
    assert page(run, **query).status_code == 200
    assert page(run, "compare", **query).status_code == 200


def test_a_fit_of_two_areas_alike_has_all_its_layers():
    row = {"risk_median": 0.0, "risk_low": 0.0, "risk_high": 0.0, "risk_sd": 0.0, "rank": 1, "rank_low": 1,
           "rank_high": 2, "p_top10": 1.0, "name": "a"}  # fmt: skip
    layers = {name: make() for name, make in layer_makers([row, row], {1: [0.5, 0.5]}).items()}
    assert list(layers) == ["risk", "sd", "rank", "width", "top1", "top2"]
    for layer in layers.values():
        assert len(layer.fills) == 2
        assert sum(count for _, _, count in layer.steps) == 2
    assert Asked.read({"layer": "top", "k": "10"}, layers, 2).layer == "top2"


@pytest.mark.parametrize(("name", "layer"), [("spatial", "risk"), ("spatial", "top10"), ("clusters", "cluster")])
def test_a_picture_for_slides_has_the_map_its_title_and_its_legend(answered, keep, page, name, layer):
    run = keep(answered, name)
    response = page(run, "map_picture", layer=layer, download="")
    drawn = ElementTree.fromstring(response.content)  # noqa: S314 - our own
    assert f'{answered.slug}-fit-1-{layer}.svg"' in response["Content-Disposition"]
    assert len(drawn.findall(".//{*}g/{*}path[@fill]")) >= 16
    words = ["".join(each.itertext()) for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    shown = layer_makers(run.rows, {}, Findings.from_dict(run.findings))[layer]()
    assert {answered.version.title, shown.scale.title, *(shown.ticks if layer == "risk" else ())} <= set(words)
