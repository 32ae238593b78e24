"""Between granian and Django: a request takes a thread only once it is complete, and judges have their own threads.

Granian's own WSGI interface gives a thread to every request that has begun, waits for bodies for ever, and never drops
a client that does not read: clients that send or read slowly would hold every thread, or all of the memory, and judges
would wait for them. Here, bodies and responses have a least rate, only researchers who are signed in send long bodies,
and one address has a limited number of requests under way.
"""

import asyncio
import io
import ipaddress
import logging
import os
import socket
import stat
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import DatabaseError, InterfaceError, close_old_connections
from django.http.cookie import parse_cookie

from judgemap.web.server.health import Observe

logger = logging.getLogger(__name__)
FOR_JUDGES = ("/j/", "/s/", "/withdraw", "/static/", "/healthz")
SECONDS = 10.0
"""How many seconds a small body, such as an answer, may take to arrive."""
SLOWEST = 50_000.0
"""After `SECONDS`, a long body must have arrived, and a long response been taken, at this many bytes per second."""
SMALL = 64_000
MOST_LARGE = 8
"""How many large bodies may arrive at once; the disk has room for them, and judges send none."""
MOST_WAITING = 64
"""How many of researchers' requests may wait for a thread; further ones are asked to try again."""
MOST_EACH = 100
"""How many requests from one address may be under way; people behind one router share an address."""
AT_ONCE = 64_000
"""Up to this many bytes of a response are sent in one go; a longer one is read in such pieces, as the client takes it.

Larger pieces would be held in memory for every client that does not read.
"""
SECONDS_UNREAD = 20
"""For how long a client may take nothing of what it was sent; the system then drops the connection."""

Headers = list[tuple[str, str]]


class RefusedError(Exception):
    """A request that is not passed on: a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


@dataclass(frozen=True, slots=True)
class Answered:
    """A response: its beginning, or all of it, and the rest."""

    status: int
    headers: Headers
    beginning: bytes
    rest: Iterator[bytes] | None
    close: Callable[[], None]


class Gateway:
    """A WSGI application that granian can call through RSGI."""

    def __init__(
        self,
        application: WSGIApplication,
        judges: int,
        others: int,
        observe: Observe | None = None,
        may_send: Callable[[WSGIEnvironment], bool] | None = None,
    ) -> None:
        self._application, self._observe, self._may_send = application, observe, may_send or is_signed_in
        self._judges = ThreadPoolExecutor(judges, "judges")
        self._others = ThreadPoolExecutor(others, "others")
        self._waiting = self._large = 0
        self._under_way: Counter[str] = Counter()
        self._drops_clients = False

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:  # noqa: ANN401 - granian's
        """Answer a request."""
        began = time.monotonic()
        if not self._drops_clients:  # granian listens only after it has loaded us
            self._drops_clients = True
            drop_clients_that_do_not_read()
        try:
            environ = make_environ(scope)
            with self._place(address_of(environ)):
                status = await self._serve(environ, protocol)
        except RefusedError as refused:
            status = refused.status
            plain = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
            protocol.response_str(refused.status, plain, refused.sentence)
        if self._observe is not None:
            self._observe(scope.method, scope.path, status, time.monotonic() - began)

    @contextmanager
    def _place(self, address: str) -> Iterator[None]:
        """Count a request among those of its address; an empty address is not limited."""
        if address and self._under_way[address] >= MOST_EACH:
            raise RefusedError(429, "Your network has too many requests under way. Please try again in a minute.")
        self._under_way[address] += 1
        try:
            yield
        finally:
            self._under_way[address] -= 1
            if not self._under_way[address]:
                del self._under_way[address]

    async def _serve(self, environ: WSGIEnvironment, protocol: Any) -> int:  # noqa: ANN401 - granian's
        for_judges = environ["PATH_INFO"].startswith(FOR_JUDGES)
        pool = self._judges if for_judges else self._others
        if not for_judges and self._waiting >= MOST_WAITING:
            raise RefusedError(503, "The server is busy. Please try again in a minute.")
        with await self._body(environ, protocol) as body:
            environ["wsgi.input"] = body
            self._waiting += not for_judges
            try:
                answered = await asyncio.get_running_loop().run_in_executor(pool, self._answer, environ)
            finally:
                self._waiting -= not for_judges
        if answered.rest is None:
            protocol.response_bytes(answered.status, answered.headers, answered.beginning)
        else:
            await _send(protocol, answered, pool)
        return answered.status

    async def _body(self, environ: WSGIEnvironment, protocol: Any) -> IO[bytes]:  # noqa: ANN401 - granian's
        """Wait for the body; if it is too long for any page, do not wait, and let Django say so."""
        text = environ.get("CONTENT_LENGTH") or "0"
        length = int(text) if text.isdecimal() else settings.LONGEST_BODY + 1
        if "HTTP_TRANSFER_ENCODING" in environ:
            raise RefusedError(411, "Please state the length of the request.")
        if not 0 < length <= settings.LONGEST_BODY:
            return io.BytesIO()
        large = length > SMALL
        if large:
            if not await asyncio.get_running_loop().run_in_executor(self._others, self._may_send, environ):
                raise RefusedError(403, "Please sign in before you send a file.")
            if self._large >= MOST_LARGE:
                raise RefusedError(503, "Others are sending files. Please try again in a minute.")
        self._large += large
        try:
            if large:
                body = await _to_disk(protocol)
            else:
                async with asyncio.timeout(SECONDS):
                    body = io.BytesIO(await protocol())
        except TimeoutError:
            raise RefusedError(408, "The request took too long to arrive. Please try again.") from None
        finally:
            self._large -= large
        if body.seek(0, io.SEEK_END) != length:
            body.close()
            raise RefusedError(400, "The request arrived incomplete. Please try again.")
        body.seek(0)
        return body

    def _answer(self, environ: WSGIEnvironment) -> Answered:
        """Let Django answer, in a thread, and read the beginning of its response."""
        started: list[tuple[str, Headers]] = []

        def start(status: str, headers: Headers, error: object = None, /) -> Callable[[bytes], object]:  # noqa: ARG001
            started.append((status, headers))
            return io.BytesIO().write  # what WSGI asks for, and Django does not use

        try:
            response = self._application(environ, start)
        except Exception:
            logger.exception("a request broke down")
            return Answered(500, [], b"Something went wrong at our end. Please try again.", None, lambda: None)
        close = getattr(response, "close", lambda: None)
        status, headers = started[-1]
        pieces, size, rest = [], 0, iter(response)
        for piece in rest:
            pieces.append(piece)
            size += len(piece)
            if size >= AT_ONCE:
                return Answered(int(status[:3]), headers, b"".join(pieces), rest, close)
        close()
        return Answered(int(status[:3]), headers, b"".join(pieces), None, close)


async def _to_disk(protocol: Any) -> IO[bytes]:  # noqa: ANN401 - granian's
    """Write a body into a file that disappears when it is closed."""
    body = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the request
    began, pieces = asyncio.get_running_loop().time(), aiter(protocol)
    try:
        while True:
            async with asyncio.timeout_at(began + SECONDS + body.tell() / SLOWEST):
                body.write(await anext(pieces))
    except StopAsyncIteration:
        return body
    except BaseException:
        body.close()
        raise


async def _send(protocol: Any, answered: Answered, pool: ThreadPoolExecutor) -> None:  # noqa: ANN401 - granian's
    """Send a long response as fast as the client takes it; a thread is busy only while a piece is read."""
    loop, rest = asyncio.get_running_loop(), answered.rest or iter(())
    try:
        transport = protocol.response_stream(answered.status, answered.headers)
        piece: bytes | None = answered.beginning
        while piece is not None:
            for start in range(0, len(piece), AT_ONCE):
                async with asyncio.timeout(SECONDS):
                    await transport.send_bytes(piece[start : start + AT_ONCE])
            piece = await loop.run_in_executor(pool, lambda: next(rest, None))
    except TimeoutError:
        logger.info("a client that does not read was dropped")
    finally:
        await loop.run_in_executor(pool, answered.close)


def is_signed_in(environ: WSGIEnvironment) -> bool:
    """Say whether a request comes from a researcher, before Django reads the rest of it."""
    key = parse_cookie(environ.get("HTTP_COOKIE", "")).get(settings.SESSION_COOKIE_NAME)
    try:
        return key is not None and SESSION_KEY in SessionStore(key)
    except (DatabaseError, InterfaceError):
        raise RefusedError(503, "The server cannot save anything at the moment.") from None
    finally:
        close_old_connections()


def address_of(environ: WSGIEnvironment) -> str:
    """Return the address that a request comes from, as the proxy says if there is one; empty for this machine."""
    address: str = environ["REMOTE_ADDR"]
    if settings.BEHIND_TLS:
        return str(environ.get("HTTP_X_FORWARDED_FOR", address)).rpartition(",")[2].strip()
    with suppress(ValueError):
        return "" if ipaddress.ip_address(address).is_loopback else address
    return address


def drop_clients_that_do_not_read() -> None:
    """Have the system drop connections whose clients take nothing; those to come inherit it from the listener."""
    if not hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux only
        return
    for handle in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        with suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(handle).st_mode):
                continue
            found = socket.socket(fileno=handle)
            try:
                if found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM:
                    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * SECONDS_UNREAD)
            finally:
                found.detach()


class Pieces:
    """The WSGI file wrapper with which Django sends files, in chunks of our own size."""

    def __init__(self, file: IO[bytes], size: int = AT_ONCE) -> None:  # noqa: ARG002 - WSGI's
        self._file = file
        self.close = file.close

    def __iter__(self) -> Iterator[bytes]:
        return iter(lambda: self._file.read(AT_ONCE), b"")


def make_environ(scope: Any) -> WSGIEnvironment:  # noqa: ANN401 - granian's
    """Describe a request in WSGI's terms."""
    server, _, port = scope.server.rpartition(":")
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "SERVER_NAME": server,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.file_wrapper": Pieces,
    }
    for name, value in scope.headers.items():
        key = name.upper().replace("-", "_")
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        # A name with an underscore could pass for one with a dash that a proxy sets and Django trusts.
        if "_" not in name:
            between = "; " if key == "HTTP_COOKIE" else ","
            environ[key] = f"{environ[key]}{between}{value}" if key in environ else value
    return environ
