"""The notebooks run from the first cell to the last, with few draws; without ../shared, on simulated data."""

from pathlib import Path

import matplotlib as mpl
import pytest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
TUTORIALS = ("nottinghamshire", "planning", "simulation")


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch, tmp_path):
    monkeypatch.setenv("JUDGEMAP_NOTEBOOK_DRAWS", "100")
    monkeypatch.setenv("JUDGEMAP_NOTEBOOK_SIMULATIONS", "6")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", TUTORIALS)
def test_the_code_of_a_notebook_runs(name, undrawn):
    from matplotlib import pyplot as plt

    mpl.use("Agg")
    path = NOTEBOOKS / f"{name}.py"
    cells = {}
    exec(compile(path.read_text(encoding="utf-8"), path.name, "exec"), cells)  # noqa: S102 - our own pages
    plt.close("all")
    if name == "simulation":
        assert cells["recovered"].correlation > 0.9
        assert cells["widths"][0] < cells["widths"][1]


def test_nottinghamshire_is_read_where_it_is(nottinghamshire, monkeypatch, undrawn):
    monkeypatch.setenv("JUDGEMAP_NOTTINGHAMSHIRE", str(nottinghamshire))
    text = (NOTEBOOKS / "nottinghamshire.py").read_text(encoding="utf-8")
    cells = {}
    exec(compile(text[: text.index("# ## How sure are we?")], "nottinghamshire.py", "exec"), cells)  # noqa: S102
    assert len(cells["areas"]) == 76


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TUTORIALS, "gallery"])
def test_a_notebook_shows_its_values(name, tmp_path):
    """Slow: each runs in its own kernel."""
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    notebook = jupytext.read(NOTEBOOKS / f"{name}.py")
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [set(output["data"]) for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]
    pictures = sum(bool(each & {"image/png", "image/svg+xml"}) for each in shown)
    assert pictures >= 14 if name == "gallery" else any("text/html" in each for each in shown)
