"""Let twenty judges answer for half an hour, and watch the server's memory and response times."""

import asyncio

from ground import Live, keep, quantiles, scratch, tally, while_playing

MINUTES = 30


def run(*, quick: bool) -> None:
    """Run on SQLite."""
    minutes = 0.3 if quick else MINUTES
    with scratch() as folder:
        live = Live(folder)
        bots = live.judges(20)
        live.start()
        memory: list[float] = []

        async def trial() -> None:
            await asyncio.sleep(10)  # every part of the server has been used once
            for _ in range(10):
                memory.append(round(live.memory(), 1))
                await asyncio.sleep(60 * minutes / 10)
            memory.append(round(live.memory(), 1))

        asyncio.run(while_playing(bots, trial, thinking=1.0))
        answers = tally(bots, live.stored())
        live.stop()
        result = {"minutes": minutes, "memory_mb": memory, **answers, **quantiles(bots)}
        keep("soak", result | {"failed": sum(bot.failed for bot in bots), "tracebacks": live.tracebacks()}, quick=quick)
