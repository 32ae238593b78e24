# ---
# jupyter:
#   kernelspec: {name: python3, display_name: Python 3, language: python}
# ---
# %% [markdown]
# # Planning a study
#
# Before you ask anyone: which pairs, how many, and what precision to expect. We use Chicago's 77 community areas; put
# your own GeoDataFrame in their place.

# %%
import os

import judgemap as jm

SIMULATIONS = int(os.environ.get("JUDGEMAP_NOTEBOOK_SIMULATIONS", "40"))

wards = jm.chicago().to_frame()  # your own: geopandas.read_file("wards.gpkg")
areas = jm.read_areas(wards, id="id", name="name")
areas

# %% [markdown]
# ## What would 10 judges with 50 answers each give?
# Studies are simulated from the model, answered by simulated judges, and fitted. `alpha` is a guess at how much areas
# differ; 3 is close to what Nottinghamshire shows.

# %%
plan = jm.plan(
    areas, judges=10, per_judge=50, seed=1, alpha=3.0, designs=("uniform", "principal"), simulations=SIMULATIONS
)
plan

# %%
plan.to_frame().query("measure == 'sd'")

# %% [markdown]
# ## Which pairs?
# This design favours dissimilar areas; in our simulations it is no better than uniform.

# %%
schedule = jm.schedule(areas, design="principal", pairs=500, seed=1)
schedule

# %%
schedule.to_frame().head()

# %% [markdown]
# `schedule.save("schedule.csv")` writes the list; the study server draws pairs for each judge in the same way.
