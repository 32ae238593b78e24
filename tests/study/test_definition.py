"""study.toml: read, refused in one sentence that names file and key, and written back."""

import tomllib
from dataclasses import fields, replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgemap.errors import StudyError
from judgemap.study.data.definition import (
    AreasSource,
    OwnWords,
    StudyDefinition,
    parse_definition,
    read_definition,
    read_study_areas,
    write_definition,
)

LEAST = 'title = "Wards"\nquestion = "Which?"\ndirection = "lower"\n'


def read(tmp_path: Path, text: str) -> StudyDefinition:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return read_definition(path)


def test_the_least_definition(tmp_path):
    assert read(tmp_path, LEAST) == StudyDefinition("Wards", "Which?", "lower")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("recommended = 300", "recommended is 300 and maximum is 200"),
        ("maximum = 0", "recommended is 50 and maximum is 0"),
        ("maximum = true", "maximum is True; it must be a whole number"),
        ('ties = "yes"', "ties is 'yes'; it must be true or false"),
        ('design = "principle"', "did you mean 'principal'"),
        ('access = "everybody"', "it is one of 'personal', 'open'"),
        ('languages = "en"', "languages is 'en'; it must be a list of strings"),
        ('languages = ["en", "en"]', "each only once"),
        ("consent = 'x'", "there is no key 'consent'"),
        ("[areas]\nfil = 'x'", "there is no key 'areas.fil' (did you mean 'file'?)"),
        ("[areas]\nextra_edges = [['a']]", "areas.extra_edges is [['a']]; it must be a list of pairs"),
        ("[texts]\nthanks = 3", None),
        ("[translations.fr]\ntitle = 'Quartiers'", "translations.fr is not one of the study's languages"),
        ("languages = ['en', 'fr']\n[translations.fr]\ntitel = 'Quartiers'", "did you mean 'title'"),
        ("areas = 'wards.gpkg'", "areas is 'wards.gpkg'; it must be a table"),
        ("[base_map]\ntiles = 'http://tiles'", "base_map.tiles is 'http://tiles'; it must begin with https://"),
        ("answers_until = '30.6.2027'", "answers_until is '30.6.2027'; it must be a day, such as 2027-06-30"),
        ("[", "this is not TOML"),
        ("repeats = 0.9", "repeats is 0.9; it is the share"),
        ("repeats = 'few'", "repeats is 'few'; it must be a number"),
    ],
)
def test_mistakes_name_the_file_and_the_key(tmp_path, more, words):
    if words is None:
        assert read(tmp_path, LEAST + more).thanks == "3"
        return
    with pytest.raises(StudyError, match=r"^study\.toml: ") as raised:
        read(tmp_path, LEAST + more)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    "tiles",
    [
        "https://tiles.example.org/{z}/{x}/{y}.png",
        "https://{s}.tiles.example.org/{z}/{x}/{y}{r}.png",
        "https://tiles.example.org:8443/wmts?layer=a-b&z={z}&row={y}&col={x}",
    ],
)
def test_addresses_of_tiles(tiles):
    assert StudyDefinition("Wards", "Which?", "lower", base_map=tiles).base_map == tiles


@pytest.mark.parametrize(
    "tiles",
    [
        "http://tiles.example.org/{z}/{x}/{y}.png",
        "https://tiles.example.org/{z}/{x}.png",
        "https:///{z}/{x}/{y}.png",
        "https://a.example; script-src */{z}/{x}/{y}",
        "https://a.example;script-src/{z}/{x}/{y}",
        "https://a.example,b.example/{z}/{x}/{y}",
        "https://a.example 'unsafe-inline'/{z}/{x}/{y}",
        "https://a.example\n/{z}/{x}/{y}",
        "https://a.example/{z}/{x}/{y}\n",
        "https://*/{z}/{x}/{y}",
        "https://*.example/{z}/{x}/{y}",
        "https://{s}/{z}/{x}/{y}",
        "https://{z}.example/{z}/{x}/{y}",
        "https://user:word@a.example/{z}/{x}/{y}",
        "https://a.example:port/{z}/{x}/{y}",
        "https://a.example/{z}/{x}/{y}?k='",
        'https://a.example/{z}/{x}/{y}?k="',
        "https://a.example/{z}/{x}/{y}/{key}",
        "https://ex\u00e4mple.org/{z}/{x}/{y}",
        "https://a.example:\u0661/{z}/{x}/{y}",
    ],
)
def test_what_is_no_address_of_tiles(tiles):
    with pytest.raises(StudyError, match=r"^base_map\.tiles is .* it must begin with https://"):
        StudyDefinition("Wards", "Which?", "lower", base_map=tiles)


@pytest.mark.parametrize("key", ["title", "question", "direction"])
def test_what_must_be_there(tmp_path, key):
    with pytest.raises(StudyError, match="there is no such file"):
        read_definition(tmp_path / "study.toml")
    lines = [line for line in LEAST.splitlines() if not line.startswith(key)]
    with pytest.raises(StudyError, match=f"there is no '{key}'"):
        read(tmp_path, "\n".join(lines))


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=30).filter(
    str.strip
)


@given(title=words, consent=words, edges=st.lists(st.tuples(words, words), max_size=2), ties=st.booleans(),
       fr=st.dictionaries(st.sampled_from(["title", "thanks"]), words))  # fmt: skip
def test_reading_what_was_written_gives_the_same(title, consent, edges, ties, fr):
    study = replace(
        StudyDefinition(title, "Which?", "higher", AreasSource(file="a b.gpkg", extra_edges=tuple(edges))),
        consent=consent,
        ties=ties,
        languages=("en", "fr"),
        translations={"fr": fr},
    )
    assert parse_definition(tomllib.loads(write_definition(study))) == study


def test_every_field_is_written():
    tiles = "https://t/{z}/{x}/{y}.png"
    study = StudyDefinition("T", "Q", "lower", repeats=0.1, base_map=tiles, translations={}, thanks="t",
                            answers_until=date(2027, 6, 30), asks_places=True,
                            briefing=OwnWords("A. Hill"))  # fmt: skip
    again = parse_definition(tomllib.loads(write_definition(study)))
    assert (again.repeats, again.answers_until, again.asks_places) == (0.1, date(2027, 6, 30), True)
    assert again.briefing == OwnWords("A. Hill")
    written = tomllib.loads(write_definition(study))
    flat = set(written) | set(written["texts"])
    assert {each.name for each in fields(StudyDefinition)} - flat == {"translations", "base_map_credit"}


def test_areas_from_an_edge_list_with_edges_added_and_removed(tmp_path):
    (tmp_path / "edges.csv").write_text("area_a,area_b\n1,2\n2,3\n")
    source = AreasSource(edges="edges.csv", extra_edges=(("1", "3"),), removed_edges=(("3", "2"),))
    areas = read_study_areas(StudyDefinition("T", "Q", "lower", source), tmp_path)
    assert areas.graph.edges.tolist() == [[0, 1], [0, 2]]


def test_a_map_must_be_named(tmp_path):
    with pytest.raises(StudyError, match="areas does not name a map"):
        read_study_areas(StudyDefinition("T", "Q", "lower"), tmp_path)
