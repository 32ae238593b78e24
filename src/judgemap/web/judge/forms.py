"""What a judge's browser sends, parsed and limited in size. Nothing in it is trusted."""

import re
from collections.abc import Iterable

from django.http import QueryDict

from judgemap.web.judge.actions import LONGEST_MS, GivenAnswer

TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")


def read_answer(sent: QueryDict) -> GivenAnswer:
    """Read an answer: the pair's token and the outcome, the revision it follows, a reason, and the time in view.

    >>> read_answer(QueryDict("pair=x&outcome=unknown-left&seen_ms=-3"))
    GivenAnswer(pair='', outcome='unknown', unknown_side='left', follows=0, reason='', seen_ms=None)
    """
    token = sent.get("pair", "")
    outcome, _, side = sent.get("outcome", "").partition("-")
    return GivenAnswer(
        pair=token if TOKEN.fullmatch(token) else "",
        outcome=outcome,
        unknown_side=side,
        follows=_whole(sent.get("follows", ""), most=1000) or 0,
        reason="".join(each for each in sent.get("reason", "") if each.isprintable()).strip()[:200],
        seen_ms=_whole(sent.get("seen_ms", ""), most=LONGEST_MS),
    )


def read_positions(sent: Iterable[str]) -> set[int]:
    """Read the positions of areas, ignoring whatever is not a position.

    >>> read_positions(["1", "x", "-2", "99999999999999999999", "7"])
    {1, 7}
    """
    numbers = (_whole(each, most=10**6) for each in sent)
    return {each for each in numbers if each is not None}


def _whole(text: str, most: int) -> int | None:
    """Read a whole number from 0 to `most`; None for anything else."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 12):
        return None
    return number if (number := int(text)) <= most else None
