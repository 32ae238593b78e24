"""What a fit is checked by, as it is shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgemap.core.predictive import EXTREME
from judgemap.report.text import measured


@dataclass(frozen=True, slots=True)
class Measure:
    """Something counted in the answers, and in answers simulated from the fit."""

    words: str
    observed: str
    expected: str
    low: str
    high: str
    p: str
    unusual: bool

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> "Measure":
        """Read one of the findings' checks."""
        words, p = str(found["words"]), found["p"]
        observed, expected, low, high = (figure(found[name]) for name in ("observed", "expected", "low", "high"))
        unusual = p is not None and not EXTREME <= p <= 1 - EXTREME
        return cls(words[:1].upper() + words[1:], observed, expected, low, high, chance(p), unusual)


def figure(value: float | None) -> str:
    """Write a measurement that may not be known.

    >>> figure(76.42), figure(None)
    ('76.4', 'not known')
    """
    return "not known" if value is None else measured(value)


def chance(p: float | None) -> str:
    """Write a p-value.

    >>> chance(0.503), chance(0.0004), chance(0.9999)
    ('0.50', '< 0.01', '> 0.99')
    """
    if p is None:
        return "not known"
    return "< 0.01" if p < 0.01 else "> 0.99" if p > 0.99 else f"{p:.2f}"
