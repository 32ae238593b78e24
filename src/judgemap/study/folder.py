"""Folders of results that are whole or not there at all."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from judgemap.errors import StudyError

MARK = "fit.json"
"""The file that tells a folder of results from somebody's other files."""


def check_folder(folder: Path) -> None:
    """Raise a `StudyError` if results cannot go there: it is a file, or holds something that is no fit."""
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"{folder} is a file; name a folder for the results")
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise StudyError(f"{folder} is not empty and holds no fit; name a new folder for the results")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a draft folder to write into; it takes its place, and that of an earlier fit, when all went well."""
    check_folder(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise StudyError(f"{folder} cannot be written ({error.strerror}); name another folder") from None
    try:
        yield draft
        draft.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
