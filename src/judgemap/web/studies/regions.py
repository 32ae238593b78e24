"""Regions: the larger places that areas belong to, so that judges of a large map can say which part of it they know."""

import re
from collections import Counter
from collections.abc import Sequence

MANY = 1_000
"""With more areas than this, judges are asked which places they know before the first pair."""
NUMBERED = re.compile(r"^(?P<region>.*?\w.*?)[\s,.–-]+(?:\d[\w/.-]*|[A-Z])$")
"""A name that ends in a number or a letter, such as "Nottingham 012A", and what comes before."""
LEAST_SHARE = 0.9
"""Names are taken to contain regions if at least this share of the areas is in a region with others."""


def regions_in(names: Sequence[str]) -> list[str]:
    """Return the region that each area's name gives, or only empty strings if names have no such form.

    >>> regions_in(["Nottingham 012A", "Nottingham 012B", "West Berkshire 001C", "West Berkshire 002A"])
    ['Nottingham', 'Nottingham', 'West Berkshire', 'West Berkshire']
    >>> regions_in(["Castle", "Trent", "Hyde Park"])
    ['', '', '']
    """
    found = [match["region"] if (match := NUMBERED.match(name)) else "" for name in names]
    return _worth_it(found)


def _worth_it(regions: Sequence[str]) -> list[str]:
    """Keep regions that help to choose: several of them, nearly all with more than one area."""
    count = Counter(regions)
    shared = sum(areas for region, areas in count.items() if region and areas > 1)
    helpful = len(count.keys() - {""}) > 1 and shared >= LEAST_SHARE * len(regions)
    return list(regions) if helpful else [""] * len(regions)
