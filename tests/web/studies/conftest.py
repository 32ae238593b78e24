"""Uploaded files read in this process."""

import contextlib
import io
import warnings

import pytest

from judgemap.web.server.sandbox import NEWS
from judgemap.web.studies.basemap import making
from judgemap.web.studies.basemap import reading as basemap_reading
from judgemap.web.studies.upload import drafts, reading


@pytest.fixture
def read_here(monkeypatch):
    """Read uploaded files in this process: a separate one, which `test_reading.py` tests, takes seconds to start."""

    def run(module, arguments, _folder, _environment, hear=None, _seconds=None):
        written, told = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(written), contextlib.redirect_stderr(told), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a reader's own process only prints them
            (basemap_reading if "basemap" in module else reading).main(list(arguments))
        for line in told.getvalue().splitlines() if hear else []:
            share, _, doing = line.removeprefix(NEWS).strip().partition(" ")
            hear(float(share), doing)
        return written.getvalue().encode()

    for module in (reading, basemap_reading):
        monkeypatch.setattr(module, "confine", lambda *_: [])
    for module in (drafts, making):
        monkeypatch.setattr(module, "run_reader", run)
