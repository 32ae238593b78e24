"""A study as its researcher defines it: the fields of study.toml, read, checked and written."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_origin, get_type_hints

import msgspec
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
    """Where the areas come from: a boundary file, or an edge list with a table of names."""

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
    """What a briefing says in the researcher's own words."""

    author: str = ""
    contact: str = ""
    next_steps: str = ""
    """What to do next; a blank line begins a new paragraph."""
    organisation: str = ""


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
    asks_places: bool = False
    """Whether judges first say which part of the map they know, and are asked only about that."""
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
            text = f"repeats is {self.repeats:g}; it is the share of pairs shown again, from 0 to {MOST_REPEATS}"
            raise StudyError(text, "repeats")
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


@dataclass(frozen=True, slots=True)
class Tiles:
    """The table [base_map]."""

    tiles: str = ""
    credit: str = ""


TABLES = ("areas", "texts", "base_map", "translations", "briefing")
WRITTEN = ("example", "consent", "instructions", "thanks")
"""The keys of the table [texts]."""
PLAIN = [each.name for each in fields(StudyDefinition) if each.name not in (*TABLES, *WRITTEN, "base_map_credit")]
"""The keys that are in no table; a study does without those of `OPTIONAL`."""
OPTIONAL = ("repeats", "asks_places", "answers_until")
PAIRS = tuple[tuple[str, str], ...]
KINDS = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    tuple[str, ...]: "a list of strings",
    PAIRS: "a list of pairs, such as [['W1', 'W2']]",
    date | None: "a day, such as 2027-06-30, without quotes",
}
"""What a value must be, by the type of its field."""


def _one_of(key: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        hint = did_you_mean(str(value), choices)
        raise StudyError(f"{key} is {value!r}{hint}; it is one of {quoted(choices)}", field=key)


def read_definition(path: str | Path) -> StudyDefinition:
    r"""Read a study.toml."""
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
    inside = {key: _table(tables, key) for key in TABLES}
    given = _read(StudyDefinition, {key: value for key, value in tables.items() if key not in TABLES}, PLAIN)
    for key in ("title", "question", "direction"):
        if key not in given:
            one = "direction = 'lower' or 'higher'" if key == "direction" else "it"
            raise StudyError(f"there is no {key!r}; add {one}")
    texts = _read(StudyDefinition, inside["texts"], WRITTEN, "texts.")
    tiles = _read(Tiles, inside["base_map"], [each.name for each in fields(Tiles)], "base_map.")
    areas = _read(AreasSource, inside["areas"], [each.name for each in fields(AreasSource)], "areas.")
    briefing = _read(OwnWords, inside["briefing"], [each.name for each in fields(OwnWords)], "briefing.")
    return StudyDefinition(
        areas=AreasSource(**areas),
        base_map=tiles.get("tiles", ""),
        base_map_credit=tiles.get("credit", ""),
        translations={language: _table(inside["translations"], language) for language in inside["translations"]},
        briefing=OwnWords(**briefing),
        **given,
        **texts,
    )


def _table(tables: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = tables.get(key, {})
    if not isinstance(value, Mapping):
        raise StudyError(f"{key} is {value!r}; it must be a table, written [{key}]")
    return dict(value)


def _read(cls: type, given: Mapping[str, Any], keys: Sequence[str], prefix: str = "") -> dict[str, Any]:
    """Check a table against the types of the fields that it may give; lists become tuples."""
    kinds, read = get_type_hints(cls), {}
    for key, value in given.items():
        if key not in keys:
            raise StudyError(f"there is no key {prefix + key!r}{did_you_mean(key, keys)}; the keys are {quoted(keys)}")
        kind = str if get_origin(kinds[key]) is Literal else kinds[key]  # the definition itself names the choices
        try:
            read[key] = msgspec.convert(_as_text(value) if kind in (str, PAIRS) else value, kind)
        except msgspec.ValidationError:
            shown = str(value) if isinstance(value, date) else value
            raise StudyError(f"{prefix}{key} is {shown!r}; it must be {KINDS[kind]}", field=key) from None
    return read


def _as_text(value: Any) -> Any:  # noqa: ANN401 - whatever TOML holds
    """Write whole numbers as text: ids often are."""
    if isinstance(value, list):
        return [_as_text(each) for each in value]
    return str(value) if isinstance(value, int) else value


def write_definition(study: StudyDefinition) -> str:
    """Write a study.toml, so that reading it gives the same definition."""
    tables: dict[str, object] = {key: value for key in PLAIN if (value := getattr(study, key)) or key not in OPTIONAL}
    tables["areas"] = {key: value for key, value in asdict(study.areas).items() if value}
    tables["texts"] = {key: getattr(study, key) for key in WRITTEN}
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
    """Return the areas with some edges removed."""
    if not removed:
        return areas
    gone = {tuple(sorted(areas.index(pair).tolist())) for pair in removed}
    edges = [edge for edge in areas.graph.edges.tolist() if tuple(edge) not in gone]
    kept = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return replace(areas, graph=AreaGraph(len(areas), kept))
