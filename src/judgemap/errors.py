"""What goes wrong because of something a user can put right."""

from collections.abc import Iterator
from contextlib import contextmanager


class StudyError(ValueError):
    """A user's mistake: one sentence that says where it is, what is wrong, and what to do next.

    The command line turns it into exit status 2. A form shows it beside ``field``, if the mistake has one: the name of
    a setting or of a key in study.toml. ``values`` go into the named places of ``text``, whole numbers with thousands
    separators; apart from it, they let another process translate the text.

    >>> jm.read_areas("nowhere.gpkg")
    Traceback (most recent call last):
    judgemap.errors.StudyError: ...
    >>> StudyError("draws must be at most %(most)s", "draws", most=1000)
    StudyError('draws must be at most 1,000')
    """

    def __init__(self, text: str, field: str | None = None, **values: object) -> None:
        self.text, self.field = text, field
        self.values = {name: f"{each:,}" if isinstance(each, int) else str(each) for name, each in values.items()}
        super().__init__(text % self.values if values else text)


@contextmanager
def told_as_study_error(before: str = "", field: str | None = None) -> Iterator[None]:
    """Turn a `ValueError` of the core into a `StudyError` that begins with what it is about.

    >>> with told_as_study_error("the prior cannot be built: "):
    ...     float("wide")
    Traceback (most recent call last):
    judgemap.errors.StudyError: the prior cannot be built: could not convert string to float: 'wide'
    """
    try:
        yield
    except StudyError:
        raise
    except ValueError as error:
        raise StudyError(f"{before}{error}", field) from None


class NotInstalledError(StudyError, ImportError):
    """A part of judgemap that was not installed with it: ``what`` it is, and the command that installs it.

    >>> str(NotInstalledError("Dask", "cluster"))
    'Dask is not installed: pip install "judgemap[cluster]"'
    """

    def __init__(self, what: str, extra: str) -> None:
        self.what, self.command = what, f'pip install "judgemap[{extra}]"'
        super().__init__(f"{what} is not installed: {self.command}")
