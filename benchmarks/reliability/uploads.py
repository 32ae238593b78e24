"""Judges answer while sixteen boundary files are sent at once, half of them made to be heavy."""

import asyncio
import json
import math
import subprocess
import sys
import time

from ground import Live, keep, quantiles, request, scratch, tally, while_playing

AT_ONCE = 16
SIGN_IN = """
import sys
from pathlib import Path
from judgemap.web import start
start.use_data_folder(Path(sys.argv[1]))
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.conf import settings
from judgemap.web.accounts.models import Researcher
from judgemap.web.studies.models import Study
who = Researcher.objects.create_user("owner@example.org", "four plain words here")
Study.objects.update(owner=who)
session = SessionStore()
session.update({SESSION_KEY: str(who.pk), BACKEND_SESSION_KEY: settings.AUTHENTICATION_BACKENDS[0],
                HASH_SESSION_KEY: who.get_session_auth_hash()})
session.create()
print(session.session_key)
"""


def run(*, quick: bool) -> None:
    """Run on SQLite."""
    with scratch() as folder:
        live = Live(folder)
        bots = live.judges(20)
        words = [sys.executable, "-c", SIGN_IN, str(live.data)]
        done = subprocess.run(words, capture_output=True, text=True, env=live.environment, check=True)
        session, replies = done.stdout.split()[-1], []
        live.start()

        async def send(content: bytes) -> None:
            body = (
                f'--x\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n{32 * "a"}\r\n--x\r\n'
                'Content-Disposition: form-data; name="boundaries"; filename="a.geojson"\r\n\r\n'
            ).encode() + content + b"\r\n--x--\r\n"  # fmt: skip
            headers = {
                "Content-Type": "multipart/form-data; boundary=x",
                "Cookie": f"sessionid={session}; csrftoken={32 * 'a'}",
            }
            began = time.perf_counter()
            try:
                status = (await request(live.port, "POST", "/new/", body, headers)).status
            except (OSError, EOFError, TimeoutError):
                status = 0
            replies.append((status, round(time.perf_counter() - began, 1)))

        async def trial() -> None:
            await asyncio.sleep(3)
            files = (crossing(1500), squares(60))
            await asyncio.gather(*(send(files[each % 2]) for each in range(4 if quick else AT_ONCE)))

        asyncio.run(while_playing(bots, trial, thinking=0.5))
        statuses = {str(status): sum(each == status for each, _ in replies) for status, _ in replies}
        result = {"uploads": len(replies), "statuses": statuses, **tally(bots, live.stored()), **quantiles(bots)}
        live.stop()
        keep(
            "uploads",
            result | {"failed": sum(bot.failed for bot in bots), "tracebacks": live.tracebacks()},
            quick=quick,
        )


def crossing(points: int) -> bytes:
    """Return one area whose border crosses itself everywhere."""
    ring = [[math.cos(2.1 * i), math.sin(3.3 * i)] for i in range(points)]
    return _collection([[[*ring, ring[0]]]])


def squares(side: int) -> bytes:
    """Return a grid of small squares."""
    corners = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))
    places = [(x, y) for x in range(side) for y in range(side)]
    return _collection([[[[(x + a) / 100, (y + b) / 100] for a, b in corners]] for x, y in places])


def _collection(polygons: list[list[list[list[float]]]]) -> bytes:
    features = [
        {"type": "Feature", "properties": {"id": str(i), "name": f"Area {i}"},
         "geometry": {"type": "Polygon", "coordinates": each}}
        for i, each in enumerate(polygons)
    ]  # fmt: skip
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()
