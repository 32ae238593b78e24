"""The list of everything that judgemap says has every page and every error."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_spec = importlib.util.spec_from_file_location("words", ROOT / "tools" / "words.py")
words = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(words)


def test_examples():
    import doctest

    assert doctest.testmod(words).failed == 0


@pytest.fixture(scope="module")
def listed():
    return dict(words.all_words())


def test_every_template_with_words_is_listed(listed):
    for path in words.SOURCE.rglob("templates/**/*.html"):
        text = re.sub(r"{[%#{].*?[%#}]}|<[^>]*>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        if re.search(r"[a-z]{3,} [a-z]{3,}", text):
            assert path.relative_to(words.SOURCE).as_posix() in listed


def test_sentences_of_every_kind_are_there(listed):
    assert any("We do not recognise this link" in line for line in listed["web/judge/place.py"])
    assert any("Invite judges" in line for line in listed["web/people/templates/people/invite.html"])
    assert any("is closed; reopen it, or make a copy" in line for line in listed["web/studies/editing.py"])
    assert any("Make personal links for judges" in line for line in listed["cli/study.py"])


def test_what_nobody_reads_is_left_out():
    text = 'def f():\n    """Not shown to anybody at all."""\n    raise ValueError("this is shown to somebody")\n'
    assert words.module_words(text, commands=False) == ["this is shown to somebody"]
