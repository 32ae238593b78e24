"""Read a server's data folder through its pages and its programming interface, and print what they say as JSON.

This is a separate process, so that it opens the folder as a server does. Nothing is imported from judgemap but its
settings: the same script reads with the release that wrote the folder and with any later one.

    python reading.py everything|data|fits DATA_FOLDER KEYS
"""

import hashlib
import json
import os
import re
import sys
import time
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

STUDIES = ("wards", "last-years-rents", "a-draft")
TABLES = ("areas?format=csv", "edges?format=csv", "comparisons?format=csv", "areas?format=geojson")
LEFT_OUT = "answered at random"
"""Why a judge is left out of fits."""
NOT_FOLLOWED = re.compile(r"^/(account|static|try)|^data:|/download/pdf$|/judges\.csv$|openapi|[?&]seen=")
"""What is no part of a study, takes a browser to make, or names a moment."""


def set_up(data: Path) -> None:
    """Set Django up on a data folder whose database is up to date."""
    os.environ["JUDGEMAP_DATA"] = str(data)
    os.environ["DJANGO_SETTINGS_MODULE"] = "judgemap.web.settings"
    import django
    from django.conf import settings
    from django.test.utils import setup_test_environment

    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    django.setup()
    setup_test_environment()


class Reader(HTMLParser):
    """Collects the links of a page, and the text of the cells of its tables and lists of facts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.cells: list[str] = []
        self._inside = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link, or that a cell begins."""
        if tag in ("td", "th", "dd"):
            self._inside += 1
            self.cells.append("")
        for name, value in attrs:
            if value and ((name == "href" and tag == "a") or (name == "src" and tag == "img") or name == "hx-get"):
                self.links.append(value)

    def handle_endtag(self, tag: str) -> None:
        """Note that a cell ends."""
        if tag in ("td", "th", "dd"):
            self._inside -= 1

    def handle_data(self, data: str) -> None:
        """Add a text to the cell it stands in."""
        if self._inside:
            self.cells[-1] += data


def numbers(cells: list[str]) -> str:
    """Return the numbers in the cells of a page, in order; times of day and dates are left out."""
    text = " ".join(unescape(cell) for cell in cells)
    text = re.sub(r"\d{1,2}:\d{2}(:\d{2})?|\d{4}-\d{2}-\d{2}|\d{1,2} [A-Z][a-z]+ \d{4}|\+00:00", " ", text)
    return " ".join(re.findall(r"[-−]?\d+(?:[.,]\d+)*", text))


def sign_in(email: str, keys: dict[str, Any]) -> Any:
    """Sign in with a password, and with a recovery code where a second step is asked for."""
    from django.test import Client

    client = Client()
    answer = client.post("/account/login/", {"login": email, "password": keys["password"]})
    if "two-factor" in answer["Location"]:
        client.post(answer["Location"], {"code": keys["recovery"]})
    return client


def crawl(client: Any, start: str) -> dict[str, dict[str, Any]]:
    """Visit a page and all that it leads to, one of each kind of query: the status and the numbers of each."""
    waiting, seen, pages = [start], set(), {}
    while waiting:
        address = waiting.pop(0)
        parts = urlsplit(address)
        kind = (parts.path, tuple(sorted({key for key, _ in parse_qsl(parts.query)})))
        if kind in seen or parts.netloc or NOT_FOLLOWED.search(address):
            continue
        seen.add(kind)
        answer = client.get(address)
        page: dict[str, Any] = {"status": answer.status_code}
        if answer.status_code in (301, 302):
            page["to"] = answer["Location"]
            waiting.append(urljoin(address, answer["Location"]))
        elif answer.get("Content-Type", "").startswith("text/html") and not answer.streaming:
            reader = Reader(answer.content.decode())
            page["numbers"] = numbers(reader.cells)
            waiting += [urljoin(address, link).partition("#")[0] for link in reader.links]
        answer.close()
        pages[address] = page
    return pages


def read_interface(token: str) -> dict[str, Any]:
    """Read all that programs can read of the studies."""
    from django.test import Client

    client, headers = Client(), {"Authorization": f"Bearer {token}"}

    def ask(path: str) -> bytes:
        answer = client.get(f"/api/v1/studies{path}", headers=headers)
        if answer.status_code == 429:
            time.sleep(1)
            return ask(path)
        return bytes(answer.content)

    read: dict[str, Any] = {"studies": json.loads(ask(""))}
    for slug in STUDIES:
        read[slug] = {
            "study": json.loads(ask(f"/{slug}")),
            "fits": json.loads(ask(f"/{slug}/fits")),
            **{name: hashlib.sha256(ask(f"/{slug}/{name}")).hexdigest() for name in TABLES},
        }
        for fit in read[slug]["fits"]:
            number = fit["number"]
            fit["more"] = json.loads(ask(f"/{slug}/fits/{number}"))
            if fit["status"] == "done":
                fit["areas"] = json.loads(ask(f"/{slug}/fits/{number}/areas"))
                fit["posterior"] = hashlib.sha256(ask(f"/{slug}/fits/{number}/posterior.nc")).hexdigest()
    return read


def visit_as_judges(keys: dict[str, Any]) -> dict[str, Any]:
    """Open judges' links, each in their state, and do what judges do."""
    from django.test import Client

    client = Client()
    plain = {"Accept": "application/json"}
    first, busy, newcomer = (f"/j/{keys['judges'][place]['token']}/" for place in (0, 1, 6))
    pages = {}
    for name, path in {
        "at the maximum": first,
        "with an open pair": busy,
        "areas": busy + "areas",
        "link": busy + "link",
        "new": newcomer,
        "withdrawn": f"/j/{keys['judges'][5]['token']}/",
        "of a closed study": f"/j/{keys['other judges'][0]}/",
        "open link": f"/s/{keys['join']}/",
        "withdraw": "/withdraw",
    }.items():
        pages[name] = client.get(path).status_code
    consent = client.post(busy + "consent", {"agree": "yes"}).status_code
    pair = client.get(busy, headers=plain).json()
    answered = client.post(busy + "answer", {"pair": pair["pair"], "outcome": "left"}, headers=plain)
    pages |= {"consent": consent, "answered": answered.status_code, "another pair": "pair" in answered.json()}
    joined = client.post(f"/s/{keys['join']}/")
    pages["joined"] = joined.status_code
    pages["agreed"] = client.post(urljoin(joined["Location"], "consent"), {"agree": "yes"}).status_code
    return pages | {"shown": sorted(pair)}


def act_as_owner(client: Any, keys: dict[str, Any]) -> dict[str, Any]:
    """Go on with the upload that waits, and use what else was left to be used."""
    address = f"/new/{keys['upload']}/"
    chosen = {"id": "id", "name": "name", "crs": "", "contiguity": "queen", "title": "Made of an upload",
              "question": "Which?", "direction": "lower"}  # fmt: skip
    done = {"upload": client.get(address).status_code}
    made = client.post(address, chosen)
    judges = "/studies/wards/dashboard/judges"
    left_out = LEFT_OUT in client.get(judges).content.decode()
    again = client.post(f"{judges}/act", {"judge": keys["judges"][4]["name"], "act": "take back"})
    return done | {
        "made": made.status_code,
        "its map": client.get(made.get("Location", "/nowhere")).status_code,
        "invitation": client.get(f"/invitation/{keys['invitation']}/").status_code,
        "left out": left_out,
        "let in again": again.status_code,
        "still left out": LEFT_OUT in client.get(judges).content.decode(),
    }


def count_rows() -> dict[str, int]:
    """Count what there is of each kind, by the name of its model."""
    from django.apps import apps

    return {model.__name__: model._base_manager.count() for model in apps.get_models()}


def read_data(keys: dict[str, Any]) -> dict[str, Any]:
    """Read only the data."""
    return {"rows": count_rows(), "interface": read_interface(keys["api"])}


def read_everything(keys: dict[str, Any]) -> dict[str, Any]:
    """Read the whole server, then act on it."""
    data = read_data(keys)
    owner, colleague = sign_in(keys["owner"], keys), sign_in(keys["colleague"], keys)
    return {
        **data,
        "pages": crawl(owner, "/studies/"),
        "colleague": [colleague.get(f"/studies/{slug}/").status_code for slug in STUDIES],
        "judges": visit_as_judges(keys),
        "acts": act_as_owner(owner, keys),
    }


def wait_for_fits(keys: dict[str, Any]) -> dict[str, Any]:
    """Wait until no fit and no forecast is under way, and say what became of them."""
    owner = sign_in(keys["owner"], keys)
    for _ in range(600):
        interface = read_interface(keys["api"])
        states = {slug: {fit["number"]: fit["status"] for fit in interface[slug]["fits"]} for slug in STUDIES}
        forecast = owner.get("/studies/last-years-rents/dashboard/forecast/news").content.decode()
        waits = {state for fits in states.values() for state in fits.values()} & {"waiting", "running"}
        if not waits and "hx-get" not in forecast:
            break
        time.sleep(1)
    return {"states": states, "interface": interface, "charts": forecast.count("<svg")}


def main(what: str, data: Path, keys: dict[str, Any]) -> None:
    """Read, and print."""
    set_up(data)
    read = {"everything": read_everything, "data": read_data, "fits": wait_for_fits}[what](keys)
    sys.stdout.write(json.dumps(read, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), json.loads(Path(sys.argv[3]).read_text()))
