"""Fill the disk under the server while judges answer, and empty it again; needs root, for a small disk of its own."""

import asyncio
import subprocess
from pathlib import Path

from ground import Live, keep, request, scratch, tally, while_playing

SIZE = "48m"


def run(*, quick: bool) -> None:
    """Run on SQLite, on a file system in memory."""
    with scratch() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], check=True)
        try:
            keep("disk", fill(folder, 1 if quick else 5), quick=quick)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path, times: int) -> dict[str, object]:
    """Fill the disk ``times`` times."""
    live = Live(folder)
    bots, ballast, health = live.judges(6), folder / "ballast", []
    live.start()

    async def healthy() -> int:
        return (await request(live.port, "GET", "/healthz")).status

    async def trial() -> None:
        for _ in range(times):
            await asyncio.sleep(4)
            subprocess.run(["dd", "if=/dev/zero", f"of={ballast}", "bs=4k"], capture_output=True, check=False)
            before = sum(len(bot.acknowledged) for bot in bots)
            await asyncio.sleep(6)
            while_full = sum(len(bot.acknowledged) for bot in bots) - before
            full = await healthy()
            ballast.unlink()
            await asyncio.sleep(6)
            health.append(
                {"acknowledged while full": while_full, "healthz full": full, "healthz after": await healthy()}
            )

    asyncio.run(while_playing(bots, trial))
    after = [len(bot.acknowledged) for bot in bots]
    result = {"fillings": times, **tally(bots, live.stored()), "rounds": health, "every judge went on": min(after) > 0}
    live.stop()
    return result | {"tries that failed": sum(bot.failed for bot in bots), "tracebacks": live.tracebacks()}
