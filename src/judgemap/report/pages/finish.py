"""What a briefing says in the researcher's own words: who wrote it, whom to ask, and what to do next.

These words can change after the briefing is made, and its figures take long to draw. So the words stand between markers
in the page, where `fill_in` replaces them.
"""

import os
import re
import shutil
import subprocess
import tempfile
from datetime import date
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup, escape

from judgemap.errors import StudyError
from judgemap.study.data.definition import OwnWords
from judgemap.study.fit.folder import check_file, write_whole

BYLINE, STEPS = "byline", "next-steps"


def byline(words: OwnWords, made: date | None, logo: str = "") -> Markup:
    """Write the date, the author, the organisation with its logo (an address with the picture in it), and the contact.

    >>> byline(OwnWords(author="A. Hill", contact="hill@town.example"), date(2026, 3, 2))
    Markup('<!--byline--><p class="byline">2 March 2026 · A. Hill · Contact: hill@town.example</p><!--/byline-->')
    """
    day = f"{made.day} {made:%B %Y}" if made else ""
    contact = f"Contact: {words.contact}" if words.contact else ""
    parts = [part for part in (day, words.author, words.organisation, contact) if part]
    text = Markup('<p class="byline">{}</p>').format(" · ".join(parts)) if parts else Markup("")
    drawn = Markup('<img class="logo" src="{}" alt="{}">').format(logo, words.organisation) if logo else Markup("")
    return _marked(BYLINE, drawn + text)


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


def fill_in(html: str, words: OwnWords, made: date | None, logo: str = "") -> str:
    """Replace the researcher's own words in a page.

    >>> page = f"<body>{byline(OwnWords(), None)}</body>"
    >>> "A. Hill" in fill_in(page, OwnWords(author="A. Hill"), None)
    True
    """
    for name, text in ((BYLINE, byline(words, made, logo)), (STEPS, next_steps(words))):
        before, mark, rest = html.partition(f"<!--{name}-->")
        html = before + str(text) + rest.partition(f"<!--/{name}-->")[2] if mark else html
    return html


def _marked(name: str, text: Markup) -> Markup:
    return Markup("<!--") + name + Markup("-->") + text + Markup("<!--/") + name + Markup("-->")


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
    address = f"data:image/svg+xml,{quote(svg, safe=PLAIN)}"
    return before_annex(html, str(PAGE.format(address=address, alt=alt, caption=caption)))


CUT, END = "<!--annex-->", "</main>"
"""Where the two pages of a briefing end, and where its annex does."""


def two_pages(html: str) -> str:
    """Return the two pages of a briefing without its annex.

    The footer goes too: it would stand alone on a third.

    >>> two_pages("<main>Front<!--annex-->Details</main><footer>Made</footer></html>")
    '<main>Front</main></html>'
    """
    before, cut, after = html.partition(CUT)
    return before + END + after.partition("</footer>")[2] if cut else html


def annex_alone(html: str) -> str:
    """Return the annex of a briefing without its two pages, under the same title.

    >>> annex_alone("<title>Wards</title><main>Front<!--annex-->Details</main>")
    '<title>Wards</title><main>Details</main>'
    """
    before, cut, after = html.partition(CUT)
    return before[: before.index("<main>") + len("<main>")] + after if cut else html


def before_annex(html: str, section: str) -> str:
    """Put a section before the annex of a briefing, if it has one."""
    before, annex, after = html.partition(ANNEX)
    return before + section + annex + after if annex else html


RENDERERS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge",
)  # fmt: skip
"""Programs that can print a page to PDF, by the names they have on the PATH."""

FLAGS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--no-pdf-header-footer",
    "--export-tagged-pdf",
    "--generate-pdf-document-outline",
)

LIMIT = 120.0
"""How many seconds printing may take."""


def find_renderer() -> Path | None:
    """Return the first browser on the PATH that can print, or None."""
    programs = (shutil.which(name) for name in RENDERERS)
    return next((Path(program) for program in programs if program), None)


def write_pdf(html: str, path: str | Path, limit: float = LIMIT) -> Path:
    """Print a self-contained page to a PDF file within ``limit`` seconds; a failure leaves no partial file."""
    path = Path(path)
    check_file(path)
    renderer = find_renderer()
    if renderer is None:
        raise StudyError(
            f"{path.name} cannot be made: no Chromium, Chrome or Edge is on the PATH; install one, or write "
            "report.html and print it to PDF from any browser"
        )
    with tempfile.TemporaryDirectory(prefix="judgemap-pdf-") as folder:
        page, printed = Path(folder, "page.html"), Path(folder, "page.pdf")
        page.write_text(html, encoding="utf-8")
        # As root the browser's sandbox cannot start, and our page has no script to contain.
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        places = [f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}", page.as_uri()]
        command = [str(renderer), *FLAGS, *(["--no-sandbox"] if root else []), *places]
        try:
            done = subprocess.run(command, capture_output=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            raise StudyError(
                f"{path.name} was not made: {renderer.name} took more than {limit:g} seconds; try again, or write "
                "report.html and print it from a browser"
            ) from None
        except OSError as error:
            raise StudyError(f"{path.name} was not made: {renderer} does not start ({error.strerror})") from None
        if done.returncode != 0 or not printed.is_file():
            raise StudyError(
                f"{path.name} was not made: {renderer.name} ended with status {done.returncode}; write report.html and "
                "print it from a browser"
            )
        return write_whole(path, printed.read_bytes())
