"""The map over its streets, on a page of its own in a briefing.

Like the researcher's own words, it can be switched on or off after the briefing is made, so it is added when the
briefing is read.
"""

from urllib.parse import quote

from markupsafe import Markup

ANNEX = '<nav aria-labelledby="contents">'
"""Where the annex of a briefing begins."""
PAGE = Markup(
    '<section aria-labelledby="streets" style="break-after:page;border-top:0">'
    '<h2 id="streets">The map over streets and places</h2>'
    '<figure style="margin:1rem 0"><img src="{address}" alt="{alt}" '
    'style="display:block;width:100%;max-width:60rem;max-height:220mm;object-fit:contain;object-position:left top">'
    "<figcaption>{caption}</figcaption></figure></section>\n"
)
PLAIN = " =:/,.-()"
"""Characters not escaped in an image's address, so that paths, most of a picture, stay as they are."""


def add_streets(html: str, svg: str, alt: str, caption: str) -> str:
    """Put a picture of the map over its streets before the annex of a briefing.

    >>> add_streets(f"<body>{ANNEX}</nav></body>", "<svg/>", "A map.", "Streets: © Me.").count("Streets: © Me.")
    1
    """
    before, annex, after = html.partition(ANNEX)
    if not annex:
        return html
    address = f"data:image/svg+xml,{quote(svg, safe=PLAIN)}"
    return before + str(PAGE.format(address=address, alt=alt, caption=caption)) + annex + after
