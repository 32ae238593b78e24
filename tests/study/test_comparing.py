"""Fits beside each other: other answers, and other priors."""

from dataclasses import replace

import numpy as np
import pytest

import judgemap as jm
from judgemap.study.assess.comparing import compare_many


@pytest.fixture(scope="module")
def study():
    return jm.simulate_study(np.random.default_rng(3), jm.chicago())


@pytest.fixture(scope="module")
def fit(study):
    return jm.fit_spatial(study.data, study.areas, seed=1, chains=2, draws=300, as_in_paper=True)


def with_risk(fit, risk):
    """The same fit with other draws of risk, (chains, draws, areas)."""
    return replace(fit, posterior=fit.posterior.assign(risk=risk))


def test_a_fit_agrees_with_itself(fit):
    found = jm.compare_fits(fit, fit)
    assert found.pearson == pytest.approx(1)
    assert found.spearman == pytest.approx(1)
    assert found.reordered == 0
    assert found.p_reordered == pytest.approx(found.p_reordered_base)
    assert found.same_top == found.top == 10
    np.testing.assert_allclose(found.areas["p_higher"], 0.5, atol=0.01)


def test_the_opposite_is_seen_as_such(fit):
    found = jm.compare_fits(fit, with_risk(fit, -fit.posterior["risk"]))
    assert found.pearson == pytest.approx(-1)
    assert found.reordered == pytest.approx(1)
    assert found.p_reordered > 0.8
    assert found.same_top == 0


def test_one_area_moved_is_the_first_mover(fit):
    risk = fit.posterior["risk"].copy()
    lowest = int(np.median(fit.risk, axis=0).argmin())
    risk[:, :, lowest] += 50
    found = jm.compare_fits(fit, with_risk(fit, risk))
    first = found.movers(1).iloc[0]
    assert first["id"] == fit.map.ids[lowest]
    assert (first["rank_base"], first["rank_other"], first["rank_change"]) == (77, 1, -76)
    assert first["p_higher"] == 1
    assert first["change"] == pytest.approx(50)
    assert found.reordered == pytest.approx(76 / (77 * 76 / 2))
    assert "from rank 77 to 1." in found.words


def test_orders_of_a_hand_made_case(square):
    """Two draws of three areas each: P(order) by counting all pairs of draws."""
    data = jm.Comparisons.from_words(square.ids, ("j",), [0], [1], ("left",), [1.0])
    fit = jm.fit_standard(data, square, seed=1, chains=1, draws=4, as_in_paper=True)
    base = with_risk(fit, np.array([[[4.0, 3, 2, 1]] * 4]))
    other = with_risk(fit, np.array([[[4.0, 3, 2, 1], [3, 4, 2, 1], [4, 3, 2, 1], [4, 3, 2, 1]]]))
    found = jm.compare_fits(base, other)
    assert found.p_reordered == pytest.approx(0.25 / 6)
    assert found.p_reordered_base == 0
    np.testing.assert_allclose(found.areas["p_higher"], [0.375, 0.625, 0.5, 0.5])


def test_fits_of_other_areas_are_refused(fit, square):
    data = jm.Comparisons.from_words(square.ids, ("j",), [0], [1], ("left",), [1.0])
    other = jm.fit_standard(data, square, seed=1, chains=2, draws=20, as_in_paper=True)
    with pytest.raises(jm.StudyError, match="different areas"):
        jm.compare_fits(fit, other)
    with pytest.raises(jm.StudyError, match="different areas"):
        compare_many({"one": fit, "two": other})


@pytest.mark.slow  # three fits of the real data
@pytest.mark.statistical
def test_judge_twelve_of_nottinghamshire(nottinghamshire):
    """Ours as in docs/reproduction.md, which are also those of the authors' package on the public file, within 0.01."""
    areas = jm.read_edges(nottinghamshire / "edges.csv", nottinghamshire / "areas.csv")
    data = jm.read_comparisons(nottinghamshire / "comparisons.csv", areas)
    parts = {"all": data, "without": data.without(["12"]), "only": data.only(["12"])}
    found = compare_many({name: jm.fit_spatial(part, areas, seed=1, as_in_paper=True) for name, part in parts.items()})
    assert found[["base", "other"]].to_numpy().tolist() == [["all", "without"], ["all", "only"], ["without", "only"]]
    np.testing.assert_allclose(found["pearson"], [0.962, 0.981, 0.905], atol=0.01)
    np.testing.assert_allclose(found["spearman"], [0.969, 0.980, 0.926], atol=0.01)


@pytest.fixture(scope="module")
def refit():
    areas, data = jm.example_study(seed=3)
    few = data.only(["4", "5"])
    return lambda **changed: jm.fit_spatial(few, areas, seed=1, chains=4, draws=100, **changed, as_in_paper=True)


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


def test_what_cannot_be_varied_is_told(base, refit):
    with pytest.raises(jm.StudyError, match="did you mean 'omega'"):
        jm.variance_sensitivity(base, refit, [("omga", [1.0])])
    with pytest.raises(jm.StudyError, match="positive number"):
        jm.variance_sensitivity(base, refit, [("chi", [-1.0])])
    with pytest.raises(jm.StudyError, match="fixed"):
        jm.variance_sensitivity(refit(alpha=2.0), refit)
