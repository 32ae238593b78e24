"""Set the server's clock an hour back and forward while judges answer; needs `apt-get install libfaketime`."""

import asyncio
from pathlib import Path

from ground import Live, keep, quantiles, scratch, tally, while_playing

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
STEPS = ("+0", "-20", "-3600", "+0", "+3600", "+0", "-3600", "+3600")


def run(*, quick: bool) -> None:
    """Run on SQLite."""
    if not LIBRARIES:
        raise SystemExit("There is no libfaketime: apt-get install libfaketime")
    with scratch() as folder:
        setting = folder / "clock"
        setting.write_text("+0\n")
        fake = {"LD_PRELOAD": str(LIBRARIES[0]), "FAKETIME_TIMESTAMP_FILE": str(setting), "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "JUDGEMAP_ANSWERS_PER_SECOND": "4"}  # fmt: skip
        live = Live(folder)
        bots = live.judges(6)
        live.environment |= fake
        live.start()
        steps = []

        async def trial() -> None:
            for step in STEPS[: 3 if quick else None]:
                setting.write_text(f"{step}\n")
                before = sum(len(bot.acknowledged) for bot in bots)
                await asyncio.sleep(8)
                steps.append({"clock": step, "acknowledged": sum(len(bot.acknowledged) for bot in bots) - before})

        asyncio.run(while_playing(bots, trial, thinking=0.5))
        live.environment = {name: value for name, value in live.environment.items() if name not in fake}
        result = {"steps": steps, **tally(bots, live.stored()), **quantiles(bots)}
        result |= {"failed": sum(bot.failed for bot in bots), "tracebacks": live.tracebacks()}
        live.stop()
        keep("clock", result, quick=quick)
