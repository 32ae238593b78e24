"""Every public name has a docstring with an example, and a place in the reference."""

import doctest
import inspect
import pydoc
import re
import runpy
from pathlib import Path

import pytest

import judgemap as jm

DOCS = Path(__file__).resolve().parents[2] / "docs"


def examples_of(value):
    """Return the examples of a name: its own, and for a class those of its methods."""
    texts = [inspect.getdoc(value) or ""]
    if inspect.isclass(value):
        texts += [inspect.getdoc(member) or "" for name, member in vars(value).items() if not name.startswith("_")]
    return [example for text in texts for example in doctest.DocTestParser().get_examples(text)]


@pytest.mark.parametrize("name", jm.__all__)
def test_a_public_name_has_an_example(name):
    value = getattr(jm, name)
    assert value.__doc__
    assert examples_of(value), f"{name} has no example in its docstring"


def public_functions():
    """Yield the public functions, and the methods of public classes where they are defined first."""
    for name in jm.__all__:
        value = getattr(jm, name)
        if not inspect.isclass(value):
            yield name, value
            continue
        for method in vars(value):
            function = inspect.unwrap(getattr(value, method))
            if not method.startswith("_") and callable(function) and not hasattr(super(value, value), method):
                yield f"{name}.{method}", function


@pytest.mark.parametrize(("name", "function"), list(public_functions()))
def test_a_public_function_says_what_it_takes_and_returns(name, function):
    text, signature = inspect.getdoc(function), inspect.signature(function)
    assert text, name
    documented = re.findall(
        r"^\*{0,2}(\w[\w, ]*)$", text.partition("Parameters\n----------\n")[2].partition("Returns\n")[0], re.M
    )
    assert {part.strip() for line in documented for part in line.split(",")} == set(signature.parameters) - {"self"}
    # A method's first sentence says what it returns, and its signature of which type.
    is_method = "." in name and signature.return_annotation is not inspect.Signature.empty
    assert is_method or "Returns\n-------\n" in text or signature.return_annotation is None


def test_the_reference_lists_every_public_name_once():
    """On the page of its topic, and on the page of all names, which links there."""
    topics = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("python-*.md"))
    assert sorted(re.findall(r"^::: judgemap\.(\w+)$", topics, re.MULTILINE)) == list(jm.__all__)
    names = re.findall(r"\]\[judgemap\.(\w+)\]", (DOCS / "reference.md").read_text(encoding="utf-8"))
    assert sorted(names) == list(jm.__all__)


def test_every_page_is_in_the_navigation():
    navigation = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {str(path.relative_to(DOCS)) for path in [*DOCS.glob("*.md"), *DOCS.glob("notebooks/*.*")]}
    assert [page for page in sorted(pages) if f": {page}\n" not in navigation] == []


def test_every_command_has_a_page_of_the_site():
    pytest.importorskip("mkdocs")
    reference = (DOCS / "cli.md").read_text(encoding="utf-8")
    pages = runpy.run_path(str(DOCS / "site" / "pages.py"))["command_pages"](reference)
    assert list(pages) == re.findall(r"^\* `(\w+)`:", reference.partition("\n## ")[0], re.MULTILINE)
    assert "\n## judgemap study new\n" in pages["study"]


@pytest.mark.parametrize("name", ["examples", "pages"])
def test_the_site_is_written_as_its_examples_say(name):
    pytest.importorskip("mkdocs")
    failed, attempted = doctest.testmod(pydoc.importfile(str(DOCS / "site" / f"{name}.py")))
    assert attempted
    assert not failed
