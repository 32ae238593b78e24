"""Colours keep their order for everybody: in colour, under each kind of colour blindness, and in grey."""

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex, to_rgb
from matplotlib.ticker import MaxNLocator

from judgemap.report.figures.colours import (
    ABOVE,
    BELOW,
    CHANCE,
    CLASSES,
    HUES,
    LIKENESS,
    NEUTRAL,
    RANK,
    RANK_WIDTH,
    RISK,
    SPAN,
    STEPS,
    UNCERTAINTY,
    Scale,
    lightness,
    round_limits,
    round_step,
)

# Machado, Oliveira and Fernandes (2009), full severity, on linear RGB.
SIGHT = {
    "all colours": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def seen(colour, sight):
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(SIGHT[sight] @ linear, 0, 1)
    return to_hex(np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055))


def smallest_step_down(colours, sight):
    """How much darker each class is than the one before, at least."""
    return -np.diff([lightness(seen(colour, sight)) for colour in colours]).max()


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("scale", [RISK, UNCERTAINTY, CHANCE, LIKENESS, RANK, RANK_WIDTH], ids=lambda scale: scale.hue)
def test_every_class_is_darker_than_the_one_before(scale, sight):
    assert smallest_step_down(scale.colours(CLASSES), sight) > 4
    assert lightness(seen(scale.colours(CLASSES)[-1], sight)) < 35


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize(("below", "above"), [(3, 3), (1, 5), (5, 1), (2, 4), (3, 4)])
def test_the_average_is_neutral_and_risk_still_darkens(below, above, sight):
    colours = RISK.around(below, above)
    assert colours[below] == NEUTRAL
    assert len(set(to_rgb(NEUTRAL))) == 1, "grey"
    assert smallest_step_down(colours, sight) > 3


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=30))
def test_the_class_of_the_average_is_even(values):
    limits = RISK.limits_for(np.array(values))
    shades = RISK.shades(limits)
    middle = shades.index(NEUTRAL)
    assert limits[middle] == -limits[middle + 1]
    assert len(shades) == len(limits) - 1


@pytest.mark.parametrize("hue", ["RdBu", "jet"])
def test_scales_that_turn_back_are_caught(hue):
    colours = [to_hex(colour) for colour in mpl.colormaps[hue](np.linspace(*SPAN, CLASSES))]
    assert smallest_step_down(colours, "all colours") < 0


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30))
def test_every_value_lies_in_its_class(values):
    shown = np.array(values)
    classes, limits = RISK.classify(shown)
    assert np.all(np.diff(limits) > 0)
    assert 2 <= len(limits) <= CLASSES + 2
    rounding = 1e-9 * max(1.0, np.ptp(shown))  # round limits may be passed by a billionth of the whole range
    assert np.all(limits[classes] <= shown + rounding)
    assert np.all(shown <= limits[classes + 1] + rounding)


@pytest.mark.parametrize("hue", sorted(HUES))
def test_colours_are_those_of_matplotlib(hue):
    for count in range(1, 12):
        where = np.linspace(*SPAN, count) if count > 1 else [sum(SPAN) / 2]
        known = [to_hex(colour) for colour in mpl.colormaps[hue](where)]
        assert Scale(hue, "", "", "").colours(count) == known


def test_r_draws_with_the_same_colours():
    text = (Path(__file__).parents[2] / "r" / "R" / "plot.R").read_text(encoding="utf-8")
    for name, colours in (("below", BELOW), ("above", ABOVE), ("blues", HUES["Blues"].split())):
        line = re.search(rf"^{name} <- c\((.*)\)$", text, re.M)[1]
        assert re.findall("#[0-9a-f]{6}", line) == list(colours)


def test_limits_are_those_of_matplotlib():
    rng = np.random.default_rng(1)
    locator = MaxNLocator(nbins=7, steps=STEPS)
    for _ in range(200):
        least, most = np.sort(rng.normal(size=2) * 10 ** rng.uniform(-3, 3))
        np.testing.assert_allclose(round_limits(least, most), locator.tick_values(least, most), atol=1e-12 * most)


@pytest.mark.parametrize("steps", [STEPS, (1, 2, 5, 10), (1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10)])
def test_the_step_is_the_smallest_round_one(steps):
    for least in 10 ** np.random.default_rng(2).uniform(-4, 4, size=100):
        locator = MaxNLocator(nbins=1, steps=steps, min_n_ticks=1)
        assert round_step(least, steps) == pytest.approx(locator.tick_values(0, least)[1])
