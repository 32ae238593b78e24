"""What is assumed about judges and their answers: ties, their own views, sides, attention, lapses."""

from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

import numpy as np

from judgemap.core.model.judges import (
    Attention,
    Disagreement,
    Lapses,
    Parts,
    Side,
    Smoothness,
)
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import DENSE_LIMIT, Covariance, independent
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.study.comparisons import Comparisons

JUDGES, DISAGREEMENTS, SMOOTHNESS = ("alike", "differ"), ("map", "independent"), ("paper", "infer")
TIES: dict[str, TieRule | None] = {"model": TieRule.RAO_KUPPER, "davidson": TieRule.DAVIDSON, "leave-out": None}


class View(StrEnum):
    """Whose map a fit shows."""

    POOLED = "pooled"
    """All answers taken together, as if one person had given them."""
    POPULATION = "population"
    """What other judges of the same kind would see on average."""
    PANEL = "panel"
    """What these judges see on average, each counting equally."""

    @property
    def words(self) -> str:
        """Whose view the map is, in a sentence.

        >>> View.PANEL.words
        'The map shows the view of these judges, each with equal weight.'
        """
        return _WORDS[self]


_WORDS = {
    View.POOLED: "The map pools all answers, as if one person had given them.",
    View.POPULATION: "The map shows the view of the population of judges: what others like them would see on average.",
    View.PANEL: "The map shows the view of these judges, each with equal weight.",
}


_TITLES = {
    ("ties", "davidson"): "Davidson's ties",
    ("ties", "leave-out"): "ties left out",
    ("judges", "differ"): "judges differ",
    ("disagreement", "independent"): "independent views",
    ("side", True): "sides",
    ("attention", True): "attention",
    ("lapses", True): "lapses",
    ("smoothness", "infer"): "smoothness inferred",
}


@dataclass(frozen=True, slots=True)
class PanelSettings:
    """Which parts of `core.panel` are on; with none of them on, this is the paper's model.

    >>> PanelSettings(judges="differ").by_judge, PanelSettings().by_judge
    (True, False)
    """

    ties: str = "model"
    """Rao and Kupper's rule ('model'), Davidson's ('davidson'), or 'leave-out'; it matters only if the data have
    ties."""
    judges: str = "alike"
    disagreement: str = "map"
    side: bool = False
    attention: bool = False
    lapses: bool = False
    smoothness: str = "paper"

    def __post_init__(self) -> None:
        choices = {"ties": TIES, "judges": JUDGES, "disagreement": DISAGREEMENTS, "smoothness": SMOOTHNESS}
        for name, known in choices.items():
            value = getattr(self, name)
            if value not in known:
                hint = did_you_mean(str(value), tuple(known))
                raise StudyError(f"there is no {name} {value!r}{hint}; choose one of {', '.join(known)}", field=name)
        for name in ("side", "attention", "lapses"):
            if not isinstance(getattr(self, name), bool):
                raise StudyError(f"{name} must be true or false, received {getattr(self, name)!r}", field=name)

    @property
    def differ(self) -> bool:
        """Whether each judge has their own view."""
        return self.judges == "differ"

    @property
    def by_judge(self) -> bool:
        """Whether anything differs from judge to judge."""
        return self.differ or self.side or self.attention or self.lapses

    @property
    def view(self) -> View:
        """Whose map the model shows, unless another is asked for."""
        return View.POPULATION if self.differ else View.POOLED

    def needs_panel(self, data: Comparisons) -> bool:
        """Whether these settings and data need more than the paper's model."""
        return self.by_judge or self.smoothness == "infer" or self._rule(data) is not None

    def check_size(self, n_areas: int) -> None:
        """Raise if the map has more areas than models of judges and ties can handle."""
        if n_areas <= DENSE_LIMIT:
            return
        part = next(iter(self.options()), "ties")
        leave = "fit with ties left out (--ties leave-out)" if part == "ties" else "leave it out"
        raise StudyError(
            f"{part}: with more than {DENSE_LIMIT:,} areas judges and ties cannot be modelled, and this map has "
            f"{n_areas:,}; {leave}, or use a coarser map",
            field=part,
        )

    def parts(self, data: Comparisons, covariance: Covariance) -> Parts:
        """Choose the parts of the model for these data, or say why the data cannot support one."""
        self._check(data)
        views = covariance if self.disagreement == "map" else independent(covariance.n_areas)
        return Parts(
            ties=self._rule(data),
            smoothness=Smoothness() if self.smoothness == "infer" else None,
            disagreement=Disagreement(views) if self.differ else None,
            side=Side() if self.side else None,
            attention=Attention() if self.attention else None,
            lapses=Lapses() if self.lapses else None,
        )

    def cluster_rule(self, data: Comparisons) -> TieRule | None:
        """Choose the cluster model's tie rule for these data."""
        self.check_clusters()
        return self._rule(data)

    def check_clusters(self) -> None:
        """Raise unless the cluster model supports the tie rule."""
        if self.ties == "davidson":
            text = (
                "ties: the model 'clusters' supports Rao and Kupper's ties, not Davidson's; choose "
                "'model' or 'leave-out'"
            )
            raise StudyError(text, field="ties")

    def options(self) -> dict[str, Any]:
        """Return the settings that differ from the defaults, by name.

        >>> PanelSettings(judges="differ", side=True).options()
        {'judges': 'differ', 'side': True}
        """
        usual = {each.name: each.default for each in fields(self)}
        return {name: value for name, value in asdict(self).items() if value != usual[name]}

    @property
    def titles(self) -> list[str]:
        """What distinguishes a fit with these settings, in a few words each.

        >>> PanelSettings(judges="differ", side=True).titles
        ['judges differ', 'sides']
        """
        return [_TITLES[name, value] for name, value in self.options().items() if (name, value) in _TITLES]

    def _rule(self, data: Comparisons) -> TieRule | None:
        return TIES[self.ties] if data.tied.any() else None

    def _check(self, data: Comparisons) -> None:
        answered = data.decided | data.tied
        if self.side and not data.sides:
            raise StudyError(
                "side: no answer is 'right', so the table shows winners and losers but not sides, and no judge's "
                "lean can be estimated; leave it out, or give the columns left, right and outcome",
                field="side",
            )
        if not self.by_judge:
            return
        part = (
            "judges" if self.differ else next(name for name in ("side", "attention", "lapses") if getattr(self, name))
        )
        if unnamed := int((answered & (data.judge < 0)).sum()):
            raise StudyError(
                f"{part}: {unnamed:,} of {int(answered.sum()):,} answers do not name their judge, so judges cannot be "
                "told apart; fill in the column 'judge', or fit with judges alike",
                field=part,
            )
        answers = np.bincount(data.judge[answered], minlength=len(data.judges))
        active = np.flatnonzero(answers)
        if len(active) == 1:
            raise StudyError(
                f"{part}: all answers come from one judge ({quoted([data.judges[active[0]]])}), so we cannot say how "
                "judges differ; ask more judges, or fit with judges alike",
                field=part,
            )
        if len(active) and answers.max() == 1:
            raise StudyError(
                f"{part}: each of the {len(active):,} answers has a different judge, so judges' views cannot be told "
                "from chance; check the column 'judge', or fit with judges alike",
                field=part,
            )


def with_answers(data: Comparisons) -> tuple[Comparisons, tuple[str, ...]]:
    """Keep the judges who answered, and also return the names of the others.

    >>> data = Comparisons.from_words(("a", "b"), ["x", "y"], [0, 0], [1, 1], ["left", "skipped"])
    >>> with_answers(data)[1]
    ('y',)
    """
    answered = data.decided | data.tied
    active = set(np.unique(data.judge[answered]).tolist())
    silent = tuple(name for code, name in enumerate(data.judges) if code not in active)
    return (data.only([name for name in data.judges if name not in silent]), silent) if silent else (data, ())
