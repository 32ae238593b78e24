"""Two files are read at a time on a machine, a few wait, and the rest are asked to come again."""

import fcntl
import os
import threading
import time
from pathlib import Path

import pytest

from judgemap.errors import StudyError
from judgemap.web.server import readers


@pytest.fixture
def data(settings, tmp_path):
    settings.DATA = tmp_path
    return tmp_path


@pytest.fixture
def take(data):
    """Take a place as another process would, by its lock."""
    (data / "readers").mkdir()
    taken = []

    def lock(number: int) -> int:
        taken.append(os.open(data / "readers" / str(number), os.O_RDWR | os.O_CREAT))
        fcntl.flock(taken[-1], fcntl.LOCK_EX)
        return taken[-1]

    yield lock
    for each in taken:
        os.close(each)


def read(folder: Path) -> bytes:
    return readers.run_reader("platform", [], folder, os.environ)


def test_where_all_places_are_taken_for_long_the_file_is_not_read(take, tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "PATIENCE", 0.0)
    take(0)
    take(1)
    with pytest.raises(StudyError, match="try again in a minute"):
        read(tmp_path)


def test_a_file_waits_for_a_place(take, tmp_path):
    take(0)
    busy = take(1)
    threading.Timer(0.3, lambda: fcntl.flock(busy, fcntl.LOCK_UN)).start()
    assert read(tmp_path)


def test_only_a_few_wait(take, tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "_WAITING", threading.BoundedSemaphore(1))
    take(0)
    busy = take(1)
    waiting = threading.Thread(target=read, args=(tmp_path,))
    waiting.start()
    while readers._WAITING._value:
        waiting.join(0.01)
    with pytest.raises(StudyError, match="try again in a minute"):
        read(tmp_path)
    fcntl.flock(busy, fcntl.LOCK_UN)
    waiting.join(20)
    assert not waiting.is_alive()


def test_a_reader_keeps_its_place_when_the_server_is_gone(data, tmp_path):
    """The lock is the reader's too: it is free when both have let go of it."""
    reader = data / "reader.py"
    reader.write_text("import os\nif os.fork() == 0:\n    os.close(1)\n    os.close(2)\n    os.read(0, 1)\n")
    stays, goes = os.pipe()
    standard = os.dup(0)
    os.dup2(stays, 0)
    try:
        readers.run_reader("reader", [], data, os.environ)
        readers.run_reader("reader", [], data, os.environ)
        assert readers._free_place() is None
    finally:
        os.dup2(standard, 0)
        os.close(goes)
        os.close(stays)
        os.close(standard)
    while (place := readers._free_place()) is None:
        time.sleep(0.01)
    os.close(place)
