"""Arrays with names, and a netCDF file with groups of them; without xarray, which takes a second to load."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import h5netcdf
    import xarray as xr

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
    """Arrays by name, and labels along their axes. An axis's own label has its name; others may lie along it too.

    >>> risk, ids = Axed(("draw", "area"), np.zeros((4, 2))), Axed(("area",), np.array(["a", "b"]))
    >>> named = Named({"risk": risk}, {"area": ids})
    >>> named["risk"].shape, named["area"].tolist(), named.sizes, "alpha2" in named
    ((4, 2), ['a', 'b'], {'draw': 4, 'area': 2}, False)
    """

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
    """Return the draws that are kept: see `describe`.

    >>> thinned(Named({"risk": by_draw(np.zeros((2, 10, 3)), "area")})).sizes["draw"]
    10
    """
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
    """Write a netCDF file, laid out as xarray would.

    >>> import tempfile, xarray as xr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_groups(Path(folder, "it.nc"), {"some": Named({"x": Axed(("row",), np.arange(3.0))})}, {"by": "us"})
    ...     xr.load_dataset(Path(folder, "it.nc"), group="some")["x"].to_numpy()
    array([0., 1., 2.])
    """
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
