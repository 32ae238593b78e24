from xml.etree import ElementTree as ET

import numpy as np
import pytest

import judgemap as jm

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="session")
def study():
    """A simulated study on Chicago's map."""
    return jm.simulate_study(np.random.default_rng(1), jm.chicago())


@pytest.fixture(scope="session")
def fit(study):
    return jm.fit_spatial(study.data, study.areas, seed=1, chains=2, draws=200)


@pytest.fixture(scope="session")
def bare_study(tmp_path_factory):
    """A simulated study of areas that come from an edge list: a ring of twelve, a pair apart, and no map."""
    folder = tmp_path_factory.mktemp("edges")
    ring = [(i, i % 12 + 1) for i in range(1, 13)] + [(1, 7), (13, 14)]
    (folder / "edges.csv").write_text("area_a,area_b\n" + "".join(f"{a},{b}\n" for a, b in ring))
    names = "".join(f"{i},Ward {i}\n" for i in range(1, 15))
    (folder / "areas.csv").write_text("id,name\n" + names)
    areas = jm.read_edges(folder / "edges.csv", folder / "areas.csv")
    return jm.simulate_study(np.random.default_rng(2), areas)


@pytest.fixture(scope="session")
def bare_fit(bare_study):
    return jm.fit_spatial(bare_study.data, bare_study.areas, seed=1, chains=2, draws=200)


@pytest.fixture(scope="session", params=["map", "edge list"])
def any_fit(request, fit, bare_fit):
    return fit if request.param == "map" else bare_fit


@pytest.fixture(scope="session")
def words():
    """Return a function that parses a picture's SVG and returns the texts in it."""

    def read(picture) -> list[str]:
        root = ET.fromstring(picture.svg())  # noqa: S314 - our own file
        assert root.tag == f"{SVG}svg"
        return ["".join(element.itertext()).strip() for element in root.iter(f"{SVG}text")]

    return read
