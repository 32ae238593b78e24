"""Kill the server with -9 while judges answer, a hundred times on each database; no acknowledged answer may be lost."""

import asyncio
import random
from pathlib import Path

from ground import Live, keep, postgres, scratch, tally, while_playing

ANSWERS_BETWEEN = 30


def run(*, quick: bool, database: str = "both") -> None:
    """Run on SQLite and on PostgreSQL."""
    times = 3 if quick else 100
    if database in ("both", "sqlite"):
        with scratch() as folder:
            keep("kills-sqlite", kill(folder, "", times), quick=quick)
    if database in ("both", "postgres"):
        with postgres() as server, scratch() as folder:
            keep("kills-postgres", kill(folder, server.get_uri(), times), quick=quick)


def kill(folder: Path, url: str, times: int) -> dict[str, int]:
    """Kill and restart the server ``times`` times, and count what became of the answers."""
    live, rng = Live(folder, url), random.Random(1)  # noqa: S311 - nothing secret
    bots = live.judges(6)

    async def trial() -> None:
        for number in range(times):
            await asyncio.to_thread(live.start)
            before = sum(len(bot.acknowledged) for bot in bots)
            while sum(len(bot.acknowledged) for bot in bots) < before + ANSWERS_BETWEEN:
                await asyncio.sleep(0.02)
            await asyncio.sleep(rng.uniform(0, 0.3))
            await asyncio.to_thread(live.kill)
            if number % 10 == 9:
                print(f"{number + 1} kills", flush=True)

    asyncio.run(while_playing(bots, trial))
    result = {"kills": times} | tally(bots, live.stored())
    live.start()
    live.stop()
    return result | {"requests cut off": sum(bot.failed for bot in bots)}
