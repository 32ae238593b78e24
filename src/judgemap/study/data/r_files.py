"""Data from the R packages speedyBBT and BSBT: lists with comparisons, areas and an adjacency matrix, in .rda files.

The packages' help says that an outcome of 1 means that the *second* item won. In their code, examples and data it means
the first, and this reader assumes so unless told otherwise.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from judgemap.core.types import FloatArray
from judgemap.errors import NotInstalledError, StudyError
from judgemap.geo.csvfiles import quoted
from judgemap.geo.maps import numbers_first
from judgemap.study.data.comparisons import Direction
from judgemap.study.data.exchange import Answer, Columns, Imported, Side, guess_columns, read_answers

if TYPE_CHECKING:
    import geopandas
    import shapely

LARGEST = 200_000_000
KNOWN: dict[str, Direction] = {
    "forcedmarriage": "lower", "forcedmarriage.comparisons": "lower",
    "daressalaam": "higher", "dar.comparisons": "higher",
}  # fmt: skip
"""Whether the winner has the lower or the higher rate, in the packages' own data."""


@dataclass(frozen=True, slots=True, eq=False)
class Contents:
    """The objects in R files by their path in R (``forcedMarriage$wards``), and the reference system of their map."""

    tables: dict[str, pd.DataFrame]
    matrices: dict[str, FloatArray]
    others: tuple[str, ...]
    systems: tuple[str, ...]


def import_speedybbt(paths: Sequence[str | Path], ones: Side = "first") -> Imported:
    """Read .rda or .rds files; BSBT keeps comparisons, adjacency and map in three separate ones.

    ``ones`` says which of the two areas an outcome of 1 stands for.
    """
    contents = _read([Path(path) for path in paths])
    where = " and ".join(Path(path).name for path in paths)
    name, table, columns = _comparisons(contents, where)
    rows = [{str(column): _text(cell) for column, cell in row.items()} for row in table.to_dict("records")]
    places = [f"{name} row {row}" for row in range(1, len(rows) + 1)]
    answers = read_answers(rows, columns, places, ones)
    matrix = _adjacency(contents, where)
    areas = _areas(contents, name, answers, matrix)
    edges = () if matrix is None else tuple(_edges(matrix, areas.ids, where))
    notes = [f"Comparisons were read from {name!r}: {len(answers):,} rows."]
    if columns.winner is None and columns.outcome is not None:
        notes.append(
            f"An outcome of 1 was read as a win of the {ones} area, as the packages compute it; "
            "their help says the opposite."
        )
    root = name.partition("$")[0].casefold()
    return replace(areas, answers=tuple(answers), edges=edges, winner_is=KNOWN.get(root), notes=(*areas.notes, *notes))


def _read(paths: list[Path]) -> Contents:
    tables: dict[str, pd.DataFrame] = {}
    matrices: dict[str, FloatArray] = {}
    others: list[str] = []
    systems: list[str] = []
    for path in paths:
        for name, value in _flat(_objects(path, systems)):
            if isinstance(value, pd.DataFrame):
                tables[name] = value
            elif (matrix := _matrix(value)) is not None:
                matrices[name] = matrix
            else:
                others.append(name)
    return Contents(tables, matrices, tuple(others), tuple(systems))


def _objects(path: Path, systems: list[str]) -> dict[str, object]:
    """Read an R file; simple features become shapely geometries, and their reference system is added to ``systems``."""
    try:
        import rdata
    except ModuleNotFoundError:
        raise NotInstalledError("rdata", "r") from None
    if not path.is_file():
        raise StudyError(f"{path}: there is no such file; check its name and folder")
    if path.stat().st_size > LARGEST:
        raise StudyError(f"{path.name}: the file has more than {LARGEST // 1_000_000} MB; save the study's data alone")

    def features(values: Any, attributes: Any) -> list[Any]:  # noqa: ANN401 - what R's list holds
        systems.extend(_systems(attributes.get("crs")))
        return list(values)

    constructors = dict(rdata.conversion.DEFAULT_CLASS_MAP)
    constructors |= {"POLYGON": _polygon, "MULTIPOLYGON": _multipolygon, "XY": _by_class}
    constructors |= dict.fromkeys(("sfc", "sfc_POLYGON", "sfc_MULTIPOLYGON", "sfc_GEOMETRY"), features)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parsed = rdata.parser.parse_file(path)
            value = rdata.conversion.convert(parsed, constructor_dict=constructors)
        # A damaged file makes rdata raise almost anything.
        except Exception as error:
            raise StudyError(
                f"{path.name}: this R data file cannot be read ({error or type(error).__name__}); "
                "write it in R with save(…, file = 'study.rda')"
            ) from None
    return value if isinstance(value, dict) and path.suffix.casefold() != ".rds" else {path.stem: value}


def _flat(values: dict[str, object], before: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        name = f"{before}{key}"
        if isinstance(value, dict) and depth < 4:
            yield from _flat(value, f"{name}$", depth + 1)
        else:
            yield name, value


def _by_class(value: Any, attributes: Any) -> Any:  # noqa: ANN401 - what R's list holds
    kinds = [str(kind) for kind in np.atleast_1d(attributes.get("class", []))]
    return _multipolygon(value, attributes) if "MULTIPOLYGON" in kinds else _polygon(value, attributes)


def _polygon(rings: Any, attributes: Any) -> "shapely.Polygon":  # noqa: ANN401, ARG001 - called by rdata
    import shapely

    outer, *holes = [np.asarray(ring, dtype=np.float64)[:, :2] for ring in rings]
    return shapely.Polygon(outer, holes)


def _multipolygon(parts: Any, attributes: Any) -> "shapely.MultiPolygon":  # noqa: ANN401 - called by rdata
    import shapely

    return shapely.MultiPolygon([_polygon(rings, attributes) for rings in parts])


def _systems(crs: Any) -> Iterator[str]:  # noqa: ANN401 - what R's list holds
    """Yield what sf says about a reference system, newer formats first."""
    for key in ("wkt", "input", "epsg", "proj4string") if isinstance(crs, dict) else ():
        text = _text(np.atleast_1d(crs[key])[0]) if crs.get(key) is not None else ""
        if text:
            yield f"EPSG:{text}" if key == "epsg" else text


def _matrix(value: Any) -> FloatArray | None:  # noqa: ANN401 - what R's list holds
    """Return a square matrix as an array, from a plain or named matrix, or a sparse one of the package Matrix."""
    if all(hasattr(value, slot) for slot in ("i", "p", "Dim")):
        from scipy.sparse import csc_array

        entries = getattr(value, "x", np.ones(len(value.i)))
        rows, columns = (int(n) for n in value.Dim)
        matrix = csc_array((entries, value.i, value.p), shape=(rows, columns)).toarray()
        symmetric = getattr(value, "uplo", None) is not None
        value = np.maximum(matrix, matrix.T) if symmetric else matrix
    try:
        array: FloatArray = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return array if array.ndim == 2 and array.shape[0] == array.shape[1] >= 2 else None


def _text(value: Any) -> str:  # noqa: ANN401 - a cell of R's
    """Write a cell of a data frame: whole numbers without a decimal point, missing values as nothing.

    >>> _text(67.0), _text(np.str_("Castle")), _text(None), _text(float("nan"))
    ('67', 'Castle', '', '')
    """
    if value is None or value is pd.NA or (isinstance(value, float | np.floating) and np.isnan(value)):
        return ""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _comparisons(contents: Contents, where: str) -> tuple[str, pd.DataFrame, Columns]:
    """Choose the table of comparisons: by its columns, and by its name if several would do."""
    fitting = {name: guess_columns(table.columns) for name, table in contents.tables.items()}
    fitting = {name: columns for name, columns in fitting.items() if columns.enough}
    if not fitting:
        for name, table in contents.tables.items():
            if table.shape[1] == 2 and all(pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes):
                winner, loser = map(str, table.columns)
                return name, table, Columns(winner=winner, loser=loser)
        raise StudyError(
            f"{where}: there is no table of comparisons in it (columns win and lost, or outcome with item1 and item2); "
            f"it holds {_contents(contents)}"
        )
    named = [name for name in fitting if "comparison" in name.casefold()]
    chosen = list(fitting) if len(fitting) == 1 else named
    if len(chosen) != 1:
        raise StudyError(f"{where}: several tables could be the comparisons, {quoted(list(fitting))}; save one of them")
    return chosen[0], contents.tables[chosen[0]], fitting[chosen[0]]


def _contents(contents: Contents) -> str:
    tables = [f"{name} (a table of {', '.join(map(str, table.columns))})" for name, table in contents.tables.items()]
    matrices = [f"{name} (a matrix, {len(matrix)} × {len(matrix)})" for name, matrix in contents.matrices.items()]
    return "; ".join([*tables, *matrices, *contents.others]) or "nothing"


def _adjacency(contents: Contents, where: str) -> FloatArray | None:
    """Choose the adjacency matrix, and check that it is one."""
    named = [name for name in contents.matrices if "adj" in name.casefold()]
    chosen = named or list(contents.matrices)
    if not chosen:
        return None
    if len(chosen) > 1:
        raise StudyError(f"{where}: several matrices could be the adjacency matrix, {quoted(chosen)}; save one of them")
    matrix = contents.matrices[chosen[0]]
    if not np.isfinite(matrix).all() or (matrix < 0).any() or not np.array_equal(matrix, matrix.T):
        raise StudyError(
            f"{where}: {chosen[0]!r} is not an adjacency matrix, which must be symmetric and hold zeros and ones"
        )
    return matrix


def _edges(matrix: FloatArray, ids: Sequence[str], where: str) -> Iterator[tuple[str, str]]:
    if len(matrix) != len(ids):
        raise StudyError(f"{where}: the adjacency matrix has {len(matrix):,} rows, but there are {len(ids):,} areas")
    for a, b in np.argwhere(np.triu(matrix, 1) > 0).tolist():
        yield ids[a], ids[b]


def _areas(contents: Contents, comparisons: str, answers: Sequence[Answer], matrix: FloatArray | None) -> Imported:
    """Find the areas that the comparisons refer to, and their names."""
    used = {area for answer in answers for area in (answer.left, answer.right)}
    tables = {name: table for name, table in contents.tables.items() if name != comparisons}
    table = next((each for each in tables.values() if matrix is None or len(each) == len(matrix)), None)
    size = len(matrix) if matrix is not None else len(table) if table is not None else 0
    numbered = {str(number) for number in range(1, size + 1)}
    if used <= numbered:
        ids = tuple(sorted(numbered, key=numbers_first))
    else:
        found_ids = _column_of(table, used)
        if found_ids is None and matrix is not None:
            stray = sorted(used - numbered, key=numbers_first)
            raise StudyError(
                f"{comparisons}: {quoted(stray, most=5)} are not areas; they are numbered from 1 to {size}, "
                "in the order of the adjacency matrix"
            )
        ids, table = (found_ids, table) if found_ids else (tuple(sorted(used, key=numbers_first)), None)
    if table is None or len(table) != len(ids):
        return Imported(ids, ids, ())
    geometry, notes = _outlines(table, contents.systems)
    return Imported(ids, _names(table) or ids, (), geometry=geometry, notes=notes)


def _column_of(table: pd.DataFrame | None, used: set[str]) -> tuple[str, ...] | None:
    """Return the column by which the comparisons identify areas."""
    if table is None:
        return None
    for column in table.columns:
        values = tuple(_text(each) for each in table[column])
        if used <= set(values) and len(set(values)) == len(values):
            return values
    return None


def _names(table: pd.DataFrame) -> tuple[str, ...] | None:
    """Return the column of names: one called that, or else the first column of texts that nearly all differ."""
    called = [each for each in table.columns if str(each).casefold() in ("name", "names")]
    called += [each for each in table.columns if str(each).casefold().endswith("name") and each not in called]
    for column in [*called, *table.columns]:
        values = tuple(_text(each) for each in table[column])
        texts = all(isinstance(each, str) and each for each in table[column])
        if texts and len(set(values)) > 0.9 * len(values):
            return values
    return None


def _outlines(table: pd.DataFrame, systems: Sequence[str]) -> "tuple[geopandas.GeoSeries | None, tuple[str, ...]]":
    """Return the outlines of the areas with their reference system, if the table has them."""
    import geopandas
    import pyproj
    import shapely

    columns = [each for each in table.columns if all(isinstance(cell, shapely.Geometry) for cell in table[each])]
    if not columns:
        return None, ()
    for system in systems:
        try:
            return geopandas.GeoSeries(table[columns[0]].to_list(), crs=pyproj.CRS.from_user_input(system)), ()
        except pyproj.exceptions.CRSError:
            continue
    return None, ("The outlines were left out: the file does not say their coordinate reference system.",)
