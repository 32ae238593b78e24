"""The gateway between granian and Django, with requests as granian describes them; see also tests/web/live."""

import asyncio
import threading
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from judgemap.web.server import gateway
from judgemap.web.server.gateway import Gateway, make_environ


def scope_of(path="/", method="GET", **headers):
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return SimpleNamespace(
        path=path, method=method, query_string="x=%20y", server="127.0.0.1:8000", client="[::1]:5000", scheme="http",
        http_version="1.1", headers=SimpleNamespace(items=lambda: list(names.items())),
    )  # fmt: skip


@dataclass
class Protocol:
    """What granian gives: a body, which may never come, and a place for the response."""

    body: bytes | None = b""
    status: int = 0
    sent: bytes = b""
    headers: list = field(default_factory=list)

    async def __call__(self) -> bytes:
        if self.body is None:
            await asyncio.sleep(3600)
        return self.body

    async def __aiter__(self):
        yield await self()

    def response_bytes(self, status, headers, body):
        self.status, self.headers, self.sent = status, headers, self.sent + body

    def response_str(self, status, headers, body):
        self.response_bytes(status, headers, body.encode())

    def response_stream(self, status, headers):
        self.status, self.headers = status, headers
        return self

    async def send_bytes(self, piece):
        self.sent += piece


def echo(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["wsgi.input"].read()]


def ask(scope, protocol, application=echo) -> Protocol:
    asyncio.run(Gateway(application, judges=1, others=1).__rsgi__(scope, protocol))
    return protocol


def test_a_request_is_described_as_wsgi_does():
    environ = make_environ(scope_of("/é b", cookie="a=1", content_type="text/plain"))
    assert (environ["PATH_INFO"], environ["REMOTE_ADDR"]) == ("/é b".encode().decode("latin-1"), "::1")
    assert (environ["HTTP_COOKIE"], environ["CONTENT_TYPE"]) == ("a=1", "text/plain")
    forged = SimpleNamespace(**vars(scope_of()))
    forged.headers = SimpleNamespace(items=lambda: [("x_forwarded_proto", "https"), ("cookie", "a=1"), ("cookie", "b")])
    assert "HTTP_X_FORWARDED_PROTO" not in make_environ(forged)
    assert make_environ(forged)["HTTP_COOKIE"] == "a=1; b"


@pytest.mark.parametrize("length", [3, gateway.SMALL + 1])
def test_a_body_arrives_whole(length):
    protocol = ask(scope_of("/j/x/answer", "POST", content_length=str(length)), Protocol(b"a" * length))
    assert (protocol.status, protocol.sent) == (200, b"a" * length)


@pytest.mark.parametrize("length", [3, gateway.SMALL + 1])
def test_a_body_that_does_not_come_is_given_up(length, monkeypatch):
    monkeypatch.setattr(gateway, "SECONDS", 0.01)
    monkeypatch.setattr(gateway, "SLOWEST", 1e9)
    assert ask(scope_of("/", "POST", content_length=str(length)), Protocol(None)).status == 408


def test_half_a_body_is_refused():
    assert ask(scope_of("/", "POST", content_length="10"), Protocol(b"half")).status == 400
    assert ask(scope_of("/", "POST", transfer_encoding="chunked"), Protocol(b"all")).status == 411


def test_a_body_longer_than_any_is_not_waited_for(settings):
    said = []

    def refuse(environ, start_response):
        said.append(environ["CONTENT_LENGTH"])
        start_response("413 Too large", [])
        return [b""]

    length = str(settings.LONGEST_BODY + 1)
    assert ask(scope_of("/", "POST", content_length=length), Protocol(None), refuse).status == 413
    assert said == [length]


def test_a_long_response_is_sent_in_pieces_and_closed():
    closed = []

    class Long:
        def __iter__(self):
            return iter([b"a" * gateway.AT_ONCE, b"b", b"c"])

        def close(self):
            closed.append(True)

    def application(environ, start_response):
        start_response("200 OK", [])
        return Long()

    assert ask(scope_of(), Protocol(), application).sent == b"a" * gateway.AT_ONCE + b"bc"
    assert closed == [True]


def test_judges_are_answered_while_researchers_keep_all_their_threads():
    free = threading.Event()

    def application(environ, start_response):
        if environ["PATH_INFO"] == "/studies/":
            free.wait(30)
        start_response("200 OK", [])
        return [b"ok"]

    async def both() -> tuple[int, int]:
        door = Gateway(application, judges=1, others=1)
        researcher, judge = Protocol(), Protocol()
        waiting = asyncio.create_task(door.__rsgi__(scope_of("/studies/"), researcher))
        await door.__rsgi__(scope_of("/j/token/"), judge)
        statuses = judge.status, researcher.status
        free.set()
        await waiting
        return statuses

    assert asyncio.run(both()) == (200, 0)


def test_an_application_that_breaks_down_is_answered():
    def broken(environ, start_response):
        raise ValueError

    assert ask(scope_of(), Protocol(), broken).status == 500
