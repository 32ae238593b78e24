"""Times on pages: sent in UTC, and shown in the reader's own time if scripts are on."""

from datetime import UTC, datetime

from django import template
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def moment(at: datetime, pattern: str = "j M Y, H:i") -> SafeString:
    """Write a moment with its zone; `local_time.js` turns it into the reader's local time.

    >>> moment(datetime(2026, 11, 16, 21, 47, tzinfo=UTC))
    '<time datetime="2026-11-16T21:47:00+00:00" data-local="minutes">16 Nov 2026, 21:47 UTC</time>'
    """
    exact = "seconds" if "s" in pattern else "minutes"
    there = at.astimezone(UTC)
    text = date_format(there, pattern, use_l10n=False)
    return format_html('<time datetime="{}" data-local="{}">{} UTC</time>', there.isoformat(), exact, text)
