"""Fits of large maps from the page: the worker says what memory they take, and refuses in a sentence."""

import pytest

from judgemap.errors import StudyError
from judgemap.study.fit import large
from judgemap.study.fit.settings import FitSettings
from judgemap.web.results import running


class Told:
    """A job that remembers what is written about it."""

    def __init__(self):
        self.said, self.lines = "", []

    def write_line(self, text):
        self.lines.append(text)


@pytest.fixture
def memory(monkeypatch):
    """Say how many gigabytes are free."""

    def free(gigabytes):
        for module in (large, running):
            monkeypatch.setattr(module, "free_memory", lambda: int(gigabytes * 10**9))

    return free


def test_the_memory_is_stated_before_a_large_fit_starts(memory):
    memory(16)
    told = Told()
    running.state_memory(told, FitSettings(), 32_844, 1_000_000)
    assert told.said == f"{told.lines[0]}."
    assert "GB of memory; 16.0 GB is free" in told.said


def test_a_machine_that_is_too_small_gets_a_sentence(memory):
    memory(0.5)
    with pytest.raises(StudyError, match=r"needs about .* GB of memory, and 0.5 GB are free; use a larger machine"):
        running.state_memory(Told(), FitSettings(), 32_844, 1_000_000)


def test_a_small_fit_says_nothing_of_memory(memory):
    memory(0.001)
    told = Told()
    running.state_memory(told, FitSettings(), 76, 2_000)
    assert told.lines == []
