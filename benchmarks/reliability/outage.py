"""Restart PostgreSQL while judges answer."""

import asyncio
import time
from typing import Any

from ground import Live, keep, postgres, scratch, tally, while_playing

TIMES = 10


def run(*, quick: bool) -> None:
    """Stop it for two seconds, and start it again."""
    with postgres() as server, scratch() as folder:
        keep("outage", restart(Live(folder, server.get_uri()), server, 2 if quick else TIMES), quick=quick)


def restart(live: Live, server: Any, times: int) -> dict[str, Any]:  # noqa: ANN401 - pgserver has no types
    """Restart it several times, and see how soon answers are accepted again."""
    bots, away = live.judges(6), []
    live.start()

    def acknowledged() -> int:
        return sum(len(bot.acknowledged) for bot in bots)

    async def trial() -> None:
        for _ in range(times):
            await asyncio.sleep(3)
            await asyncio.to_thread(server.stop)
            await asyncio.sleep(2)
            await asyncio.to_thread(server.start)
            began, before = time.perf_counter(), acknowledged()
            while acknowledged() == before and time.perf_counter() - began < 60:
                await asyncio.sleep(0.02)
            away.append(round(time.perf_counter() - began, 2))

    asyncio.run(while_playing(bots, trial))
    result = {"restarts": times, **tally(bots, live.stored()), "seconds until answers are taken again": away}
    live.stop()
    return result | {"tries that failed": sum(bot.failed for bot in bots), "tracebacks": live.tracebacks()}
