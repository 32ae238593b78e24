"""Schedules: lists of pairs to ask, drawn in advance by a named design."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from judgemap.core.design import designs
from judgemap.core.design.designs import PairDesign
from judgemap.core.design.optimal import OPTIMAL_LIMIT, Panel, optimal
from judgemap.core.design.schedule import ListOptions, draw_list
from judgemap.core.model.car import intrinsic_car
from judgemap.core.model.communicability import PairValues
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import Covariance, covariance_of
from judgemap.core.types import FloatArray, IntArray, frozen_floats, frozen_ints
from judgemap.display import Displayed
from judgemap.errors import StudyError, told_as_study_error
from judgemap.geo.csvfiles import check_known, quoted, read_table
from judgemap.geo.maps import Areas, clean_label
from judgemap.study.fit.folder import write_whole

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 3.0
"""The default guess at α, the prior's standard deviation; in the Nottinghamshire study it is 3.5."""

DIFFER = 0.5
"""The default guess at how far judges differ, σ/α; in the Nottinghamshire study it is 0.53."""
DESIGNS = ("principal", "uniform", "naive", "optimal")
"""The designs from which a list can be drawn in advance."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Schedule(Displayed):
    """A list of pairs, and the design it was drawn from.

    ``left`` and ``right`` are ids, in the order in which pairs are shown. ``probability`` is the probability with which
    the design draws the pair, regardless of sides; ``repeat_of`` is the position of the pair that this one repeats,
    counted from 1, or 0. ``design`` is the distribution over pairs of positions in ``areas``.

    >>> drawn = jm.schedule(jm.chicago(), design="uniform", pairs=100, seed=1)
    >>> len(drawn), drawn.name, drawn.to_frame().columns[:3].tolist()
    (100, 'uniform', ['position', 'left', 'right'])
    """

    areas: Areas
    design: PairDesign
    pairs: IntArray
    repeat_of: IntArray
    name: str
    seed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", frozen_ints(self.pairs))
        object.__setattr__(self, "repeat_of", frozen_ints(self.repeat_of))

    def __repr__(self) -> str:
        return f"Schedule({len(self)} pairs of {len(self.areas)} areas, {self.name} design, seed {self.seed})"

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def left(self) -> list[str]:
        """The id of the area shown on the left, for every pair."""
        return [self.areas.ids[place] for place in self.pairs[:, 0]]

    @property
    def right(self) -> list[str]:
        """The id of the area shown on the right, for every pair."""
        return [self.areas.ids[place] for place in self.pairs[:, 1]]

    @property
    def probability(self) -> FloatArray:
        """The design's probability for every pair in the list."""
        return frozen_floats(self.design.probability(self.pairs[:, 0], self.pairs[:, 1]))

    def expected(self) -> FloatArray:
        """How often the design asks about each area in this many pairs, on average."""
        return len(self) * self.design.exposure()

    def asked(self) -> IntArray:
        """How often the list asks about each area."""
        return np.bincount(self.pairs.ravel(), minlength=len(self.areas)).astype(np.int64)

    def to_frame(self) -> "pd.DataFrame":
        """Return the table of `schedule.csv`; it has a column ``repeat_of`` if repeats are planned."""
        import pandas as pd

        table = {
            "position": np.arange(1, len(self) + 1),
            "left": self.left,
            "right": self.right,
            "left_name": [self.areas.names[place] for place in self.pairs[:, 0]],
            "right_name": [self.areas.names[place] for place in self.pairs[:, 1]],
            "probability": self.probability,
        }
        frame = pd.DataFrame(table)
        if self.repeat_of.any():
            frame["repeat_of"] = pd.array(self.repeat_of, dtype="Int64")
            frame.loc[self.repeat_of == 0, "repeat_of"] = pd.NA
        return frame

    def save(self, path: str | Path) -> Path:
        """Write the list as CSV, completely or not at all.

        Parameters
        ----------
        path
            The CSV file to write.
        """
        text = self.to_frame().to_csv(index=False, lineterminator="\n", float_format="%.8g")
        return write_whole(Path(path), text.encode())


def schedule(
    areas: Areas,
    design: str | PairDesign = "principal",
    pairs: int = 500,
    *,
    seed: int,
    knows: Sequence[str] | None = None,
    options: ListOptions | None = None,
    alpha: float = ALPHA,
    panel: tuple[int, float] | None = None,
) -> Schedule:
    """Draw a list of pairs to ask.

    Parameters
    ----------
    areas
        The areas of the study.
    design
        ``uniform``, ``naive``, ``principal``, ``optimal``, or your own distribution, as read by `read_weights`.
    pairs
        How many pairs.
    seed
        The same seed gives the same list.
    knows
        The areas a judge knows, by id or name; the design is restricted to them.
    options
        The rules the list must follow: see `ListOptions`.
    alpha
        The guess at α that the optimal design assumes, for a study with as many comparisons as the list.
    panel
        For the optimal design: how many judges share the list, and how far they differ, relative to areas (σ/α). The
        pairs are then those that tell us most about the population's map.

    Returns
    -------
    Schedule
        The list of pairs; `Schedule.save` writes it as CSV.

    Examples
    --------
    >>> drawn = jm.schedule(jm.chicago(), design="principal", pairs=500, seed=1)
    >>> list(drawn.to_frame().columns)
    ['position', 'left', 'right', 'left_name', 'right_name', 'probability']
    >>> judge = jm.schedule(jm.chicago(), "uniform", 6, seed=1, knows=["Loop", "Uptown", "Hyde Park"])
    >>> int((judge.asked() > 0).sum())
    3
    """
    known = None if knows is None else areas.index(knows)
    name = design if isinstance(design, str) else "weights"
    with told_as_study_error():
        if panel is not None and design != "optimal":
            raise StudyError(
                "judges: only the optimal design takes account of judges; choose it, or leave the judges out"
            )
        if isinstance(design, str) and known is not None and len(areas) > OPTIMAL_LIMIT:
            chosen = local_design(areas.graph, known, design, alpha, pairs, panel)
        else:
            chosen = pair_design(areas.graph, design, alpha, pairs, panel) if isinstance(design, str) else design
            if known is not None:
                chosen = chosen.restricted(known)
        chosen.total()
        drawn = draw_list(np.random.default_rng(seed), chosen, pairs, options or ListOptions())
    return Schedule(areas, chosen, drawn.pairs, drawn.repeat_of + 1, name, seed)


def pair_design(
    graph: AreaGraph, name: str, alpha: float, comparisons: int, panel: tuple[int, float] | None = None
) -> PairDesign:
    """Make a design by name; the optimal one depends on the number of comparisons, a guess at α, and the panel."""
    if name == "adaptive":
        raise StudyError(
            "the adaptive design chooses each pair after the last answer, so it has no list; run it on the study "
            f"server, or choose one of {quoted(DESIGNS)}"
        )
    check_known("design", name, DESIGNS)
    with told_as_study_error():
        if name == "principal":
            return designs.principal_component(graph)
        if name == "uniform":
            return designs.uniform(graph.n_areas)
        if name == "naive":
            return designs.naive_spatial(graph)
        if graph.n_areas > OPTIMAL_LIMIT:
            raise StudyError(
                f"{graph.n_areas:,} areas are too many: the optimal design can be computed for up to "
                f"{OPTIMAL_LIMIT:,}; choose 'principal', or name what each judge knows"
            )
        return _optimal(intrinsic_car(graph), alpha, comparisons, panel)


def local_design(
    graph: AreaGraph, known: IntArray, name: str, alpha: float, comparisons: int, panel: tuple[int, float] | None
) -> PairDesign:
    """Make a design for the part of a large map that one judge knows, without looking at the rest."""
    if name not in ("principal", "optimal"):
        return pair_design(graph, name, alpha, comparisons, panel).restricted(known)
    from judgemap.core.design.walks import correlation_among

    places = designs.known_areas(known, graph.n_areas)
    C = covariance_of(correlation_among(graph, places), "communicability")
    among = designs.principal_component_of(C) if name == "principal" else _optimal(C, alpha, comparisons, panel)
    return designs.on_a_larger_map(among, places, graph.n_areas)


def _optimal(C: Covariance, alpha: float, comparisons: int, panel: tuple[int, float] | None) -> PairDesign:
    if panel is None:
        return optimal(C, alpha, comparisons)
    judges, differ = panel
    if judges < 1 or not (math.isfinite(differ) and differ > 0):
        raise StudyError(f"judges: needs at least 1 judge and σ/α above 0, received {judges} and {differ:g}")
    return optimal(C, alpha, comparisons, panel=Panel(judges, (differ * alpha) ** 2 * C.matrix))


def known_around(areas: Areas, home: str, count: int) -> list[str]:
    """Return the ids of the ``count`` areas nearest to ``home``, an id or a name, by borders crossed.

    These are the areas that a judge who lives there knows; pass them to `schedule` as ``knows``.

    >>> known_around(jm.chicago(), "Loop", 4)
    ['32', '8', '28', '33']
    """
    if count < 2:
        raise StudyError(f"a pair needs two areas, so a judge must know at least 2 areas around home, not {count}")
    place = int(areas.index([home])[0])
    near = areas.graph.around(place, count)
    if len(near) < 2:
        raise StudyError(
            f"{home!r} has no neighbours, so there is nothing around it to ask about; list the areas the judge knows"
        )
    return [areas.ids[area] for area in near.tolist()]


def read_known(path: str | Path, areas: Areas) -> list[str]:
    """Read the areas that a judge knows from a CSV with a column ``area``, ``id`` or ``name``, and return their ids."""
    table = read_table(path)
    column = next((each for each in ("area", "id", "name") if each in table.columns), "area")
    table.require(column)
    lookup = areas.lookup
    for row, cells in enumerate(table.rows):
        if clean_label(cells[column]) not in lookup:
            raise StudyError(f"{table.where(row)}: {areas.unknown(cells[column])}")
    return [areas.ids[lookup[clean_label(cells[column])]] for cells in table.rows]


def read_weights(path: str | Path, areas: Areas) -> PairDesign:
    """Read your own design from a CSV ``area_a,area_b,weight``; pairs that are not listed are never asked."""
    table = read_table(path, required=("area_a", "area_b", "weight"))
    lookup, size = areas.lookup, len(areas)
    weights: dict[int, float] = {}
    for row, cells in enumerate(table.rows):
        ends = []
        for column in ("area_a", "area_b"):
            if clean_label(cells[column]) not in lookup:
                raise StudyError(f"{table.where(row)}: {areas.unknown(cells[column])}")
            ends.append(lookup[clean_label(cells[column])])
        if ends[0] == ends[1]:
            raise StudyError(f"{table.where(row)}: {cells['area_a']!r} is paired with itself; correct it or remove it")
        key = min(ends) * size + max(ends)
        if key in weights:
            raise StudyError(f"{table.where(row)}: this pair appears more than once; give each pair one weight")
        weights[key] = _weight(cells["weight"], table.where(row))
    if not any(weights.values()):
        raise StudyError(f"{table.path.name}: all weights are zero, so no pair can be drawn; give some pairs a weight")
    keys = np.array(sorted(weights), dtype=np.int64)
    return PairDesign(np.arange(size), 0.0, PairValues(size, keys, np.array([weights[key] for key in keys.tolist()])))


def _weight(text: str, where: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = np.nan
    if not (np.isfinite(weight) and weight >= 0):
        raise StudyError(f"{where}: {text!r} is not a weight; write a number that is zero or more")
    return weight
