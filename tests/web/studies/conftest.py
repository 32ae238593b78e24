"""Uploaded files read in this process."""

import contextlib
import io
import warnings

import pytest

from judgemap.web.studies.upload import files, reading


@pytest.fixture
def read_here(monkeypatch):
    """Read uploaded files in this process: one of its own, which `test_reading.py` tests, takes seconds to start."""

    def run(_module, arguments, *_):
        written = io.StringIO()
        with contextlib.redirect_stdout(written), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a reader's own process only prints them
            reading.main(arguments)
        return written.getvalue().encode()

    monkeypatch.setattr(reading, "confine", lambda _folder: [])
    monkeypatch.setattr(files, "run_reader", run)
