"""The study server: researchers, studies, judges, and fits in the background."""

from judgemap.errors import NotInstalledError

try:
    import django  # noqa: F401 - whether it is there
except ModuleNotFoundError:
    raise NotInstalledError("the server", "server") from None
