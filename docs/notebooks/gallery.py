# ---
# jupyter:
#   kernelspec: {name: python3, display_name: Python 3, language: python}
# ---
# %% [markdown]
# # Gallery
#
# Every figure with the code that draws it. `fit.plot` draws on matplotlib axes; pass your own with `ax=`. The functions in
# `judgemap.report` return pictures with a caption and a text alternative; `picture.save("map.pdf")` writes them one
# journal column wide.

# %%
import os

import judgemap as jm
from judgemap.report.figures import fit as figures
from judgemap.report.figures import maps
from judgemap.report.figures.schedules import exposure_map
from judgemap.report.pages.planning import curves

DRAWS = int(os.environ.get("JUDGEMAP_NOTEBOOK_DRAWS", "1000"))

wards, answers = (each.to_frame() for each in jm.example_study(seed=1))  # put your own tables here
areas = jm.read_areas(wards, id="id", name="name")
data = jm.read_comparisons(answers, areas)
fit = jm.fit_spatial(data, areas, seed=1, draws=DRAWS)

# %% [markdown]
# ## Risk

# %%
fit.plot.map();
# %% [markdown]
# ## Uncertainty

# %%
fit.plot.uncertainty();
# %% [markdown]
# ## Who is among the highest?

# %%
fit.plot.p_top(10);
# %% [markdown]
# ## Risk with intervals

# %%
fit.plot.intervals(top=15);
# %% [markdown]
# ## Ranks with intervals

# %%
fit.plot.ranks(top=15);
# %% [markdown]
# ## The posterior of α

# %%
fit.plot.alpha();
# %% [markdown]
# ## Convergence

# %%
fit.plot.convergence();
# %%
figures.traces(fit)

# %% [markdown]
# ## Variance against median

# %%
fit.plot.variance();
# %% [markdown]
# ## Several on one sheet

# %%
from matplotlib import pyplot as plt

sheet, (left, right) = plt.subplots(1, 2, figsize=(9, 5))
fit.plot.map(ax=left, title="Risk")
fit.plot.uncertainty(ax=right, title="Uncertainty");
# %% [markdown]
# ## Clusters

# %%
clusters = jm.fit_clusters(data, areas, seed=1, chains=4, warmup=DRAWS // 2, draws=DRAWS // 2, thin=2)
clusters.plot.clusters();
# %% [markdown]
# ## The map's neighbours, and one area's prior correlations

# %%
maps.adjacency_map(areas)

# %%
maps.prior_correlation_map(areas, jm.prior_covariance(areas), "Hyde Park")

# %% [markdown]
# ## How long answers took

# %%
figures.comparison_times(data)

# %% [markdown]
# ## A schedule, and a plan

# %%
exposure_map(jm.schedule(areas, design="principal", pairs=500, seed=1))

# %%
curves(jm.plan(areas, judges=4, per_judge=50, seed=1, designs=("uniform", "principal"), simulations=10))
