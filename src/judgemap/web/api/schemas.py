"""The responses of the programming interface, with the descriptions used in its reference."""

from datetime import datetime
from typing import TYPE_CHECKING, Literal, get_type_hints

from ninja import Field, Schema

from judgemap.study.fit.settings import SETTINGS, FitSettings
from judgemap.web.judge.models import OUTCOMES

Outcome = Literal["left", "right", "tie", "skipped", "unknown"]
if set(Outcome.__args__) != set(OUTCOMES):  # type: ignore[attr-defined]
    raise TypeError("the interface must know the outcomes that judges can choose")


class Problem(Schema):
    """Why a request was refused."""

    error: str = Field(description="One sentence: what is wrong, and what to do.")


class StudyLine(Schema):
    """A study in a list."""

    slug: str = Field(description="Its name in addresses.")
    title: str
    status: Literal["draft", "open", "paused", "closed"]


class StudyOut(StudyLine):
    """A study as it is now."""

    question: str
    direction: Literal["lower", "higher"] = Field(
        description="Whether the area that wins has the lower or the higher rate."
    )
    version: int = Field(description="Every edit makes a new version.")
    areas: int = Field(description="How many there are.")
    design: str
    recommended: int
    maximum: int
    ties: bool
    skips: bool
    languages: list[str]
    opened_at: datetime | None
    closed_at: datetime | None
    toml: str = Field(description="The definition in full, as study.toml.")


class AreaOut(Schema):
    """An area."""

    id: str
    name: str


class EdgeOut(Schema):
    """Two neighbours, in the version in force."""

    area_a: str
    area_b: str


class ComparisonsAsked(Schema):
    """Which answers, and how."""

    after: str = Field("", max_length=40, description="The cursor that the last page gave as `next`.")
    limit: int = Field(1000, ge=1, le=5000, description="How many at most.")
    format: Literal["json", "csv"] = Field("json", description="`csv`: the last answer to every pair, in one table.")


class ComparisonOut(Schema):
    """What a judge said about a pair; the same pair comes again, with a higher revision, where a mind was changed."""

    pair: int = Field(description="The pair that was shown: keep the highest revision of each.")
    judge: str = Field(description="The judge's random name.")
    left: str = Field(description="Id of the area on the left.")
    right: str = Field(description="Id of the area on the right.")
    outcome: Outcome
    seconds: float = Field(description="How long the pair was in view.")
    answered_at: datetime
    revision: int = Field(description="1, and higher if the answer was changed.")
    position: int = Field(description="1 for the judge's first pair, and so on.")
    version: int = Field(description="The version of the study that the pair was shown under.")
    design: str
    probability: float = Field(description="Probability with which the design drew this pair for this judge.")


class ComparisonsOut(Schema):
    """A page of answers, in the order in which they came; each appears five seconds after it was given."""

    comparisons: list[ComparisonOut]
    next: str = Field(description="Give it as `after` to continue from here, now or next week.")
    more: bool = Field(description="Whether there are more now.")


class FitLine(Schema):
    """A fit in a list."""

    number: int
    status: str = Field(description="waiting, running, done, failed, cancelled or lost.")
    model: str
    asked_at: datetime
    finished_at: datetime | None
    answers: int = Field(description="How many pairs had been answered when it read them.")
    data_sha256: str = Field(description="The same hash, the same data.")
    note: str
    withdrawn: int = Field(description="How many judges whose answers it used have withdrawn since.")


if TYPE_CHECKING:
    FitSettingsOut = dict[str, str | float | bool | None]
else:  # built from the settings themselves, so that a new one appears here too
    FitSettingsOut = type(
        "FitSettingsOut",
        (Schema,),
        {
            "__module__": __name__,
            "__doc__": "The options of `judgemap fit`; null is the default. Older fits lack options that came later.",
            "__annotations__": get_type_hints(FitSettings),
            **{name: Field(None, description=each.help) for name, each in SETTINGS.items()},
        },
    )


class FitOut(FitLine):
    """A fit, with its full record."""

    settings: FitSettingsOut = Field(description="The options of `judgemap fit`.")
    left_out: list[str] = Field(description="Judges whose answers it did not use.")
    only: list[str] = Field(description="Judges whose answers alone it used; empty for all.")
    info: dict[str, object] = Field(description="What fit.json says: priors, seed, diagnostics, notes.")
