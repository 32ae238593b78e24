import io
import os
import re
import subprocess
import sys
from collections import defaultdict
from typing import Literal, get_origin

import pytest
from typer.core import TyperGroup

from judgemap.cli.main import GROUPS, SUMMARIES, load_command

DOORS = ("demo", "plan", "serve", "fit", "report")


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


A_FIT = """import judgemap as jm, judgemap.cli.fit; areas, data = jm.example_study(seed=1)
fit = jm.fit_spatial(data, areas, seed=1, as_in_paper=True, chains=2, warmup=5, draws=20)
jm.load_fit(fit.save('results'))"""
LEAN = {
    "from judgemap.cli.main import app; app(['--help'], standalone_mode=False)": "numpy scipy pandas django",
    "import judgemap.cli.fit": "pandas numba scipy.optimize h5py",
    "from judgemap.geo.maps import read_edges; read_edges('edges.csv')": "geopandas pandas shapely libpysal pyproj",
    A_FIT: "xarray dask matplotlib",
}


@pytest.mark.usefixtures("edges")
@pytest.mark.parametrize("code", LEAN)
def test_what_takes_a_second_to_load_is_loaded_by_what_uses_it(code, tmp_path):
    """Help, and the beginning of a fit; a fit that is made, written and read needs less than its readers."""
    run = [sys.executable, "-c", f"import sys; {code}; print(); print(*{{*{LEAN[code].split()}}} & set(sys.modules))"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


def test_an_unknown_command_is_told_from_its_neighbours(judgemap):
    result = judgemap("fitt")
    assert result.status == 2
    assert "Did you mean 'fit'?" in result.err


def test_help_shows_five_doors_first_and_the_other_commands_by_group(judgemap):
    listed = judgemap("-h").out.partition("Start here:")[2]
    assert listed.split("\n\n")[0].split("\n  ")[1:] == [f"{name:6}  {SUMMARIES[name]}" for name in DOORS]
    assert [title for title in GROUPS if f"\n{title}:\n" in f"\nStart here:\n{listed}"] == [*GROUPS]
    assert "..." not in listed
    assert "..." not in judgemap("study", "-h").out.partition("Commands:")[2]


def test_the_options_of_a_fit_that_most_people_need_come_first(judgemap):
    first = judgemap("fit", "-h").out.partition("\nOptions:\n")[2].split("\n\n")[0]
    options = re.findall(r"^  (--\S+|-o)", first, re.MULTILINE)
    assert options == ["--areas", "--model", "--judges-differ", "--seed", "-o", "--winner-is"]


def test_an_option_means_the_same_in_every_command():
    """At least it takes the same kind of value: --judges is a number everywhere, and nowhere a word or a file."""
    kinds = defaultdict(set)
    for words in names():
        command = load_command(words[0])
        command = command.commands[words[1]] if len(words) > 1 else command
        for each in command.params:
            for option in each.opts:
                kind = each.type_descriptor.annotation
                kinds[option].add(str if get_origin(kind) is Literal else kind)  # one of some words is a word
    assert {option: found for option, found in kinds.items() if option.startswith("--") and len(found) > 1} == {}


def test_version(judgemap):
    assert judgemap("--version").out.startswith("judgemap 0.")


def test_a_shell_completes_commands_and_options():
    def complete(words: str) -> list[str]:
        asked = {"_JUDGEMAP_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        code = "from judgemap.cli.main import app; app(prog_name='judgemap')"
        run = [sys.executable, "-c", code]
        done = subprocess.run(run, env=os.environ | asked, capture_output=True, text=True, check=False)
        return done.stdout.split()

    assert complete("judgemap s") == ["serve", "study", "schedule", "simulate"]
    assert complete("judgemap fit --judges") == ["--judges-differ", "--judges-alike"]


def test_a_file_called_dash_is_standard_input(judgemap, edges, comparisons, tmp_path, monkeypatch):
    words = [*edges, "--seed", 1, "--chains", 2, "--draws", 50]
    assert judgemap("fit", comparisons, *words, "-o", tmp_path / "file").status == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(comparisons.read_bytes())))
    assert judgemap("fit", "-", *words, "-o", tmp_path / "piped").status == 0
    file, piped = ((tmp_path / name / "areas.csv").read_text() for name in ("file", "piped"))
    assert file == piped
    refused = judgemap("fit", "-", "--edges", "-", "-o", tmp_path / "twice")
    assert (refused.status, "only one file can come from standard input" in refused.err) == (2, True)


def test_names_in_any_alphabet_pass_whatever_the_locale_says(tmp_path):
    """Names of files, what a file says, and what is printed, where the locale knows only ASCII."""
    (tmp_path / "Nachbarn-ü.csv").write_text("area_a,area_b\nŁódź,Zürich\nZürich,Αθήνα\n", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    words = ["schedule", "--edges", "Nachbarn-ü.csv", "--pairs", "3", "--seed", "1", "-o", "Paare-ü.csv"]
    run = [sys.executable, "-m", "judgemap", *words]
    done = subprocess.run(run, cwd=tmp_path, env=os.environ | plain, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Zürich" in done.stdout.decode()
    assert "Αθήνα" in (tmp_path / "Paare-ü.csv").read_text(encoding="utf-8")


def test_prior_is_drawn(judgemap, edges, tmp_path):
    result = judgemap("prior", *edges, "--of", "Cedar", "-o", tmp_path / "prior.svg")
    assert result.status == 0, result.err
    assert "<svg" in (tmp_path / "prior.svg").read_text()


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
