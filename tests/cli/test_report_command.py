"""`judgemap report`: pages, figures, and one sentence for every mistake."""

import json
import re
import shutil

import pandas as pd
import pytest

import judgemap as jm

FOLLOWS = ["--next-steps", "Visit."]
SHORT = ["--chains", "2", "--warmup", "50", "--draws", "50", "--thin", "1", "--seed", "1"]


@pytest.fixture
def timed(comparisons, tmp_path):
    """Comparisons with times and days."""
    table = pd.read_csv(comparisons).assign(seconds=[2 + k % 7 for k in range(40)])
    table["answered_at"] = [f"2026-03-{1 + k % 20:02d}T10:00:00Z" for k in range(40)]
    table.loc[2::3, "outcome"] = "tie"
    table.to_csv(tmp_path / "timed.csv", index=False)
    return tmp_path / "timed.csv"


@pytest.fixture
def spatial(judgemap, edges, timed, tmp_path, fits):
    """A copy of a fit that is made once."""
    if not (fits / "spatial").exists():
        enough = ["--chains", "4", "--warmup", "100", "--draws", "1000", "--seed", "1"]
        assert judgemap("fit", timed, *edges, "-o", fits / "spatial", "--as-in-paper", *enough).status == 0
    return shutil.copytree(fits / "spatial", tmp_path / "spatial")


@pytest.fixture
def study_file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text('title = "Trees"\nquestion = "Which has the LOWER rate?"\ndirection = "lower"\n')
    return path


def refused(result, sentence):
    assert result.status == 2, result.out
    assert re.search(sentence, result.err), result.err
    assert result.err.count("\n") == 1
    assert "Traceback" not in result.err


@pytest.mark.usefixtures("undrawn")
def test_a_page_with_everything(judgemap, edges, spatial, timed, study_file, tmp_path):
    words = ["fit", timed, *edges, "--model", "clusters", "-o", tmp_path / "clusters", *SHORT]
    assert judgemap(*words).status == 0
    page = tmp_path / "report.html"
    given = ["--study", study_file, "--comparisons", timed, "--beside", tmp_path / "clusters"]
    result = judgemap("report", spatial, "-o", page, *FOLLOWS, *given)
    assert result.status == 0, result.err
    assert result.out.startswith(f"The briefing is {page}\nVerdict: ")
    html = page.read_text(encoding="utf-8")
    for said in ("<h1>Trees</h1>", "Which has the LOWER rate?", "Clusters of areas", "1 March 2026 to 20 March 2026"):
        assert said in html
    fit = jm.load_fit(spatial)
    first = fit.areas.sort_values("risk_median", ascending=False, kind="stable").iloc[0]
    assert f"{first['name']} comes out with the highest risk" in html
    other = judgemap("report", tmp_path / "clusters", "--beside", spatial, "-o", page, "--force", *FOLLOWS)
    assert other.status == 0, other.err
    assert "Diagnostics: the spatial model" in page.read_text(encoding="utf-8")


@pytest.mark.usefixtures("undrawn")
def test_other_fits_to_hold_it_against(judgemap, edges, comparisons, spatial, tmp_path):
    assert judgemap("fit", comparisons, *edges, "-o", tmp_path / "other", "--as-in-paper", *SHORT).status == 0
    page = tmp_path / "report.html"
    other = tmp_path / "other"
    result = judgemap("report", spatial, "-o", page, *FOLLOWS, "--against", f"a = b={other}", "--against", other)
    assert result.status == 0, result.err
    assert "What if it had been done differently?" in page.read_text(encoding="utf-8")
    assert "A = b: The two estimates" in page.read_text(encoding="utf-8")
    twice = judgemap("report", spatial, "-o", page, "--force", "--against", other, "--against", other)
    refused(twice, "two fits called 'other'")


@pytest.mark.usefixtures("undrawn")
def test_figures_alone(judgemap, spatial, timed, tmp_path):
    result = judgemap("report", spatial, "--pictures", tmp_path / "figures", "--comparisons", timed, "--width", "176")
    assert result.status == 0, result.err
    files = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"risk.svg", "risk.pdf", "times.pdf", "captions.md"} <= files
    assert result.out.startswith(f"{len(files) // 2} figures are in ")


@pytest.mark.slow
@pytest.mark.browser
def test_pdf_beside_the_page_and_alone(judgemap, spatial, tmp_path):
    if shutil.which("chromium") is None:
        pytest.skip("there is no Chromium on this machine")
    result = judgemap("report", spatial, "-o", tmp_path / "a.html", "--pdf", *FOLLOWS)
    assert result.status == 0, result.err
    assert (tmp_path / "a.html").exists()
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "a-annex.pdf").read_bytes().startswith(b"%PDF")
    result = judgemap("report", spatial, "-o", tmp_path / "b.pdf", *FOLLOWS)
    said = f"The briefing is {tmp_path / 'b.pdf'}\nThe annex is {tmp_path / 'b-annex.pdf'}\nVerdict: "
    assert result.out.startswith(said)
    assert not (tmp_path / "b.html").exists()


@pytest.mark.usefixtures("undrawn")
def test_what_is_no_fit(judgemap, spatial, tmp_path):
    page = ["-o", tmp_path / "report.html", *FOLLOWS]
    refused(judgemap("report", tmp_path / "absent", *page), "there is no folder .*absent")
    refused(judgemap("report", tmp_path / "timed.csv", *page), "is a file; name the folder")
    (tmp_path / "empty").mkdir()
    refused(judgemap("report", tmp_path / "empty", *page), "holds no fit")
    (spatial / "areas.csv").unlink()
    assert judgemap("report", spatial, *page).status == 0, "the table can be made again from the draws"
    page[1].unlink()
    whole = (spatial / "posterior.nc").read_bytes()
    (spatial / "posterior.nc").write_bytes(whole[: len(whole) // 3])
    refused(judgemap("report", spatial, *page), "is not a complete fit")
    (spatial / "posterior.nc").unlink()
    refused(judgemap("report", spatial, *page), "is not a complete fit")
    (spatial / "posterior.nc").write_bytes(whole)
    info = json.loads((spatial / "fit.json").read_text(encoding="utf-8"))
    for missing in ("bridges", "diagnostics"):
        (spatial / "fit.json").write_text(json.dumps({k: v for k, v in info.items() if k != missing}))
        refused(judgemap("report", spatial, *page), missing)
    table = ["-o", tmp_path / "table.csv"]
    for rubbish in ("[", "[1, 2]"):
        (spatial / "fit.json").write_text(rubbish)
        refused(judgemap("report", spatial, *page), "is not a complete fit")
        refused(judgemap("export", spatial, *table), "is not a complete fit")
    assert not page[1].exists()
    assert not table[1].exists()


def test_a_map_that_was_cut_off(judgemap, spatial, tmp_path):
    text = (spatial / "areas.geojson").read_text() if (spatial / "areas.geojson").exists() else '{"type": "Feature'
    (spatial / "areas.geojson").write_text(text[: len(text) // 2])
    for command in (["report", spatial, "-o", tmp_path / "page.html"], ["export", spatial, "-o", tmp_path / "a.csv"]):
        refused(judgemap(*command), "is not a complete fit")


def test_what_does_not_belong(judgemap, spatial, timed, study_file, edges, tmp_path):
    page = ["-o", tmp_path / "report.html", *FOLLOWS]
    study_file.write_text('title = "T"\nquestion = "Q?"\ndirection = "higher"\n')
    timed.write_text("\n".join(timed.read_text().splitlines()[:-1]) + "\n")
    for words, said in (
        (page[:2], "write it with --next-steps"),
        ([], "nothing to write"),
        (["--pictures", tmp_path / "f", "--pdf"], "--pdf needs -o"),
        (["-o", tmp_path / "report.docx"], r"a briefing is \.html or \.pdf"),
        (["-o", tmp_path / "absent" / "report.html"], "there is no folder"),
        ([*page, "--beside", spatial], "is a fit of the spatial model"),
        ([*page, "--study", tmp_path / "absent.toml"], "there is no such file"),
        (["--pictures", tmp_path], "is not empty"),
        ([*page, "--study", study_file], "asks for the area with the higher rate"),
        ([*page, "--comparisons", timed], "not the comparisons that were fitted"),
    ):
        refused(judgemap("report", spatial, *words), said)
    assert not page[1].exists()


@pytest.mark.usefixtures("undrawn")
def test_days_that_cannot_be_read(judgemap, spatial, timed, tmp_path):
    timed.write_text(timed.read_text().replace("2026-03-01T10:00:00Z", "last Monday"))
    result = judgemap("report", spatial, "-o", tmp_path / "report.html", "--comparisons", timed, *FOLLOWS)
    assert result.status == 0, result.err
    assert "March 2026" not in (tmp_path / "report.html").read_text(encoding="utf-8")
