"""Judges answer while clients send half of a request, or nothing, and keep the server waiting."""

import asyncio

from ground import Live, keep, quantiles, scratch, tally, while_playing

SECONDS = 60


def run(*, quick: bool) -> None:
    """Run on SQLite, without a proxy."""
    with scratch() as folder:
        live = Live(folder)
        bots = live.judges(20)
        live.start()
        answer = f"POST /j/{bots[0].token}/answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\npair="
        upload = "POST /new/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000000\r\n\r\na"
        header = "GET / HTTP/1.1\r\nHost: local"
        beginnings = 64 * [answer] + 20 * [upload] + 300 * [""] + 300 * [header]
        held = []

        async def one(beginning: str) -> None:
            """Begin a request and wait; if the server gives it up, begin another."""
            while True:
                reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
                writer.write(beginning.encode())
                held.append(beginning)
                await reader.read()
                writer.close()

        async def trial() -> None:
            clients = [asyncio.create_task(one(each)) for each in beginnings]
            await asyncio.sleep(10 if quick else SECONDS)
            for each in clients:
                each.cancel()
            await asyncio.gather(*clients, return_exceptions=True)

        asyncio.run(while_playing(bots, trial, thinking=0.5))
        result = {"slow clients": len(beginnings), "begun": len(held), **tally(bots, live.stored()), **quantiles(bots)}
        live.stop()
        keep("slow", result | {"failed": sum(bot.failed for bot in bots)}, quick=quick)
