"""What the worker draws for the pages."""

from dataclasses import replace

import pytest

from judgemap.report.pages.briefing import Gallery
from judgemap.web.results.running import draw

ALL = ["traces", "ranks", "predictive", "variance"]
CLUSTERS = ["cluster-number", "cluster-violins", "co-clustering"]


@pytest.mark.parametrize(("name", "expected"), [("spatial", [*ALL, "alpha"]), ("clusters", ALL + CLUSTERS)])
def test_every_picture_has_its_words(made, undrawn, name, expected):
    fit = made[name].fit
    drawn = draw(Gallery(fit))
    assert list(drawn) == expected
    for picture in drawn.values():
        assert picture.svg().startswith("<svg")
        assert picture.alt.endswith(".")


def test_a_fixed_alpha_has_no_posterior_to_draw(made):
    fit = made["spatial"].fit
    still = fit.posterior.assign(alpha2=fit.posterior["alpha2"] * 0 + 1.0)
    fixed = replace(fit, posterior=still)
    assert "alpha" not in draw(Gallery(fixed))
