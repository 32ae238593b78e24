"""Researchers' texts: Markdown made into HTML, and cleaned of everything that could run."""

from functools import lru_cache

import nh3
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt

TAGS = {
    "p", "br", "em", "strong", "ul", "ol", "li", "h2", "h3", "h4", "blockquote", "code", "pre", "hr", "a", "table",
    "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
PARSER = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")


@lru_cache(maxsize=512)
def render_markdown(text: str) -> SafeString:
    r"""Turn Markdown into safe HTML. Headings start at the second level, because the page has the first.

    >>> render_markdown("**Read** <script>alert(1)</script> [this](javascript:alert(2))")
    '<p><strong>Read</strong> &lt;script&gt;alert(1)&lt;/script&gt; [this](javascript:alert(2))</p>\n'
    """
    html = PARSER.render(text).replace("<h1>", "<h2>").replace("</h1>", "</h2>")
    clean = nh3.clean(html, tags=TAGS, attributes={"a": {"href"}}, url_schemes={"https", "http", "mailto"})
    return SafeString(clean)
