"""Running the samplers of a panel: shapes, odd panels, seeds and cores, and the models that a panel contains."""

import numpy as np
import pytest
from synthetic import delaunay_map, panel_study

from judgemap.core.model.counts import JudgedCounts, count_judged, count_pairs
from judgemap.core.model.judges import PanelModel, Parts, as_one_judge
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import InverseGamma, Model, communicability, independent
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.core.samplers.judges import hmc
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.run import Plan, sample

MAP = communicability(delaunay_map(12))
EVERYTHING = Parts(TieRule.RAO_KUPPER, True, MAP, True, True, True)
SHORT = Plan(chains=10, warmup=1, draws=4)  # two batches


@pytest.fixture(scope="module", autouse=True)
def _short_pilots():
    """Coordinates need not be good here, only there: the draws are exact, or odd, in any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hmc, "ROUNDS", (4, 4))
        patch.setattr(hmc, "MOST_KICKS", 6)
        yield


def study(parts, answers=(30, 20, 9, 1)):
    return panel_study(MAP, parts, answers)


@pytest.fixture(scope="module")
def draws():
    return sample_panel(np.random.default_rng(3), study(EVERYTHING), SHORT, cores=1)


def test_everything_has_its_array(draws):
    assert {name: array.shape[2:] for name, array in draws.arrays.items()} == {
        "strengths": (12,),
        "panel_strengths": (12,),
        "local_variance": (12,),
        "views": (4, 12),
        **dict.fromkeys(("distance", "side", "attention", "lapse"), (4,)),
        **dict.fromkeys(("log_variance", "smoothness", "log_disagreement", "tie_chance", "lean"), ()),
        **dict.fromkeys(("log_side", "log_attention", "acceptance", "divergences", "restarts"), ()),
    }
    assert all(np.isfinite(array).all() for array in draws.arrays.values())
    panel = draws["strengths"] + draws["views"].mean(axis=2)
    np.testing.assert_allclose(draws["panel_strengths"], panel, atol=1e-4)


@pytest.mark.parametrize("answers", [(40,), (25, 0, 12), (1, 1, 1), (0, 0)])
def test_odd_panels(answers):
    draws = sample_panel(np.random.default_rng(1), study(EVERYTHING, answers), SHORT)
    assert draws["views"].shape[2] == len(answers)
    assert np.isfinite(draws["strengths"]).all()


def test_all_answers_ties():
    counts = count_judged([0, 1, 1], [0, 1, 2], [1, 2, 3], [0, 0, 0], n_areas=12, n_judges=2)
    model = PanelModel(counts, MAP, InverseGamma(), Parts(ties=TieRule.RAO_KUPPER, disagreement=MAP))
    draws = sample_panel(np.random.default_rng(1), model, SHORT)
    assert np.isfinite(draws["strengths"]).all()


@pytest.mark.statistical
def test_without_parts_it_is_the_pooled_model():
    """Means and spreads agree with the sampler of the spatial model; 5 standard errors, false alarm below 1e-4."""
    rng = np.random.default_rng(2)
    winner = rng.integers(0, 12, 150)  # some lose too: answers that never contradict each other leave α² without end
    counts = count_pairs(winner, (winner + rng.integers(1, 12, 150)) % 12, n_areas=12)
    plan = Plan(chains=32, warmup=30, draws=100)
    pooled = sample(np.random.default_rng(1), Model(counts, MAP, InverseGamma()), plan=plan)
    panel = sample_panel(np.random.default_rng(1), PanelModel(as_one_judge(counts), MAP, InverseGamma()), plan=plan)
    for mine, theirs in ((panel.centred, pooled.centred), (panel["log_variance"], pooled["log_variance"])):
        for f in (lambda x: x, lambda x: np.abs(x - pooled["log_variance"].mean())):
            a, b = f(mine), f(theirs)
            error = np.sqrt(a.var(axis=(0, 1)) / ess_bulk(a) + b.var(axis=(0, 1)) / ess_bulk(b))
            assert np.abs((a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))) / error).max() < 5


def test_ties_left_out_are_not_looked_at():
    counts = study(Parts()).counts
    decided = JudgedCounts(
        *(getattr(counts, name) for name in ("n_areas", "n_judges")),
        *(getattr(counts, name)[counts.n > 0] for name in ("judge", "first", "second", "first_left", "n", "wins")),
    )
    parts = Parts(disagreement=MAP)
    one, two = (
        sample_panel(np.random.default_rng(1), PanelModel(each, MAP, InverseGamma(), parts), plan=SHORT)
        for each in (counts, decided)
    )
    np.testing.assert_array_equal(one.strengths, two.strengths)


def test_mistakes():
    counts = count_judged([0], [0], [1], [1], n_areas=2, n_judges=1, sides=False)
    with pytest.raises(ValueError, match="which area was on the left"):
        PanelModel(counts, independent(2), InverseGamma(), Parts(side=True))
    with pytest.raises(ValueError, match="the comparisons cover 2 areas, the disagreement 12"):
        PanelModel(counts, independent(2), InverseGamma(), Parts(disagreement=MAP))
