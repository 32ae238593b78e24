"""Covariates in a fit: found where they were planted, kept, said, and refused in a sentence where they cannot be."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import judgemap as jm
from judgemap.core.model.covariates import standardised
from judgemap.errors import StudyError
from judgemap.study.assess.explain import parameters
from judgemap.study.fit.result import load_fit
from judgemap.study.fit.settings import FitSettings

EFFECT = 1.5


@pytest.fixture(scope="module")
def study() -> tuple[jm.Areas, jm.Comparisons]:
    """Chicago, judged by what one figure says and a little of the map; another figure says nothing."""
    areas, rng = jm.chicago(), np.random.default_rng(4)
    values = standardised(rng.normal(size=(len(areas), 2)))
    risk = EFFECT * values[:, 0] + 0.3 * jm.prior_covariance(areas).draw(rng, 1)[0]
    left = rng.integers(0, len(areas), 3000)
    right = (left + rng.integers(1, len(areas), 3000)) % len(areas)
    lower = rng.random(3000) < 1 / (1 + np.exp(risk[left] - risk[right]))
    words = np.where(lower, "left", "right").tolist()
    judges = [f"judge {each % 4}" for each in range(3000)]
    data = jm.Comparisons.from_words(areas.ids, judges, left, right, words)
    table = {"id": areas.ids, "income": 10 + 3 * values[:, 0], "noise": values[:, 1], "some": ["", *values[1:, 0]]}
    return areas.with_figures(pd.DataFrame(table).astype(str)), data


@pytest.fixture(scope="module")
def fit(study) -> jm.Fit:
    areas, data = study
    return jm.fit_spatial(data, areas, seed=1, judges="alike", covariates="income,noise", chains=4, draws=500)


def test_effects_are_found_where_they_were_planted(fit):
    table = fit.effects.set_index("covariate")
    assert table.loc["income", "odds_low"] < math.exp(EFFECT) < table.loc["income", "odds_high"]
    assert table.loc["income", "p_raises"] == 1
    assert 0.7 < table.loc["noise", "odds"] < 1.4
    assert np.median(fit.carried) > 0.8


def test_effects_are_kept_and_said(fit, tmp_path):
    again = load_fit(fit.save(tmp_path / "results"))
    pd.testing.assert_frame_equal(again.effects, fit.effects)
    assert_allclose(again.covariance.matrix, fit.covariance.matrix, rtol=1e-9)
    assert [each.symbol for each in parameters(again)][-3:] == ["e^β income", "e^β noise", "R²"]
    assert "the covariate income" in again.record.made_by
    assert any("spatial confounding" in note.text for note in again.record.notes)


@pytest.mark.parametrize("model", ["spatial", "standard"])
def test_judges_who_differ_and_areas_without_neighbours_have_covariates_too(study, model):
    areas, data = study
    settings = FitSettings(model=model, judges="differ", covariates="income", chains=2, warmup=40, draws=60, seed=1)
    table = settings.run(data, areas).effects
    assert table["odds_low"][0] > 1


def test_answers_the_other_way_round_turn_the_strengths_and_not_the_effect(study, fit):
    areas, data = study
    turned = replace(data, left=data.right, right=data.left, winner_is="higher")
    settings = replace(fit.settings, chains=2, draws=200)
    assert settings.run(turned, areas).effects["odds"][0] == pytest.approx(fit.effects["odds"][0], rel=0.1)


@pytest.mark.parametrize(
    ("covariates", "more", "said"),
    [
        ("incme", {}, "no column 'incme'"),
        ("some", {}, "'some' is missing for 1 of 77 areas"),
        ("income", {"model": "clusters"}, "the model 'clusters' has none"),
        ("income", {"smoothness": "infer"}, "leave one of the two out"),
    ],
)
def test_covariates_that_cannot_be(study, covariates, more, said):
    areas, data = study
    with pytest.raises(StudyError, match="no figures"):
        FitSettings(covariates="income").run(data, replace(areas, figures=None))
    with pytest.raises(StudyError, match=said):
        FitSettings(covariates=covariates, chains=2, draws=10, seed=1, **more).run(data, areas)
