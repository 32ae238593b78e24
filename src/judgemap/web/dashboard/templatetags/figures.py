"""Numbers as people read them."""

from django import template
from django.contrib.humanize.templatetags.humanize import intcomma

from judgemap.report.words import text

register = template.Library()
register.filter("percent", text.share)
register.filter("chance", text.percentage)


@register.filter
def plain(value: float) -> str:
    """Write a number; whole numbers get the thousands separators of the page's language.

    >>> plain(1848), plain(0.251)
    ('1,848', '0.25')
    """
    return intcomma(value) if isinstance(value, int) else text.plain(value)


@register.filter
def seconds(value: float | str | None) -> str:
    """Write a time.

    >>> seconds(4.256), seconds(0.8), seconds(312), seconds(None)
    ('4.3 s', '0.8 s', '5 min 12 s', '–')
    """
    if not isinstance(value, int | float):
        return "–"
    if value >= 60:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes:,} min {rest} s"
    return f"{value:.1f} s"


@register.filter
def fixed(value: float | str | None) -> str:
    """Write a number with two decimals.

    >>> fixed(1.046), fixed(None)
    ('1.05', '–')
    """
    return f"{value:.2f}" if isinstance(value, int | float) else "–"


@register.filter
def share(value: float | str | None) -> str:
    """Write a share in per cent, or a dash if there is none.

    >>> share(0.5), share(0.012), share(None), share("")
    ('50 %', '1.2 %', '–', '–')
    """
    return text.share(float(value)) if isinstance(value, int | float) else "–"
