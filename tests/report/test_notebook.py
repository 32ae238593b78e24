"""What a notebook shows of each value, and the plots of a fit on axes of the reader's."""

import base64
import re

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import judgemap as jm
from judgemap.core.model.graph import AreaGraph

mpl.use("Agg")


def cells(html):
    return re.findall(r"<td[^>]*>(?:<bdi>)?(.*?)(?:</bdi>)?</td>", html, re.DOTALL)


def test_a_fit_shows_its_warnings_first(rough):
    fit, html = rough, rough._repr_html_()
    warned = html.index("R-hat")
    assert fit.warnings
    assert warned < html.index("Spatial model: 77 areas, 1,848 comparisons") < html.index("<img") < html.index("<table")
    assert cells(html)[1] == fit.areas.nlargest(1, "risk_median")["name"].item()
    picture = base64.b64decode(re.search(r"base64,([^\"]+)", html)[1])
    assert picture.startswith(b"\x89PNG")
    assert 'alt="Map of 77 areas shaded by' in html


def test_clusters_and_judges_who_differ(panel, rough_clusters):
    html = rough_clusters._repr_html_()
    assert "Clusters model: 77 areas" in html
    assert 'alt="Map of 77 areas in clusters' in html
    assert html.index(rough_clusters.warnings[0][:30]) < html.index("<table")
    assert rough_clusters.plot.clusters(ax=Figure().subplots()).texts
    assert "Map of the population." in panel._repr_html_()


def test_areas_comparisons_and_schedules(study):
    areas, data = study.areas, study.data
    assert "77 areas, 200 pairs of neighbours" in areas._repr_html_()
    html = data._repr_html_()
    assert "1,848 pairs shown to twelve judges" in html
    counts = dict(zip(cells(html)[::2], (int(cell.replace(",", "")) for cell in cells(html)[1::2]), strict=True))
    assert counts == {"left": int((data.outcome == 0).sum()), "right": int((data.outcome == 1).sum())}
    schedule = jm.schedule(areas, design="uniform", pairs=77, seed=1)
    assert areas.names[schedule.pairs[0, 0]] in schedule._repr_html_()


def test_a_plan():
    row = jm.Areas(tuple("abcd"), ("Ash", "Beech", "Cedar", "Dogwood"), AreaGraph(4, [[0, 1], [1, 2], [2, 3]]))
    plan = jm.plan(row, 2, 50, seed=1, designs=("uniform", "naive"), simulations=6)
    assert "100 comparisons (2 judges × 50)" in plan._repr_html_()
    assert cells(plan._repr_html_())[0] == "uniform"


def test_names_are_escaped():
    areas = jm.Areas(("1", "2"), ("<script>alert(1)</script>", "B"), AreaGraph(2, [[0, 1]]))
    html = areas._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_every_plot_draws_on_the_axes_it_is_given(fit):
    for name in ("map", "uncertainty", "p_top", "intervals", "ranks", "alpha", "convergence", "variance"):
        ax = Figure().subplots()
        assert getattr(fit.plot, name)(ax=ax) is ax
        assert ax.lines or ax.patches or ax.collections, name


def test_arviz_works_on_the_fit_as_it_stands(rough):
    import arviz as az

    old = az.__version__.startswith("0.")
    tree = az.InferenceData.from_datatree(rough.inference_data) if old else rough.inference_data
    summary = az.summary(tree, var_names=["risk"], round_to=8)
    assert np.allclose(summary["mean"], rough.areas["risk_mean"], atol=6e-4)
    assert az.ess(tree, var_names=["alpha2"])["alpha2"] > 0
    assert az.loo(tree).n_data_points == rough.record.data.used


def test_the_plain_plot_is_the_map(fit):
    from matplotlib import pyplot as plt

    ax = fit.plot(title="Risk in Chicago", figsize=(4, 3))
    assert ax.get_figure().get_size_inches().tolist() == [4, 3]
    assert fit.plot.ranks(figsize=(3, 5)).get_figure().get_size_inches().tolist() == [3, 5]
    plt.close("all")


def test_the_summary_is_shown_as_it_is(fit):
    shown = repr(fit.summary())
    assert shown.splitlines()[0].endswith(f"seed {fit.record.seed}.")
    assert f"Verdict: {fit.verdict.lines[0]}" in shown
