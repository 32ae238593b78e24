"""A page as a PDF, printed by a headless browser on this machine: Chromium, Chrome or Edge."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from judgemap.errors import StudyError
from judgemap.study.folder import check_file, write_whole

RENDERERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
"""Programs that can print a page to PDF, by the names they have on the PATH."""

LIMIT = 120.0
"""How many seconds printing may take."""


def find_renderer() -> Path | None:
    """Return the first browser on the PATH that can print, or None.

    >>> renderer = find_renderer()
    >>> renderer is None or renderer.stem in RENDERERS
    True
    """
    programs = (shutil.which(name) for name in RENDERERS)
    return next((Path(program) for program in programs if program), None)


def write_pdf(html: str, path: str | Path, limit: float = LIMIT) -> Path:
    """Print a self-contained page to a PDF file within ``limit`` seconds; a failure leaves no partial file."""
    path = Path(path)
    check_file(path)
    renderer = find_renderer()
    if renderer is None:
        raise StudyError(
            f"{path.name} cannot be made: no Chromium, Chrome or Edge is on the PATH; install one, or write "
            "report.html and print it to PDF from any browser"
        )
    with tempfile.TemporaryDirectory(prefix="judgemap-pdf-") as folder:
        page, printed = Path(folder, "page.html"), Path(folder, "page.pdf")
        page.write_text(html, encoding="utf-8")
        command = [
            str(renderer),
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--disable-extensions",
            "--disable-dev-shm-usage",
            "--no-pdf-header-footer",
            "--export-tagged-pdf",
            "--generate-pdf-document-outline",
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={printed}",
            *(["--no-sandbox"] if _is_root() else []),
            page.as_uri(),
        ]
        try:
            done = subprocess.run(command, capture_output=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            raise StudyError(
                f"{path.name} was not made: {renderer.name} took more than {limit:g} seconds; try again, or write "
                "report.html and print it from a browser"
            ) from None
        except OSError as error:
            raise StudyError(f"{path.name} was not made: {renderer} does not start ({error.strerror})") from None
        if done.returncode != 0 or not printed.is_file():
            raise StudyError(
                f"{path.name} was not made: {renderer.name} ended with status {done.returncode}; write report.html and "
                "print it from a browser"
            )
        return write_whole(path, printed.read_bytes())


def _is_root() -> bool:
    """Return whether we run as root: the browser's sandbox cannot start then, and our page has no script to contain."""
    return hasattr(os, "geteuid") and os.geteuid() == 0
