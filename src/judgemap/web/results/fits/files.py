"""The files of a fit, in the database and out of it again."""

import io
import tempfile
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from judgemap.errors import StudyError
from judgemap.web.results.models import FitFiles, FitRun

if TYPE_CHECKING:
    from judgemap.study.result import Fit


def pack(fit: "Fit") -> bytes:
    """Zip a fit's folder."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        saved = fit.save(Path(folder, "results"))
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for path in sorted(saved.iterdir()):
                archive.write(path, path.name)
    return packed.getvalue()


def keep_files(run: FitRun, fit: "Fit") -> None:
    """Keep a fit's folder."""
    FitFiles.objects.update_or_create(fit=run, defaults={"archive": pack(fit)})


def open_fit(run: FitRun) -> "Fit":
    """Return a fit that is done, number for number as it was made. The last few stay in memory."""
    return _open_fit(run.pk)


@lru_cache(maxsize=4)
def _open_fit(key: int) -> "Fit":
    from judgemap.study.result import load_fit

    files = FitFiles.objects.filter(fit=key).first()
    if files is None:
        raise StudyError("this fit has no results; make a new one")
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        with zipfile.ZipFile(io.BytesIO(files.archive)) as archive:
            archive.extractall(folder)
        return load_fit(folder)
