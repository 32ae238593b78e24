"""Fits beside each other: other answers, and other priors."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import judgemap as jm


def with_risk(fit, risk):
    """The same fit with other draws of risk, (chains, draws, areas)."""
    return replace(fit, posterior=fit.posterior.assign(risk=risk))


def test_a_fit_agrees_with_itself(rough):
    found = jm.compare_fits(rough, rough)
    assert found.pearson == pytest.approx(1)
    assert found.spearman == pytest.approx(1)
    assert found.reordered == 0
    assert found.p_reordered == pytest.approx(found.p_reordered_base)
    assert found.same_top == found.top == 10
    np.testing.assert_allclose(found.areas["p_higher"], 0.5, atol=0.01)


def test_the_opposite_is_seen_as_such(rough):
    found = jm.compare_fits(rough, with_risk(rough, -rough.posterior["risk"]))
    assert found.pearson == pytest.approx(-1)
    assert found.reordered == pytest.approx(1)
    assert found.p_reordered > 0.8
    assert found.same_top == 0


def test_one_area_moved_is_the_first_mover(rough):
    risk = rough.posterior["risk"].copy()
    lowest = int(np.median(rough.risk, axis=0).argmin())
    risk[:, :, lowest] += 50
    found = jm.compare_fits(rough, with_risk(rough, risk))
    first = found.movers(1).iloc[0]
    assert first["id"] == rough.map.ids[lowest]
    assert (first["rank_base"], first["rank_other"], first["rank_change"]) == (77, 1, -76)
    assert first["p_higher"] == 1
    assert first["change"] == pytest.approx(50)
    assert found.reordered == pytest.approx(76 / (77 * 76 / 2))
    assert "from rank 77 to 1." in found.words


@pytest.fixture(scope="module")
def hand_made(square):
    data = jm.Comparisons.from_words(square.ids, ("j",), [0], [1], ("left",))
    return jm.fit_standard(data, square, seed=1, chains=1, draws=4, as_in_paper=True)


def test_orders_of_a_hand_made_case(hand_made):
    """Two draws of three areas each: P(order) by counting all pairs of draws."""
    base = with_risk(hand_made, np.array([[[4.0, 3, 2, 1]] * 4]))
    other = with_risk(hand_made, np.array([[[4.0, 3, 2, 1], [3, 4, 2, 1], [4, 3, 2, 1], [4, 3, 2, 1]]]))
    found = jm.compare_fits(base, other)
    assert found.p_reordered == pytest.approx(0.25 / 6)
    assert found.p_reordered_base == 0
    np.testing.assert_allclose(found.areas["p_higher"], [0.375, 0.625, 0.5, 0.5])


@pytest.mark.parametrize("compare", [jm.compare_fits, lambda *fits: jm.compare_many(dict(enumerate(fits)))])
def test_fits_of_other_areas_are_refused(rough, hand_made, compare):
    with pytest.raises(jm.StudyError, match="different areas"):
        compare(rough, hand_made)


@pytest.mark.slow  # three fits of the real data
@pytest.mark.statistical
def test_judge_twelve_of_nottinghamshire(nottinghamshire):
    """Ours as in docs/reproduction.md, which are also those of the authors' package on the public file, within 0.01."""
    areas = jm.read_edges(nottinghamshire / "edges.csv", nottinghamshire / "areas.csv")
    data = jm.read_comparisons(nottinghamshire / "comparisons.csv", areas)
    parts = {"all": data, "without": data.without(["12"]), "only": data.only(["12"])}
    found = jm.compare_many(
        {name: jm.fit_spatial(part, areas, seed=1, as_in_paper=True) for name, part in parts.items()}
    )
    assert found[["base", "other"]].to_numpy().tolist() == [["all", "without"], ["all", "only"], ["without", "only"]]
    np.testing.assert_allclose(found["pearson"], [0.962, 0.981, 0.905], atol=0.01)
    np.testing.assert_allclose(found["spearman"], [0.969, 0.980, 0.926], atol=0.01)


@pytest.fixture(scope="module")
def refit():
    areas, data = jm.example_study(seed=3)
    short = {"seed": 1, "chains": 4, "draws": 100, "as_in_paper": True}
    return partial(jm.fit_spatial, data.only(["4", "5"]), areas, **short)


@pytest.fixture(scope="module")
def base(refit):
    return refit()


def test_a_wider_prior_lets_the_variance_grow(base, refit):
    asked = []

    def counting(**changed):
        asked.append(changed)
        return refit(**changed)

    table = jm.variance_sensitivity(base, counting, [("both", [0.1]), ("chi", [20.0]), ("omega", [200.0])])
    assert asked == [{"chi": 20.0}, {"omega": 200.0}], "the base is not fitted again"
    assert table["parameter"].tolist() == ["(as fitted)", "both", "chi", "omega"]
    as_fitted, same, narrow, wide = table["alpha2"]
    assert as_fitted == same == pytest.approx(float(np.median(base.alpha**2)))
    assert narrow < as_fitted < wide
    assert table["pearson"].iloc[:2].tolist() == pytest.approx([1, 1])
    assert (table["pearson"].iloc[2:] > 0.9).all()
    assert table["sd_ratio"].iloc[2] < 1 < table["sd_ratio"].iloc[3]
    assert table["rank_change"].iloc[0] == 0


def test_ctrl_c_in_a_refit_ends_the_table(base):
    """A run that was cut short must not stand beside whole ones."""
    short = replace(base, record=replace(base.record, complete=False))
    with pytest.raises(KeyboardInterrupt):
        jm.variance_sensitivity(base, lambda **changed: short, [("chi", [20.0])])


@pytest.mark.parametrize(
    ("fixed", "variation", "said"),
    [(None, ("omga", [1.0]), "did you mean 'omega'"), (None, ("chi", [-1.0]), "positive number"), (2.0, (), "fixed")],
)
def test_what_cannot_be_varied_is_told(base, refit, fixed, variation, said):
    settings = replace(base.settings, alpha=fixed)
    with pytest.raises(jm.StudyError, match=said):
        jm.variance_sensitivity(replace(base, record=replace(base.record, settings=settings)), refit, [variation])
