"""How well a fit was sampled, and whether it explains the answers: in words, from the fit's own figures."""

import subprocess
import sys

import numpy as np

from judgemap.core.samplers.diagnostics import ess_bulk, rhat
from judgemap.study.assess.verdict import Verdict


def test_a_fit_that_does_not_converge_says_what_to_do(run, page, made, text_of):
    html = text_of(page(run, "convergence").text)
    fit = made["spatial"].fit
    assert fit.warnings
    assert "Not yet." in html
    assert all(warning in html for warning in fit.warnings)
    assert f"{fit.record.diagnostics.rhat_max:.3f}" in html
    assert "2 chains of 120 draws, after 60 warm-up draws" in html


def test_a_fit_that_converges(run, page, text_of):
    run.findings["warnings"] = []
    run.info["diagnostics"] |= {"rhat_max": 1.004, "ess_bulk_min": 812.3, "ess_tail_min": 700.0}
    run.save()
    html = text_of(page(run, "convergence").text)
    assert "Yes." in html
    assert "1.004 good (at most 1.01)" in html
    assert "812 good (at least 400)" in html


def test_the_worst_areas_are_listed(run, page, made, table_rows):
    draws = made["spatial"].fit.posterior["risk"]
    order = np.argsort(ess_bulk(draws), kind="stable")[:10]
    html = page(run, "convergence").text
    rows = table_rows(html[html.index("least well sampled") :])
    names = made["spatial"].fit.map.names
    assert [row[0] for row in rows] == [names[area] for area in order]
    assert [row[1] for row in rows] == [f"{value:.3f}" for value in rhat(draws)[order]]


def test_checks(answered, keep, page, made, text_of, table_rows):
    areas = [
        {"win_rate": 0.5, "win_low": 0.2, "win_high": 0.8, "wins": 4, "losses": 4},
        {"win_rate": 0.9, "win_low": 0.2, "win_high": 0.8, "wins": 9, "losses": 1},
        {"win_rate": None, "win_low": None, "win_high": None, "wins": 0, "losses": 0},
    ]
    checks = [
        {"words": "Spread of win rates", "observed": 1.25, "expected": 1.2, "low": 1, "high": 1.5, "p": 0.4},
        {"words": "left", "observed": 962, "expected": 907.4, "low": 875, "high": 937.5, "p": 0.001},
    ]
    run = keep(answered, findings={"checks": checks, "areas": areas, "part_words": "Half of it."})
    html = page(run, "checks").text
    assert "Use with care" in html, "in a word, with a link to the reasons"
    assert "Verdict: use with care" in page(run, "map").text
    assert "Unusual: left (p = 0.001)." in html
    assert "Half of it." in html, "what of a large map was checked"
    assert table_rows(html) == [
        ["Spread of win rates", "1.25", "1.20", "1.00 to 1.50", "0.40"],
        ["Left", "962", "907", "875 to 938", "0.001 unusual"],
    ]
    outside = html[html.index("more or less often") :]
    assert table_rows(outside) == [["Ward 1.2", "10", "90 %", "20 % to 80 %"]]


def test_pages_load_nothing_heavy():
    """The web process stays light: what is slow to import is the worker's."""
    heavy = ("pandas", "xarray", "matplotlib", "scipy.stats", "geopandas", "arviz", "numba")
    code = (
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'judgemap.web.settings'\n"
        "import django; django.setup()\n"
        "import judgemap.web.judge.pages\n"
        "from judgemap.web.results import beside, checks, compare, files, fits, judges, planning, reading, risk_map\n"
        f"print([each for each in {heavy} if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_verdict_is_the_librarys_whole_on_the_map_and_short_on_every_tab(answered, keep, page, made, text_of):
    run = keep(answered)
    verdict = Verdict.from_dict(made["spatial"].fields["findings"]["verdict"])
    text = text_of(page(run, "map").text)
    assert f"Verdict: {verdict.headline.lower()}." in text
    assert all(each.text in text for each in verdict.reasons)
    for tab in ("checks", "convergence", "files"):
        assert verdict.headline in text_of(page(run, tab).text), "in short, with a link to the map"
