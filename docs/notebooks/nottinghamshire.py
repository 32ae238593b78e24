# ---
# jupyter:
#   kernelspec: {name: python3, display_name: Python 3, language: python}
# ---
# %% [markdown]
# # Nottinghamshire, from data to briefing
#
# Twelve experts compared 76 wards of Nottinghamshire, two at a time, by their rate of forced marriage. The data are
# published with the R package speedyBBT and are not ours to pass on. Set `JUDGEMAP_NOTTINGHAMSHIRE` to a folder with
# `areas.csv`, `edges.csv` and `comparisons.csv`, such as the one written by
# `judgemap import speedybbt forcedMarriage.rda -o nottinghamshire`. Without it, this page uses a simulated study
# of the same size on Chicago's map. Your own study starts with `areas = jm.read_areas("wards.gpkg")` and
# `data = jm.read_comparisons("answers.csv", areas)`.

# %%
import os
from pathlib import Path

import judgemap as jm

folder = Path(os.environ.get("JUDGEMAP_NOTTINGHAMSHIRE", "nottinghamshire"))
DRAWS = int(os.environ.get("JUDGEMAP_NOTEBOOK_DRAWS", "1000"))

if folder.is_dir():
    areas = jm.read_edges(folder / "edges.csv", folder / "areas.csv")
    data = jm.read_comparisons(folder / "comparisons.csv", areas)
else:
    areas, data = jm.example_study(seed=1)
data

# %% [markdown]
# ## The map
# The prior says that neighbouring wards are alike; the data say how alike. This is the paper's model; without
# `as_in_paper=True` you get the plain fit, in which each judge has a view of their own. A fit shows its warnings first.

# %%
fit = jm.fit_spatial(data, areas, seed=1, as_in_paper=True, draws=DRAWS)
fit

# %% [markdown]
# ## How sure are we?
# The ranks of the highest wards, and how well the chains agree.

# %%
fit.plot.ranks(top=15);
# %%
fit.plot.convergence();
# %% [markdown]
# ## Draws for ArviZ
# `fit.inference_data` is an ArviZ object with named areas.

# %%
import arviz as az

az.summary(fit.inference_data, var_names=["alpha2"])

# %% [markdown]
# ## Judges
# Each judge's share of left choices, time, and agreement with the others: infit and outfit far from 1 deserve a look.

# %%
jm.judge_table(fit, data).round(2).head()

# %% [markdown]
# ## The briefing
# One page for decision makers.

# %%
import tempfile

from judgemap.report.pages.briefing import briefing

page = briefing(fit)
path = Path(tempfile.mkdtemp(), "briefing.html")
path.write_text(page, encoding="utf-8")
f"{len(page) // 1000} kB of HTML, with every figure inside"
