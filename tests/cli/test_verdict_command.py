"""The command line says the verdict of the library: in its output, in fit.json and in the briefing."""

import json

import pytest

import judgemap as jm
from judgemap.study.assess.explain import Explanation

QUICK = ["--chains", "2", "--draws", "50", "--seed", "1"]


@pytest.mark.usefixtures("undrawn")
def test_fit_json_and_report_say_the_same(judgemap, edges, comparisons, tmp_path):
    folder = tmp_path / "results"
    printed = judgemap("fit", comparisons, *edges, "-o", folder, *QUICK).out
    fit = jm.load_fit(folder)
    data = jm.read_comparisons(comparisons, fit.map)
    verdict = Explanation(fit, data).verdict
    kept = json.loads((folder / "fit.json").read_text())["verdict"]
    assert kept["headline"] == verdict.headline
    page = tmp_path / "report.html"
    said = judgemap("report", folder, "-o", page, "--author", "A. Hill", "--next-steps", "Visit.").out
    html = page.read_text()
    for text in (f"Verdict: {verdict.headline}.", *(each.text for each in verdict.reasons)):
        assert text in printed
        assert text in said
    assert all(each.text.replace(" %", "\u00a0%").replace("'", "&#39;") in html for each in verdict.reasons)
    assert "A. Hill" in html
    assert "<p>Visit.</p>" in html
