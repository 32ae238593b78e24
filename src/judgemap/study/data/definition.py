"""A study as its researcher defines it: the fields of study.toml, read, checked and written."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import tomli_w

from judgemap.core.model.graph import AreaGraph
from judgemap.errors import StudyError
from judgemap.geo.adjacency import Contiguity
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.geo.maps import Areas, read_areas, read_edges
from judgemap.study.data.comparisons import Direction

Access = Literal["personal", "open"]
DESIGNS = ("principal", "uniform", "naive", "optimal", "adaptive")
TEXTS = ("title", "question", "example", "consent", "instructions", "thanks")
"""What the researcher writes and can have translated."""

MOST_REPEATS = 0.3
LONGEST = {
    "title": 200, "question": 300, "example": 20_000, "consent": 20_000, "instructions": 20_000, "thanks": 20_000,
    "base_map": 300, "base_map_credit": 200,
}  # fmt: skip
"""The most characters in each text."""
NEEDED = ("title", "question", "consent")
CONSENT = (
    "Taking part is voluntary, and you may stop at any time. We keep your answers and how long they took, under a "
    "random name; we do not ask for or keep your name, e-mail address or internet address. You will be given a code "
    "that removes your answers."
)

_TILES = re.compile(
    r"https://(\{s\}\.)?[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?/"
    r"(?=.*\{z\})(?=.*\{x\})(?=.*\{y\})(\{[zxyr]\}|[A-Za-z0-9._~/?&=%@:+-])+"
)
"""The host goes into a header of the judges' pages, so nothing in it may end or widen a rule there."""


@dataclass(frozen=True, slots=True)
class AreasSource:
    """Where the areas come from: a boundary file, or an edge list with a table of names.

    >>> AreasSource(file="wards.gpkg", id="code").contiguity
    'queen'
    """

    file: str = ""
    edges: str = ""
    names: str = ""
    id: str = ""
    name: str = ""
    crs: str = ""
    contiguity: Contiguity = "queen"
    extra_edges: tuple[tuple[str, str], ...] = ()
    removed_edges: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class OwnWords:
    """What a briefing says in the researcher's own words.

    >>> OwnWords(author="A. Hill").contact
    ''
    """

    author: str = ""
    contact: str = ""
    next_steps: str = ""
    """What to do next; a blank line begins a new paragraph."""


NO_WORDS = OwnWords()


@dataclass(frozen=True, slots=True)
class StudyDefinition:
    """Everything a researcher decides about a study.

    >>> study = StudyDefinition(title="Wards", question="Which ward has the LOWER rate?", direction="lower")
    >>> study.design, study.recommended, study.maximum
    ('principal', 50, 200)
    >>> StudyDefinition(title="Wards", question="Which?", direction="down")
    Traceback (most recent call last):
    judgemap.errors.StudyError: direction is 'down'; it is one of 'lower', 'higher'
    """

    title: str
    question: str
    direction: Direction
    areas: AreasSource = AreasSource()
    design: str = "principal"
    recommended: int = 50
    maximum: int = 200
    ties: bool = True
    skips: bool = True
    repeats: float = 0.0
    """The share of pairs that a judge sees again, with sides swapped."""
    access: Access = "personal"
    languages: tuple[str, ...] = ("en",)
    example: str = ""
    consent: str = CONSENT
    instructions: str = ""
    thanks: str = ""
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    base_map: str = ""
    base_map_credit: str = ""
    answers_until: date | None = None
    """The last day on which judges' answers are kept; they are deleted after it. None if they are kept indefinitely."""
    briefing: OwnWords = NO_WORDS

    def __post_init__(self) -> None:
        for text, longest in LONGEST.items():
            length = len(str(getattr(self, text)).strip())
            if not (text in NEEDED) <= length <= longest:
                least = "at least one and " if text in NEEDED else ""
                raise StudyError(f"{text} has {length} characters; write {least}at most {longest:,}", text)
        _one_of("direction", self.direction, ("lower", "higher"))
        _one_of("design", self.design, DESIGNS)
        _one_of("access", self.access, ("personal", "open"))
        if not 1 <= self.recommended <= self.maximum:
            raise StudyError(
                f"recommended is {self.recommended} and maximum is {self.maximum}; "
                "they must be at least 1, and recommended no more than maximum",
                field="recommended",
            )
        if not 0 <= self.repeats <= MOST_REPEATS:
            raise StudyError(
                f"repeats is {self.repeats:g}; it is the share of pairs shown again, from 0 to {MOST_REPEATS}",
                field="repeats",
            )
        self._check_languages()
        if self.base_map and not _TILES.fullmatch(self.base_map):
            raise StudyError(
                f"base_map.tiles is {self.base_map[:80]!r}; it must begin with https:// and a host, and hold "
                "{z}, {x} and {y}, as https://tiles.example.org/{z}/{x}/{y}.png does",
                field="base_map",
            )

    def _check_languages(self) -> None:
        if not self.languages or len(set(self.languages)) != len(self.languages):
            text = "languages must list at least one language, each only once; for example ['en', 'fr']"
            raise StudyError(text, field="languages")
        for language, texts in self.translations.items():
            if language not in self.languages:
                text = f"translations.{language} is not one of the study's languages; add it to languages"
                raise StudyError(text, field="languages")
            for key in texts:
                _one_of(f"translations.{language}", key, TEXTS)


def _one_of(key: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        hint = did_you_mean(str(value), choices)
        raise StudyError(f"{key} is {value!r}{hint}; it is one of {quoted(choices)}", field=key)


def read_definition(path: str | Path) -> StudyDefinition:
    r"""Read a study.toml.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "study.toml")
    ...     _ = path.write_text('title = "Wards"\nquestion = "Which?"\ndirection = "lower"\nrecomended = 20\n')
    ...     read_definition(path)
    Traceback (most recent call last):
    judgemap.errors.StudyError: study.toml: there is no key 'recomended' (did you mean 'recommended'?); ...
    """
    path = Path(path)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StudyError(f"{path}: there is no such file; check its name and folder") from None
    except OSError as error:
        raise StudyError(f"{path}: the file cannot be read ({error.strerror}); check its permissions") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{path.name}: this is not TOML ({error}); correct it") from None
    try:
        return parse_definition(tables)
    except StudyError as error:
        raise StudyError(f"{path.name}: {error}", error.field) from None


def parse_definition(tables: Mapping[str, Any]) -> StudyDefinition:
    """Build a definition from the tables of a study.toml; errors name the key.

    >>> parse_definition({"title": "Wards", "question": "Which?", "direction": "lower", "maximum": "many"})
    Traceback (most recent call last):
    judgemap.errors.StudyError: maximum is 'many'; it must be a whole number
    """
    given = dict(tables)
    areas = _table(given, "areas")
    texts = _table(given, "texts")
    base_map = _table(given, "base_map")
    translations = _table(given, "translations")
    briefing = _table(given, "briefing")
    _known(briefing, "briefing.", [each.name for each in fields(OwnWords)])
    _known(areas, "areas.", [each.name for each in fields(AreasSource)])
    _known(texts, "texts.", ["example", "consent", "instructions", "thanks"])
    _known(base_map, "base_map.", ["tiles", "credit"])
    plain = [each.name for each in fields(StudyDefinition)]
    nested = {
        "areas",
        "example",
        "consent",
        "instructions",
        "thanks",
        "translations",
        "base_map",
        "base_map_credit",
        "briefing",
    }
    _known(given, "", [each for each in plain if each not in nested])
    for key in ("title", "question", "direction"):
        if key not in given:
            one = "direction = 'lower' or 'higher'" if key == "direction" else "it"
            raise StudyError(f"there is no {key!r}; add {one}")
    values = {key: _checked(StudyDefinition, key, value) for key, value in (given | texts).items()}
    source = AreasSource(**{key: _checked(AreasSource, key, value, "areas.") for key, value in areas.items()})
    for language in translations:
        _table(translations, language, keep="")
    return StudyDefinition(
        areas=source,
        base_map=str(base_map.get("tiles", "")),
        base_map_credit=str(base_map.get("credit", "")),
        translations=translations,
        briefing=OwnWords(**{key: _checked(OwnWords, key, value, "briefing.") for key, value in briefing.items()}),
        **values,
    )


def _table(given: dict[str, Any], key: str, keep: str | None = None) -> dict[str, Any]:
    value = given.get(key, {}) if keep is not None else given.pop(key, {})
    if not isinstance(value, Mapping):
        raise StudyError(f"{key} is {value!r}; it must be a table, written [{key}]")
    return dict(value)


def _known(given: Mapping[str, Any], prefix: str, keys: Sequence[str]) -> None:
    for key in given:
        if key not in keys:
            raise StudyError(f"there is no key {prefix + key!r}{did_you_mean(key, keys)}; the keys are {quoted(keys)}")


def _checked(cls: type, key: str, value: Any, prefix: str = "") -> Any:  # noqa: ANN401 - whatever TOML holds
    """Check a value against the type of its field; lists become tuples."""
    kind = str(next(each.type for each in fields(cls) if each.name == key))
    if "tuple[tuple" in kind:
        return _checked_pairs(prefix + key, value)
    if "tuple[str" in kind:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise StudyError(f"{prefix}{key} is {value!r}; it must be a list of strings")
        return tuple(value)
    if "date" in kind:
        return _checked_day(prefix + key, value)
    if "bool" in kind and not isinstance(value, bool):
        raise StudyError(f"{prefix}{key} is {value!r}; it must be true or false")
    if "float" in kind:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise StudyError(f"{prefix}{key} is {value!r}; it must be a number")
        return float(value)
    if "int" in kind and (not isinstance(value, int) or isinstance(value, bool)):
        raise StudyError(f"{prefix}{key} is {value!r}; it must be a whole number")
    if not isinstance(value, bool | int | str):
        raise StudyError(f"{prefix}{key} is {value!r}; it must be text")
    return value if "bool" in kind or "int" in kind else str(value)


def _checked_pairs(key: str, value: Any) -> tuple[tuple[str, str], ...]:  # noqa: ANN401 - whatever TOML holds
    pairs = value if isinstance(value, list) else [value]
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise StudyError(f"{key} is {value!r}; it must be a list of pairs, such as [['W1', 'W2']]")
    return tuple((str(a), str(b)) for a, b in pairs)


def _checked_day(key: str, value: object) -> date:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise StudyError(f"{key} is {str(value)!r}; it must be a day, such as 2027-06-30, without quotes", field=key)
    return value


def write_definition(study: StudyDefinition) -> str:
    """Write a study.toml, so that reading it gives the same definition.

    >>> study = StudyDefinition("Wards", "Which?", "lower", AreasSource(file="wards.gpkg"), languages=("en", "fr"))
    >>> parse_definition(tomllib.loads(write_definition(study))) == study
    True
    """
    tables: dict[str, Any] = {
        key: list(value) if isinstance(value, tuple) else value
        for key in ("title", "question", "direction", "design", "recommended", "maximum", "ties", "skips", "access")
        for value in [getattr(study, key)]
    }
    if study.repeats:
        tables["repeats"] = study.repeats
    if study.answers_until:
        tables["answers_until"] = study.answers_until
    tables["languages"] = list(study.languages)
    tables["areas"] = {
        each.name: [list(pair) for pair in value] if isinstance(value, tuple) else value
        for each in fields(AreasSource)
        if (value := getattr(study.areas, each.name))
    }
    tables["texts"] = {key: getattr(study, key) for key in ("example", "consent", "instructions", "thanks")}
    if study.base_map:
        tables["base_map"] = {"tiles": study.base_map, "credit": study.base_map_credit}
    if study.translations:
        tables["translations"] = {language: dict(texts) for language, texts in study.translations.items()}
    if study.briefing != NO_WORDS:
        tables["briefing"] = asdict(study.briefing)
    return tomli_w.dumps(tables, multiline_strings=False)


def read_study_areas(study: StudyDefinition, folder: str | Path) -> Areas:
    """Read the areas of a definition from the files next to it."""
    source = study.areas
    if bool(source.file) == bool(source.edges):
        raise StudyError("areas does not name a map; give areas.file, a boundary file, or areas.edges, an edge list")
    if source.file:
        areas = read_areas(
            Path(folder, source.file),
            id=source.id or None,
            name=source.name or None,
            contiguity=source.contiguity,
            extra_edges=list(source.extra_edges),
            crs=source.crs or None,
        )
    else:
        names = Path(folder, source.names) if source.names else None
        areas = read_edges(Path(folder, source.edges), names, list(source.extra_edges))
    return without_edges(areas, source.removed_edges)


def without_edges(areas: Areas, removed: Sequence[tuple[str, str]]) -> Areas:
    """Return the areas with some edges removed.

    >>> areas = Areas(("a", "b", "c"), ("A", "B", "C"), AreaGraph(3, [[0, 1], [1, 2]]))
    >>> without_edges(areas, [("c", "b")]).graph.edges
    array([[0, 1]])
    """
    if not removed:
        return areas
    gone = {tuple(sorted(areas.index(pair).tolist())) for pair in removed}
    edges = [edge for edge in areas.graph.edges.tolist() if tuple(edge) not in gone]
    kept = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return replace(areas, graph=AreaGraph(len(areas), kept))
