"""The gateway between granian and Django, with requests as granian describes them; see also tests/web/live."""

import asyncio
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.template import engines

from judgemap.web import wsgi
from judgemap.web.server import gateway
from judgemap.web.server.gateway import Gateway, is_signed_in, make_environ


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


def ask(scope, protocol, application=echo, *, signed_in: bool = True) -> Protocol:
    door = Gateway(application, judges=1, others=1, may_send=lambda environ: signed_in)
    asyncio.run(door.__rsgi__(scope, protocol))
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


def test_a_long_body_of_somebody_who_is_not_signed_in_is_not_waited_for():
    scope = scope_of("/new/", "POST", content_length=str(gateway.SMALL + 1))
    assert ask(scope, Protocol(None), signed_in=False).status == 403
    assert ask(scope_of("/new/", "POST", content_length="3"), Protocol(b"abc"), signed_in=False).status == 200


@pytest.mark.django_db(transaction=True)
def test_who_is_signed_in_is_known_before_the_body_arrives(clients):
    for name, expected in (("owner", True), ("anonymous", False)):
        cookies = "; ".join(f"{key}={value.value}" for key, value in clients[name].cookies.items())
        assert is_signed_in({"HTTP_COOKIE": cookies}) is expected
    assert is_signed_in({"HTTP_COOKIE": "sessionid=forged"}) is False
    assert is_signed_in({}) is False


def test_a_long_body_must_keep_a_least_rate(monkeypatch):
    """A client that sends a byte now and then would otherwise hold one of eight places for minutes."""
    monkeypatch.setattr(gateway, "SECONDS", 0.05)

    class Trickle(Protocol):
        async def __aiter__(self):
            while True:
                await asyncio.sleep(0.01)
                yield b"a"

    began = time.monotonic()
    assert ask(scope_of("/", "POST", content_length=str(20_000_000)), Trickle()).status == 408
    assert time.monotonic() - began < 5, "not the minutes that 20 MB may take"


def test_a_client_that_takes_nothing_is_given_up(monkeypatch):
    monkeypatch.setattr(gateway, "SECONDS", 0.01)
    closed = []

    class Response(list):
        def close(self):
            closed.append(True)

    class Deaf(Protocol):
        async def send_bytes(self, _):
            await asyncio.sleep(3600)

    def application(environ, start_response):
        start_response("200 OK", [])
        return Response([b"a" * 3 * gateway.AT_ONCE])

    ask(scope_of(), Deaf(), application)
    assert closed == [True]


def test_one_address_has_a_limited_number_of_requests_under_way(monkeypatch, settings):
    monkeypatch.setattr(gateway, "MOST_EACH", 2)

    async def statuses(addresses: list[str]) -> list[int]:
        door = Gateway(echo, judges=1, others=1)
        asked = []
        for address in addresses:
            scope = scope_of("/", "POST", content_length="3")
            scope.client = f"{address}:5000"
            protocol = Protocol(None)
            asked.append((protocol, asyncio.create_task(door.__rsgi__(scope, protocol))))
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        for _, task in asked:
            task.cancel()
        await asyncio.gather(*(task for _, task in asked), return_exceptions=True)
        assert not door._under_way
        return [protocol.status for protocol, _ in asked]

    assert asyncio.run(statuses(["192.0.2.1"] * 3 + ["192.0.2.2"])) == [0, 0, 429, 0]
    assert asyncio.run(statuses(["127.0.0.1"] * 3)) == [0, 0, 0], "a proxy on this machine, or nobody else"
    settings.BEHIND_TLS = True
    forwarded = {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "forged, 192.0.2.3"}
    assert gateway.address_of(forwarded) == "192.0.2.3"


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


def test_every_template_is_compiled_before_anybody_comes():
    (loader,) = engines["django"].engine.template_loaders
    loader.reset()
    wsgi.load_pages()
    ours = Path(wsgi.__file__).parent
    names = {str(path).partition("/templates/")[2] for path in ours.rglob("templates/**/*.html")}
    assert {"judge/pair.html", "results/large_map.html"} <= names <= set(loader.get_template_cache)
