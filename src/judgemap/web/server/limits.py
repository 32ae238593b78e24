"""A brake on guessing: how many wrong links and codes a process answers. Right ones are never slowed.

A link has 128 random bits and a code 80, so the brake is there to save work, and needs to know nobody's address.
"""

import threading
import time

A_SECOND = 10.0
BURST = 50.0


class Brake:
    """A bucket that fills with what is permitted a second and is emptied by one at each wrong guess.

    >>> brake = Brake(a_second=1.0, burst=2.0)
    >>> [brake.allows(at) for at in (0.0, 0.0, 0.0, 1.5)]
    [True, True, False, True]
    """

    def __init__(self, a_second: float = A_SECOND, burst: float = BURST) -> None:
        self._a_second, self._burst = a_second, burst
        self._level, self._at = burst, 0.0
        self._lock = threading.Lock()

    def allows(self, now: float | None = None) -> bool:
        """Count a wrong guess; False where there were too many."""
        now = time.monotonic() if now is None else now
        with self._lock:
            self._level = min(self._burst, self._level + (now - self._at) * self._a_second)
            self._at = now
            if self._level < 1:
                return False
            self._level -= 1
            return True


WRONG_GUESSES = Brake()
