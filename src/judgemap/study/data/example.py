"""A simulated study on a real map, Chicago's: a known truth, twelve judges, and their answers."""

from dataclasses import dataclass
from pathlib import Path

import geopandas
import numpy as np

from judgemap.core.assess.posterior import risk_sign
from judgemap.core.model.prior import communicability
from judgemap.core.simulate.trials import answer, draw_pairs
from judgemap.core.types import FloatArray
from judgemap.geo.maps import Areas, read_areas
from judgemap.study.data.comparisons import Comparisons, Direction

PER_JUDGE = (11, 27, 62, 344, 131, 1, 36, 81, 8, 3, 81, 1063)
"""How many comparisons each of the twelve judges of the Nottinghamshire study made (Seymour et al., Table 3)."""

ALPHA = 3.0

SPELLINGS = {"OHARE": "O'Hare", "MCKINLEY PARK": "McKinley Park"}
"""Names whose spelling is lost in the file's capitals."""


def chicago() -> Areas:
    """Return Chicago's 77 community areas, by their official numbers.

    The map is libpysal's, in chicago.zip. It does not state its reference system: EPSG:3435, Illinois East in feet.

    Returns
    -------
    Areas
        The areas, with their outlines.

    Examples
    --------
    >>> areas = chicago()
    >>> len(areas), areas.names[areas.lookup["76"]]
    (77, "O'Hare")
    """
    frame = geopandas.read_file(str(Path(__file__).with_name("chicago.zip"))).set_crs("EPSG:3435")
    frame["COMMUNITY"] = [SPELLINGS.get(name, name.title()) for name in frame["COMMUNITY"]]
    return read_areas(frame, id="AREA_NUMBE", name="COMMUNITY")


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedStudy:
    """The areas, the judges' answers, and the true risk behind them."""

    areas: Areas
    data: Comparisons
    true_risk: FloatArray


def simulate_study(rng: np.random.Generator, areas: Areas, winner_is: Direction = "lower") -> SimulatedStudy:
    """Draw strengths from the spatial prior with α = 3, and let twelve judges compare uniformly drawn pairs.

    Parameters
    ----------
    rng
        Where randomness comes from, as ``numpy.random.default_rng(1)``.
    areas
        The areas that are judged.
    winner_is
        Whether the chosen area has the "lower" or the "higher" rate.

    Returns
    -------
    SimulatedStudy
        The areas, the answers, and the true risk behind them.

    Examples
    --------
    >>> study = simulate_study(np.random.default_rng(1), chicago())
    >>> len(study.data), len(study.data.per_judge())
    (1848, 12)
    """
    strengths = ALPHA * communicability(areas.graph).draw(rng, 1)[0]
    strengths -= strengths.mean()
    pairs = draw_pairs(rng, len(areas), sum(PER_JUDGE))
    left_won = answer(rng, pairs, strengths)
    data = Comparisons.from_words(
        ids=areas.ids,
        judge=np.repeat([str(judge) for judge in range(1, len(PER_JUDGE) + 1)], PER_JUDGE).tolist(),
        left=pairs[:, 0],
        right=pairs[:, 1],
        outcome=np.where(left_won, "left", "right").tolist(),
        seconds=np.round(rng.lognormal(np.log(4.0), 0.6, len(pairs)), 1),
        winner_is=winner_is,
    )
    return SimulatedStudy(areas, data, risk_sign(winner_is) * strengths)


def example_study(seed: int) -> tuple[Areas, Comparisons]:
    """Return Chicago's 77 community areas and a simulated study on them.

    Parameters
    ----------
    seed
        Another seed gives another truth and other answers.

    Returns
    -------
    tuple of Areas and Comparisons
        What `jm.fit_spatial` takes, areas first.

    Examples
    --------
    >>> areas, data = example_study(seed=1)
    >>> len(areas), data.counts().total
    (77, 1848)
    """
    study = simulate_study(np.random.default_rng(seed), chicago())
    return study.areas, study.data
