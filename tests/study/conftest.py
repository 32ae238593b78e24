import pytest

import judgemap as jm
from judgemap.core.model.graph import AreaGraph


@pytest.fixture(scope="session")
def square() -> jm.Areas:
    """Four areas in a row, without a map."""
    return jm.Areas(("a", "b", "c", "d"), ("Ash", "Beech", "Cedar", "Dogwood"), AreaGraph(4, [[0, 1], [1, 2], [2, 3]]))
