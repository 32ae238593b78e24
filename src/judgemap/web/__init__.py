"""The study server: researchers, studies, judges, and fits in the background."""

from judgemap.errors import NotInstalledError

try:
    import django  # noqa: F401 - only to see whether it is installed
except ModuleNotFoundError:
    raise NotInstalledError("the server", "server") from None
