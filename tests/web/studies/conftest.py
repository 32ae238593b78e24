"""Uploaded files read in this process."""

import contextlib
import io
import subprocess
import warnings
from types import SimpleNamespace

import pytest

from judgemap.web.studies.upload import files, reading


@pytest.fixture
def read_here(monkeypatch):
    """Read uploaded files in this process: one of its own, which `test_reading.py` tests, takes seconds to start."""

    def run(command, **_options):
        written = io.StringIO()
        with contextlib.redirect_stdout(written), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a reader's own process only prints them
            reading.main(command[command.index(reading.__name__) + 1 :])
        return subprocess.CompletedProcess(command, 0, written.getvalue())

    monkeypatch.setattr(reading, "confine", lambda: None)
    monkeypatch.setattr(files, "subprocess", SimpleNamespace(run=run, TimeoutExpired=subprocess.TimeoutExpired))
