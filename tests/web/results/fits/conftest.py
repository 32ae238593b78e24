"""A study that judges have answered, and fits of it that take a second."""

import numpy as np
import pytest
from django.utils import timezone

from judgemap.web.judge import joining
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.server.tokens import make_token


@pytest.fixture
def answers():
    """Let new judges answer a study: the area that comes later on the list has the lower rate; returns their names."""

    def give(study, judges=3, each=20, outcomes=None, areas=None):
        rng = np.random.default_rng(1)
        rows = list(study.areas.order_by("position"))[:areas]
        names = [invited.name for invited in joining.invite(study, judges)]
        now = timezone.now()
        pairs, said = [], []
        for name in names:
            for position in range(1, each + 1):
                left, right = rng.choice(len(rows), 2, replace=False)
                pairs.append(
                    Pair(judge_id=name, version=study.version, token=make_token(), left=rows[left], right=rows[right],
                         position=position, design="uniform", probability=0.01, issued_at=now, open=False)
                )  # fmt: skip
                said.append(outcomes[position % len(outcomes)] if outcomes else "left" if left > right else "right")
        Pair.objects.bulk_create(pairs)
        Answer.objects.bulk_create(
            Answer(pair=pair, revision=1, outcome=outcome, answered_at=now, seen_ms=2000)
            for pair, outcome in zip(pairs, said, strict=True)
        )
        Judge.objects.filter(name__in=names).update(judged=each, maximum=each)
        return names

    return give


@pytest.fixture
def judged(owned, answers):
    """The study, answered by three judges."""
    owned.judge_names = answers(owned)
    return owned
