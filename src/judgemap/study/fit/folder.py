"""Folders and files of results that are either complete or absent; nobody else's files are ever touched."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from judgemap.errors import StudyError

FIT = (
    "fit.json", "areas.csv", "areas.geojson", "posterior.nc", "clusters.csv", "judge_maps.csv", "sensitivity.csv",
    "figures.csv",
)  # fmt: skip
"""Every file that a fit may have. In any such list, the first is the mark: only with it is a folder judgemap's."""
DRAFT = ".judgemap-"
"""How the names of drafts begin; one that a killed process left behind is removed by the next."""
EXCHANGE = f"{DRAFT}exchange"
"""The draft while its files replace the old ones: as long as there is one, the files are judgemap's without a mark."""


def check_new(folder: Path) -> None:
    """Raise a `StudyError` if a folder holds an earlier fit, which must not be overwritten without asking."""
    check_folder(folder)
    if (folder / FIT[0]).exists():
        raise StudyError(f"{folder} holds another fit; name a new folder, or overwrite it with --force")


def check_folder(folder: Path, mark: str = FIT[0]) -> None:
    """Raise a `StudyError` if results cannot go there, because it is a file or holds something other than results."""
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"{folder} is a file; name a folder for the results")
    others = folder.exists() and any(not path.name.startswith(DRAFT) for path in folder.iterdir())
    if others and not (folder / mark).exists() and not (folder / EXCHANGE / mark).exists():
        raise StudyError(f"{folder} is not empty and holds no {Path(mark).stem}; name a new folder for the results")


@contextmanager
def new_folder(folder: Path, names: Sequence[str] = FIT) -> Iterator[Path]:
    """Provide a draft folder to write into; if all goes well, its files replace those of earlier results.

    ``names`` lists the files that judgemap writes into such a folder, the mark first. Only these are replaced or, if
    the draft has no such file, removed; all others are left alone. The mark goes first and comes back last, so that a
    process that is killed in between leaves no mixture of old and new files that looks complete.
    """
    mark = names[0]
    check_folder(folder, mark)
    there = folder.exists()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Inside a folder that exists: it may be the working directory, whose parent belongs to somebody else.
        draft = Path(tempfile.mkdtemp(prefix=DRAFT, dir=folder if there else folder.parent))
    except OSError as error:
        raise StudyError(f"{folder} cannot be written ({error.strerror}); name another folder") from None
    try:
        yield draft
        # A temporary folder is readable only by its owner.
        draft.chmod(0o755)
        if there:
            _check_names(folder, draft, names)
            for left in folder.glob(f"{DRAFT}*"):
                if left.name != draft.name:
                    shutil.rmtree(left, ignore_errors=True)
            draft = draft.rename(folder / EXCHANGE)
            _exchange(folder, draft, names)
        else:
            draft.rename(folder)
    # Ctrl-C must not leave a draft behind either. Once the exchange has begun, it is what says that the files are ours.
    except BaseException:
        if draft.name != EXCHANGE:
            shutil.rmtree(draft, ignore_errors=True)
        raise


def _check_names(folder: Path, draft: Path, names: Sequence[str]) -> None:
    """Raise a `StudyError` if a file that is not judgemap's has the name of a new one."""
    for path in sorted(folder / each.name for each in draft.iterdir()):
        if path.is_dir() or (path.exists() and path.name not in names):
            raise StudyError(f"{path} was not written by judgemap; move it, or name a new folder for the results")


def _exchange(folder: Path, draft: Path, names: Sequence[str]) -> None:
    """Replace the files of earlier results one by one, while their folder has no mark."""
    mark = names[0]
    try:
        (folder / mark).unlink(missing_ok=True)
        written = [path for path in draft.iterdir() if path.name != mark]
        for name in set(names) - {path.name for path in written}:
            if not (folder / name).is_dir():
                (folder / name).unlink(missing_ok=True)
        for path in written:
            path.replace(folder / path.name)
        (draft / mark).replace(folder / mark)
        draft.rmdir()
    except OSError as error:
        raise StudyError(f"{folder} cannot be written ({error.strerror}); name another folder") from None


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
