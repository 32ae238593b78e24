"""Numbers as people read them."""

from django import template

from judgemap.web.dashboard import charts, live

register = template.Library()
register.filter("plain", charts.plain)
register.filter("percent", live.percent)


@register.filter
def seconds(value: float | None) -> str:
    """Write a time.

    >>> seconds(4.256), seconds(0.8), seconds(312), seconds(None)
    ('4.3 s', '0.8 s', '5 min 12 s', '–')
    """
    if value is None:
        return "–"
    if value >= 60:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes:,} min {rest} s"
    return f"{value:.1f} s"


@register.filter
def fixed(value: float | None) -> str:
    """Write a number with two decimals.

    >>> fixed(1.046), fixed(None)
    ('1.05', '–')
    """
    return "–" if value is None else f"{value:.2f}"
