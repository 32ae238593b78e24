"""Forms and texts: errors beside the field and as sentences, who asks, and researchers' Markdown as safe HTML."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import nh3
from django import forms
from django.forms.renderers import TemplatesSetting
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt

from judgemap.errors import StudyError


class Renderer(TemplatesSetting):
    """Draws forms with our own templates."""

    form_template_name = "forms/form.html"
    field_template_name = "forms/field.html"


def sentence(error: StudyError) -> str:
    """Write an error as a sentence on a page.

    >>> sentence(StudyError("the file is empty; export the map again"))
    'The file is empty; export the map again.'
    >>> sentence(StudyError("wards.geojson has one area"))
    'wards.geojson has one area.'
    """
    text = str(error)
    named = "." in text.partition(" ")[0][:-1]  # it begins with a file's name, which stays as it is
    return f"{text if named else text[:1].upper() + text[1:]}{'' if text.endswith(('.', '?')) else '.'}"


def whole_number(text: str, most: int = 10**9) -> int | None:
    """Read a whole number from 0 to ``most``; None for anything else.

    >>> whole_number("12"), whole_number("-1"), whole_number("9" * 30), whole_number("٣")
    (12, None, None, None)
    """
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1
    return number if 0 <= number <= most else None


def search_words(request: HttpRequest) -> str:
    """Return what was typed into a page's search field."""
    return request.GET.get("q", "").replace("\0", "").strip()[:100]


def by_script(request: HttpRequest) -> bool:
    """Say whether a request comes from a page's script and not from the browser itself."""
    return "application/json" in request.headers.get("Accept", "")


def by_htmx(request: HttpRequest) -> bool:
    """Say whether htmx asks for a part of a page."""
    return request.headers.get("HX-Request") == "true"


def lead_on(request: HttpRequest, address: str) -> HttpResponse:
    """Redirect the browser, even if htmx made the request."""
    return HttpResponse(headers={"HX-Redirect": address}) if by_htmx(request) else redirect(address)


class StudyForm(forms.Form):
    """A form whose data can be refused with a `StudyError`, which is shown beside the field that it names."""

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Show the `StudyError` that an action raises, and go on."""
        try:
            yield
        except StudyError as error:
            self.add_study_error(error)

    def add_study_error(self, error: StudyError) -> None:
        """Show an error beside its field, or above the form if the form has no such field."""
        self.add_error(error.field if error.field in self.fields else None, sentence(error))


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
