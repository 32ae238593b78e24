"""Researchers' pages are translated by gettext catalogues, and numbers are written as their language does it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import polib
import pytest
from django.template.loader import render_to_string
from django.utils.translation import override, trans_real

import judgemap.web
from judgemap.web.judge.pages import counter
from judgemap.web.server.middleware import wished_language

WEB = Path(__file__).parents[3] / "src" / "judgemap" / "web"


@pytest.fixture
def in_french(tmp_path, settings, monkeypatch):
    """Translate a few texts of researchers' pages into French."""

    def translate(**texts: str) -> None:
        path = tmp_path / "fr" / "LC_MESSAGES" / "django.mo"
        path.parent.mkdir(parents=True)
        catalogue = polib.POFile()
        catalogue.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
        for text, french in texts.items():
            catalogue.append(polib.POEntry(msgid=text, msgstr=french))
        catalogue.save_as_mofile(str(path))
        settings.LOCALE_PATHS = [*settings.LOCALE_PATHS, tmp_path]
        settings.RESEARCHERS_LANGUAGES = ["en", "fr"]
        monkeypatch.setattr(trans_real, "_translations", {})

    return translate


def test_an_entry_of_the_catalogue_changes_a_page(clients, in_french):
    in_french(
        **{"Your studies": "Vos études", "Make your first study": "Créer votre première étude", "Account": "Compte"}
    )
    page = clients["owner"].get("/studies/", headers={"accept-language": "fr-CA, en;q=0.5"}).text
    assert '<html lang="fr" dir="ltr">' in page
    assert "<h1>Vos études</h1>" in page
    assert ">Compte</a>" in page
    assert "Researchers" in page, "what is not translated stays English"
    english = clients["owner"].get("/studies/", headers={"accept-language": "en"}).text
    assert "<h1>Your studies</h1>" in english


def test_a_language_that_is_not_offered_to_researchers_is_not_begun(clients, settings):
    """Judges can read French, researchers cannot yet: their page is English, and says that it is."""
    assert settings.RESEARCHERS_LANGUAGES == ["en"]
    page = clients["owner"].get("/studies/", headers={"accept-language": "fr"}).text
    assert '<html lang="en" dir="ltr">' in page
    assert "<h1>Your studies</h1>" in page


@pytest.mark.parametrize(
    ("header", "code"),
    [("fr", "fr"), ("fr-CA;q=0.8, de", "fr"), ("de, en", "en"), ("", "en"), ("*", "en"), ("fr;q=0.1, en", "en")],
)
def test_the_language_is_the_one_the_browser_prefers(header, code):
    assert wished_language(header, ["en", "fr"]) == code


def test_a_sentence_made_in_python_is_translated_whole(clients, owned, in_french):
    """An error with a number in it, and a note of the page; both are English where the browser asks for English."""
    in_french(
        **{
            "type the title of the study exactly: %(title)s": "tapez le titre exactement : %(title)s",
            "Nobody has answered yet: invite judges, and come back once they have answered.": "Aucune réponse encore.",
        }
    )
    french = {"accept-language": "fr"}
    page = clients["owner"].post(f"/studies/{owned.slug}/delete", {"title": "no"}, headers=french).text
    assert f"Tapez le titre exactement : {owned.version.title}" in page
    address = f"/studies/{owned.slug}/dashboard/judges"
    assert "Aucune réponse encore." in clients["owner"].get(address, headers=french).text
    assert "Nobody has answered yet" in clients["owner"].get(address, headers={"accept-language": "en"}).text


def marked(tree: ast.AST) -> Iterator[str]:
    """Yield the texts in a piece of a module that are marked for translation."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("_", "gettext", "gettext_lazy", "ngettext"):
            yield from (each.value for each in node.args if isinstance(getattr(each, "value", 0), str))


def wrong_values(folder: Path) -> list[str]:
    """Return the texts with a value that has no name, or one that is not given."""
    wrong = []
    for path in folder.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        wrong += [text for text in marked(tree) if re.search(r"%[sd]", text)]
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.right, ast.Dict):
                given = {key.value for key in node.right.keys if isinstance(key, ast.Constant)}
                wrong += [text for text in marked(node.left) if set(re.findall(r"%\((\w+)\)[sd]", text)) != given]
    return wrong


def test_every_value_of_a_sentence_has_a_name_and_is_given(tmp_path):
    """A missing one would be an error on the page that nobody has tried, or a %s that no translator can move."""
    assert wrong_values(WEB) == []
    (tmp_path / "planted.py").write_text('text = _("%(one)s of %(all)s") % {"one": 1}\nother = _("%s")\n')
    assert len(wrong_values(tmp_path)) == 2


def test_every_tag_of_a_template_is_on_one_line():
    """Django takes a tag that goes over two lines for text, and shows it as it stands."""
    templates = [*WEB.rglob("templates/**/*.html"), *WEB.rglob("templates/**/*.txt")]
    assert len(templates) > 50
    broken = re.compile(r"\{%(?:(?!%\}).)*\n|\{\{(?:(?!\}\}).)*\n")
    assert [path.name for path in templates if broken.search(path.read_text(encoding="utf-8"))] == []


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
