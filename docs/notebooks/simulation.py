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
study = jm.simulate_study(np.random.default_rng(7), jm.chicago())
study.data

# %%
fit = jm.fit_spatial(study.data, study.areas, seed=7, draws=DRAWS)
fit

# %% [markdown]
# ## Truth and estimate
# About 95 % of the intervals should contain the truth.

# %%
from judgemap.report.figures.fit import recovery, truth_against_estimate

recovered = recovery(fit, study.true_risk)
f"correlation {recovered.correlation:.3f}; {recovered.n_covered} of {len(study.areas)} intervals contain the truth"

# %%
truth_against_estimate(fit, study.true_risk)

# %% [markdown]
# ## Fewer answers
# The same judges, stopped after a quarter of their answers: the intervals are wider, and still cover the truth.

# %%
fewer = study.data.to_frame().groupby("judge").head(len(study.data) // 48)
some = jm.Comparisons.from_words(
    study.areas.ids,
    fewer["judge"].tolist(),
    study.areas.index(fewer["left"].tolist()),
    study.areas.index(fewer["right"].tolist()),
    fewer["outcome"].tolist(),
)
short = jm.fit_spatial(some, study.areas, seed=7, draws=DRAWS)
again = recovery(short, study.true_risk)
widths = [float((each.areas["risk_high"] - each.areas["risk_low"]).mean()) for each in (fit, short)]
f"mean width {widths[0]:.2f} with {len(study.data):,} answers, {widths[1]:.2f} with {len(some):,}; {again.n_covered} intervals contain the truth"
