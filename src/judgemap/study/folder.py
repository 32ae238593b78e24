"""Folders and files of results that are either complete or absent."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from judgemap.errors import StudyError

MARK = "fit.json"
"""The file that distinguishes a folder of results from somebody's other files."""


def check_new(folder: Path, mark: str = MARK) -> None:
    """Raise a `StudyError` if a folder holds earlier results, which must not be overwritten without asking."""
    check_folder(folder, mark)
    if (folder / mark).exists():
        raise StudyError(f"{folder} holds another {Path(mark).stem}; name a new folder, or overwrite it with --force")


def check_folder(folder: Path, mark: str = MARK) -> None:
    """Raise a `StudyError` if results cannot go there, because it is a file or holds something other than results."""
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"{folder} is a file; name a folder for the results")
    if folder.exists() and any(folder.iterdir()) and not (folder / mark).exists():
        raise StudyError(f"{folder} is not empty and holds no {Path(mark).stem}; name a new folder for the results")


@contextmanager
def new_folder(folder: Path, mark: str = MARK) -> Iterator[Path]:
    """Provide a draft folder to write into; if all goes well, it replaces the folder and any earlier fit in it."""
    check_folder(folder, mark)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise StudyError(f"{folder} cannot be written ({error.strerror}); name another folder") from None
    try:
        yield draft
        # A temporary folder is readable only by its owner.
        draft.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        draft.rename(folder)
    # Ctrl-C must not leave a draft behind either.
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def check_file(path: Path) -> None:
    """Raise a `StudyError` if a file of that name cannot be written, before anything is computed."""
    if path.is_dir():
        raise StudyError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise StudyError(f"there is no folder {path.parent} to write {path.name} into; make it, or name another")


def write_whole(path: Path, data: bytes) -> Path:
    """Write a file, replacing an earlier one, so that nobody ever sees it half-written."""
    check_file(path)
    draft = None
    try:
        with tempfile.NamedTemporaryFile(prefix=f".{path.name}-", dir=path.parent, delete=False) as file:
            draft = Path(file.name)
            file.write(data)
        # A temporary file is readable only by its owner.
        draft.chmod(0o644)
        draft.replace(path)
    except OSError as error:
        raise StudyError(f"{path} cannot be written ({error.strerror}); name another file") from None
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)
    return path
