"""The port: taken, forbidden, nowhere; and two servers that would share it unseen."""

import socket

import pytest

from judgemap.errors import StudyError
from judgemap.web.server import supervise


@pytest.fixture
def taken(monkeypatch):
    """A port on which a server of granian's kind listens, ready to share it."""
    monkeypatch.setattr(supervise, "PATIENCE", 0.0)
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        yield listener.getsockname()[1]


def test_a_port_is_not_shared_with_another_server(taken):
    with pytest.raises(StudyError, match=f"port {taken} is already in use; .* --port"):
        supervise.check_port("127.0.0.1", taken)


def test_a_free_port_stays_free(taken):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        free = listener.getsockname()[1]
    supervise.check_port("127.0.0.1", free)
    supervise.check_port("127.0.0.1", free)


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
def test_an_address_of_another_machine(host):
    with pytest.raises(StudyError, match=r"cannot listen on .* --host"):
        supervise.check_port(host, 8000)


def test_who_has_no_server_is_not_watched(monkeypatch):
    started = []
    monkeypatch.setattr(supervise.threading, "Thread", started.append)
    monkeypatch.delenv(supervise.SERVER, raising=False)
    supervise.end_with_server()
    assert started == []
