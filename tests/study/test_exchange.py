"""Plain tables and the interface's export: read whatever their columns are called, refused in one sentence."""

import csv
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

import judgemap as jm
from judgemap.errors import StudyError
from judgemap.study.data import exchange as interface_files
from judgemap.study.data.exchange import Answer, Columns, Imported, import_interface, import_table, save_import

ITEMS = [
    {"item_id": str(number), "name": name, "display_name": name.title(), "image_path": "x.png", "created_date": "2024"}
    for number, name in ((4, "ash"), (5, "beech"), (7, "cedar"))
]


def comparison(number, first, second, selected, state, who="participant_id") -> dict[str, str]:
    return {"comparison_id": str(number), who: "1", "item_1_id": first, "item_2_id": second,
            "selected_item_id": selected, "state": state, "created": "2024-05-01 10:00:00.5"}  # fmt: skip


GOOD = [
    comparison(1, "4", "5", "4", "selected"),
    comparison(2, "5", "7", "7", "selected"),
    comparison(3, "7", "4", "None", "tied"),
    comparison(4, "4", "7", "None", "skipped"),
]


def table_text(rows, delimiter=",") -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys(), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def export(path, comparisons=GOOD, items=ITEMS, ending="csv", folder="database_tables/"):
    delimiter = "\t" if ending == "tsv" else ","
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{folder}comparison.{ending}", table_text(comparisons, delimiter))
        archive.writestr(f"{folder}item.{ending}", table_text(items, delimiter))
        archive.writestr(f"{folder}participant.{ending}", "participant_id,name,email\n1,Ann,ann@example.org\n")
        archive.writestr(f"{folder}outcome.{ending}", "item_1_id,item_2_id,outcome\n4,5,0\n")
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_the_interfaces_export(tmp_path, ending):
    found = import_interface(export(tmp_path / "database_export.zip", ending=ending))
    assert [each.outcome for each in found.answers] == ["left", "right", "tie", "skipped"]
    assert found.ids == ("4", "5", "7")
    assert found.names == ("Ash", "Beech", "Cedar")
    assert {each.judge for each in found.answers} == {"1"}
    command = save_import(found, tmp_path / "out")
    assert "--model standard" in command
    assert "Ann" not in "".join(path.read_text() for path in (tmp_path / "out").iterdir())


def test_before_users_were_participants(tmp_path):
    older = [comparison(1, "4", "5", "5", "selected", who="user_id")]
    found = import_interface(export(tmp_path / "a.zip", comparisons=older, folder=""))
    assert found.answers[0] == Answer("1", "4", "5", "right", "", "2024-05-01 10:00:00.5")


def test_areas_can_go_by_name(tmp_path):
    found = import_interface(export(tmp_path / "a.zip"), "name")
    assert found.ids == ("ash", "beech", "cedar")
    assert (found.answers[0].left, found.answers[0].right) == ("ash", "beech")


def test_what_the_interface_stores_unchecked_is_left_out_and_said(tmp_path):
    forged = [comparison(5, "4", "4", "4", "selected"), comparison(6, "4", "9999", "4", "selected"),
              comparison(7, "4", "5", "7", "selected"), comparison(8, "4", "5", "None", "<script>")]  # fmt: skip
    found = import_interface(export(tmp_path / "a.zip", comparisons=GOOD + forged))
    assert len(found.answers) == 4
    assert "4 comparisons name an unknown item, or the same item twice" in found.notes[0]
    assert "'5', '6', '7', '8'" in found.notes[0]


def test_a_zip_file_is_read_with_bounds(tmp_path, monkeypatch):
    path = export(tmp_path / "a.zip")
    monkeypatch.setattr(interface_files, "MOST_BYTES", 100)
    with pytest.raises(StudyError, match="too large for an export"):
        import_interface(path)
    monkeypatch.setattr(interface_files, "MOST_FILES", 2)
    with pytest.raises(StudyError, match="the zip file holds 4 files"):
        import_interface(path)


def test_names_in_a_zip_file_lead_nowhere(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    path = export(inner / "a.zip", folder="../../evil/")
    assert len(import_interface(path).answers) == 4
    assert sorted(each.name for each in tmp_path.iterdir()) == ["inner"]
    assert sorted(each.name for each in inner.iterdir()) == ["a.zip"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("photo", r"there is no comparison.csv in it, .* it holds 'photo.png'"),
        ("none", "there is no such file"),
        ("rubbish", "cannot be opened"),
    ],
)
def test_zip_files_that_are_none(tmp_path, name, said):
    with zipfile.ZipFile(tmp_path / "photo.zip", "w") as archive:
        archive.writestr("photo.png", b"x")
    (tmp_path / "rubbish.zip").write_bytes(b"PK\x03\x04rubbish")
    with pytest.raises(StudyError, match=said):
        import_interface(tmp_path / f"{name}.zip")


@given(st.binary(max_size=300))
def test_rubbish_is_one_sentence(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("rubbish")
    (folder / "a.zip").write_bytes(content)
    (folder / "a.csv").write_bytes(content)
    for read in (lambda: import_interface(folder / "a.zip"), lambda: import_table(folder / "a.csv")):
        with pytest.raises(StudyError):
            read()


TABLES = {
    "winner,loser,judge\nAsh,Elm,ann\nElm,Fir,bob\n": (Columns(), ["left", "left"]),
    "USER;Win;LOST\nann;Ash;Elm\nann;Elm;Fir\n": (Columns(), ["left", "left"]),
    "item1,item2,outcome\nAsh,Elm,1\nElm,Fir,0\nElm,Fir,2\n": (Columns(), ["left", "right", "tie"]),
    "left,right,outcome,judge,seconds\nAsh,Elm,tie,a,2\nElm,Fir,skipped,b,\n": (Columns(), ["tie", "skipped"]),
    "a,b,best\nAsh,Elm,Elm\nElm,Fir,\n": (Columns(left="a", right="b", chosen="best"), ["right", "skipped"]),
    "winner,loser,outcome\nAsh,Elm,\nElm,Fir,tie\nFir,Ash,skipped\n": (Columns(), ["left", "tie", "skipped"]),
    "winner,loser,y\nAsh,Elm,1\nElm,Fir,2\n": (Columns(), ["left", "tie"]),
    "left,right,outcome,winner,loser\nAsh,Elm,right,Elm,Ash\nElm,Fir,tie,,\n": (Columns(), ["right", "tie"]),
    "better,worse,who\nAsh,Elm,1\n": (Columns(winner="better", loser="worse", judge="who"), ["left"]),
    "winner,loser,home,away,y\nAsh,Elm,Elm,Ash,1\n": (Columns(left="home", right="away", outcome="y"), ["left"]),
}


@pytest.mark.parametrize("text", TABLES)
def test_tables(tmp_path, text):
    columns, outcomes = TABLES[text]
    (tmp_path / "a.csv").write_text(text)
    found = import_table(tmp_path / "a.csv", columns)
    assert [each.outcome for each in found.answers] == outcomes
    assert any(each.judge for each in found.answers) == any(word in text for word in ("judge", "who", "USER"))
    save_import(found, tmp_path / "out")
    from judgemap.geo.maps import read_names

    data = jm.read_comparisons(tmp_path / "out" / "comparisons.csv", read_names(tmp_path / "out" / "areas.csv"))
    assert data.outcome_words.tolist() == outcomes


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        ("x,y\n1,2\n", Columns(), "a.csv: the columns are 'x', 'y'; say which hold the winner and the loser"),
        ("win,lost\n1,2\n", Columns(winner="wim"), r"there is no column 'wim' \(did you mean 'win'\?\)"),
        ("win,lost\n1,2\n3,\n", Columns(), "a.csv line 3: an area is missing"),
        ("win,lost\n1,1\n", Columns(), "a.csv line 2: '1' is compared with itself"),
        ("left,right,outcome\n1,2,lefty\n", Columns(), "line 2: 'lefty' is not an outcome .did you mean 'left'"),
        ("winner,loser,outcome\n1,2,right\n", Columns(), "line 2: the outcome is 'right', but the winner is '1'"),
        ("left,right,outcome,winner\n1,2,tie,1\n", Columns(), "line 2: the outcome is 'tie', but the winner is"),
        ("left,right,chosen\n1,2,3\n", Columns(), "line 2: '3' was chosen, but '1' and '2' were shown"),
    ],
)
def test_tables_that_make_no_sense(tmp_path, text, columns, words):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(StudyError, match=words):
        import_table(tmp_path / "a.csv", columns)


def test_a_folder_of_somebody_elses_is_left_alone(tmp_path):
    (tmp_path / "comparisons.csv").write_text("mine")
    found = Imported(("1", "2"), ("1", "2"), (Answer("", "1", "2", "left"),))
    with pytest.raises(StudyError, match="is not empty and holds no import"):
        save_import(found, tmp_path)
    assert (tmp_path / "comparisons.csv").read_text() == "mine"
    save_import(found, tmp_path / "new")
    (tmp_path / "new" / "notes.txt").write_text("mine")
    save_import(found, tmp_path / "new")
    assert (tmp_path / "new" / "notes.txt").read_text() == "mine"
