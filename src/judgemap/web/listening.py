"""The port that the server listens on, and processes that listen no longer than their server lives."""

import errno
import os
import signal
import socket
import threading
import time

from judgemap.errors import StudyError

PATIENCE = 3.0
"""Seconds to wait for a port that the processes of a killed server are about to leave."""
SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_TO_END = 20.0
SERVER = "JUDGEMAP_SERVER_PROCESS"
"""The environment variable in which a server tells its processes who it is."""


def check_port(host: str, port: int) -> None:
    """Raise a `StudyError` where the server cannot listen.

    Granian's sockets share a port with those of any other server of its kind: without this, two servers with two
    databases would answer in turns.
    """
    until = time.monotonic() + PATIENCE
    while (problem := _try_to_listen(host, port)) is not None:
        if problem.errno != errno.EADDRINUSE:
            raise StudyError(_sentence(problem, host, port))
        if time.monotonic() > until:
            raise StudyError(f"port {port} is taken by another program; stop that, or name another port with --port")
        time.sleep(SECONDS_BETWEEN_LOOKS)


def end_with_server() -> None:
    """End this process when the server that started it is gone, were it killed: else it would hold the port for ever.

    Where no server said who it is, as under another program than granian, nothing happens.
    """
    server = os.environ.get(SERVER, "")
    if server.isdecimal():
        threading.Thread(target=_watch, args=(int(server),), daemon=True).start()


def _try_to_listen(host: str, port: int) -> OSError | None:
    try:
        kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(kind, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(1)
    except OSError as error:
        return error
    return None


def _sentence(problem: OSError, host: str, port: int) -> str:
    if problem.errno == errno.EACCES:
        return f"port {port} needs rights that this account lacks; name one from 1024 up with --port"
    return f"the server cannot listen on {host!r} ({problem.strerror}); name an address of this machine with --host"


def _watch(server: int) -> None:
    """Wait until the server is not this process's parent any more, and end: with a word first, then without."""
    while os.getppid() == server:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(SECONDS_TO_END)
    os._exit(1)
