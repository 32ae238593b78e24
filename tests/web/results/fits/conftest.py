"""A study that judges have answered."""

import numpy as np
import pytest

from judgemap.web.judge import joining


@pytest.fixture
def answers(store):
    """Let new judges answer a study: the area that comes later on the list has the lower rate; returns their names."""

    def give(study, judges=3, each=20, outcomes=None, areas=None):
        rng = np.random.default_rng(1)
        names = [invited.name for invited in joining.invite(study, judges)]
        left, right = np.array([rng.choice(areas or study.areas.count(), 2, replace=False) for _ in names * each]).T
        said = np.where(left > right, "left", "right") if outcomes is None else np.resize(outcomes, len(left))
        store(study, np.repeat(names, each), left, right, said)
        return names

    return give


@pytest.fixture
def judged(owned, answers):
    """The study, answered by three judges."""
    owned.judge_names = answers(owned)
    return owned
