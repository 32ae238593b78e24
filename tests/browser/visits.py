"""Visits to a running server, as people make them: sign in, follow every link, answer, report what failed."""

import http.client
import http.cookiejar
import re
import socket
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

MOST_PAGES = 500


@dataclass(frozen=True, slots=True)
class Page:
    """A response: its final address, the status, and the text."""

    address: str
    status: int
    text: str

    @property
    def token(self) -> str:
        """The page's token against forged forms; empty if it has no form."""
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.text)
        return token[1] if token else ""

    def links(self) -> Iterator[str]:
        """Yield the addresses that the page links to, and what it loads."""
        reader = _Links()
        reader.feed(self.text)
        for link in reader.links:
            yield urljoin(self.address, link).partition("#")[0]


@dataclass
class Visitor:
    """Somebody with a browser that keeps cookies."""

    address: str
    visited: dict[str, int] = field(default_factory=dict)
    """Each address that was asked for, and the status that came back."""

    def __post_init__(self) -> None:
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(cookies)

    def get(self, path: str) -> Page:
        """Ask for a page."""
        return self._ask(urljoin(self.address, path), None)

    def post(self, page: Page, path: str = "", **fields: str) -> Page:
        """Send a page's form, to another address if one is given."""
        form = {"csrfmiddlewaretoken": page.token, **fields}
        return self._ask(urljoin(page.address, path), urlencode(form).encode())

    def follow(self, start: Iterable[str], but: str = "^$") -> list[str]:
        """Visit pages and everything they link to, once per kind of query, except addresses that match ``but``.

        Return the addresses that failed.
        """
        waiting = [urljoin(self.address, each) for each in start]
        seen: set[tuple[str, tuple[str, ...]]] = set()
        while waiting and len(seen) < MOST_PAGES:
            address = waiting.pop(0)
            parts = urlsplit(address)
            kind = (parts.path, tuple(sorted({key for key, _ in parse_qsl(parts.query)})))
            if not address.startswith(self.address) or kind in seen or re.search(but, address):
                continue
            seen.add(kind)
            waiting += self._ask(address, None).links()
        return [f"{address} answered {status}" for address, status in self.visited.items() if status >= 400]

    def _ask(self, address: str, body: bytes | None) -> Page:
        request = urllib.request.Request(address, body, {"Referer": address, "Accept": "text/html,*/*"})  # noqa: S310
        try:
            with self._opener.open(request, timeout=60) as response:
                page = self._read(response, response.status)
        except urllib.error.HTTPError as error:
            page = self._read(error, error.code)
        self.visited[address] = page.status
        return page

    def _read(self, response: urllib.error.HTTPError | http.client.HTTPResponse, status: int) -> Page:
        is_page = (response.headers.get_content_type() or "") == "text/html"
        body = response.read()
        return Page(response.geturl(), status, body.decode() if is_page else "")


class _Links(HTMLParser):
    """Collect what a page links to and loads."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the address of a link, a script, a style or a picture."""
        for name, value in attrs:
            wanted = (name == "href" and tag in ("a", "link")) or (name == "src" and tag in ("script", "img"))
            if wanted and value and not value.startswith(("data:", "mailto:")):
                self.links.append(value)


def visit_as_researcher(address: str, email: str, password: str, but: str = "^$") -> Visitor:
    """Sign in, and follow every link from the list of studies, except those that match ``but``."""
    visitor = Visitor(address)
    page = visitor.get("/account/login/")
    if "/account/logout/" not in visitor.post(page, login=email, password=password).text:
        raise RuntimeError(f"{email} could not sign in at {address}")
    visitor.follow(["/studies/"], but)
    return visitor


def visit_as_judge(address: str, join_code: str) -> Visitor:
    """Join by the open link, agree, answer three pairs without a script, and follow every link."""
    visitor = Visitor(address)
    page = visitor.post(visitor.get(f"/s/{join_code}/"))
    page = visitor.post(page, "consent", agree="yes")
    for _ in range(3):
        pair = re.search(r'name="pair" value="([^"]+)"', page.text)
        if pair:
            page = visitor.post(page, "answer", pair=pair[1], outcome="left", follows="0")
    visitor.follow([page.address])
    return visitor


class Server(NamedTuple):
    """Where a server is, who signs in there, and the link that judges join by."""

    address: str
    email: str
    password: str
    join: str


@contextmanager
def demonstration(command: Sequence[str], data: Path) -> Iterator[Server]:
    """Start the demonstration on a free port, and wait until all its fits are explained."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    words = [*command, "demo", "--data", str(data), "--port", str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        said = ""
        try:
            while "its clusters within" not in said:
                said += process.stdout.readline() if process.stdout else ""
                if process.poll() is not None:
                    raise RuntimeError(f"the demonstration did not start: {said}")
            _until_fitted(data, address)
            email, password = re.search(r"sign in as (\S+) with the password (\S+)", said).groups()  # type: ignore[union-attr]
            yield Server(address, email, password, re.search(r"Judge\s+(\S+)", said)[1])  # type: ignore[index]
        finally:
            process.terminate()


def _until_fitted(data: Path, address: str) -> None:
    """Wait until the server answers and every fit of the demonstration is explained."""
    database = next(data.glob("*.sqlite3"), data / "judgemap.sqlite3")
    for _ in range(1800):
        try:
            urllib.request.urlopen(f"{address}/healthz", timeout=5).close()  # noqa: S310 - our own server
            with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
                waiting = connection.execute("select count(*) from results_fitrun where explained_at is null")
                if not waiting.fetchone()[0]:
                    return
        except (OSError, sqlite3.Error):
            pass
        time.sleep(1)
    raise RuntimeError("the demonstration's fits took longer than half an hour")


def visit_demonstration(server: Server) -> list[str]:
    """Visit every page as a researcher and as a judge; return those that do not answer."""
    visits = [
        visit_as_researcher(server.address, server.email, server.password),
        visit_as_judge(server.address, urlsplit(server.join).path.strip("/").removeprefix("s/")),
    ]
    return [f"{at} answered {status}" for each in visits for at, status in each.visited.items() if status >= 400]
