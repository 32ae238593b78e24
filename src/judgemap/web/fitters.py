"""Workers beside a server: started with it, started again when they die, ended with it."""

import os
import subprocess
import sys
import threading
import time

COMMAND = "from judgemap.web import server; server.work({parent})"
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
        """Start them all."""
        for each in self._threads:
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
        """Start a worker, and another one whenever it ends before its time."""
        while not self._ending.is_set():
            began = time.monotonic()
            code = COMMAND.format(parent=os.getpid())
            child = self._children[place] = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL)
            if self._ending.is_set():
                child.terminate()
            child.wait()
            if time.monotonic() - began < SHORTEST_LIFE:
                self._ending.wait(SHORTEST_LIFE)
