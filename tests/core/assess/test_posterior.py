import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgemap.core.assess.posterior import p_riskier, p_top, ranks, summarise

RISK = np.random.default_rng(1).normal(size=(400, 15)) + np.arange(15) / 5


@given(st.integers(0, 2**31))
def test_ranks_are_permutations_and_follow_relabelling(seed):
    rng = np.random.default_rng(seed)
    risk = rng.normal(size=(7, 5))
    order = rng.permutation(5)
    rank = ranks(risk)
    assert (np.sort(rank, axis=1) == np.arange(1, 6)).all()
    np.testing.assert_array_equal(ranks(risk[:, order]), rank[:, order])
    np.testing.assert_array_equal(ranks(-risk), 6 - rank)


def test_summary():
    summary = summarise(RISK)
    np.testing.assert_allclose(summary["risk_mean"], RISK.mean(axis=0))
    np.testing.assert_allclose(summary["risk_median"], np.median(RISK, axis=0))
    assert summary["p_top"].sum() == pytest.approx(10)
    assert (summary["rank_low"] <= summary["rank"]).all()
    assert (summary["rank"] <= summary["rank_high"]).all()
    assert (summary["risk_low"] < summary["risk_median"]).all()
    assert summary["rank"][14] < summary["rank"][0], "rank 1 is the highest risk"


@pytest.mark.parametrize(("share", "held"), [(0.03, True), (0.02, False)])
def test_intervals_hold_what_has_more_than_a_fortieth_of_the_draws_at_either_end(share, held):
    """The first area has rank 1 and rank 3 in a share of the draws each, and rank 2 in the others: 95 %, no less."""
    end = round(1000 * share)
    first = np.repeat([5.0, -5.0, 0.0], [end, end, 1000 - 2 * end])
    found = summarise(np.column_stack([first, np.ones(1000), -np.ones(1000)]))
    assert (found["rank_low"][0], found["rank_high"][0]) == ((1, 3) if held else (2, 2))
    assert (found["risk_low"][0], found["risk_high"][0]) == ((-5, 5) if held else (0, 0))


def test_probabilities():
    chance = p_riskier(RISK)
    np.testing.assert_allclose(chance + chance.T, 1.0)
    assert chance[14, 0] > 0.9
    assert p_top(RISK, 3).sum() == pytest.approx(3)
    with pytest.raises(ValueError, match="1 … 15, received 16"):
        p_top(RISK, 16)


def test_a_rank_lies_in_its_interval_even_if_nothing_is_known():
    found = summarise(np.random.default_rng(1).normal(size=(500, 77)))
    assert (found["rank_low"] <= found["rank"]).all()
    assert (found["rank_high"] >= found["rank"]).all()
    assert found["rank_low"][found["rank"] == 1] == 1, "although fewer than 2.5 % of draws put this area first"
