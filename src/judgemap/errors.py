"""What goes wrong because of something a user can put right."""


class StudyError(ValueError):
    """A user's mistake: one sentence that says where it is, what is wrong, and what to do next.

    The command line turns it into exit status 2. A form shows it beside ``field``, if the mistake has one: the name of
    a setting or of a key in study.toml.

    >>> jm.read_areas("nowhere.gpkg")
    Traceback (most recent call last):
    judgemap.errors.StudyError: ...
    >>> StudyError("chains must be at least 1, received 0", field="chains").field
    'chains'
    """

    def __init__(self, text: str, field: str | None = None) -> None:
        super().__init__(text)
        self.field = field


class NotInstalledError(StudyError, ImportError):
    """A part of judgemap that was not installed with it: ``what`` it is, and the command that installs it.

    >>> str(NotInstalledError("Dask", "cluster"))
    'Dask is not installed: pip install "judgemap[cluster]"'
    """

    def __init__(self, what: str, extra: str) -> None:
        self.what, self.command = what, f'pip install "judgemap[{extra}]"'
        super().__init__(f"{what} is not installed: {self.command}")
