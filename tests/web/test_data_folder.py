"""Which commands make a server's data, and what a mistyped or damaged data folder gets: one sentence."""

import errno
import os
import random
import re
import subprocess
import sys

import pytest
import typer
from django.core.exceptions import ImproperlyConfigured
from typer.testing import CliRunner

from judgemap.cli import researcher, study
from judgemap.cli.serving import worker
from judgemap.errors import StudyError
from judgemap.web import start
from judgemap.web.settings import read_secret_key

ALONE = typer.Typer()
ALONE.command()(worker)
CREATE = {"new", "restore"}
"""The commands of `judgemap study` that may make a folder, as `judgemap serve` and `judgemap demo` do."""
NO_FOLDER = {"backup-key"}
GIVEN = {"study": "wards", "email": "anna@example.org", "output": "copy"}


def words_of(app: typer.Typer) -> list[tuple[typer.Typer, list[str]]]:
    """Every command of an app, with an example for each argument that it needs."""
    group = typer.main.get_command(app)
    return [
        (
            app,
            [
                name,
                *(GIVEN[each.name] for each in command.params if each.param_type_name == "argument" and each.required),
            ],
        )
        for name, command in group.commands.items()
        if name not in CREATE | NO_FOLDER
    ]


COMMANDS = [(ALONE, []), *words_of(study.app), *words_of(researcher.app)]


@pytest.mark.parametrize(("app", "words"), COMMANDS, ids=[" ".join(words) or "worker" for _, words in COMMANDS])
def test_a_command_makes_nothing_in_a_mistyped_folder(app, words, tmp_path, monkeypatch):
    for name in ("DATABASE_URL", "JUDGEMAP_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    full = tmp_path / "of something else"
    full.mkdir()
    (full / "notes.txt").write_text("mine")
    for folder in (tmp_path / "typo", full):
        result = CliRunner().invoke(app, [*words, "--data", str(folder)])
        assert isinstance(result.exception, StudyError), result.output
        assert str(result.exception).startswith(f"there is no study server's data in {folder}; check --data, or start")
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == [
        "of something else", "of something else/notes.txt",
    ]  # fmt: skip


def judgemap(*words: object) -> tuple[int, str]:
    """Run a command in a process of its own; return its status and what it says is wrong."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JUDGEMAP", "DJANGO", "DATABASE"))}
    done = subprocess.run(
        [sys.executable, "-m", "judgemap", *map(str, words)], capture_output=True, text=True, check=False, env=kept
    )
    return done.returncode, done.stderr


def test_a_first_start_on_a_full_disk_leaves_no_empty_key_behind(tmp_path, monkeypatch):
    """The start fails, and the next one makes the key."""
    data = tmp_path / "data"

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(start.os, "fsync", full)
        with pytest.raises(StudyError, match=r"as a data folder \(No space left on device\); name another"):
            start.use_data_folder(data, create=True)
    assert list(data.iterdir()) == []
    start._make_secret_key(data / "secret-key")
    assert len((data / "secret-key").read_text()) > 50


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 60])
def test_a_damaged_secret_key_is_refused(data_folder, content):
    (data_folder / "secret-key").write_bytes(content)
    with pytest.raises(ImproperlyConfigured, match="secret-key is empty, cut short or damaged; put your copy of the"):
        read_secret_key(data_folder)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("secret-key", b"", "is empty, cut short or damaged"),
        ("judgemap.sqlite3", b"", r"the database of \S+ is empty; check --data, or start a server there"),
        ("judgemap.sqlite3", random.Random(1).randbytes(30_000), "is damaged .* judgemap study restore"),
    ],
)
def test_a_damaged_data_folder_gets_one_sentence_and_stays_as_it_is(data_folder, name, content, words):
    """Perhaps somebody can save what is in it; and no empty database is filled by reading it."""
    (data_folder / name).write_bytes(content)
    status, said = judgemap("study", "list", "--data", data_folder)
    assert (status, said.count("\n")) == (2, 1)
    assert re.search(words, said)
    kept = (data_folder / name).read_bytes()
    assert kept == content or (not content and len(kept) <= 4096)
