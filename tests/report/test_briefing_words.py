"""What a briefing says in sentences: three to read aloud, what the map cannot say, the methods; all from the fit."""

import re
from dataclasses import replace

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.report.pages.briefing import About, briefing, front, methods
from judgemap.report.pages.briefing.methods import REFERENCES
from judgemap.study.data.comparisons import Comparisons

pytestmark = pytest.mark.usefixtures("undrawn")
SHORT = {"seed": 1, "chains": 2, "draws": 60, "as_in_paper": True}


def compared(areas, pairs, **columns):
    """Comparisons of pairs (left, right), the left one chosen, by judge 'a' unless told otherwise."""
    left, right = np.transpose(pairs)
    usual = {"judge": ("a",) * len(pairs), "outcome": ("left",) * len(pairs), "seconds": np.full(len(pairs), np.nan)}
    return Comparisons.from_words(areas.ids, left=left, right=right, **{**usual, **columns})


@pytest.fixture(scope="module")
def ring():
    """Six areas in a ring."""
    names = ("Ash", "Beech", "Cedar", "Dogwood", "Elm", "Fir")
    return jm.Areas(tuple("123456"), names, AreaGraph(6, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5]]))


def points_of(fit):
    return dict(front.points(fit, About()))


def test_three_sentences_to_read_aloud(any_fit, clustered):
    for fit in (any_fit, clustered):
        said = front.sentences(fit)
        assert len(said) == 3
        for sentence in said:
            assert re.fullmatch(r"[^.]*\.", sentence), "one sentence each"
            assert not re.search(r"[%λα²<>]|R-hat|ESS|posterior|interval", sentence)
            assert len(sentence) < 330


def test_the_sentences_count_as_the_table_does(fit):
    table = fit.areas.sort_values("risk_median", ascending=False, kind="stable")
    first, tenth = table.iloc[0], table.iloc[9]
    sure = (table.head(10)["p_top10"] > 0.95).sum()
    _, found, mind = front.sentences(fit)
    assert found.startswith(f"{first['name']} comes out with the highest risk, followed by {table.iloc[1]['name']} and")
    assert f"nearly certain of only {front.in_words(int(sure))} of the ten: {first['name']}" in found
    assert f"from place {tenth['rank_low']} to place {tenth['rank_high']}" in mind
    assert fit.areas["name"][fit.areas["risk_sd"].idxmax()] in mind


def test_two_areas_and_one_judge(ring, read_page, as_settled):
    two = jm.Areas(ring.ids[:2], ring.names[:2], AreaGraph(2, [[0, 1]]))
    data = compared(two, [(0, 1), (1, 0), (0, 1), (0, 1)])
    fit = as_settled(jm.fit_spatial(data, two, alpha=2.0, **SHORT))
    asked, found, mind = front.sentences(fit)
    said_each_time = "said each time which of the two has the lower rate."
    assert asked == f"One judge compared two areas, four times in all, and {said_each_time}"
    assert "the probability that it truly is the highest is" in found
    assert "we know least about" not in mind, "of two areas, both are known as well"
    told = read_page(briefing(fit, About(data=data)))
    assert "One judge made all 4 comparisons" in told.words
    assert [row[1] for row in told.tables[0][1:]] == ["Beech", "Ash"]
    assert told.tables[0][0][3] == "P(highest)"
    chance = (fit.risk[:, 1] > fit.risk[:, 0]).mean()
    assert told.tables[0][1][3] == f"{100 * chance:.0f} %"


def test_unnamed_judges(ring, read_page):
    pairs = [(0, k) for k in range(1, 6)] * 3
    data = compared(ring, pairs, judge=("",) * 15)
    fit = jm.fit_standard(data, ring, alpha=2.0, **SHORT)
    assert front.sentences(fit)[0].startswith("Judges compared six areas")
    told = read_page(briefing(fit, About(data=data)))
    assert "or how many judges there were" in told.words
    assert "who answered" in points_of(fit)["What the judges do not know"]
    assert not re.search(r"\bno judges|0 judges|nan", told.words)


@pytest.mark.parametrize(("fit", "by"), [(jm.fit_spatial, "neighbours"), (jm.fit_standard, "the assumptions")])
def test_areas_that_were_never_compared(ring, fit, by):
    data = compared(ring, [(0, 1), (1, 2), (0, 2)] * 8)
    said = points_of(fit(data, ring, alpha=2.0, **SHORT))["Much about areas that were rarely compared"]
    assert f"Never compared, so placed by {by} alone: Dogwood, Elm and Fir." in said


def test_what_was_not_decided(ring, read_page):
    pairs = [(0, k) for k in range(1, 6)] * 4
    outcome = ("tie", "skipped", "unknown", "tie", *("left",) * 16)
    data = compared(ring, pairs, outcome=outcome)
    heading = "What judges left undecided"
    fit = jm.fit_spatial(data, ring, alpha=2.0, **SHORT)
    assert "Of 20 pairs shown, 2 were skipped or not answered" in points_of(fit)[heading]
    left_out = jm.fit_spatial(data, ring, ties="leave-out", alpha=2.0, **SHORT)
    assert "Of 20 pairs shown, 4 have no winner" in points_of(left_out)[heading]
    assert "2 ties, 1 skipped, 1 without an answer" in read_page(briefing(fit, About(data=data))).words
    assert heading not in points_of(jm.fit_spatial(compared(ring, pairs), ring, alpha=2.0, **SHORT))


def test_the_order_is_doubted_as_the_draws_do(fit):
    said = points_of(fit)["The exact order of areas"]
    order = np.argsort(-np.median(fit.risk, axis=0), kind="stable")
    ahead = (fit.risk[:, order[0]] > fit.risk[:, order[1]]).mean()
    assert f"probability {100 * ahead:.0f} %" in said or ahead > 0.99
    outside = (fit.p_top(10).to_numpy()[order[10:]] >= 0.05).sum()
    assert f"{front.in_words(int(outside))} area" in said


def test_names_from_right_to_left_are_fenced(ring, read_page, as_settled):
    names = ("حي السلام", *ring.names[1:])
    data = compared(ring, [(k, 0) for k in range(1, 6)] * 3)
    fit = as_settled(jm.fit_spatial(data, replace(ring, names=names), alpha=2.0, **SHORT))
    assert f"\u2068{names[0]}\u2069 comes out with the highest risk" in front.sentences(fit)[1]
    told = read_page(briefing(fit))
    assert told.tables[0][1][1] == names[0]
    assert f"<bdi>{names[0]}</bdi>" in told.html


@pytest.mark.parametrize("sampler", ["hmc", "gibbs"])
def test_methods_state_what_was_done(bare_fit, sampler):
    settings = replace(bare_fit.record.settings, sampler=sampler)
    fit = replace(bare_fit, record=replace(bare_fit.record, settings=settings))
    [said] = methods.methods(fit)
    found = fit.info["diagnostics"]
    for fact in (
        "1,848 comparisons",
        f"{len(fit.observed_data['n'])} distinct pairs of 14 areas",
        "Bradley and Terry, 1952",
        "Seymour, Sirl et al., 2022",
        "shape 0.1 and scale 0.1",
        f"{np.median(fit.alpha):.2f}",
        f"two chains of 200 draws, after {fit.record.plan.warmup:,} of warm-up",
        f"is {found['rhat_max']:.3f}",
        f"{found['ess_bulk_min']:,.0f} (bulk)",
        f"{found['ess_tail_min']:,.0f} (tail)",
        f"judgemap {fit.info['versions']['judgemap']}",
        "seed 1",
        "risk is −λ",
    ):
        assert fact in said, fact
    assert ("Polson et al., 2013" in said) == (sampler == "gibbs")
    assert ("Shahbaba et al., 2014" in said) == (sampler == "hmc")


def test_methods_of_the_clustering(clustered, fit):
    spatial, second = methods.methods(fit, clustered)
    assert "fitted to the same comparisons" in second
    for fact in ("Blei and Frazier, 2011", "β = 1e-08", "κ₀ = 1", "Wade and Ghahramani, 2018", "keeping one in 2"):
        assert fact in second, fact
        assert fact not in spatial
    chances = clustered.n_clusters
    assert f"{chances.idxmax()} ({chances.max():.3f})" in second


def test_what_is_cited_is_listed_and_nothing_else(clustered, fit):
    paragraphs = methods.methods(fit, clustered)
    listed = methods.references(paragraphs)
    cited = re.findall(r"[(;] ?(?:cf\. )?([A-Z][^();]*?, (?:19|20)\d\d)(?=[;)])", " ".join(paragraphs))
    assert {REFERENCES[each] for each in cited} == set(listed)
    authors = [each.partition(",")[0] for each in listed]
    assert authors == sorted(authors)
    assert len(methods.references(methods.methods(fit))) < len(listed)


def test_higher_rates_turn_the_words_round(bare_study):
    data = replace(bare_study.data, winner_is="higher")
    fit = jm.fit_spatial(data, bare_study.areas, **SHORT)
    assert "has the higher rate" in front.sentences(fit)[0]
    assert "risk is λ, centred" in methods.methods(fit)[0]
