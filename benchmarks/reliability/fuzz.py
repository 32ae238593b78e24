"""Send rubbish to every address, as nobody, as a judge and as a researcher; the server may refuse, but not fail."""

import asyncio
import random
import subprocess
import sys
from collections import Counter
from urllib.parse import quote, urlencode

from ground import Live, ask, keep, scratch
from uploads import SIGN_IN

REQUESTS = 100_000
CLIENTS = 8
ADDRESSES = """
import sys
from pathlib import Path
from judgemap.web import start
start.use_data_folder(Path(sys.argv[1]))
from django.urls import get_resolver
def walk(patterns, before=""):
    for each in patterns:
        here = before + str(each.pattern)
        if hasattr(each, "url_patterns"):
            yield from walk(each.url_patterns, here)
        else:
            yield here
print("\\n".join(sorted(set(walk(get_resolver().url_patterns)))))
"""
METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND")
WORDS = ("", "0", "1", "-1", "9" * 30, "\0", "'", '"><script>', "lower", "left", "unknown-left", "yes", "fr",
         "../..", "%00", "\u0661", "\U0001f642", "a" * 3000, "1e999", "null", "{}",
         "[]", "owner@example.org", "\ud800")  # fmt: skip
FIELDS = ("pair", "outcome", "follows", "seen_ms", "reason", "agree", "begin", "language", "unknown", "code",
          "title", "a", "b", "email", "judges", "act", "login", "password", "model", "draws", "seed", "page",
          "map", "cursor", "format", "next")  # fmt: skip
KINDS = (
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json",
    "text/plain",
    "",
    "\x7f",
)


def run(*, quick: bool) -> None:
    """Run on SQLite."""
    count = 1000 if quick else REQUESTS
    with scratch() as folder:
        live = Live(folder)
        bots = live.judges(2)
        session, addresses = (
            subprocess.run([sys.executable, "-c", code, str(live.data)], capture_output=True, text=True,
                           env=live.environment, check=True).stdout.split()
            for code in (SIGN_IN, ADDRESSES)
        )  # fmt: skip
        live.start()
        fuzzer = Fuzzer(live, [bot.token for bot in bots], session[-1], addresses)
        asyncio.run(fuzzer.fuzz(count))
        live.stop()
        statuses = {str(status): each for status, each in sorted(fuzzer.statuses.items())}
        wrong = {"server errors": sum(each for status, each in fuzzer.statuses.items() if status >= 500)}
        result = {"requests": count, "addresses": len(addresses), **wrong, "cut off": fuzzer.cut, "statuses": statuses}
        keep("fuzz", result | {"tracebacks": live.tracebacks(), "examples": fuzzer.examples[:10]}, quick=quick)


class Fuzzer:
    """Makes up requests, and counts what comes back."""

    def __init__(self, live: Live, tokens: list[str], session: str, addresses: list[str]) -> None:
        self.live, self.tokens, self.session, self.addresses = live, tokens, session, addresses
        self.rng = random.Random(1)  # noqa: S311 - nothing secret
        self.statuses: Counter[int] = Counter()
        self.cut, self.examples = 0, []

    async def fuzz(self, count: int) -> None:
        """Send ``count`` requests, a few at a time."""
        left = iter(range(count))

        async def client() -> None:
            connection = None
            for number in left:
                if number % 5000 == 4999:
                    print(f"{number + 1} requests", flush=True)
                made = self.make()
                try:
                    connection = connection or await asyncio.open_connection("127.0.0.1", self.live.port)
                    response = await asyncio.wait_for(ask(*connection, *made, self.live.port), 60)
                    self.statuses[response.status] += 1
                    if response.status >= 500:
                        self.examples.append(f"{made[0]} {made[1]} {made[2][:200]!r} {made[3]}")
                    closing = b"connection: close" in response.head.lower()
                except (OSError, EOFError, TimeoutError, ValueError) as error:
                    self.cut += 1
                    closing = True
                    if not isinstance(error, OSError | EOFError):
                        self.examples.append(f"{type(error).__name__} {made[0]} {made[1]}")
                if closing and connection is not None:
                    connection[1].close()
                    connection = None

        await asyncio.gather(*(client() for _ in range(CLIENTS)))

    def make(self) -> tuple[str, str, bytes, dict[str, str]]:
        """Make up a request: method, path, body and headers."""
        rng = self.rng
        path = "/" + "/".join(self._filled(part) for part in rng.choice(self.addresses).split("/"))
        if rng.random() < 0.1:
            path = "/" + quote("".join(chr(rng.randrange(1, 0x2FF)) for _ in range(rng.randrange(30))))
        form = {rng.choice(FIELDS): rng.choice(WORDS) for _ in range(rng.randrange(6))}
        text = urlencode(form | {"csrfmiddlewaretoken": 32 * "a"}, errors="replace")
        method = rng.choice(METHODS)
        if rng.random() < 0.3:
            path += "?" + text
        body = rng.choice([text.encode(), rng.randbytes(rng.randrange(200)), b"", b"--x\r\n" + rng.randbytes(50)])
        cookie = rng.choice(
            [f"csrftoken={32 * 'a'}", f"csrftoken={32 * 'a'}; sessionid={self.session}", "sessionid=x", ";;="]
        )
        headers = {"Cookie": cookie, "Content-Type": rng.choice(KINDS[:5] if rng.random() < 0.95 else KINDS)}
        if rng.random() < 0.8:
            headers["X-CSRFToken"] = 32 * "a"
        if rng.random() < 0.2:
            name = rng.choice(
                ("Accept", "Accept-Language", "Host", "Origin", "Referer", "X-Forwarded-For", "Range", "Authorization")
            )
            headers[name] = rng.choice(
                ("", "x" * 5000, "application/json", "é", "null", "bytes=0-,5-", "Bearer x", "fr;q=x")
            )
        return method, path, b"" if method in ("GET", "HEAD", "TRACE") else body, headers

    def _filled(self, part: str) -> str:
        """Fill a place in an address with something that exists, or with rubbish."""
        if "<" not in part and "(" not in part:
            return part
        if self.rng.random() < 0.3:
            return quote(self.rng.choice(WORDS), safe="", errors="replace")
        if "token" in part or "code" in part:
            return self.rng.choice(self.tokens)
        return "bench" if "slug:slug" in part else self.rng.choice(("1", "fr", "traces", "csv"))
