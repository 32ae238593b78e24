"""A long fit goes on where it was stopped, on whatever machine: what it needs for that is kept in the database.

`FitKept` names the last position of a fit's chains and all its draws up to there; the bytes are in `FitPiece`, in rows
so small that judges do not wait for them. They are written first and named afterwards, in one statement, so that a
process that is killed in between leaves what was kept before. The worker's round removes what no fit needs any more.
"""

import logging
import secrets
import time
from collections.abc import Iterable
from datetime import datetime

from django.db import DatabaseError, InterfaceError
from django.db.models import Q

from judgemap import __version__
from judgemap.core.samplers.resume import Keeper
from judgemap.core.samplers.run import Draws, Watcher
from judgemap.web.results.models import FitKept, FitPiece, FitRun
from judgemap.web.server.database import BYTES_OF_A_TURN, delete_in_turns, insert_in_turns, is_outage
from judgemap.web.server.jobs import STOPPING, let_go

logger = logging.getLogger(__name__)
FIRST, EVERY = 120.0, 60.0
"""After how many seconds a fit is kept for the first time, and then how often: short fits are simply made again."""
WORTH = 10.0
"""A fit that has taken this many seconds is kept when its worker is told to stop."""
SHARE = 20
"""The sampling between two times takes at least this many times as long as the keeping."""


class FitKeeper(Keeper):
    """Keeps a fit that this worker is making, and lets another function watch it."""

    def __init__(self, run: FitRun) -> None:
        """Find what an earlier worker kept, if this version of judgemap can use it; otherwise begin anew."""
        there = FitKept.objects.filter(fit=run).first()
        if there is None or there.version != __version__:
            FitKept.objects.filter(fit=run).delete()
            there = FitKept.objects.create(fit=run, version=__version__)
        self.row, self.run, self.goes_on = there, run, False
        self.watch: Watcher | None = None
        self.waiting: list[bytes] = []
        self.began = time.monotonic()
        self.next = self.began + FIRST

    @property
    def read_at(self) -> datetime | None:
        """The moment whose answers were used, if there is something to go on from."""
        return self.row.fit.read_at if self.row.position else None

    def begin(self, sha256: str, watch: Watcher) -> "FitKeeper":
        """Use what was kept only for the same answers."""
        if self.row.data_sha256 != sha256:
            self.row.position, self.row.draws, self.row.data_sha256 = "", [], sha256
            FitKept.objects.filter(pk=self.row.pk).update(position="", draws=[], data_sha256=sha256)
        self.watch = watch
        return self

    def __call__(self, draws: Draws, wanted: int) -> None:
        """Report progress; the first time, how many draws were kept."""
        if self.goes_on:
            self.goes_on = False
            self.run.write_line(f"goes on after {draws.n_draws:,} draws per chain")
        if self.watch is not None:
            self.watch(draws, wanted)

    def due(self) -> bool:
        """Say whether it is time, or the last chance."""
        now = time.monotonic()
        return now >= self.next or (STOPPING.is_set() and now >= self.began + WORTH)

    def keep(self, position: bytes, more: bytes) -> None:
        """Write to the database; while that is away, draws wait for the next time."""
        began = time.monotonic()
        self.waiting += [more] if more else []
        try:
            self._write(position)
        except (DatabaseError, InterfaceError) as error:
            if not is_outage(error):
                raise
            logger.warning("the database does not take the draws of %s", self.row.fit)
            let_go()
        now = time.monotonic()
        self.next = now + max(EVERY, SHARE * (now - began))

    def _write(self, position: bytes) -> None:
        before = self.row.position
        rows = FitKept.objects.filter(pk=self.row.pk, position=before)
        if not rows.exists():  # a judge withdrew, or another worker has the fit: what is kept from here on is no use
            return
        here, draws = self._store(position), [*self.row.draws, *map(self._store, self.waiting)]
        if rows.update(position=here, draws=draws, idle=0):
            self.row.position, self.row.draws, self.waiting = here, draws, []
            delete_in_turns(FitPiece.objects.filter(fit=self.row.fit, of=before), at_once=1, alone=True)

    def _store(self, content: bytes) -> str:
        """Write bytes in pieces, and return their name."""
        name = secrets.token_hex(8)
        starts = range(0, len(content), BYTES_OF_A_TURN)
        pieces = (
            FitPiece(fit=self.row.fit, of=name, number=number, content=content[start : start + BYTES_OF_A_TURN])
            for number, start in enumerate(starts)
        )
        insert_in_turns(pieces, lambda piece: len(piece.content))
        return name

    def kept(self) -> tuple[bytes, Iterable[bytes]] | None:
        """Read what was kept."""
        if not self.row.position:
            return None
        self.goes_on = True
        return self._read(self.row.position), map(self._read, self.row.draws)

    def _read(self, name: str) -> bytes:
        pieces = FitPiece.objects.filter(fit=self.row.fit, of=name).order_by("number")
        return b"".join(bytes(each) for each in pieces.values_list("content", flat=True))


def remove_unneeded(**_: object) -> None:
    """Remove what was kept of fits that are over, or that used the answers of a judge who withdrew."""
    FitKept.objects.exclude(fit__status__in=FitRun.UNDER_WAY).delete()
    gone = FitPiece.objects.filter(Q(fit__kept=None) | Q(fit__kept__position=""))
    delete_in_turns(gone, at_once=1, alone=True)
