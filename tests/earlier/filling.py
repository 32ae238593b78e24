"""Fill a server's database as its people would: researchers, studies, judges who answer, fits; for `make.py`.

It runs with an earlier release's code, and so imports things that no longer exist.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SIDE = 4
PASSWORD = "four plain words here"  # noqa: S105 - of nobody
TOTP_SECRET = "JBSWY3DPEHPK3PXP"  # noqa: S105 - of nobody
FAR_OFF = datetime(2126, 1, 1, tzinfo=UTC)
"""When links and tokens expire, so that the tests do not."""
QUICK = {"chains": 2, "warmup": 50, "draws": 50, "seed": 1}
STUDY = """title = "Wards"
question = "Which ward has the LOWER rate?"
direction = "lower"
design = "principal"
recommended = 20
maximum = 40
access = "open"
languages = ["en", "fr", "ar"]

[areas]
file = "wards.geojson"
id = "id"
name = "name"
extra_edges = [["W00", "W10"]]

[texts]
example = "If you think that rates are lower in **Ward 1.1**, choose it."
instructions = "Take your time."
thanks = "Many thanks."

[translations.fr]
title = "Quartiers"
question = "Quel quartier a le taux le plus BAS ?"

[translations.ar]
question = "أي حي لديه معدل أقل؟"
"""


def grid() -> str:
    """Return a square of wards near Nottingham as GeoJSON; they touch side by side and at their corners."""
    features = []
    for place in range(SIDE * SIDE):
        x, y = -1.2 + 0.01 * (place % SIDE), 52.9 + 0.01 * (place // SIDE)
        ring = [[x, y], [x + 0.01, y], [x + 0.01, y + 0.01], [x, y + 0.01], [x, y]]
        ring = [[round(value, 6) for value in corner] for corner in ring]
        about = {"id": f"W{place:02}", "name": f"Ward {place // SIDE + 1}.{place % SIDE + 1}"}
        shape = {"type": "Polygon", "coordinates": [ring]}
        features.append({"type": "Feature", "properties": about, "geometry": shape})
    return json.dumps({"type": "FeatureCollection", "features": features})


def judgemap(*words: str | Path) -> str:
    """Run a command of this release."""
    command = [sys.executable, "-m", "judgemap", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_for(happened: Callable[[], bool]) -> None:
    """Wait until something has happened."""
    for _ in range(6000):
        if happened():
            return
        time.sleep(0.1)
    raise SystemExit("the worker takes too long")


def play(token: str, pairs: int, seed: int) -> None:
    """Let a judge answer: later wards have lower rates, with mistakes, ties, skips, unknown wards and second thoughts.

    Leaves one pair open.
    """
    import numpy as np

    from judgemap.web.judge import actions
    from judgemap.web.judge.actions import GivenAnswer

    rng = np.random.default_rng(seed)
    actions.give_consent(token, ("en", "fr", "ar")[seed % 3], 2)
    asked = 0
    while asked <= pairs:
        pair = actions.current_pair(token)
        if pair is None:
            actions.go_on(token)
            pair = actions.current_pair(token)
        if pair is None or asked == pairs:
            break
        asked += not pair.practice
        seen = None if asked % 7 == 3 else int(rng.lognormal(8, 0.6))
        lower = "left" if (pair.left.position > pair.right.position) == (rng.random() < 0.85) else "right"
        kind = str(rng.choice(["decided", "tie", "skipped", "unknown"], p=[0.82, 0.08, 0.07, 0.03]))
        given = {
            "decided": GivenAnswer(pair.token, lower, seen_ms=seen),
            "tie": GivenAnswer(pair.token, "tie", reason="About the same, both ways", seen_ms=seen),
            "skipped": GivenAnswer(pair.token, "skipped", reason="=cannot say", seen_ms=seen),
            "unknown": GivenAnswer(pair.token, "unknown", "right", seen_ms=seen),
        }[kind]
        actions.answer(token, given)
        if asked % 6 == 1 and kind != "unknown":
            actions.answer(token, GivenAnswer(pair.token, "right", follows=1, seen_ms=1500))


def fill(folder: Path, data: Path) -> dict[str, Any]:
    """Fill the server's database, and return the keys to it: passwords, links and tokens."""
    keys = make_people()
    keys |= make_studies(folder, data)
    keys |= play_judges()
    worker = _start_worker(data)
    try:
        make_web_fits(keys)
        lose_a_fit(keys, worker)
    finally:
        worker.kill()
    leave_things_waiting(keys)
    return keys


def make_people() -> dict[str, Any]:
    """Make two researchers, one with a second step to sign in, and invite a third."""
    from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
    from allauth.mfa.totp.internal.auth import TOTP

    from judgemap.web.accounts.actions import invite_researcher
    from judgemap.web.accounts.models import Invitation, Researcher

    anna = Researcher.objects.create_user("anna@example.org", PASSWORD)
    ben = Researcher.objects.create_user("ben@example.org", PASSWORD)
    TOTP.activate(ben, TOTP_SECRET)
    codes = RecoveryCodes.activate(ben).get_unused_codes()
    invitation = invite_researcher(anna)
    Invitation.objects.update(expires_at=FAR_OFF)
    people = {"password": PASSWORD, "owner": anna.email, "colleague": ben.email, "recovery": codes[0]}
    return people | {"invitation": invitation}


def _owner() -> Any:
    from judgemap.web.accounts.models import Researcher

    return Researcher.objects.get(email="anna@example.org")


def make_studies(folder: Path, data: Path) -> dict[str, Any]:
    """Make an open study from a study.toml, two from uploads, a draft among them, and an upload that waits."""
    from django.core.files.uploadedfile import SimpleUploadedFile
    from judgemap.web.making.actions import keep_upload, make_study
    from judgemap.web.studies.colleagues import share_study

    from judgemap.web.studies import actions

    owner = _owner()
    judgemap("study", "new", folder / "study.toml", "--owner", owner.email, "--data", data)
    wards = actions.open_study(actions.find_study("wards"), owner)
    share_study(wards, "ben@example.org", owner)

    def upload(toml: str = "") -> Any:
        return keep_upload(owner, SimpleUploadedFile("wards.geojson", grid().encode()), toml)

    chosen = {"id": "id", "name": "name", "crs": "", "contiguity": "rook", "title": "Last year's rents",
              "question": "Which ward has the HIGHER rent?", "direction": "higher"}  # fmt: skip
    actions.open_study(make_study(upload(), chosen, owner), owner)
    draft = make_study(upload(), chosen | {"title": "A draft"}, owner)
    first, second = draft.areas.order_by("position")[:2]
    actions.change_edge(draft, first, second, owner)
    return {"upload": upload(STUDY).pk}


def play_judges() -> dict[str, Any]:
    """Let judges answer: five in the open study, one of them left out of fits; one withdraws, one never comes."""
    from dataclasses import replace

    from judgemap.web.tokens import withdrawal_code

    from judgemap.web.api.actions import Wanted, make_token
    from judgemap.web.dashboard.actions import leave_out
    from judgemap.web.judge import actions
    from judgemap.web.studies.actions import definition_of, edit_study, find_study

    owner, wards, rents = _owner(), find_study("wards"), find_study("last-years-rents")
    invited = actions.invite(wards, 7, owner)
    for seed, (judge, pairs) in enumerate(zip(invited, (40, 30, 25, 15, 10, 6), strict=False)):
        play(judge.token, pairs, seed)
    actions.mark_unknown(invited[3].token, [0, 15])
    actions.withdraw(withdrawal_code(invited[5].token))
    leave_out(wards, [invited[4].name], "answered at random", owner)
    others = actions.invite(rents, 3, owner)
    for seed, judge in enumerate(others):
        play(judge.token, 12, 10 + seed)
    edit_study(wards, replace(definition_of(wards), thanks="Thank you all."), owner)
    wanted = Wanted("a notebook", ["study:read", "comparisons:read", "results:read"], 36_500, "all")
    return {
        "judges": [{"name": judge.name, "token": judge.token} for judge in invited],
        "other judges": [judge.token for judge in others],
        "join": wards.join_code,
        "api": make_token(wards, owner, wanted),
    }


def make_web_fits(keys: dict[str, Any]) -> None:
    """Have fits made: two done, one taken back, one that fails, and the other study's; and a forecast."""
    from judgemap.web.fits import actions
    from judgemap.web.fits.models import FitRun

    from judgemap.study.fit.settings import FitSettings
    from judgemap.web.dashboard.actions import ask_for_forecast
    from judgemap.web.dashboard.models import Forecast
    from judgemap.web.studies.actions import find_study

    owner, wards, rents = _owner(), find_study("wards"), find_study("last-years-rents")
    names = [judge["name"] for place, judge in enumerate(keys["judges"]) if place != 5]
    actions.ask_for_fit(wards, FitSettings(**QUICK), owner, note="after the workshop")
    actions.ask_for_fit(wards, FitSettings(model="clusters", **QUICK, thin=2), owner)
    actions.cancel_fit(actions.ask_for_fit(wards, FitSettings(**QUICK), owner), owner)
    actions.ask_for_fit(wards, FitSettings(**QUICK), owner, left_out=names)
    actions.ask_for_fit(rents, FitSettings(model="standard", alpha=1.5, **QUICK), owner)
    wait_for(lambda: not FitRun.objects.filter(status__in=["waiting", "running"]).exists())
    wait_for(lambda: not FitRun.objects.filter(status="done", explained_at=None).exists())
    ask_for_forecast(wards, owner)
    wait_for(lambda: Forecast.objects.filter(status="done").exists())


def lose_a_fit(keys: dict[str, Any], worker: "subprocess.Popen[bytes]") -> None:
    """Close the other study, one of whose judges withdraws after its fit, and kill the worker amid a fit."""
    from judgemap.web.fits.actions import ask_for_fit
    from judgemap.web.fits.models import FitRun
    from judgemap.web.tokens import withdrawal_code

    from judgemap.study.fit.settings import FitSettings
    from judgemap.web.judge.actions import withdraw
    from judgemap.web.studies.actions import close_study, find_study

    withdraw(withdrawal_code(keys["other judges"][2]))
    close_study(find_study("last-years-rents"), _owner())
    run = ask_for_fit(find_study("wards"), FitSettings(chains=2, draws=1_000_000, seed=1), _owner())
    wait_for(lambda: FitRun.objects.filter(pk=run.pk, status="running", progress__gt=0).exists())
    worker.send_signal(signal.SIGKILL)
    worker.wait()


def leave_things_waiting(keys: dict[str, Any]) -> None:
    """Ask for a fit and a forecast that no worker makes, and for automatic fits."""
    from judgemap.web.fits.actions import ask_for_fit, set_auto_fit
    from judgemap.web.fits.models import FitRun

    from judgemap.study.fit.settings import FitSettings
    from judgemap.web.accounts.models import Researcher
    from judgemap.web.dashboard.actions import ask_for_forecast
    from judgemap.web.studies.actions import find_study

    wards, ben = find_study("wards"), Researcher.objects.get(email="ben@example.org")
    two = [judge["name"] for judge in keys["judges"][:2]]
    ask_for_fit(wards, FitSettings(prior="matern32", alpha=2.0, **QUICK), ben, only=two, note="two judges")
    set_auto_fit(wards, 200, FitSettings(model="clusters"), _owner())
    ask_for_forecast(find_study("last-years-rents"), _owner())
    states = list(FitRun.objects.order_by("pk").values_list("status", flat=True))
    if states != ["done", "done", "cancelled", "failed", "done", "running", "waiting"]:
        raise SystemExit(f"the fits are {states}")


def _start_worker(data: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "judgemap", "worker", "--data", str(data)], stdout=subprocess.DEVNULL
    )


def look_at_dashboards(keys: dict[str, Any]) -> None:
    """Have the judges' tallies made, as anybody does who looks at the dashboard."""
    from django.contrib.sessions.models import Session
    from django.test import Client
    from django.test.utils import setup_test_environment

    from judgemap.web.accounts.models import Researcher

    setup_test_environment()
    client = Client()
    client.force_login(Researcher.objects.get(email=keys["owner"]))
    for slug in ("wards", "last-years-rents"):
        assert client.get(f"/studies/{slug}/dashboard/now").status_code == 200
    Session.objects.all().delete()
