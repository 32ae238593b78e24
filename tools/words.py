"""Write every sentence that judgemap shows to one text file, page by page, for somebody to read and correct.

    python tools/words.py words.txt

A page's sentences come from its template; errors, labels, help and notes from the strings of the Python modules, with
``{…}`` where a value stands. Docstrings are left out, except those of commands, which are their help.
"""

import ast
import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "judgemap"
SILENT = re.compile(r"<(script|style|svg)\b.*?</\1>|{#.*?#}|{% comment %}.*?{% endcomment %}", re.DOTALL)
TRANSLATED = re.compile(r"""{% translate (["'])(.*?)\1[^%]*%}""", re.DOTALL)
SPOKEN = re.compile(r"""\b(?:alt|aria-label|placeholder|title)=(["'])(.*?)\1""", re.DOTALL)
BLOCK = re.compile(
    r"</?(?:p|h\d|li|ul|ol|dl|dt|dd|div|section|table|tr|th|td|button|summary|details|form|label|option)\b[^>]*>"
)
TAG = re.compile(r"<[^>]*>|{%.*?%}", re.DOTALL)
BLANK = re.compile(r"{{.*?}}", re.DOTALL)
SENTENCE = re.compile(r"[A-Za-z’']+ (?:[A-Za-z’'{0-9(“-]+ )")
"""At least three words: shorter strings are mostly keys and names, not something to read."""


def template_words(text: str) -> list[str]:
    """Return what a template says, one line per paragraph.

    >>> template_words("<h1>Your {{ n }} links</h1><p>Send <b>each</b> one.</p>")
    ['Your {…} links', 'Send each one.']
    """
    text = TRANSLATED.sub(lambda said: said[2], SILENT.sub(" ", text))
    spoken = [said for _, said in SPOKEN.findall(text)]
    plain = BLANK.sub("{…}", TAG.sub("", BLOCK.sub("\n", text)))
    lines = [" ".join(unescape(line).split()) for line in [*re.split(r"\n\s*\n|\n(?=\s*$)|\n", plain), *spoken]]
    return list(dict.fromkeys(line for line in lines if re.search(r"[A-Za-z]{2}", line)))


def module_words(text: str, *, commands: bool) -> list[str]:
    """Return the sentences in a module's strings, in their order.

    >>> module_words('x = f"there is no study {name!r} here"; y = "key"', commands=False)
    ['there is no study {…} here']
    """
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    silent = set()
    for node in ast.walk(tree):
        if isinstance(node, documented) and not (
            commands and isinstance(node, ast.FunctionDef) and node.decorator_list
        ):
            silent |= {id(each.value) for each in node.body if isinstance(each, ast.Expr)}
        if isinstance(node, ast.JoinedStr):
            silent |= {id(each) for each in ast.walk(node)} - {id(node)}
    words = (_string(node) for node in ast.walk(tree) if id(node) not in silent)
    return list(dict.fromkeys(" ".join(each.split()) for each in words if SENTENCE.search(each)))


def _string(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "{…}" for each in node.values)
    return ""


def all_words(source: Path = SOURCE) -> Iterator[tuple[str, list[str]]]:
    """Yield each template and module that says something, with what it says."""
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source).as_posix()
        if "templates" in path.parts and path.suffix in (".html", ".txt"):
            words = template_words(path.read_text(encoding="utf-8"))
        elif path.suffix == ".py" and "migrations" not in path.parts:
            words = module_words(path.read_text(encoding="utf-8"), commands=name.startswith("cli/"))
        else:
            continue
        if words:
            yield name, words


if __name__ == "__main__":
    pages = [f"{name}\n" + "".join(f"    {line}\n" for line in words) for name, words in all_words()]
    Path(sys.argv[1]).write_text("\n".join(pages), encoding="utf-8")
