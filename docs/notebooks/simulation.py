# ---
# jupyter:
#   kernelspec: {name: python3, display_name: Python 3, language: python}
# ---
# %% [markdown]
# # A simulation: does the map recover the truth?
#
# Simulate risks on a map, let twelve judges answer, fit, and compare with what was simulated.

# %%
import os

import numpy as np

import judgemap as jm

DRAWS = int(os.environ.get("JUDGEMAP_NOTEBOOK_DRAWS", "1000"))

wards = jm.chicago().to_frame()  # your own: geopandas.read_file("wards.gpkg")
study = jm.simulate_study(np.random.default_rng(7), jm.read_areas(wards, id="id", name="name"))
answers = study.data.to_frame()  # your own: pandas.read_csv("answers.csv")
answers.head()

# %%
data = jm.read_comparisons(answers, study.areas)
fit = jm.fit_spatial(data, study.areas, seed=7, draws=DRAWS)
fit

# %% [markdown]
# ## Truth and estimate
# About 95 % of the intervals should contain the truth.

# %%
from judgemap.report.figures.fit import recovery, truth_against_estimate

recovered = recovery(fit, study.true_risk)
f"correlation {recovered.correlation:.3f}; {recovered.covered.sum()} of {len(study.areas)} intervals contain the truth"

# %%
truth_against_estimate(fit, study.true_risk)

# %% [markdown]
# ## Fewer answers
# The same judges, stopped after a quarter of their answers: the intervals are wider, and still cover the truth.

# %%
fewer = answers.groupby("judge").head(len(answers) // 48)
some = jm.read_comparisons(fewer, study.areas)
short = jm.fit_spatial(some, study.areas, seed=7, draws=DRAWS)
again = recovery(short, study.true_risk)
widths = [float((each.areas["risk_high"] - each.areas["risk_low"]).mean()) for each in (fit, short)]
f"mean width {widths[0]:.2f} with {len(study.data):,} answers, {widths[1]:.2f} with {len(some):,}; {again.covered.sum()} intervals contain the truth"
