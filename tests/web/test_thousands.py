"""Large numbers on pages are written in thousands, as the page's language does it; see also `make words`."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.template.loader import render_to_string
from django.utils.translation import override

import judgemap.web
from judgemap.web.judge.pages import counter

TEMPLATES = Path(judgemap.web.__file__).parent
COUNTED = re.compile(r"{% blocktranslate [^%]*?count (\w+)=([^ %]+)[^%]*%}(.*?){% endblocktranslate %}", re.S)
SMALL = {"version.practice", "before", "sure", "days_left", "minutes"}
"""What is counted and never comes to a thousand."""


@pytest.mark.parametrize(
    ("language", "words"), [("en", "1,064 of at most 2,000"), ("fr", "1\xa0064 sur 2\xa0000 au plus")]
)
def test_a_judge_who_goes_on_sees_thousands(language, words):
    version = SimpleNamespace(practice=2, recommended=50, maximum=2000)
    judge = SimpleNamespace(judged=1063, study=SimpleNamespace(version=version))
    with override(language):
        assert counter(judge, SimpleNamespace(practice=False)).replace("\u202f", "\xa0") == words


def test_tables_and_legends_have_thousands():
    legend = SimpleNamespace(key=True, steps=[("#fff", "low", 32844), ("#000", "high", 1)])
    html = render_to_string("results/legend.html", {"legend": legend})
    assert "(32,844 areas)" in html
    assert "(1 area)" in html


def test_what_is_counted_is_written_by_a_filter():
    """A plural is chosen by a number that a page would show without thousands, so it shows another variable."""
    raw = [
        (path.name, value)
        for path in TEMPLATES.rglob("*.html")
        for name, value, body in COUNTED.findall(path.read_text(encoding="utf-8"))
        if "{{ " + name + " }}" in body and value not in SMALL
    ]
    assert raw == []
