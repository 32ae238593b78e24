import numpy as np
import pytest
from synthetic import ring

from judgemap.core.design.designs import uniform
from judgemap.core.design.utility import Population
from judgemap.core.model.prior import communicability
from judgemap.core.simulate import trials as simulation
from judgemap.core.simulate.trials import Merits, answer, ask_adaptively, ask_from, assess, trial

N = 12
COVARIANCE = communicability(ring(N))
PEOPLE = Population(COVARIANCE, 3.0, 2.25 * COVARIANCE.matrix)


def test_merits_of_a_known_estimate():
    """Risk is minus the strength, rank 1 the highest risk."""
    truth = np.concatenate([[1.0, 0.0, -1.0], np.linspace(5, 6, N - 3)])
    wrong = truth.copy()
    wrong[[0, 2]] = truth[[2, 0]]
    information = 2.0 * np.eye(N)
    merits = assess(PEOPLE, information, wrong, truth, top=1)
    assert merits.rank_error == pytest.approx(4 / N), "two areas, two places each"
    assert merits.found == 0
    assert assess(PEOPLE, information, wrong, truth, top=3).found == 1
    K = np.eye(N) - 1 / N
    V = K @ np.linalg.inv(COVARIANCE.inverse / 9 + information) @ K
    assert merits.sd == pytest.approx(np.sqrt(np.diag(V)).mean())
    assert merits.correlation == pytest.approx(np.corrcoef(wrong, truth)[0, 1])


@pytest.mark.parametrize("bug", [None, "the wrong way round", "by chance"])
def test_estimates_follow_the_answers(monkeypatch, bug):
    """Forty judges of 100 answers: the order is nearly the true one, unless the answers are wrong."""
    wrong = {"the wrong way round": lambda *each: ~answer(*each), "by chance": lambda rng, *_: rng.random(100) < 0.5}
    if bug:
        monkeypatch.setattr(simulation, "answer", wrong[bug])
    truth = 3 * COVARIANCE.draw(np.random.default_rng(1), 1)[0]
    people = PEOPLE._replace(views=0.01 * COVARIANCE.matrix)
    merits = Merits(*trial(np.random.default_rng(2), truth, people, ask_from(uniform(N)), ([40], [100]), top=3)[0, 0])
    assert (merits.rank_error < 1 and merits.correlation > 0.95) == (bug is None)


def test_a_trial_is_the_same_again_and_larger_ones_extend_smaller():
    truth = 3 * COVARIANCE.draw(np.random.default_rng(1), 1)[0]
    for asker in (ask_from(uniform(N)), ask_adaptively(COVARIANCE, 3.0)):
        one, two = (trial(np.random.default_rng(5), truth, PEOPLE, asker, ([1, 4], [10]), top=3) for _ in range(2))
        np.testing.assert_array_equal(one, two)
        assert one.shape == (2, 2, len(Merits._fields))
        assert (np.diff(one[..., 0], axis=0) < 0).all()
        assert (np.diff(one[..., 0], axis=1) < 0).all()


def test_the_adaptive_design_asks_close_calls():
    truth = 3 * COVARIANCE.draw(np.random.default_rng(1), 1)[0]

    def closeness(asker):
        first, second = asker(np.random.default_rng(3), truth[None], 300)[0].T
        return np.mean(1 / (1 + np.exp(abs(truth[first] - truth[second]))))

    assert closeness(ask_adaptively(COVARIANCE, 3.0, temperature=0.1)) > closeness(ask_from(uniform(N)))
