"""What a researcher and judges do in an afternoon, step by step, in a browser and over HTTP."""

import re
import time
from collections.abc import Callable, Mapping
from itertools import zip_longest
from pathlib import Path

import numpy as np
from looking import look

EMAIL, PASSWORD = "anna@example.org", "four plain words here"


def wait_until(true: Callable[[], bool], seconds: float = 90.0) -> None:
    """Look again and again until something is true."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.2)


def sign_up(page, server, email: str = EMAIL, link: str = "") -> None:
    """Become the server's first researcher, or another one by a link."""
    page.goto(link or re.search(r"http://\S+/first/\S+/", server.log)[0])
    page.fill("#id_email", email)
    page.fill("#id_password", PASSWORD)
    page.fill("#id_again", PASSWORD)
    page.click("main form button")
    page.wait_for_url("**/studies/")


def open_study(page, recommended: int) -> str:
    """From the map of a draft to an open study; return its address."""
    study = page.url.removesuffix("map")
    page.goto(f"{study}judging")
    page.fill("#id_recommended", str(recommended))
    page.click("main form button.primary")
    page.wait_for_url(study)
    page.click("main .next a.primary")
    page.click("button[value=open]")
    return study


def invite(page, study: str, judges: int) -> list[str]:
    """Make several links, and return them."""
    page.goto(f"{study}judges")
    page.fill("#id_judges", str(judges))
    page.check("#id_anyway")  # the server is at 127.0.0.1, and says so
    page.click("main form button")
    page.wait_for_selector(".tickets a.address")
    links = page.locator(".tickets a.address").all_inner_texts()
    assert len(set(links)) == judges
    return links


def agree(page, how: str = "now", shows: str = "#answer") -> None:
    """Agree on the first page of a judge, and wait for what comes then."""
    page.check("input[name=agree]")
    page.click(f"button[value={how}]")
    page.wait_for_selector(shows)


def answer_by_hand(page, planted: Mapping[str, float]) -> set[str]:
    """Tap the area of the lower rate in five pairs; return the names that were shown."""
    shown: set[str] = set()
    for _ in range(5):
        pair = page.input_value("input[name=pair]")
        left, right = page.inner_text("#name-left"), page.inner_text("#name-right")
        page.wait_for_timeout(650)  # the script takes a second tap so soon for a slip
        page.click("#name-left" if planted[left] < planted[right] else "#name-right")
        page.wait_for_function("before => document.querySelector('input[name=pair]').value !== before", arg=pair)
        shown |= {left, right}
    return shown


def plain(name: str, planted: dict[str, float]) -> str:
    """Return the name as in the file: pages distinguish areas with the same name, as in "Ina-machi, near Ageo-shi"."""
    return name if name in planted else name.split(", ", maxsplit=1)[0]


def answer(server, links: list[str], planted: Mapping[str, float], answers: int, wait=lambda: None, places=()) -> None:
    """Answer as judges who are right as often as the model says; ``wait`` is called before each answer.

    ``places`` has what each judge knows, if they are asked; otherwise that is the whole map.
    """
    rng = np.random.default_rng(1)
    for link, place in zip_longest(links, places, fillvalue="all"):
        judge = server.judge(link)
        judge.agree()
        shown = judge.pair()
        if "left" not in shown:  # asked first which part of the map is known
            judge.post("places", place=place)
            shown = judge.pair()
        for _ in range(answers):
            surplus = planted[plain(shown["right"], planted)] - planted[plain(shown["left"], planted)]
            wait()
            outcome = "left" if rng.random() < 1 / (1 + np.exp(-surplus)) else "right"
            shown = judge.answer_and_next(shown["pair"], outcome, rng.lognormal(np.log(4), 0.6))


def recovered(page, planted: dict[str, float]) -> float:
    """Return the rank correlation of the risk map's table with the ranking that the judges had in mind."""
    names = page.locator("#table tbody tr .name, #table tbody tr th").all_inner_texts()
    named = [plain(name, planted) for name in names]
    order = [planted[name] for name in named]
    assert set(named) == set(planted)
    ranks = np.argsort(np.argsort([-risk for risk in order]))
    return float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1])


def save_briefing(page, study: str, path: Path) -> str:
    """Wait until the first fit's briefing is written, save it, and return its text."""
    page.goto(f"{study}fits/1/files")
    page.fill("#id_next_steps", "Visit the first three.")
    page.click("button:text('Save')")
    for _ in range(180):
        if page.locator("text=Download it (HTML)").count():
            break
        page.wait_for_timeout(1000)
        page.reload()
    look(page, "the files")
    with page.expect_download() as download:
        page.click("text=Download it (HTML)")
    download.value.save_as(path)
    return path.read_text(encoding="utf-8")
