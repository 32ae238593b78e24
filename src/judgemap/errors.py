"""What goes wrong because of something a user can put right."""


class StudyError(ValueError):
    """A user's mistake: one sentence that says where, what, and what next.

    The command line turns it into exit status 2, a form into a message beside the field.

    >>> import judgemap as jm
    >>> jm.read_areas("nowhere.gpkg")
    Traceback (most recent call last):
    judgemap.errors.StudyError: ...
    """
