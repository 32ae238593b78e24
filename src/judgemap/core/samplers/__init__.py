"""Samplers for the posterior of strengths and α². One kernel per file; `run` runs any of them in several chains."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def _can_write(folder: Path) -> bool:
    """Whether a folder, or its nearest existing parent, is writable."""
    there = next(each for each in (folder, *folder.parents) if os.path.exists(each))  # noqa: PTH110 - raises nothing
    return os.access(there, os.W_OK)


def _give_machine_code_a_place() -> None:
    """Have numba cache machine code in a temporary folder if it has nowhere else; without one it refuses to run.

    This happens to a server user without a home directory when another user installed the packages. The folder belongs
    to this process alone, because numba trusts whatever it finds there.
    """
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - no error without a home
    if "NUMBA_CACHE_DIR" in os.environ or _can_write(Path(__file__).parent) or _can_write(Path(home)):
        return
    folder = tempfile.mkdtemp(prefix="judgemap-machine-code-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = folder


_give_machine_code_a_place()
