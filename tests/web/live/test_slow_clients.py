"""Clients that send slowly, or nothing at all, keep nobody else waiting."""

import select
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from steps import wait_until

from judgemap.web.server.gateway import SECONDS_UNREAD

pytestmark = pytest.mark.slow
"""A server in its own processes, and connections that stay open for some seconds."""

BODIES, IDLE, LARGE, UNREAD, ANSWERS = 64, 300, 20, 40, 5


def connect(server, text: str) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    client.sendall(text.replace("\n", "\r\n").encode())
    return client


def unfinished(path: str, length: int) -> str:
    """The beginning of a request whose body does not come."""
    return f"POST {path} HTTP/1.1\nHost: localhost\nContent-Length: {length}\n\npair="


def test_judges_answer_while_slow_clients_hold_connections(server, areas):
    slug, judge = server.with_judge(areas)
    with ExitStack() as held:
        slow = [held.enter_context(connect(server, unfinished(f"/j/{judge.token}/answer", 500)))
                for _ in range(BODIES)]  # fmt: skip
        for _ in range(LARGE):
            held.enter_context(connect(server, unfinished("/studies/new", 20_000_000)))
        for number in range(IDLE):
            held.enter_context(connect(server, "" if number % 2 else "GET / HTTP/1.1\nHost: local"))
        for _ in range(ANSWERS):
            assert judge.answer(judge.pair()["pair"], "left").status == 200
        assert select.select(slow, [], [], 0)[0] == [], "all of them were still being waited for"
        assert slow[0].recv(1000).startswith(b"HTTP/1.1 408"), "a slow body is not waited for for ever"
    assert len([row for row in server.comparisons(slug) if row["answered_at"]]) == ANSWERS
    assert "Traceback" not in server.log


def test_half_a_request_changes_nothing(server, areas):
    slug, judge = server.with_judge(areas)
    form = f"csrfmiddlewaretoken={judge.csrf}&pair={judge.pair()['pair']}&outcome=left"
    head = f"POST /j/{judge.token}/answer HTTP/1.1\nHost: localhost\nCookie: csrftoken={judge.csrf}\n"
    kind = "Content-Type: application/x-www-form-urlencoded\n"
    with connect(server, f"{head}{kind}Content-Length: {len(form) + 50}\n\n{form}") as cut:
        cut.shutdown(socket.SHUT_WR)
        cut.recv(1000)
    with connect(server, f"{head}{kind}Transfer-Encoding: chunked\n\n{len(form):x}\n{form}\n0\n\n") as chunked:
        assert chunked.recv(1000).startswith(b"HTTP/1.1 411")
    assert server.table(slug, "revisions.csv") == []
    assert "Traceback" not in server.log


def test_clients_that_never_read_are_dropped(servers):
    live = servers("unread", processes=1).start()
    live.stop()
    (live.folder / "data" / "static" / "long.txt").write_bytes(bytes(5_000_000))
    live.start()
    web = Path(f"/proc/{live.process.pid}/task/{live.process.pid}/children").read_text().split()[-1]

    def connections() -> int:
        return len(list(Path(f"/proc/{web}/fd").iterdir())) - before

    before = 0
    before = connections()
    with ExitStack() as held:
        for _ in range(UNREAD):
            held.enter_context(connect(live, "GET /static/long.txt HTTP/1.1\nHost: localhost\n\n"))
        wait_until(lambda: connections() >= UNREAD, 10)
        wait_until(lambda: connections() < UNREAD / 2, 4 * SECONDS_UNREAD)
    assert "Traceback" not in live.log


def test_a_long_file_is_sent_whole_to_a_slow_reader(server, areas):
    slug = server.new_study(areas)
    size = server.folder / "data" / "static" / "long.txt"
    server.stop()
    size.parent.mkdir(exist_ok=True)
    size.write_bytes(bytes(range(256)) * 20_000)
    server.start()
    judge = server.invite(slug, 1)[0]
    judge.agree()
    with connect(server, "GET /static/long.txt HTTP/1.1\nHost: localhost\nConnection: close\n\n") as reader:
        assert judge.answer(judge.pair()["pair"], "left").status == 200
        received = bytearray()
        while piece := reader.recv(65536):
            received += piece
            time.sleep(0.005)
    assert received.partition(b"\r\n\r\n")[2] == size.read_bytes()
