"""What all tests share: the data of real studies and a real browser, if they are available."""

import csv
import shutil
from pathlib import Path

import hypothesis
import numpy as np
import pytest

# Nothing is timed in a test, and the same examples are tried everywhere: few by `make test`, many by `make test-slow`.
# A test's examples share its fixtures, and what rubbish leaves in a database is meant to stay there.
LOOSE = {
    "deadline": None, "derandomize": True, "database": None,
    "suppress_health_check": [hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow],
}  # fmt: skip
hypothesis.settings.register_profile("few", max_examples=15, **LOOSE)
hypothesis.settings.register_profile("many", max_examples=150, **LOOSE)
hypothesis.settings.load_profile("few")

SHARED = Path(__file__).resolve().parents[2] / "shared"


def _folder(name: str) -> Path:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"there is no folder ../shared/{name} beside this checkout")
    return folder


@pytest.fixture(scope="session")
def nottinghamshire() -> Path:
    """Folder with areas.csv, edges.csv and comparisons.csv of 76 wards."""
    return _folder("data/nottinghamshire")


@pytest.fixture(scope="session")
def dar_es_salaam() -> Path:
    """Folder with areas.geojson, edges.csv and comparisons.csv of 452 subwards."""
    return _folder("data/dar_es_salaam")


@pytest.fixture(scope="session")
def england() -> Path:
    """Folder with lsoa2011.zip, England's 32,844 small areas, and imd2019.csv, their ranks by deprivation."""
    return _folder("data/england")


@pytest.fixture(scope="session")
def reference() -> dict[str, np.ndarray]:
    """Independent posterior of the Nottinghamshire strengths: mean, sd and their Monte Carlo errors, by ward."""
    path = _folder("reference") / "nottinghamshire_spatial_chi0.1.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {column: np.array([float(row[column]) for row in rows]) for column in ("mean", "sd", "ess", "mcse_mean")}


@pytest.fixture(scope="session")
def study():
    """A simulated study on Chicago's map: its areas, its data, and the true risk."""
    import judgemap as jm

    return jm.simulate_study(np.random.default_rng(1), jm.chicago())


@pytest.fixture(scope="session")
def rough(study):
    """A fit with too few draws, as its warnings say."""
    import judgemap as jm

    return jm.fit_spatial(study.data, study.areas, seed=1, chains=2, draws=200, as_in_paper=True)


@pytest.fixture(scope="session")
def rough_clusters(study):
    """A short run of the clustering model on the same comparisons."""
    import judgemap as jm

    return jm.fit_clusters(study.data, study.areas, seed=1, chains=2, warmup=100, draws=100, thin=2)


@pytest.fixture(scope="module")
def chromium():
    """A real browser; its tests carry the markers slow and browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="install playwright: pip install playwright")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with playwright.sync_playwright() as started:
        try:
            browser = started.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        except playwright.Error:
            pytest.skip("there is no Chromium: apt-get install chromium, or python -m playwright install chromium")
        yield browser
        browser.close()
