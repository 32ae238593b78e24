"""One setting of a fit: its type, its limits, and its help text on the command line and in forms."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean
from judgemap.study.run import CLUSTER_PLAN, NORMAL_PLAN, PANEL_PLAN

MODELS = ("spatial", "standard", "clusters")
KINDS = {bool: "true or false", str: "a word", int: "a whole number", float: "a finite number"}


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything there is to know about a setting except its default.

    ``check`` builds the `core` value that the setting goes into, and so enforces its limits.
    """

    kind: type
    label: str
    help: str
    symbol: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    """The values it can take, each with its label in a form; empty for numbers."""
    models: tuple[str, ...] = MODELS
    least: int | None = None
    most: int | None = None
    check: Callable[[float], object] | None = None

    def check_value(self, name: str, value: Any) -> None:  # noqa: ANN401 - client-supplied JSON can hold anything
        """Raise a `StudyError` unless the setting accepts the value."""
        if isinstance(value, bool) != (self.kind is bool) or not isinstance(
            value, (int, float) if self.kind is float else self.kind
        ):
            raise StudyError(f"{name} must be {KINDS[self.kind]}, received {value!r}", field=name)
        try:
            self._check_limits(name, value)
        except ValueError as error:
            raise StudyError(str(error), field=name) from None

    def _check_limits(self, name: str, value: Any) -> None:  # noqa: ANN401
        if self.choices and value not in self.choices:
            hint = did_you_mean(value, tuple(self.choices)) if name in ("prior", "affinity") else ""
            raise ValueError(f"there is no {name} {value!r}{hint}; choose one of {', '.join(self.choices)}")
        if self.kind is float and not math.isfinite(value):
            raise ValueError(f"{name} must be a finite number, received {value!r}")
        if self.most is not None and not (self.least or 0) <= value <= self.most:
            raise ValueError(f"{name} must be a whole number from {self.least or 0} to {self.most}, received {value}")
        if self.least is not None and value < self.least:
            raise ValueError(f"{name} must be at least {self.least}, received {value}")
        if self.check is not None:
            self.check(value)


def new_setting(default: Any, kind: type, label: str, text: str, **more: Any) -> Any:  # noqa: ANN401 - like `field`
    """Make a field of `FitSettings`, with everything there is to know about it."""
    about = {"setting": Setting(kind, label, text, **more)}
    return (
        field(default_factory=default, metadata=about) if callable(default) else field(default=default, metadata=about)
    )


def plan_setting(name: str, label: str, text: str, least: int) -> Any:  # noqa: ANN401 - like `field`
    """Make a number of the plan; None means the model's default, which the help text states."""
    default, clusters, panel = (getattr(plan, name) for plan in (NORMAL_PLAN, CLUSTER_PLAN, PANEL_PLAN))
    usual = f"{default}" if default == clusters else f"{default}, or {clusters} for clusters"
    usual += "" if default == panel else f", or {panel} when judges differ"
    return new_setting(None, int, label, f"{text} Default: {usual}.", least=least, most=None)
