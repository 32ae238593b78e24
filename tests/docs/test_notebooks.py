"""The notebooks run from the first cell to the last, with few draws."""

import json
from pathlib import Path

import matplotlib as mpl
import pytest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
TUTORIALS = ("planning", "simulation")
NOTTINGHAMSHIRE = NOTEBOOKS / "nottinghamshire.ipynb"


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


def test_nottinghamshire_shows_nottinghamshire():
    """As it was run where the data are; they are not ours to pass on."""
    cells = json.loads(NOTTINGHAMSHIRE.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] == place for place, cell in enumerate(code, 1)), "run in order, all of it"
    shown = json.dumps([cell["outputs"] for cell in code])
    assert "76 areas" in shown
    assert shown.count("image/png") >= 2
    assert '"output_type": "error"' not in shown


def test_nottinghamshire_runs_where_its_data_are(nottinghamshire, monkeypatch, undrawn):
    from matplotlib import pyplot as plt

    mpl.use("Agg")
    monkeypatch.setenv("JUDGEMAP_NOTTINGHAMSHIRE", str(nottinghamshire))
    cells = json.loads(NOTTINGHAMSHIRE.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    made = {}
    exec(compile(code, NOTTINGHAMSHIRE.name, "exec"), made)  # noqa: S102 - our own page
    assert len(made["areas"]) == 76
    plt.close("all")


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
