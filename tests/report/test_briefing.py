"""The briefing: self-contained, readable without pictures, and its numbers are the fit's."""

import re
from dataclasses import replace
from datetime import date
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure

import judgemap as jm
from judgemap.report.figures.picture import Picture
from judgemap.report.pages.briefing import About, briefing, front
from judgemap.report.pages.finish import fill_in
from judgemap.report.pages.page import Section, page
from judgemap.report.words.text import times_in_ten
from judgemap.study.assess.explain import judge
from judgemap.study.data.definition import OwnWords
from judgemap.study.fit.record import Note, NoteKind


def test_every_picture_has_words_for_it(document):
    images = document.all("img")
    assert len(images) >= 15
    assert all(len(image["alt"]) > 40 for image in images)
    assert len({image["alt"] for image in images}) == len(images), "no picture is shown twice"


def test_nothing_is_fetched(document):
    assert not re.search(r"https?://|//[a-z]", re.sub(r"base64,[A-Za-z0-9+/=]+", "", document.html))
    assert {"script", "link", "iframe"}.isdisjoint(tag for tag, _ in document.elements)
    for svg in document.pictures:
        ET.fromstring(svg)  # noqa: S314 - our own output
        outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", svg)
        assert not re.search(r"https?://|@import|url\((?!#)", outside)


def test_structure(document):
    assert document.all("html") == [{"lang": "en"}]
    assert document.all("meta")[1]["name"] == "viewport"
    tags = [tag for tag, _ in document.elements]
    assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
    headings = [attributes["id"] for attributes in document.all("h2")]
    assert len(set(headings)) == len(headings)
    named = [attributes["aria-labelledby"] for attributes in (*document.all("section"), *document.all("nav"))]
    assert set(named) == set(headings)
    assert {link["href"] for link in document.all("a")} <= {f"#{heading}" for heading in headings}
    assert all(cell["scope"] == "col" for cell in document.all("th"))
    points = re.findall(r"<dt>(.*?)</dt>", "".join(re.findall(r'<dl class="points">.*?</dl>', document.html, re.S)))
    assert len(points) > 12
    assert len(set(points)) == len(points), "nothing is said on two pages"


def test_question_days_and_numbers(document, about):
    start = document.words[:2400]
    for said in (about.title, about.question, "12", "1,848", "77", f"{2 * 1848 / 77:.3g}"):
        assert said in start
    assert "2 March 2026 to 17 April 2026" in document.words
    assert "1 to 1,063, median 49" in document.words, "the median of the twelve judges' counts"
    assert "58 % of the comparisons" in document.words


def test_the_table_of_the_ten_is_the_fits(document, fit):
    table = document.tables[0]
    assert len(table) == 11
    for place, (row, area) in enumerate(zip(table[1:], _ten(fit), strict=True), start=1):
        assert row[0] == f"{place} ({area['rank_low']}–{area['rank_high']})"
        assert row[1] == area["name"]
        assert row[2] == times_in_ten(fit.judged_riskier[fit.map.ids.index(area["id"])])
        if 0.01 <= area["p_top10"] <= 0.99:
            assert row[3] == f"{100 * area['p_top10']:.0f} %"


def test_both_models_are_told(document, clustered):
    clusters = document.tables[1]
    assert len(clusters) == clustered.best.n_clusters + 1
    assert [row[0] for row in clusters[1:]] == [str(k) for k in range(1, clustered.best.n_clusters + 1)]
    sizes = clustered.clusters["cluster"].value_counts()
    assert [int(row[1]) for row in clusters[1:]] == [sizes[k] for k in range(1, clustered.best.n_clusters + 1)]
    assert "Comparing the two models" in document.headings


@pytest.mark.usefixtures("undrawn")
def test_a_clustering_alone_and_with_the_spatial_model(clustered, fit, read_page):
    alone = read_page(briefing(clustered))
    assert "Clusters of areas" in alone.headings
    assert "Comparing the two models" not in alone.headings
    assert alone.headings[-1] == "The record of the fit"
    both = read_page(briefing(clustered, None, fit))
    assert "Comparing the two models" in both.headings
    assert [row[1] for row in both.tables[0][1:]] == [area["name"] for area in _ten(clustered)], "the first fit leads"
    standard = replace(fit, record=replace(fit.record, settings=replace(fit.settings, model="standard", prior=None)))
    without = read_page(briefing(fit, None, standard))
    assert "Clusters of areas" not in without.headings
    assert {"Diagnostics: the standard model", "Comparing the two models"} <= set(without.headings)


@pytest.mark.usefixtures("undrawn")
def test_a_banner_stands_on_top_if_the_draws_are_poor(fit, read_page, document):
    poor = replace(fit, record=replace(fit.record, diagnostics=replace(fit.record.diagnostics, rhat_max=1.3)))
    told = read_page(briefing(poor))
    assert poor.warnings
    first = told.words.index("Verdict: not ready for use.")
    assert first < told.words.index(front.UNSETTLED)
    assert all(warning in told.words for warning in poor.warnings)
    assert "found a problem" in told.words


@pytest.mark.usefixtures("undrawn")
def test_a_fit_that_has_not_settled_makes_no_claims(rough, clustered, read_page):
    told = read_page(briefing(rough, other=clustered))
    marked = [each for each in told.all("div") if "not-ready" in each.get("class", "")]
    assert len(marked) == 1, "a watermark"
    assert not re.search("probability|P\\(|times in 10|highest risk,", told.words.split("Methods, ready to paste")[0])
    assert front.settled(rough) is False
    assert len(front.sentences(rough)) == 2


def test_ties_count_as_comparisons_and_judges_left_out_are_named_as_a_number(fit):
    data = replace(fit.record.data, comparisons=1763, ties=85)
    tied = replace(fit, record=replace(fit.record, data=data))
    asked = front.sentences(tied, left_out=2)[0]
    assert "1,848 times in all" in asked
    assert "(85 times)" in asked
    assert "the answers of two other judges were left out" in asked
    assert front.numbers(tied)[1] == ("1,848", "comparisons")


def test_a_banner_names_the_second_model_if_only_its_draws_are_poor(fit, clustered):
    judged = replace(clustered.record.diagnostics, rhat_max=1.3)
    poor = replace(clustered, record=replace(clustered.record, diagnostics=judged))
    heading, words, *sentences = front.warning(poor)
    assert heading == "The clusters are not ready for use"
    assert "do not depend on it" in words
    assert sentences == poor.warnings
    assert front.warning(fit) == ()


@pytest.mark.usefixtures("undrawn")
def test_judges_are_counted_and_not_named(bare_study, read_page):
    """A note of the fit names judges who answered once; the briefing does not."""
    data = bare_study.data
    judge = [0, 1, *(2 + k % 2 for k in range(len(data) - 2))]
    data = replace(data, judges=("Zaphod", "Trillian", "Ford", "Arthur"), judge=judge)
    fit = jm.fit_spatial(data, bare_study.areas, seed=1, chains=2, draws=50, as_in_paper=True)
    assert any("Zaphod" in note.text for note in fit.record.notes)
    told = read_page(briefing(fit, About(data=data)))
    assert not re.search("Zaphod|Trillian|Ford|Arthur", told.html)
    assert "Four judges" in told.words


@pytest.mark.usefixtures("undrawn")
def test_the_fit_is_held_against_others(document, fit, others):
    """The paper's table with a judge left out or on their own, computed again from the draws."""
    assert "What if it had been done differently?" in document.headings
    rows = {(row[0], row[1]): row[2] for row in document.tables[2][1:]}
    medians = {name: np.median(each.risk, axis=0) for name, each in {"this fit": fit, **others}.items()}
    assert len(rows) == 3
    for (one, other), pearson in rows.items():
        assert pearson == f"{np.corrcoef(medians[one], medians[other])[0, 1]:.3f}"


def test_what_does_not_belong_to_the_fit_is_refused(fit, bare_fit, study):
    for about, other, said in (
        (About(others={"bare": bare_fit}), None, "'bare' is of different areas"),
        (About(), bare_fit, "different areas"),
        (About(data=study.data.without(["12"])), None, "not the comparisons that were fitted"),
    ):
        with pytest.raises(jm.StudyError, match=said):
            briefing(fit, about, other)


@pytest.mark.usefixtures("undrawn")
def test_names_cannot_break_the_page(bare_fit, read_page):
    nasty = '"><script>alert("&")</script>'
    fit = replace(bare_fit, map=replace(bare_fit.map, names=(nasty,) * 14))
    told = read_page(briefing(fit, About(nasty, nasty)))
    assert "<script" not in told.html
    assert nasty in told.words
    assert nasty in told.all("img")[0]["alt"]


@pytest.mark.usefixtures("undrawn")
def test_a_notice_comes_before_everything_else(read_page, fit):
    told = read_page(briefing(fit, About(notice="All of this is simulated.")))
    assert told.words.index("All of this is simulated.") < told.words.index("In three sentences")


def test_pages_of_any_sections(read_page):
    picture = Picture(Figure(figsize=(1, 1)), alt="An empty square.")
    bare = read_page(page("T < U", [Section("Only words", ("One.", "Two.")), Section("A picture", picture=picture)]))
    assert "T < U" in bare.words
    assert bare.all("img")[0]["alt"] == "An empty square."
    assert not bare.all("table")
    assert not bare.all("figcaption")


def _ten(fit):
    return fit.areas.sort_values("risk_median", ascending=False, kind="stable").head(10).to_dict("records")


def test_the_briefing_says_whose_view_the_map_is(fit, panel, document):
    assert fit.record.view.words in document.html
    for seen, sample in (
        (panel, "The three judges are a sample of that population, with views that differ"),
        (panel.seen_by("panel"), "another panel of three judges would give a different map"),
    ):
        point = dict(front.points(seen, About()))["Whose view it is"]
        assert point.startswith(seen.record.view.words)
        assert sample in point
    note = Note(NoteKind.JUDGES_DIFFER, "Judges differ.")
    doubted = front.points(replace(fit, record=replace(fit.record, notes=(note,))), About())
    assert "Here judges differ more than chance explains" in dict(doubted)["How far judges disagree"]


def test_plain_units_are_the_posteriors(fit):
    """By hand: the mean over the draws of the chance that a logistic judge picks the area."""
    expected = (1 / (1 + np.exp(-fit.risk))).mean(axis=0)
    np.testing.assert_allclose(fit.judged_riskier, expected)


@pytest.mark.usefixtures("undrawn")
def test_page_verdict_and_folder_say_the_same(fit, study, about, read_page, tmp_path):
    kept = jm.load_fit(judge(fit, study.data).save(tmp_path / "fit"))
    words = about.explanation.verdict
    assert kept.verdict == words
    for each, told in ((fit, about), (kept, None)):
        page = read_page(briefing(each, told)).words
        assert f"Verdict: {words.headline.lower()}." in page
        assert all(ground.text.replace(" %", "\u00a0%") in page for ground in words.reasons)


@pytest.mark.usefixtures("undrawn")
def test_two_fits_that_disagree_about_the_leader_say_so(fit, read_page):
    risk = fit.posterior["risk"].copy()
    first = int(np.median(fit.risk, axis=0).argmax())
    risk[:, :, first] = risk[:, :, first] - 10
    other = replace(fit, posterior=fit.posterior.assign(risk=risk))
    names = fit.map.names[first], fit.map.names[int(np.median(other.risk, axis=0).argmax())]
    told = read_page(briefing(fit, None, other)).words
    assert f"a second model puts {names[1]} first" in told
    assert f"puts {names[0]} first, the spatial model {names[1]}" in told
    assert "Two fits disagree" not in read_page(briefing(fit, None, fit)).words


@pytest.mark.usefixtures("undrawn")
def test_own_words_and_the_day(fit, read_page):
    words = OwnWords("A. Hill & co", "hill@town.example", "Visit.\n\nThen <decide>.")
    html = briefing(fit, About(words=words, made=date(2026, 5, 4)))
    told = read_page(html).words
    assert "4 May 2026 · A. Hill & co · Contact: hill@town.example" in told
    assert told.index("What to do next") < told.index("Annex: the technical part")
    assert "Then <decide>." in told
    again = fill_in(html, OwnWords(author="B. Dale"), None)
    assert "B. Dale" in again
    assert "A. Hill" not in again
