"""What a briefing says in the researcher's own words: who wrote it, whom to ask, and what to do next.

These words can change after the briefing is made, and its figures take long to draw. So the words stand between markers
in the page, where `fill_in` replaces them.
"""

import re
from datetime import date

from markupsafe import Markup, escape

from judgemap.study.definition import OwnWords

BYLINE, STEPS = "byline", "next-steps"


def byline(words: OwnWords, made: date | None) -> Markup:
    """Write the date, the author and the contact.

    >>> byline(OwnWords(author="A. Hill", contact="hill@town.example"), date(2026, 3, 2))
    Markup('<!--byline--><p class="byline">2 March 2026 · A. Hill · Contact: hill@town.example</p><!--/byline-->')
    """
    day = f"{made.day} {made:%B %Y}" if made else ""
    contact = f"Contact: {words.contact}" if words.contact else ""
    parts = [part for part in (day, words.author, contact) if part]
    text = Markup('<p class="byline">{}</p>').format(" · ".join(parts)) if parts else Markup("")
    return _marked(BYLINE, text)


def next_steps(words: OwnWords) -> Markup:
    """Write what to do next, a paragraph for each block of lines, and whom to ask.

    >>> next_steps(OwnWords(next_steps="Visit <Loop>.")).count("&lt;Loop&gt;")
    1
    """
    blocks = [block.strip() for block in re.split(r"\n\s*\n", words.next_steps.replace("\r", "")) if block.strip()]
    paragraphs = Markup("").join(
        Markup("<p>{}</p>").format(Markup("<br>").join(escape(line) for line in block.splitlines())) for block in blocks
    )
    if not blocks:
        return _marked(STEPS, Markup(""))
    contact = Markup("<p>Questions: {}</p>").format(words.contact) if words.contact else Markup("")
    text = Markup('<div class="steps" role="group" aria-label="What to do next"><h3>What to do next</h3>{}{}</div>')
    return _marked(STEPS, text.format(paragraphs, contact))


def fill_in(html: str, words: OwnWords, made: date | None) -> str:
    """Replace the researcher's own words in a page.

    >>> page = f"<body>{byline(OwnWords(), None)}</body>"
    >>> "A. Hill" in fill_in(page, OwnWords(author="A. Hill"), None)
    True
    """
    for name, text in ((BYLINE, byline(words, made)), (STEPS, next_steps(words))):
        before, mark, rest = html.partition(f"<!--{name}-->")
        html = before + str(text) + rest.partition(f"<!--/{name}-->")[2] if mark else html
    return html


def _marked(name: str, text: Markup) -> Markup:
    return Markup("<!--") + name + Markup("-->") + text + Markup("<!--/") + name + Markup("-->")
