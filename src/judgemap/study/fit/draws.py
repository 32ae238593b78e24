"""A sampler's draws with names (areas, chains and pairs instead of positions), and a netCDF file with groups of them.

Without xarray, which takes a second to load.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgemap.core.assess.posterior import risk_sign
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import Covariance, FixedVariance, VariancePrior
from judgemap.core.samplers.diagnostics import Sampling, assess_sampling
from judgemap.core.samplers.run import Draws
from judgemap.core.types import FloatArray, IntArray
from judgemap.geo.maps import Areas
from judgemap.study.fit.record import Diagnostics, Note
from judgemap.study.fit.settings import Run

if TYPE_CHECKING:
    import h5netcdf
    import xarray as xr

    from judgemap.core.samplers.sparse.model import Smoother

Array = NDArray[Any]
MOST_VALUES = 100_000_000
"""The most draws × areas that are kept: 150 MB, at a byte and a half each."""
LARGE_VALUES = 25_000_000
"""With more draws × areas than this, they are rounded and compressed."""
STEPS, NO_NUMBER = 2**15 - 2, -(2**15)
"""Steps from 0 to the most extreme risk, which keeps five digits; and the value for a missing number, never used."""
COMPRESSED: dict[str, Any] = {"compression": "gzip", "compression_opts": 2, "shuffle": True}


class Axed(NamedTuple):
    """An array and the names of its axes."""

    axes: tuple[str, ...]
    values: Array


@dataclass(frozen=True, eq=False)
class Named:
    """Arrays by name, and labels along their axes. An axis's own label has its name; others may lie along it too."""

    arrays: Mapping[str, Axed] = field(default_factory=dict)
    labels: Mapping[str, Axed] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Array:
        return (self.arrays[name] if name in self.arrays else self.labels[name]).values

    def __contains__(self, name: str) -> bool:
        return name in self.arrays or name in self.labels

    @property
    def sizes(self) -> dict[str, int]:
        """How long each axis is."""
        every = [*self.arrays.values(), *self.labels.values()]
        return {axis: size for each in every for axis, size in zip(each.axes, each.values.shape, strict=True)}

    def assign(self, **arrays: Axed | Array) -> "Named":
        """Add arrays, or replace them; one without axes has those of the array that it replaces."""
        axed = {
            name: each if isinstance(each, Axed) else Axed(self.arrays[name].axes, each)
            for name, each in arrays.items()
        }
        return Named({**self.arrays, **axed}, self.labels)

    def label(self, **labels: Iterable[str]) -> "Named":
        """Add an axis's own labels."""
        return Named(self.arrays, {**self.labels, **{axis: label(axis, each) for axis, each in labels.items()}})

    def without(self, name: str) -> "Named":
        """Leave out an array."""
        return Named({each: kept for each, kept in self.arrays.items() if each != name}, self.labels)

    def take(self, axis: str, rows: Array | slice) -> "Named":
        """Keep some rows along one axis."""

        def some(each: Axed) -> Axed:
            return Axed(each.axes, each.values[tuple(rows if name == axis else slice(None) for name in each.axes)])

        return Named(*({name: some(each) for name, each in group.items()} for group in (self.arrays, self.labels)))

    def to_xarray(self) -> "xr.Dataset":
        """Return the same as a dataset of xarray."""
        import xarray as xr

        return xr.Dataset(self.arrays, coords=self.labels)


def label(axis: str, values: Iterable[str]) -> Axed:
    """Make labels of words."""
    return Axed((axis,), np.array(list(values), dtype=np.str_))


def by_draw(values: Array, *axes: str) -> Axed:
    """Name the axes of a sampler's draws, (chain, draw, …)."""
    return Axed(("chain", "draw", *axes), values)


def thinned(samples: Named) -> Named:
    """Return the draws that are kept: see `describe`."""
    return samples.take("draw", slice(None, None, keep_one_in(samples["risk"].size)))


def keep_one_in(values: int) -> int:
    """Return n, if one draw in n is kept of this many values."""
    return -(-values // MOST_VALUES)


def describe(values: int) -> str | None:
    """Say in a sentence what is kept of this many draws × areas; None if everything is.

    >>> describe(1_000), describe(150_000_000)
    (None, 'posterior.nc keeps one draw in 2 of each chain, risks rounded to five figures; areas.csv uses all draws.')
    """
    if values <= LARGE_VALUES:
        return None
    every = keep_one_in(values)
    which = "every draw" if every == 1 else f"one draw in {every}"
    return f"posterior.nc keeps {which} of each chain, risks rounded to five figures; areas.csv uses all draws."


def write_groups(path: Path, groups: Mapping[str, Named], attributes: Mapping[str, str]) -> None:
    """Write a netCDF file, laid out as xarray would."""
    import h5netcdf

    with h5netcdf.File(path, "w") as file:
        for name, named in groups.items():
            group = file.create_group(name)
            group.attrs.update(attributes)
            group.dimensions = named.sizes
            beside = {each: other.axes for each, other in named.labels.items() if each not in named.sizes}
            for variable, each in named.labels.items():
                _write(group, variable, each)
            for variable, each in named.arrays.items():
                written = _write(group, variable, each)
                along = [label for label, axes in beside.items() if set(axes) <= set(each.axes)]
                if along:
                    written.attrs["coordinates"] = " ".join(along)


def _write(group: "h5netcdf.Group", name: str, each: Axed) -> "h5netcdf.Variable":
    import h5py

    axes, values = each
    if values.dtype.kind == "U":
        return group.create_variable(name, axes, h5py.string_dtype(), data=values.astype(object))
    draws = group.name == "/posterior"
    if draws and name == "risk" and values.size > LARGE_VALUES:
        step = float(max(abs(values.min()), abs(values.max()))) / STEPS or 1.0
        packed = group.create_variable(name, axes, np.int16, fillvalue=NO_NUMBER, **COMPRESSED)
        packed.attrs["scale_factor"] = step
        for chain, risk in enumerate(values):  # one by one, because there may be gigabytes of them
            packed[chain] = np.rint(risk.astype(np.float64) / step).astype(np.int16)
        return packed
    packing = COMPRESSED if not draws and values.size > LARGE_VALUES // 100 else {}
    missing = np.nan if values.dtype.kind == "f" else None
    return group.create_variable(name, axes, values.dtype, fillvalue=missing, data=values, **packing)


def read_groups(path: Path) -> dict[str, Named]:
    """Read the groups of a netCDF file that `write_groups` wrote."""
    import h5netcdf

    with h5netcdf.File(path) as file:
        return {name: _read(group) for name, group in file.groups.items()}


def _read(group: "h5netcdf.Group") -> Named:
    labels, every = set(group.dimensions), {}
    for name, variable in group.variables.items():
        values = variable[...]
        if "scale_factor" in variable.attrs:
            values = values * float(variable.attrs["scale_factor"])
        labels |= set(str(variable.attrs.get("coordinates", "")).split())
        every[name] = Axed(variable.dimensions, values.astype(np.str_) if values.dtype.kind == "O" else values)
    return Named(
        {name: each for name, each in every.items() if name not in labels},
        {name: each for name, each in every.items() if name in labels},
    )


class Sampled(NamedTuple):
    """What a run of a sampler gives: the draws, the seconds they took, and the prior they were made with."""

    run: Run
    """As it was in the end: on a large map judges may turn out to be alike."""
    draws: Draws
    seconds: float
    prior: "Covariance | Smoother"
    notes: tuple[Note, ...] = ()


def named_draws(areas: Areas, draws: Draws, winner_is: str) -> Named:
    """Turn strength into risk in place, and label it, so that a nation's draws are never copied."""
    level, risk = draws.level, draws.strengths
    risk -= level[:, :, None].astype(risk.dtype)
    risk *= risk_sign(winner_is)
    return Named(
        {"risk": by_draw(risk, "area"), "level": by_draw(level)},
        {**_counted(*level.shape), "area": label("area", areas.ids), "name": label("area", areas.names)},
    )


def _counted(chains: int, draws: int) -> dict[str, Axed]:
    return {"chain": Axed(("chain",), np.arange(chains)), "draw": Axed(("draw",), np.arange(draws))}


def named_statistics(draws: Draws) -> Named:
    """Label the sampler's statistics."""
    statistics = {"acceptance_rate": draws["acceptance"], "divergences": draws.divergences}
    if "restarts" in draws.arrays:
        statistics["restarts"] = draws["restarts"]
    return Named({name: by_draw(each) for name, each in statistics.items()}, _counted(*draws.divergences.shape))


def named_pairs(areas: Areas, counts: PairCounts) -> Named:
    """Label the data: how often each pair was compared, and how often its first area won."""
    ids = np.array(areas.ids)
    columns = {"n": counts.n, "wins": counts.wins} | ({"ties": counts.ties} if counts.ties.any() else {})
    ends = {"first": ids[counts.first], "second": ids[counts.second]}
    return Named(*({name: Axed(("pair",), each) for name, each in group.items()} for group in (columns, ends)))


def diagnose(names: Sequence[str], areas: Sampling, others: Mapping[str, FloatArray], seconds: float) -> Diagnostics:
    """Summarise how well the areas, by name, and ``others`` (chain, draw) were sampled."""
    rest = {name: assess_sampling(draws[..., None]) for name, draws in others.items()}
    worst, bulk, tail = (np.concatenate(columns) for columns in zip(areas, *rest.values(), strict=True))
    middle = float(np.median(areas.ess_bulk))
    return Diagnostics(
        rhat_max=float(worst.max()),
        ess_bulk_min=float(bulk.min()),
        ess_bulk_min_of=str([*names, *rest][int(bulk.argmin())]),
        ess_bulk_median=middle,
        ess_bulk_of={name: float(each.ess_bulk[0]) for name, each in rest.items()},
        ess_tail_min=float(tail.min()),
        ess_per_second=middle / max(seconds, 1e-9),
    )


KEPT = 2_000_000
"""How many numbers of the judges' own maps to keep in all, within `FEWEST_KEPT` and `MOST_KEPT` draws."""
FEWEST_KEPT, MOST_KEPT = 100, 1000
VARIANCES = {
    "log_variance": ("alpha2", "α²"),
    "log_disagreement": ("sigma2", "σ²"),
    "log_side": ("side_sigma2", "σ_b²"),
    "log_attention": ("attention_sigma2", "σ_a²"),
}
"""By the sampler's names: their names in the posterior, and their symbols."""
Scalars = dict[str, FloatArray]


def name_scalars(samples: Named, draws: Draws, rule: TieRule | None, variance: VariancePrior) -> tuple[Named, Scalars]:
    """Add the scalars to the draws; return also those whose convergence should be assessed, by symbol."""
    arrays = dict(draws.arrays)
    named: Scalars = {}
    judged: Scalars = {}
    for source, (name, symbol) in VARIANCES.items():
        if source in arrays:
            named[name] = np.exp(arrays[source])
            judged[symbol] = arrays[source]
    if isinstance(variance, FixedVariance):
        named["alpha2"] = np.full(draws.strengths.shape[:2], variance.value)
        judged.pop("α²", None)
    plain = {"rho": ("ρ", arrays.get("smoothness")), "lean": ("b", arrays.get("lean"))}
    if rule is not None:
        p = arrays["tie_chance"]
        plain |= {"theta": ("θ", 2 * np.arctanh(p))} if rule is TieRule.RAO_KUPPER else {"nu": ("ν", 2 * p / (1 - p))}
    for name, (symbol, values) in plain.items():
        if values is not None:
            named[name] = judged[symbol] = values
    return samples.assign(**{name: by_draw(each) for name, each in named.items()}), judged


def name_judges(samples: Named, draws: Draws, judges: tuple[str, ...], sign: float) -> Named:
    """Add the values by judge to the draws, and the panel's map."""
    for name in ("distance", "side", "attention", "lapse", "centre", "reach"):
        if name in draws.arrays:
            samples = samples.assign(**{name: by_draw(draws[name], "judge")})
    if "panel_strengths" in draws.arrays:
        panel = draws["panel_strengths"]
        samples = samples.assign(panel_risk=by_draw(sign * (panel - panel.mean(axis=2, keepdims=True)), "area"))
    return samples.label(judge=judges) if "judge" in samples.sizes else samples


def name_views(areas: Areas, draws: Draws, judges: tuple[str, ...], sign: float) -> Named:
    """Keep some evenly spaced draws of each judge's own map, centred, and signed so that high is bad.

    ``sample`` gives their positions among all draws, one chain after another.
    """
    views = draws["views"]
    total, shape = views.shape[0] * views.shape[1], views.shape[2:]
    count = int(np.clip(KEPT // (shape[0] * shape[1]), FEWEST_KEPT, MOST_KEPT))
    rows = evenly(total, count)
    maps = draws.strengths.reshape(total, 1, -1)[rows] + views.reshape(total, *shape)[rows]
    risk = sign * (maps - maps.mean(axis=2, keepdims=True))
    return Named(
        {"judge_risk": Axed(("sample", "judge", "area"), risk.astype(np.float32))},
        {"sample": Axed(("sample",), rows), "judge": label("judge", judges), "area": label("area", areas.ids)},
    )


def evenly(total: int, count: int) -> IntArray:
    """Choose ``count`` of ``total`` draws, evenly spaced, or all of them if there are fewer.

    >>> evenly(5, 3), evenly(3, 10**15)
    (array([0, 2, 4]), array([0, 1, 2]))
    """
    return np.linspace(0, total - 1, min(count, total)).astype(np.int64)
