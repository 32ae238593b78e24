"""Make the pictures that the documentation shows, from the demonstration's study: ``python docs/images/make.py``."""

from pathlib import Path

import numpy as np

import judgemap as jm
from judgemap.report.figures.maps import risk_map


def main() -> None:
    """Fit the simulated study on Chicago's map and write its risk map."""
    study = jm.simulate_study(np.random.default_rng(1), jm.chicago())
    fit = jm.fit_spatial(study.data, study.areas, seed=1)
    picture = risk_map(fit, title="Simulated risk, Chicago’s 77 community areas")
    Path(__file__).with_name("demo-map.png").write_bytes(picture.png(dpi=144))


if __name__ == "__main__":
    main()
