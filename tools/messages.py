"""Write what has to be translated for researchers' pages, as a gettext catalogue that keeps earlier translations.

    python tools/messages.py fr        writes src/judgemap/web/locale_researchers/fr/LC_MESSAGES/django.po

Texts come from ``{% translate %}`` and ``{% blocktranslate %}`` in the templates, and from ``_("…")`` in the modules.
What judges read has catalogues of its own, in src/judgemap/web/locale, and is left out.
"""

import ast
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polib

WEB = Path(__file__).parent.parent / "src" / "judgemap" / "web"
MARKS = {"_": 1, "gettext": 1, "gettext_lazy": 1, "ngettext": 2}
Text = tuple[str, str]
"""A text, and its plural if it has one."""


def template_texts(name: str) -> Iterator[Text]:
    """Yield what a template marks for translation."""
    from django.template.loader import get_template
    from django.templatetags.i18n import BlockTranslateNode, TranslateNode
    from django.utils.translation import trim_whitespace

    nodes = get_template(name).template.nodelist
    for node in nodes.get_nodes_by_type(TranslateNode):
        if isinstance(literal := getattr(node.filter_expression.var, "literal", None), str):
            yield literal, ""
    for node in nodes.get_nodes_by_type(BlockTranslateNode):
        texts = (node.render_token_list(tokens or [])[0] for tokens in (node.singular, node.plural))
        one, many = (trim_whitespace(text) if node.trimmed else text for text in texts)
        yield one, many


def module_texts(text: str) -> Iterator[Text]:
    """Yield what a module marks for translation.

    >>> list(module_texts('label = _("Boundary file")'))
    [('Boundary file', '')]
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MARKS:
            given = [each.value for each in node.args[: MARKS[node.func.id]] if isinstance(each, ast.Constant)]
            if given and all(isinstance(each, str) for each in given):
                yield str(given[0]), str(given[1]) if len(given) > 1 else ""


def all_texts() -> dict[Text, str]:
    """Return every text on researchers' pages, and where it first appears."""
    found: dict[Text, str] = {}
    for path in sorted(WEB.rglob("*")):
        place = path.relative_to(WEB).as_posix()
        if "templates" in path.parts and path.suffix in (".html", ".txt"):
            texts = template_texts(place.partition("templates/")[2])
        elif path.suffix == ".py":
            texts = module_texts(path.read_text(encoding="utf-8"))
        else:
            continue
        for text in texts:
            found.setdefault(text, place)
    judges = {entry.msgid for entry in polib.pofile(str(WEB / "locale" / "fr" / "LC_MESSAGES" / "django.po"))}
    return {text: place for text, place in found.items() if text[0] not in judges}


def update(path: Path, language: str) -> None:
    """Write the catalogue of a language, keeping its translations."""
    before = {(entry.msgid, entry.msgid_plural): entry for entry in polib.pofile(str(path))} if path.exists() else {}
    catalogue = polib.POFile(wrapwidth=120)
    catalogue.metadata = {"Language": language, "Content-Type": "text/plain; charset=UTF-8"}
    for text, place in all_texts().items():
        entry = before.get(text) or polib.POEntry(msgid=text[0], msgid_plural=text[1])
        entry.comment = place
        if text[1] and not entry.msgstr_plural:
            entry.msgstr_plural = {0: "", 1: ""}
        catalogue.append(entry)
    path.parent.mkdir(parents=True, exist_ok=True)
    catalogue.save(str(path))


def main() -> None:
    """Set up Django, for its templates, and write the catalogue of the language that was asked for."""
    import django

    with tempfile.TemporaryDirectory() as data:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "judgemap.web.settings", "JUDGEMAP_DATA": data}
        django.setup()
        update(WEB / "locale_researchers" / sys.argv[1] / "LC_MESSAGES" / "django.po", sys.argv[1])


if __name__ == "__main__":
    main()
