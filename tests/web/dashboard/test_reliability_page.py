"""The reliability page."""

import numpy as np
import pytest
from django.urls import reverse

from judgemap.study.assess.reliability import reliability
from judgemap.study.assess.verdict import reliability_words
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.results.files import open_fit
from judgemap.web.results.pages import read_findings


@pytest.fixture
def page(clients):
    def got(study):
        return clients["owner"].get(reverse("fits:reliability", args=[study.slug]))

    return got


def test_the_figures_are_the_librarys(played, explained, page):
    shown = page(played)
    known = shown.context["known"]
    library = reliability(open_fit(explained), load_comparisons(played), seed=1)
    assert (known.bayes, known.ssr) == pytest.approx((library.bayes, library.ssr), rel=1e-4)
    values = {name: value for name, value, *_ in shown.context["measures"]}
    assert list(values.values()) == [known.split_half_full, known.bayes, known.ssr]
    assert all(f"<dd>{value:.2f} " in shown.content.decode() for value in values.values())
    assert shown.context["words"] == reliability_words(read_findings(explained, "reliability").reliability)
    assert [each.name for each in shown.context["over_time"].lines] == ["split halves", "Bayesian", "SSR"]


def test_without_a_fit_or_its_figures_it_says_what_to_do(owned, page):
    assert reverse("fits:list", args=[owned.slug]) in page(owned).content.decode()
    assert page(owned).context["known"] is None


def test_a_fit_without_figures_says_so(played, fitted, page):
    assert (page(played).context["fit"], page(played).context["known"]) == (fitted, None)


def test_one_judges_study_has_words(owned, page, edit, let_play, let_fit):
    edit(recommended=30, maximum=30)
    owned.refresh_from_db()
    let_play(owned, np.random.default_rng(2), 30)
    let_fit(owned)
    assert page(owned).context["known"].split_half_full is None
    assert page(owned).context["words"]
