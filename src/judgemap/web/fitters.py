"""Workers beside a server: started with it, started again when they die, ended with it."""

import os
import subprocess
import sys
import threading
import time

COMMAND = """import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
from judgemap.web import server
server.work({parent})
"""
SECONDS_TO_END = 10.0
SHORTEST_LIFE = 10.0
"""A worker that ends sooner is started again only after a while."""


class Fitters:
    """So many workers, as processes of their own."""

    def __init__(self, count: int) -> None:
        self._ending = threading.Event()
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._threads = [threading.Thread(target=self._keep, args=(each,), daemon=True) for each in range(count)]

    def start(self) -> None:
        """Start them all, and watch over them."""
        for place, each in enumerate(self._threads):
            self._children[place] = self._launch()
            each.start()

    def stop(self) -> None:
        """End them all: with a word first, then without."""
        self._ending.set()
        until = time.monotonic() + SECONDS_TO_END
        for child in list(self._children.values()):
            child.terminate()
        for child in list(self._children.values()):
            try:
                child.wait(max(until - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                child.kill()
        for each in self._threads:
            each.join(1)

    def _keep(self, place: int) -> None:
        """Wait for a worker to end, and start another one where that is before its time."""
        while True:
            began = time.monotonic()
            self._children[place].wait()
            if time.monotonic() - began < SHORTEST_LIFE:
                self._ending.wait(SHORTEST_LIFE)
            if self._ending.is_set():
                return
            child = self._children[place] = self._launch()
            if self._ending.is_set():
                child.terminate()

    @staticmethod
    def _launch() -> "subprocess.Popen[bytes]":
        code = COMMAND.format(parent=os.getpid())
        return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL)
