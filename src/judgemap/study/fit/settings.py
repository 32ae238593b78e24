"""The settings of a fit: each with its type, its limits and its meaning, for Python, commands, forms and API.

`FitSettings` is what somebody asks for. What is left open is filled in for the data and the map at hand, once, by
`FitSettings.chosen_for`: the plain fit, or the paper's model (`as_in_paper`). A `Run` is the result, ready to sample.
"""

import math
import secrets
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from judgemap.core.model.clusters import ClusterPrior, decay, window
from judgemap.core.model.communicability import communicability_matrix
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import Parts, Reach
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import (
    DENSE_LIMIT,
    Covariance,
    FixedVariance,
    HalfNormal,
    InverseGamma,
    VariancePrior,
    independent,
)
from judgemap.core.samplers.run import SAMPLERS, Draws, Plan, Watcher
from judgemap.core.threads import one_thread
from judgemap.errors import StudyError, told_as_study_error
from judgemap.geo.csvfiles import check_known, quoted
from judgemap.geo.maps import Areas
from judgemap.study.data.comparisons import Comparisons, Direction
from judgemap.study.fit.priors import FOR_LARGE_MAPS, PLAIN, PRIORS

if TYPE_CHECKING:
    from judgemap.study.fit.result import Fit

MODELS = ("spatial", "standard", "clusters")
NORMAL_MODELS = ("spatial", "standard")
MODEL_NAMES = {"spatial": "spatial", "standard": "standard", "clusters": "clustering"}
"""What a model is called in a sentence."""
KINDS = {bool: "true or false", str: "a word", int: "a whole number", float: "a finite number"}
TIES: dict[str, TieRule | None] = {"model": TieRule.RAO_KUPPER, "davidson": TieRule.DAVIDSON, "leave-out": None}
AFFINITIES = ("communicability", "window", "decay")
LOSSES = {"vi": "least variation of information", "binder": "least Binder loss"}
SAMPLER_NAMES = {"hmc": "Hamiltonian Monte Carlo", "gibbs": "Gibbs, as in the paper"}
EFFECTS = ("side", "attention", "lapses", "reach")
"""What each judge may have besides a view: settings that are on or off."""
JUDGE_OPTIONS = ("ties", "judges", "disagreement", *EFFECTS, "smoothness")
"""The settings about judges, ties and smoothness."""
PAPER: dict[str, Any] = {"prior": "communicability", "judges": "alike", "chi": 0.1, "omega": 0.1}
"""What the paper's model has in place of the plain fit's car, judges by the data, and half-normal prior of α."""
FEWEST_JUDGES = 3
"""From this many named judges on, the plain fit lets them differ: two cannot show how far people differ."""
CLUSTER_OPTIONS = ("affinity", "length", "beta", "mu0", "kappa0", "a0", "b0")
"""The settings of the cluster model's prior; see `judgemap.core.model.clusters` for what they mean."""
LARGEST_SEED = 2**53
"""Every program that reads JSON can represent integers up to this."""

NORMAL_PLAN = Plan(most=8000)
"""A thousand draws per chain are enough for most studies; the first day's answers, or answers that never contradict
each other, may need 8,000. The limit is in draws, not seconds, so that the same seed gives the same numbers on a slow
machine."""
CLUSTER_PLAN = Plan(chains=4, warmup=1000, draws=1000, thin=10)
"""How much the cluster model draws by default; its chains mix more slowly than those of the others."""
PANEL_PLAN = Plan(chains=8, warmup=30, draws=200, most=3200, more=0.5)
"""If the model distinguishes judges, a draw costs ten times as much: as many as are needed, and no more. Eight chains
keep two cores busy, because four share a batch."""

LARGE = 1_000
"""Maps with more areas than this are fitted by the sampler for large maps (`study.fit.large`), if it knows the
settings: from about 600 areas on it is the faster one. The other takes hours to tell judges apart on larger maps, or to
find the part that a judge knows."""
LARGE_PLAN = Plan(chains=16, warmup=20, draws=250, most=2000, more=0.5)
"""For large maps: with tens of thousands of areas some R-hats are large by chance, and it takes this many draws from
this many chains to bring the largest below 1.01."""


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
        fits = isinstance(value, (int, float) if self.kind is float else self.kind)
        if not fits or isinstance(value, bool) != (self.kind is bool):
            raise StudyError(f"{name} must be {KINDS[self.kind]}, received {value!r}", field=name)
        if self.choices:
            check_known(name, value, self.choices, name)
        with told_as_study_error(field=name):
            if self.kind is float and not math.isfinite(value):
                raise ValueError(f"{name} must be a finite number, received {value!r}")
            if self.most is not None and not (self.least or 0) <= value <= self.most:
                raise ValueError(f"{name} must be a whole number from {self.least} to {self.most}, received {value}")
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


def draw_seed() -> int:
    """Draw a seed for when none was given; it is written into the results."""
    return secrets.randbits(32)


def _of_normal(default: float | None, label: str, text: str, check: Callable[[float], object]) -> Any:  # noqa: ANN401
    """Make a number of the spatial and standard models, named by its Greek letter."""
    return new_setting(default, float, label, text, symbol=label[0], models=NORMAL_MODELS, check=check)


def _of_clusters(name: str, symbol: str, text: str) -> Any:  # noqa: ANN401 - like `field`
    """Make a number of the cluster model's prior."""
    default = next(each.default for each in fields(ClusterPrior) if each.name == name)

    def check(value: float) -> ClusterPrior:
        return ClusterPrior(np.ones((2, 2)), **{name: value})

    return new_setting(default, float, symbol, text, symbol=symbol, models=("clusters",), check=check)


def _of_judges(
    label: str, text: str, choices: Mapping[str, str] | None = None, models: tuple[str, ...] = NORMAL_MODELS
) -> Any:  # noqa: ANN401 - like `field`
    """Make a setting about judges or ties: one of several choices, the first by default, or on and off."""
    default = next(iter(choices)) if choices else False
    return new_setting(default, type(default), label, text, choices=choices or {}, models=models)


def _check_length(value: float) -> None:
    if not value > 0:
        raise ValueError(f"the length scale must be a positive number, received {value}")


def _check_alpha(value: float) -> None:
    if not value > 0:
        raise ValueError(f"a fixed α must be a positive number, received {value}")


class View(StrEnum):
    """Whose map a fit shows."""

    POOLED = "pooled"
    POPULATION = "population"
    PANEL = "panel"

    @property
    def shows(self) -> str:
        """What the map shows, to follow those words in a sentence."""
        return _SHOWS[self]

    @property
    def words(self) -> str:
        """Whose view the map is, in a sentence.

        >>> View.PANEL.words
        'The map shows the view of these judges, each with equal weight.'
        """
        return f"The map shows {self.shows}."


_SHOWS = {
    View.POOLED: "all answers taken together, as if one person had given them",
    View.POPULATION: "the view of the population of judges, what others like them would see on average",
    View.PANEL: "the view of these judges, each with equal weight",
}


_TITLES = {
    ("as_in_paper", True): "as in the paper",
    ("ties", "davidson"): "Davidson's ties",
    ("ties", "leave-out"): "ties left out",
    ("judges", "alike"): "judges alike",
    ("judges", "differ"): "judges differ",
    ("disagreement", "independent"): "independent views",
    ("side", True): "sides",
    ("attention", True): "attention",
    ("lapses", True): "lapses",
    ("smoothness", "infer"): "smoothness inferred",
}


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """The settings of `judgemap fit`: the model, what it assumes, and how long it runs.

    None means that the plain fit's choice is made for the data, or the paper's with ``as_in_paper``. The same settings
    give the same numbers from the same data, whether from the command line, from Python or on the study server. If no
    seed is given, one is drawn.

    >>> FitSettings(model="standard", as_in_paper=True, chains=2, seed=1, draws=50).command("answers.csv", "a.gpkg")
    'judgemap fit answers.csv --areas a.gpkg --model standard --as-in-paper --chains 2 --draws 50 --seed 1 -o results'
    """

    model: str = new_setting(
        "spatial",
        str,
        "Model",
        "What is assumed about the areas.",
        choices={
            "spatial": "Spatial: neighbours are similar, so an answer about one area tells us about the next",
            "standard": "Standard: every area on its own",
            "clusters": "Clusters: areas fall into groups of similar risk, by location and answers together",
        },
    )
    as_in_paper: bool = _of_judges(
        "As in the paper",
        "The paper's model: the prior communicability, all judges alike, and an inverse-gamma prior of α².",
    )
    prior: str | None = new_setting(
        None,
        str,
        "Prior correlation",
        f"Correlation of areas in the spatial model, {PLAIN} by default.",
        choices=PRIORS,
        models=("spatial",),
    )
    length: float | None = new_setting(
        None,
        float,
        "Length scale",
        "Length scale of the prior correlation or of the cluster affinity, if it has one; by default one border, or "
        "the typical distance between neighbours.",
        models=("spatial", "clusters"),
        check=_check_length,
    )
    covariates: str | None = new_setting(
        None,
        str,
        "Covariates",
        "Columns of the figures in the model, separated by commas: the map is what they carry, and a spatial rest.",
        models=NORMAL_MODELS,
    )
    alpha: float | None = _of_normal(
        None, "α, fixed", "Fix α, the prior's standard deviation; otherwise inferred.", _check_alpha
    )
    alpha_scale: float = _of_normal(
        HalfNormal().scale,
        "s, scale of α",
        "Scale of the half-normal prior of α; not used if α is fixed or has the paper's prior.",
        lambda x: HalfNormal(scale=x),
    )
    chi: float | None = _of_normal(
        None,
        "χ",
        "Shape of the paper's inverse-gamma prior of α², in place of the half-normal one.",
        lambda x: InverseGamma(shape=x),
    )
    omega: float | None = _of_normal(
        None,
        "ω",
        "Scale of the paper's inverse-gamma prior of α², in place of the half-normal one.",
        lambda x: InverseGamma(scale=x),
    )
    ties: str = _of_judges(
        "Ties",
        "How to treat answers of 'about the same'.",
        {
            "model": "In the model (Rao and Kupper)",
            "davidson": "In the model (Davidson)",
            "leave-out": "Left out",
        },
        models=MODELS,
    )
    judges: str | None = new_setting(
        None,
        str,
        "Judges",
        "Whether all judges share one map, or each has their own view around the population's, which is the default if "
        f"at least {FEWEST_JUDGES} are named.",
        choices={"differ": "Differ: each has their own view", "alike": "Alike: one shared view"},
        models=NORMAL_MODELS,
    )
    disagreement: str = _of_judges(
        "Disagreement of judges",
        "When judges differ: whether a judge sees neighbouring areas alike.",
        {"map": "Follows the map", "independent": "Independent from area to area"},
    )
    side: bool = _of_judges("Side", "Let each judge favour the left or the right area.")
    attention: bool = _of_judges(
        "Attention",
        "Let each judge's answers follow the map more or less closely, or the other way round.",
    )
    lapses: bool = _of_judges("Lapses", "Let each judge give a share of the answers without looking.")
    reach: bool = _of_judges("Reach", "Let each judge know one part of the map, and guess about pairs beyond it.")
    smoothness: str = _of_judges(
        "Smoothness",
        "How smooth the map is.",
        {"paper": "As smooth as the prior, as in the paper", "infer": "As smooth as the answers suggest"},
        models=("spatial",),
    )
    sampler: str = new_setting(
        "hmc", str, "Sampler", "How the posterior is sampled.", choices={each: SAMPLER_NAMES[each] for each in SAMPLERS}
    )
    affinity: str = new_setting(
        AFFINITIES[0],
        str,
        "Cluster affinity",
        "How strongly nearby areas attract each other into a cluster.",
        choices={each: each for each in AFFINITIES},
        models=("clusters",),
    )
    beta: float = _of_clusters("beta", "β", "Weight of an area's link to itself; a larger one makes more clusters.")
    mu0: float = _of_clusters("mu0", "μ₀", "Prior mean of a cluster's strength.")
    kappa0: float = _of_clusters("kappa0", "κ₀", "Prior weight of that mean.")
    a0: float = _of_clusters("a0", "a₀", "Shape of the prior of a cluster's variance.")
    b0: float = _of_clusters("b0", "b₀", "Scale of that prior.")
    clusters: int | None = new_setting(
        None,
        int,
        "Number of clusters to show",
        "Show the best partition with this many clusters; otherwise the best overall.",
        models=("clusters",),
        least=1,
    )
    loss: str = new_setting(
        "vi",
        str,
        "Which partition is best",
        "What the partition shown minimises.",
        choices=LOSSES,
        models=("clusters",),
    )
    chains: int | None = plan_setting("chains", "Chains", "Independent chains.", least=1)
    warmup: int | None = plan_setting("warmup", "Warm-up", "Steps discarded at the start of each chain.", least=0)
    draws: int | None = plan_setting(
        "draws",
        "Draws per chain",
        "Draws kept from each chain. By default, more if the chains need them to agree.",
        least=4,
    )
    thin: int | None = plan_setting("thin", "Keep one draw in", "Keep one draw in this many.", least=1)
    seed: int = new_setting(
        draw_seed,
        int,
        "Seed",
        "The same seed gives the same numbers; if left out, one is drawn and shown.",
        least=0,
        most=LARGEST_SEED,
    )

    def __post_init__(self) -> None:
        for name, setting in SETTINGS.items():
            value = getattr(self, name)
            if isinstance(value, np.generic):  # a number from an array or a data frame
                value = value.item()
                object.__setattr__(self, name, value)
            if value is not DEFAULTS.get(name, "seed"):
                setting.check_value(name, value)
        if self.clusters is not None and self.model != "clusters":
            text = "clusters: only the model 'clusters' has clusters; choose it, or leave this out"
            raise StudyError(text, field="clusters")
        if self.model == "clusters" and self.ties == "davidson":
            text = (
                "ties: the model 'clusters' supports Rao and Kupper's ties, not Davidson's; choose "
                "'model' or 'leave-out'"
            )
            raise StudyError(text, field="ties")
        if self.covariates is not None and self.model == "clusters":
            raise StudyError("covariates: the model 'clusters' has none; choose 'spatial' or 'standard'", "covariates")
        if self.covariates is not None and self.smoothness == "infer":
            text = "covariates: with an inferred smoothness their effects cannot be drawn; leave one of the two out"
            raise StudyError(text, "covariates")
        for name, value in self._about_judges.items():
            if self.model not in SETTINGS[name].models and value != "alike":
                fitting = " or ".join(map(repr, SETTINGS[name].models))
                text = f"{name}: the model {self.model!r} has no such part; choose the model {fitting}, or leave it out"
                raise StudyError(text, field=name)

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """The covariates, in the order given.

        >>> FitSettings(covariates="income, health").covariate_names
        ('income', 'health')
        """
        return tuple(dict.fromkeys(name.strip() for name in (self.covariates or "").split(",") if name.strip()))

    @cached_property
    def variance(self) -> VariancePrior:
        """The prior of α."""
        if self.alpha is not None:
            return FixedVariance(self.alpha**2)
        given = {name: value for name, value in (("shape", self.chi), ("scale", self.omega)) if value is not None}
        return InverseGamma(**given) if given or self.as_in_paper else HalfNormal(self.alpha_scale)

    @property
    def differ(self) -> bool:
        """Whether each judge has their own view."""
        return self.judges == "differ"

    @property
    def by_judge(self) -> bool:
        """Whether anything differs from judge to judge."""
        return self.differ or any(getattr(self, name) for name in EFFECTS)

    @property
    def view(self) -> View:
        """Whose map the model shows, unless another is asked for."""
        return View.POPULATION if self.differ else View.POOLED

    @property
    def titles(self) -> list[str]:
        """What distinguishes these settings from the plain fit, in a few words each.

        >>> FitSettings(as_in_paper=True).titles, FitSettings(judges="differ", side=True).titles
        (['as in the paper'], ['judges differ', 'sides'])
        """
        asked = {"as_in_paper": self.as_in_paper, **self._about_judges}
        return [_TITLES[each] for each in asked.items() if each in _TITLES]

    @property
    def chosen_as_in_paper(self) -> bool:
        """Whether, once everything is chosen, the model is the paper's."""
        return all(getattr(self, name) in (value, None) for name, value in PAPER.items()) and self.alpha is None

    def chosen_for(self, data: Comparisons, n_areas: int) -> tuple["FitSettings", str]:
        """Fill in what was left open, for these data; also return why judges differ or are alike.

        >>> data = Comparisons.from_words(("a", "b"), ["x", "y", "z", "z"], [0] * 4, [1] * 4, ["left"] * 4)
        >>> chosen, why = FitSettings(seed=1).chosen_for(data, 2)
        >>> chosen.prior, chosen.judges, why
        ('car', 'differ', '3 judges are named')
        >>> FitSettings(seed=1, as_in_paper=True).chosen_for(data, 2)[0].judges
        'alike'
        """
        if self.model == "clusters":
            return self, ""
        if self.judges is not None:
            judges, why = self.judges, "as asked"
        elif self.as_in_paper:
            judges, why = "alike", "as in the paper"
        else:
            judges, why = self._judges_for(data, n_areas)
        prior = None if self.model == "standard" else self.prior or (PAPER["prior"] if self.as_in_paper else PLAIN)
        chi, omega = self.chi, self.omega
        if self.as_in_paper and self.alpha is None:
            chi, omega = (
                PAPER[name] if getattr(self, name) is None else getattr(self, name) for name in ("chi", "omega")
            )
        return replace(self, prior=prior, judges=judges, chi=chi, omega=omega), why

    def _judges_for(self, data: Comparisons, n_areas: int) -> tuple[str, str]:
        """Decide whether judges differ: wherever the data name enough of them, and the sampler can tell them apart."""
        answered = data.decided | data.tied
        answers = np.bincount(data.judge[answered & (data.judge >= 0)], minlength=1)
        named = int((answers > 0).sum())
        if self.sampler == "gibbs":
            return "alike", "the Gibbs sampler cannot tell them apart"
        if named < FEWEST_JUDGES:
            return "alike", f"fewer than {FEWEST_JUDGES} are named"
        if (answered & (data.judge < 0)).any():
            return "alike", "some answers do not name their judge"
        if answers.max() == 1:
            return "alike", "no judge answered twice"
        if n_areas > LARGE and not replace(self, judges="differ").takes_sparse(n_areas):
            return "alike", f"these settings cannot tell them apart on more than {LARGE:,} areas"
        return "differ", f"{named:,} judges are named"

    @property
    def _about_judges(self) -> dict[str, object]:
        """The settings about judges, ties and smoothness that are not the defaults, by name."""
        given = {name: getattr(self, name) for name in JUDGE_OPTIONS}
        return {name: value for name, value in given.items() if value != DEFAULTS[name]}

    @property
    def plan(self) -> Plan:
        """How much is drawn for a map that is not large."""
        return self.plan_for(0)

    def plan_for(self, n_areas: int) -> Plan:
        """Return how much is drawn for a map of this many areas; a given number of draws is final.

        >>> FitSettings(judges="differ", draws=100).plan_for(77)
        Plan(chains=8, warmup=30, draws=100, thin=1, most=0, more=0.5)
        """
        if self.model == "clusters":
            usual = CLUSTER_PLAN
        elif self.takes_sparse(n_areas):
            usual = LARGE_PLAN
        else:
            usual = PANEL_PLAN if self.by_judge else NORMAL_PLAN
        given = {name: getattr(self, name) for name in usual.numbers()}
        given = {name: value for name, value in given.items() if value is not None}
        return replace(usual, **given, most=0 if "draws" in given else usual.most)

    def rule(self, data: Comparisons) -> TieRule | None:
        """Choose the rule for ties, if these data have any."""
        return TIES[self.ties] if data.tied.any() else None

    def needs_panel(self, data: Comparisons) -> bool:
        """Whether these settings and data need more than the paper's model."""
        return self.by_judge or self.smoothness == "infer" or self.rule(data) is not None

    def takes_sparse(self, n_areas: int) -> bool:
        """Whether the sampler for large maps is used: it needs a sparse prior, and knows of ties and judges' views."""
        effects = any(getattr(self, name) for name in EFFECTS)
        if effects or self.smoothness == "infer" or self.covariates is not None:
            return False
        prior = self.prior or (PAPER["prior"] if self.as_in_paper else PLAIN)
        sparse = self.model == "standard" or prior in (("car",) if self.differ else FOR_LARGE_MAPS)
        if self.differ and not sparse:
            return False
        return n_areas > (LARGE if sparse and self.sampler == "hmc" and self.ties != "davidson" else DENSE_LIMIT)

    def check_size(self, n_areas: int) -> None:
        """Raise if the map has more areas than models of judges and smoothness can handle."""
        most = LARGE if self.reach else DENSE_LIMIT
        if n_areas <= most:
            return
        others = (name for name in (*EFFECTS, "smoothness", "judges") if name in self._about_judges)
        part = "reach" if self.reach else next(others, "ties")
        raise StudyError(
            f"{part}: this is for maps of up to {most:,} areas, and this one has {n_areas:,}; leave it out, or use a "
            "coarser map",
            field=part,
        )

    def parts(self, data: Comparisons, covariance: Covariance, graph: AreaGraph) -> Parts:
        """Choose the parts of the model for these data, or say why the data cannot support one."""
        self.check_judges(data)
        views = covariance if self.disagreement == "map" else independent(covariance.n_areas)
        return Parts(
            ties=self.rule(data),
            smoothness=self.smoothness == "infer",
            disagreement=views if self.differ else None,
            side=self.side,
            attention=self.attention,
            lapses=self.lapses,
            reach=Reach.on(graph) if self.reach else None,
        )

    def check_judges(self, data: Comparisons) -> None:
        """Raise if the data cannot support what is asked about judges."""
        answered = data.decided | data.tied
        if self.side and not data.sides:
            raise StudyError(
                "side: no answer is 'right', so the table shows winners and losers but not sides, and no judge's "
                "lean can be estimated; leave it out, or give the columns left, right and outcome",
                field="side",
            )
        if not self.by_judge:
            return
        part = "judges" if self.differ else next(name for name in EFFECTS if getattr(self, name))
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

    def cluster_prior(self, areas: Areas) -> ClusterPrior:
        """Build the prior of clusters for these areas, or say what is wrong with it."""
        length = 1.0 if self.length is None else self.length
        with told_as_study_error("the prior of the clusters cannot be built: "):
            if self.affinity == "communicability":
                affinity = communicability_matrix(areas.graph)
            else:
                affinity = window(areas.graph, int(length)) if self.affinity == "window" else decay(areas.graph, length)
            alone = np.flatnonzero((affinity - np.diag(np.diag(affinity))).sum(axis=1) == 0)
            if len(alone):
                raise StudyError(
                    f"{areas.names[alone[0]]!r} has no neighbour to share a cluster with; "
                    "join it to an area with an extra edge, or choose a wider affinity"
                )
            return ClusterPrior(affinity, self.beta, self.mu0, self.kappa0, self.a0, self.b0)

    def run(
        self,
        data: Comparisons,
        areas: Areas,
        *,
        covariance: Covariance | None = None,
        cores: int = 1,
        memory: float | None = None,
        watch: Watcher | None = None,
    ) -> "Fit":
        """Fit the model.

        ``covariance`` is a correlation of areas built in Python, for the spatial model, in place of ``prior``;
        ``cores`` is the number of threads, which does not affect the numbers; ``memory`` is how many gigabytes a fit of
        a large map may use, by default whatever is free; ``watch`` is called with the draws so far.
        """
        from judgemap.study.fit.fitting import fit  # imported here because it imports this module

        if not isinstance(data, Comparisons) or not isinstance(areas, Areas):
            raise StudyError(
                "a fit takes the comparisons first and then the areas, as jm.read_comparisons and jm.read_areas return "
                f"them; received {type(data).__name__} and {type(areas).__name__}"
            )
        if covariance is not None and not isinstance(covariance, Covariance):
            raise StudyError(
                f"covariance must be one that jm.prior_covariance returns, received {covariance!r}; to choose a prior "
                "by its name, write prior="
            )
        if isinstance(cores, bool) or not isinstance(cores, (int, np.integer)) or cores < 1:
            raise StudyError(f"cores must be a whole number from 1 up, received {cores!r}")
        if watch is not None and not callable(watch):
            raise StudyError(f"watch must be a function, which is called with the draws so far, received {watch!r}")
        chosen, why = self.chosen_for(data, len(areas))
        run = Run(self, chosen, why, chosen.plan_for(len(areas)), cores, memory, watch)
        return fit(run, data, areas, covariance).remembering(answers=data)

    def options(self) -> list[str]:
        """Return the command-line options: those that differ from the default or the paper's, and the seed.

        >>> FitSettings(model="clusters", beta=1e-6, seed=7).options()
        ['--model', 'clusters', '--beta', '1e-06', '--seed', '7']
        """
        usual = DEFAULTS | (PAPER if self.as_in_paper else {})
        given = {name: getattr(self, name) for name in SETTINGS if getattr(self, name) != usual.get(name)}
        return [word for name, value in given.items() if value is not None for word in words_of(name, value)]

    def command(self, comparisons: str, areas_file: str, winner_is: Direction = "lower") -> str:
        """Return the command line that gives the same numbers.

        ``areas_file`` is a boundary file, or edges.csv with areas.csv for the names next to it.
        """
        if areas_file.endswith("edges.csv"):
            areas = ["--edges", areas_file, "--area-names", f"{areas_file.removesuffix('edges.csv')}areas.csv"]
        else:
            areas = ["--areas", areas_file]
        direction = [] if winner_is == "lower" else ["--winner-is", winner_is]
        words = ["judgemap", "fit", comparisons, *areas, *direction, *self.options(), "-o", "results"]
        return shlex.join(words)

    def to_dict(self) -> dict[str, object]:
        """Return every setting by name, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "FitSettings":
        """Build settings from values by name; those left out have their defaults.

        >>> FitSettings.from_dict({"model": "cluster"})
        Traceback (most recent call last):
            ...
        judgemap.errors.StudyError: there is no model 'cluster' (did you mean 'clusters'?); choose one of 'spatial', ...
        """
        for name in given:
            check_known("setting", str(name), SETTINGS)
        return cls(**given)


def option_of(name: str) -> str:
    """Return the command-line option of a setting."""
    return f"--{name.replace('_', '-')}"


def words_of(name: str, value: object) -> list[str]:
    """Return the words that give a setting a value on the command line.

    >>> words_of("side", True), words_of("ties", "davidson"), words_of("judges", "differ")
    (['--side'], ['--ties', 'davidson'], ['--judges-differ'])
    """
    if name == "judges":  # --judges is how many there are
        return [f"--judges-{value}"]
    return [option_of(name)] if value is True else [option_of(name), str(value)]


SETTINGS: dict[str, Setting] = {each.name: each.metadata["setting"] for each in fields(FitSettings)}
"""Every setting by name, in the order of the command line."""
DEFAULTS: dict[str, object] = {each.name: each.default for each in fields(FitSettings) if each.name != "seed"}


@dataclass(frozen=True, slots=True)
class Run:
    """One run of some settings on one map: how much is drawn, with what, and who watches."""

    asked: FitSettings
    """What somebody asked for; ``settings`` have what was left open filled in."""
    settings: FitSettings
    why: str
    """Why judges differ or are alike."""
    plan: Plan
    cores: int
    memory: float | None
    watch: Watcher | None

    def timed(self, sampling: Callable[[np.random.Generator], Draws]) -> tuple[Draws, float]:
        """Sample, and return the draws and all seconds they took; if sampling breaks down, say so in a sentence."""
        with one_thread():
            began = time.perf_counter()
            try:
                draws = sampling(np.random.default_rng(self.settings.seed))
            except FloatingPointError as error:
                why = f"the fit broke down ({error}); try the other sampler, or check the map's edges"
                raise StudyError(why) from None
            return draws, round(draws.earlier + time.perf_counter() - began, 3)


def with_answers(data: Comparisons) -> tuple[Comparisons, tuple[str, ...]]:
    """Keep the judges who answered, and also return the names of the others."""
    answered = data.decided | data.tied
    active = set(np.unique(data.judge[answered]).tolist())
    silent = tuple(name for code, name in enumerate(data.judges) if code not in active)
    return (data.only([name for name in data.judges if name not in silent]), silent) if silent else (data, ())
