"""The notebooks run from the first cell to the last, in a kernel of their own, with few draws."""

from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "docs" / "notebooks"


@pytest.mark.parametrize("name", ["nottinghamshire", "planning", "simulation"])
def test_a_notebook_runs(name, tmp_path, monkeypatch, request):
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    monkeypatch.setenv("JUDGEMAP_NOTEBOOK_DRAWS", "100")
    monkeypatch.setenv("JUDGEMAP_NOTEBOOK_SIMULATIONS", "8")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    notebook = jupytext.read(NOTEBOOKS / f"{name}.py")
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]
    assert any("text/html" in each for each in shown), "values show themselves"
    if name == "simulation":
        texts = " ".join(each.get("text/plain", "") for each in shown)
        assert "intervals contain the truth" in texts
