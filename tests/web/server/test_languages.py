"""Researchers' pages are translated by gettext catalogues, in languages that have one of their own."""

import ast
import importlib.util
import re
from pathlib import Path

import polib
import pytest
from django.conf import settings
from django.utils.translation import trans_real

from judgemap.web.server.languages import wished_language

ROOT = Path(__file__).parents[3]
_spec = importlib.util.spec_from_file_location("messages", ROOT / "tools" / "messages.py")
messages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(messages)


@pytest.fixture(scope="module")
def empty_catalogue(tmp_path_factory):
    """The catalogue of a language that nobody has begun to translate; all templates and modules are read for it."""
    path = tmp_path_factory.mktemp("catalogue") / "django.po"
    messages.update(path, "fr")
    return path


@pytest.fixture
def in_french(tmp_path, settings, monkeypatch, empty_catalogue):
    """Translate a few texts of researchers' pages into French."""

    def translate(**texts: str) -> None:
        path = tmp_path / "fr" / "LC_MESSAGES" / "django.po"
        path.parent.mkdir(parents=True)
        catalogue = polib.pofile(str(empty_catalogue))
        for entry in catalogue:
            entry.msgstr = texts.get(entry.msgid, "")
        catalogue.save_as_mofile(str(path.with_suffix(".mo")))
        settings.LOCALE_PATHS = [*settings.LOCALE_PATHS, tmp_path]
        settings.RESEARCHERS_LANGUAGES = ["en", "fr"]
        monkeypatch.setattr(trans_real, "_translations", {})

    return translate


def test_an_entry_of_the_catalogue_changes_a_page(clients, in_french):
    in_french(
        **{"Your studies": "Vos études", "Make your first study": "Créer votre première étude", "Account": "Compte"}
    )
    page = clients["owner"].get("/studies/", headers={"accept-language": "fr-CA, en;q=0.5"}).content.decode()
    assert '<html lang="fr" dir="ltr">' in page
    assert "<h1>Vos études</h1>" in page
    assert ">Compte</a>" in page
    assert "Researchers" in page, "what is not translated stays English"
    english = clients["owner"].get("/studies/", headers={"accept-language": "en"}).content.decode()
    assert "<h1>Your studies</h1>" in english


def test_a_label_of_a_form_is_translated_too(clients, in_french):
    in_french(**{"Boundary file": "Fichier des limites"})
    page = clients["owner"].get("/new/", headers={"accept-language": "fr"}).content.decode()
    assert "Fichier des limites" in page


def test_a_language_without_a_catalogue_of_its_own_is_not_begun(clients):
    """Judges can read French, researchers cannot yet: their page is English, and says that it is."""
    assert settings.RESEARCHERS_LANGUAGES == ["en"]
    page = clients["owner"].get("/studies/", headers={"accept-language": "fr"}).content.decode()
    assert '<html lang="en" dir="ltr">' in page
    assert "<h1>Your studies</h1>" in page


@pytest.mark.parametrize(
    ("header", "code"),
    [("fr", "fr"), ("fr-CA;q=0.8, de", "fr"), ("de, en", "en"), ("", "en"), ("*", "en"), ("fr;q=0.1, en", "en")],
)
def test_the_language_is_the_one_the_browser_prefers(settings, header, code):
    settings.RESEARCHERS_LANGUAGES = ["en", "fr"]
    assert wished_language(header) == code


def test_the_catalogue_has_the_texts_of_pages_and_forms_and_not_those_of_judges(settings):
    texts = dict(list(messages.all_texts()))
    assert "What to do next" in texts
    assert "Boundary file" in texts
    assert texts["%(n_judges)s judge, made %(created_at)s"] == "%(n_judges)s judges, made %(created_at)s"
    assert "I have read this, and I agree to take part." not in texts


def test_an_update_keeps_what_is_translated(tmp_path):
    path = tmp_path / "django.po"
    messages.update(path, "fr")
    catalogue = polib.pofile(str(path))
    catalogue.find("Your studies").msgstr = "Vos études"
    catalogue.save()
    messages.update(path, "fr")
    assert polib.pofile(str(path)).find("Your studies").msgstr == "Vos études"


def test_a_sentence_made_in_python_is_translated_whole(clients, owned, in_french):
    """An error with a number in it, and a note of the page; both are English where the browser asks for English."""
    in_french(
        **{
            "type the title of the study exactly: %(title)s": "tapez le titre exactement : %(title)s",
            "Nobody has answered yet: invite judges, and come back once they have answered.": "Aucune réponse encore.",
        }
    )
    french = {"accept-language": "fr"}
    page = clients["owner"].post(f"/studies/{owned.slug}/delete", {"title": "no"}, headers=french).content.decode()
    assert f"Tapez le titre exactement : {owned.version.title}" in page
    address = f"/studies/{owned.slug}/dashboard/judges"
    assert "Aucune réponse encore." in clients["owner"].get(address, headers=french).content.decode()
    assert (
        "Nobody has answered yet" in clients["owner"].get(address, headers={"accept-language": "en"}).content.decode()
    )


def test_every_value_of_a_sentence_has_a_name_and_is_given():
    """A missing one would be an error on the page that nobody has tried, or a %s that no translator can move."""
    wrong = []
    for path in messages.WEB.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.right, ast.Dict):
                for text, _ in messages.module_texts(ast.unparse(node.left)):
                    given = {key.value for key in node.right.keys if isinstance(key, ast.Constant)}
                    if set(re.findall(r"%\((\w+)\)[sd]", text)) != given:
                        wrong.append((path.name, text, given))
    assert wrong == []
    assert [text for text, _ in messages.all_texts() if re.search(r"%[sd]", text)] == []


def test_a_value_that_is_not_given_is_caught(tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text('text = _("%(one)s of %(all)s") % {"one": 1}\n')
    monkeypatch.setattr(messages, "WEB", tmp_path)
    with pytest.raises(AssertionError):
        test_every_value_of_a_sentence_has_a_name_and_is_given()


def test_every_tag_of_a_template_is_on_one_line():
    """Django takes a tag that goes over two lines for text, and shows it as it stands."""
    web = ROOT / "src" / "judgemap" / "web"
    templates = [*web.rglob("templates/**/*.html"), *web.rglob("templates/**/*.txt")]
    assert len(templates) > 50
    broken = re.compile(r"\{%(?:(?!%\}).)*\n|\{\{(?:(?!\}\}).)*\n")
    assert [path.name for path in templates if broken.search(path.read_text(encoding="utf-8"))] == []
