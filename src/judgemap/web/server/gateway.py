"""Between granian and Django: a request takes a thread only once it is complete, and judges have their own threads.

Without this, sixteen clients that send their bodies slowly would hold every thread, and judges would wait for them.
"""

import asyncio
import io
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, Any

from django.conf import settings

from judgemap.web.server.metrics import Observe

logger = logging.getLogger(__name__)
FOR_JUDGES = ("/j/", "/s/", "/withdraw", "/static/", "/healthz")
SECONDS = 10.0
"""How many seconds a small body, such as an answer, may take to arrive."""
SLOWEST = 50_000.0
"""A longer body must arrive at this many bytes per second on average, or it is refused."""
SMALL = 64_000
MOST_LARGE = 8
"""How many large bodies may arrive at once; the disk has room for them, and judges send none."""
MOST_WAITING = 64
"""How many of researchers' requests may wait for a thread; further ones are asked to try again."""
AT_ONCE = 1_000_000
"""Up to this many bytes of a response are sent in one go; a longer one is read as fast as the client takes it."""
CHUNK = 256_000

Headers = list[tuple[str, str]]
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


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

    def __init__(self, application: Application, judges: int, others: int, observe: Observe | None = None) -> None:
        self._application, self._observe = application, observe
        self._judges = ThreadPoolExecutor(judges, "judges")
        self._others = ThreadPoolExecutor(others, "others")
        self._waiting = self._large = 0

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:  # noqa: ANN401 - granian's
        """Answer a request."""
        began = time.monotonic()
        try:
            status = await self._serve(scope, protocol)
        except RefusedError as refused:
            status = refused.status
            plain = [("content-type", "text/plain; charset=utf-8"), ("connection", "close")]
            protocol.response_str(refused.status, plain, refused.sentence)
        if self._observe is not None:
            self._observe(scope.method, scope.path, status, time.monotonic() - began)

    async def _serve(self, scope: Any, protocol: Any) -> int:  # noqa: ANN401 - granian's
        environ = make_environ(scope)
        for_judges = scope.path.startswith(FOR_JUDGES)
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

    async def _body(self, environ: dict[str, Any], protocol: Any) -> IO[bytes]:  # noqa: ANN401 - granian's
        """Wait for the body; if it is too long for any page, do not wait, and let Django say so."""
        text = environ.get("CONTENT_LENGTH") or "0"
        length = int(text) if text.isdecimal() else settings.LONGEST_BODY + 1
        if "HTTP_TRANSFER_ENCODING" in environ:
            raise RefusedError(411, "Please state the length of the request.")
        if not 0 < length <= settings.LONGEST_BODY:
            return io.BytesIO()
        large = length > SMALL
        if large and self._large >= MOST_LARGE:
            raise RefusedError(503, "Others are sending files. Please try again in a minute.")
        self._large += large
        try:
            async with asyncio.timeout(SECONDS + length / SLOWEST):
                body = await _to_disk(protocol) if large else io.BytesIO(await protocol())
        except TimeoutError:
            raise RefusedError(408, "The request took too long to arrive. Please try again.") from None
        finally:
            self._large -= large
        if body.seek(0, io.SEEK_END) != length:
            body.close()
            raise RefusedError(400, "The request arrived incomplete. Please try again.")
        body.seek(0)
        return body

    def _answer(self, environ: dict[str, Any]) -> Answered:
        """Let Django answer, in a thread, and read the beginning of its response."""
        started: list[tuple[str, Headers]] = []
        try:
            response = self._application(environ, lambda status, headers, _=None: started.append((status, headers)))
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
    try:
        async for chunk in protocol:
            body.write(chunk)
    except BaseException:
        body.close()
        raise
    return body


async def _send(protocol: Any, answered: Answered, pool: ThreadPoolExecutor) -> None:  # noqa: ANN401 - granian's
    """Send a long response as fast as the client takes it; a thread is busy only while a piece is read."""
    loop, rest = asyncio.get_running_loop(), answered.rest or iter(())
    try:
        transport = protocol.response_stream(answered.status, answered.headers)
        piece: bytes | None = answered.beginning
        while piece is not None:
            async with asyncio.timeout(SECONDS + len(piece) / SLOWEST):
                await transport.send_bytes(piece)
            piece = await loop.run_in_executor(pool, lambda: next(rest, None))
    finally:
        await loop.run_in_executor(pool, answered.close)


class Pieces:
    """The WSGI file wrapper with which Django sends files, in chunks of our own size."""

    def __init__(self, file: IO[bytes], size: int = CHUNK) -> None:  # noqa: ARG002 - WSGI's
        self._file = file
        self.close = file.close

    def __iter__(self) -> Iterator[bytes]:
        return iter(lambda: self._file.read(CHUNK), b"")


def make_environ(scope: Any) -> dict[str, Any]:  # noqa: ANN401 - granian's
    """Describe a request in WSGI's terms."""
    server, _, port = scope.server.rpartition(":")
    environ: dict[str, Any] = {
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
