import os
import subprocess
import sys

import pytest
from typer.core import TyperGroup

from judgemap.cli.main import SUMMARIES, load_command


def names():
    """The words that name each command: 'fit', 'study new'."""
    for name in SUMMARIES:
        command = load_command(name)
        yield from ((name, each) for each in command.commands) if isinstance(command, TyperGroup) else ((name,),)


def test_every_command_has_help_with_an_example(judgemap):
    for words in names():
        result = judgemap(*words, "--help")
        assert result.status == 0
        assert f"Example: judgemap {' '.join(words)}" in result.out


def test_help_loads_no_command():
    """What takes a second to load is loaded by the command that uses it."""
    code = "import sys; sys.argv += ['--help']; from judgemap.cli.main import main"
    code += "\ntry: main()\nfinally: print([*sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.rpartition("[")[2]
    assert not {"'numpy'", "'scipy'", "'pandas'", "'django'"} & set(loaded.strip("]\n").split(", "))


def test_an_unknown_command_is_told_from_its_neighbours(judgemap):
    result = judgemap("fitt")
    assert result.status == 2
    assert "Did you mean 'fit'?" in result.err


def test_commands_are_listed_in_the_order_of_a_study(judgemap):
    listed = judgemap("--help").out.partition("Commands:")[2]
    places = [listed.index(f"\n  {name} ") for name in ("demo", "serve", "study", "plan", "fit", "report")]
    assert places == sorted(places)
    assert "..." not in listed


def test_version(judgemap):
    assert judgemap("--version").out.startswith("judgemap 0.")


def test_prior_is_drawn(judgemap, edges, tmp_path):
    result = judgemap("prior", *edges, "--of", "Cedar", "-o", tmp_path / "prior.svg")
    assert result.status == 0, result.err
    assert "<svg" in (tmp_path / "prior.svg").read_text()


@pytest.mark.parametrize(
    ("of", "picture", "words"), [("Cedr", "p.svg", "did you mean 'Cedar'"), ("Elm", "p.doc", ".svg")]
)
def test_prior_of_nothing(judgemap, edges, tmp_path, of, picture, words):
    result = judgemap("prior", *edges, "--of", of, "-o", tmp_path / picture)
    assert result.status == 2
    assert words in result.err
    assert not (tmp_path / picture).exists()


def test_symbols_are_written_whatever_the_locale_says():
    done = subprocess.run(
        [sys.executable, "-m", "judgemap", "plan", "--help"],
        env=os.environ | {"PYTHONIOENCODING": "latin-1", "COLUMNS": "200"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "α" in done.stdout.decode()


@pytest.mark.parametrize("options", [["-o", "areas.csv"], ["-o", "pairs.csv", "--picture", "./edges.csv"]])
def test_no_command_overwrites_what_it_reads(judgemap, edges, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = judgemap("schedule", *edges, *options, "--pairs", 10)
    assert result.status == 2
    assert "is a file that this command reads; name another one for the result" in result.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_that_is_there_is_replaced_only_by_force(judgemap, edges, tmp_path):
    words = ["schedule", *edges, "--pairs", 10, "--seed", 1, "-o", tmp_path / "pairs.csv"]
    (tmp_path / "pairs.csv").write_text("mine")
    refused = judgemap(*words)
    assert refused.status == 2
    assert "is there already; name another file, or replace it with --force" in refused.err
    assert (tmp_path / "pairs.csv").read_text() == "mine"
    assert judgemap(*words, "--force").status == 0
    assert (tmp_path / "pairs.csv").read_text() != "mine"


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("study.plan.schedules.read_weights", ["schedule", "--weights", "w.csv", "-o", "pairs.csv"]),
        ("study.fit.result.load_fit", ["report", ".", "-o", "report.html"]),
        ("study.fit.result.load_fit", ["export", ".", "-o", "areas.gpkg"]),
    ],
)
def test_ctrl_c_is_a_sentence(judgemap, edges, step, words, tmp_path, monkeypatch):
    """At a moment in the middle, as if the user pressed it then."""

    def press(*_given):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(f"judgemap.{step}", press)
    monkeypatch.setattr("judgemap.cli.schedule.read_weights", press)
    result = judgemap(*words, *(edges if words[0] == "schedule" else []))
    assert result.status == 130
    assert result.err == "judgemap: interrupted; the command did not finish\n"
