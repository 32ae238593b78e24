"""How templates write numbers, where a dash stands for one that is not known, and times. All templates have these."""

import math
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps

from django import template
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

from judgemap.report.words import text
from judgemap.study.assess.findings import RiskRow

register = template.Library()
register.filter("chance", text.percentage)


@register.filter
def plain(value: float) -> str:
    """Write a number; whole numbers get the thousands separators of the page's language.

    >>> plain(1848), plain(0.251)
    ('1,848', '0.25')
    """
    return intcomma(value) if isinstance(value, int) else text.plain(value)


def known(write: Callable[..., str]) -> Callable[..., str]:
    """Make a filter that writes a number, or a dash if it is not known."""

    @wraps(write)
    def written(value: float | str | None, *more: int) -> str:
        return write(value, *more) if isinstance(value, int | float) and math.isfinite(value) else "–"

    return register.filter(written)


@known
def seconds(value: float) -> str:
    """Write a time.

    >>> seconds(4.256), seconds(0.8), seconds(312), seconds(None)
    ('4.3 s', '0.8 s', '5 min 12 s', '–')
    """
    minutes, rest = divmod(round(value), 60)
    return f"{minutes:,} min {rest} s" if value >= 60 else f"{value:.1f} s"


@known
def fixed(value: float, decimals: int = 2) -> str:
    """Write a number with a fixed number of decimals.

    >>> fixed(1.046), fixed(1.0462, 3), fixed(None)
    ('1.05', '1.046', '–')
    """
    return f"{value:.{decimals}f}"


@known
def whole(value: float) -> str:
    """Write a number without decimals.

    >>> whole(1234.5), whole("")
    ('1,234', '–')
    """
    return f"{value:,.0f}"


known(text.signed)
known(text.measured)
known(text.share)


@register.filter
def interval(row: RiskRow) -> str:
    """Write the 95 % interval of an area's risk."""
    return f"{text.signed(row['risk_low'])} to {text.signed(row['risk_high'])}"


@register.filter
def ranks(row: RiskRow) -> str:
    """Write the 95 % interval of an area's rank."""
    return f"{row['rank_low']:,}–{row['rank_high']:,}"


@register.simple_tag
def moment(at: datetime, pattern: str = "j M Y, H:i") -> SafeString:
    """Write a moment in UTC; `local_time.js` turns it into the reader's local time.

    >>> moment(datetime(2026, 11, 16, 21, 47, tzinfo=UTC))
    '<time datetime="2026-11-16T21:47:00+00:00" data-local="minutes">16 Nov 2026, 21:47 UTC</time>'
    """
    exact = "seconds" if "s" in pattern else "minutes"
    there = at.astimezone(UTC)
    text = date_format(there, pattern, use_l10n=False)
    return format_html('<time datetime="{}" data-local="{}">{} UTC</time>', there.isoformat(), exact, text)
