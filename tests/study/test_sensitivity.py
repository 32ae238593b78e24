from dataclasses import replace

import numpy as np
import pytest

import judgemap as jm
from judgemap.study.assess.comparing import VARIANCE_NUMBERS, read_variation


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


def test_variations_of_the_prior_are_read():
    assert read_variation("both=0.01,1", VARIANCE_NUMBERS) == ("both", [0.01, 1.0])
    with pytest.raises(jm.StudyError, match="no hyperparameter 'beta'"):
        read_variation("beta=1", VARIANCE_NUMBERS)
