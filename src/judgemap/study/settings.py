"""The settings of a fit: their defaults, meanings and limits, from which the command, the form and the API derive.

To add a setting, add one field to `FitSettings`.
"""

import secrets
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from judgemap.core.model.clusters import (
    ClusterPrior,
    communicability_affinity,
    decay,
    window,
)
from judgemap.core.model.prior import FixedVariance, InverseGamma, VariancePrior
from judgemap.core.samplers.run import SAMPLERS, Plan, Watcher
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.geo.maps import Areas
from judgemap.study.panel_settings import PanelSettings
from judgemap.study.priors import PRIORS
from judgemap.study.run import CLUSTER_PLAN, NORMAL_PLAN, fill_in, usual_plan
from judgemap.study.setting import MODELS, Setting, new_setting, plan_setting

if TYPE_CHECKING:
    from judgemap.study.comparisons import Comparisons, Direction
    from judgemap.study.result import Fit

NORMAL_MODELS = ("spatial", "standard")
AFFINITIES = ("communicability", "window", "decay")
LOSSES = {"vi": "least variation of information", "binder": "least Binder loss"}
SAMPLER_NAMES = {"hmc": "Hamiltonian Monte Carlo", "gibbs": "Gibbs, as in the paper"}
LARGEST_SEED = 2**53
"""Every program that reads JSON can represent integers up to this."""
_CLUSTERS: dict[str, Any] = {each.name: each.default for each in fields(ClusterPrior)}
"""The cluster model's default hyperparameters."""
_PANEL: dict[str, Any] = {each.name: each.default for each in fields(PanelSettings)}


def draw_seed() -> int:
    """Draw a seed for when none was given; it is written into the results."""
    return secrets.randbits(32)


def _of_normal(default: float | None, label: str, text: str, check: Callable[[float], object]) -> Any:  # noqa: ANN401
    """Make a number of the spatial and standard models, named by its Greek letter."""
    return new_setting(default, float, label, text, symbol=label[0], models=NORMAL_MODELS, check=check)


def _of_clusters(name: str, symbol: str, text: str) -> Any:  # noqa: ANN401 - like `field`
    """Make a number of the cluster model's prior."""

    def check(value: float) -> ClusterPrior:
        return ClusterPrior(np.ones((2, 2)), **{name: value})

    return new_setting(_CLUSTERS[name], float, symbol, text, symbol=symbol, models=("clusters",), check=check)


def _of_panel(
    name: str, label: str, text: str, choices: Mapping[str, str] | None = None, models: tuple[str, ...] = NORMAL_MODELS
) -> Any:  # noqa: ANN401 - like `field`
    """Make a setting about judges or ties: one of several choices, or on and off."""
    default = _PANEL[name]
    return new_setting(default, type(default), label, text, choices=choices or {}, models=models)


def _check_length(value: float) -> None:
    if not value > 0:
        raise ValueError(f"the length scale must be a positive number, received {value}")


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """The settings of `judgemap fit`: the model, what it assumes, and how long it runs. None means the model's default.

    The same settings give the same numbers from the same data, whether from the command line, from Python or on the
    study server. If no seed is given, one is drawn.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> settings = FitSettings(model="standard", chains=2, draws=100, seed=1)
    >>> settings.run(data, areas).record.model
    'standard'
    >>> settings.command("comparisons.csv", "wards.gpkg")
    'judgemap fit comparisons.csv --areas wards.gpkg --model standard --chains 2 --draws 100 --seed 1 -o results'
    >>> FitSettings.from_dict(settings.to_dict()) == settings
    True
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
    prior: str = new_setting(
        "communicability",
        str,
        "Prior correlation",
        "Correlation of areas in the spatial model.",
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
    alpha: float | None = _of_normal(
        None, "α, fixed", "Fix α, the prior's standard deviation; otherwise inferred.", lambda a: FixedVariance(a**2)
    )
    chi: float = _of_normal(
        InverseGamma().shape, "χ", "Shape of the inverse-gamma prior of α².", lambda x: InverseGamma(shape=x)
    )
    omega: float = _of_normal(
        InverseGamma().scale, "ω", "Scale of the inverse-gamma prior of α².", lambda x: InverseGamma(scale=x)
    )
    ties: str = _of_panel(
        "ties",
        "Ties",
        "How to treat answers of 'about the same'.",
        {
            "model": "In the model (Rao and Kupper)",
            "davidson": "In the model (Davidson)",
            "leave-out": "Left out, as in the paper",
        },
        models=MODELS,
    )
    judges: str = _of_panel(
        "judges",
        "Judges",
        "Whether all judges share one map, or each has their own view around the population's.",
        {"alike": "Alike, as in the paper", "differ": "Differ: each has their own view"},
    )
    disagreement: str = _of_panel(
        "disagreement",
        "Disagreement of judges",
        "When judges differ: whether a judge sees neighbouring areas alike.",
        {"map": "Follows the map", "independent": "Independent from area to area"},
    )
    side: bool = _of_panel("side", "Side", "Let each judge favour the left or the right area.")
    attention: bool = _of_panel(
        "attention",
        "Attention",
        "Let each judge's answers follow the map more or less closely, or the other way round.",
    )
    lapses: bool = _of_panel("lapses", "Lapses", "Let each judge give a share of the answers without looking.")
    smoothness: str = _of_panel(
        "smoothness",
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
        "Draws kept from each chain. By default, up to eight times as many if the chains need them to agree.",
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
            if value is not None or DEFAULTS.get(name, "seed") is not None:
                setting.check_value(name, value)
        if self.clusters is not None and self.model != "clusters":
            text = "clusters: only the model 'clusters' has clusters; choose it, or leave this out"
            raise StudyError(text, field="clusters")
        if self.model == "clusters":
            self.panel.check_clusters()
        for name in self.panel.options():
            if self.model not in SETTINGS[name].models:
                fitting = " or ".join(map(repr, SETTINGS[name].models))
                text = f"{name}: the model {self.model!r} has no such part; choose the model {fitting}, or leave it out"
                raise StudyError(text, field=name)

    @cached_property
    def panel(self) -> PanelSettings:
        """What is assumed about judges and ties."""
        return PanelSettings(**{name: getattr(self, name) for name in _PANEL})

    @cached_property
    def variance(self) -> VariancePrior:
        """The prior of α²."""
        return InverseGamma(self.chi, self.omega) if self.alpha is None else FixedVariance(self.alpha**2)

    @property
    def plan(self) -> Plan:
        """How much is drawn for a map that is not large."""
        return self.plan_for(0)

    def plan_for(self, n_areas: int) -> Plan:
        """Return how much is drawn for a map with this many areas."""
        given = {name: getattr(self, name) for name in NORMAL_PLAN.numbers()}
        usual = CLUSTER_PLAN if self.model == "clusters" else usual_plan(self.panel, n_areas)
        return fill_in(usual, {name: value for name, value in given.items() if value is not None})

    @property
    def of_clusters(self) -> "ClusterSettings":
        """The settings of the cluster model's prior."""
        given = {each.name: getattr(self, each.name) for each in fields(ClusterSettings)}
        return ClusterSettings(**{name: value for name, value in given.items() if value is not None})

    def run(
        self,
        data: "Comparisons",
        areas: Areas,
        *,
        cores: int = 1,
        memory: float | None = None,
        watch: Watcher | None = None,
    ) -> "Fit":
        """Fit the model.

        ``cores`` is the number of threads, which does not affect the numbers; ``memory`` is how many gigabytes a fit of
        a large map may use, by default whatever is free; ``watch`` is called with the draws so far.
        """
        from judgemap.study.fit import run_settings  # imported here because `fit` imports this module

        return run_settings(self, data, areas, cores, memory, watch)

    def options(self) -> list[str]:
        """Return the command-line options: those that differ from the default, and the seed.

        >>> FitSettings(model="clusters", beta=1e-6, seed=7).options()
        ['--model', 'clusters', '--beta', '1e-06', '--seed', '7']
        """
        given = {name: getattr(self, name) for name in SETTINGS}
        changed = {name: value for name, value in given.items() if name == "seed" or value != DEFAULTS[name]}
        pairs = ([f"--{name}"] if value is True else [f"--{name}", str(value)] for name, value in changed.items())
        return [word for pair in pairs for word in pair]

    def command(self, comparisons: str, areas_file: str, winner_is: "Direction" = "lower") -> str:
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

    def to_dict(self) -> dict[str, Any]:
        """Return every setting by name, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "FitSettings":
        """Build settings from values by name; those left out have their defaults.

        >>> FitSettings.from_dict({"model": "cluster"})
        Traceback (most recent call last):
            ...
        judgemap.errors.StudyError: there is no model 'cluster'; choose one of spatial, standard, clusters
        """
        for name in given:
            if name not in SETTINGS:
                hint = did_you_mean(str(name), tuple(SETTINGS))
                raise StudyError(f"there is no setting {name!r}{hint}; there are {quoted(tuple(SETTINGS))}")
        return cls(**given)


SETTINGS: dict[str, Setting] = {each.name: each.metadata["setting"] for each in fields(FitSettings)}
"""Every setting by name, in the order of the command line."""
DEFAULTS: dict[str, Any] = {each.name: each.default for each in fields(FitSettings) if each.name != "seed"}


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """What is assumed about clusters; see `judgemap.core.model.clusters` for the meaning of each setting.

    ``affinity`` is how strongly nearby areas attract each other into a cluster: ``communicability`` (the paper's),
    ``window`` (1 up to ``length`` borders away) or ``decay`` (exponential in borders crossed, over ``length``).

    >>> ClusterSettings(affinity="decay", length=2.0).beta
    1e-08
    """

    affinity: str = AFFINITIES[0]
    length: float = 1.0
    beta: float = _CLUSTERS["beta"]
    mu0: float = _CLUSTERS["mu0"]
    kappa0: float = _CLUSTERS["kappa0"]
    a0: float = _CLUSTERS["a0"]
    b0: float = _CLUSTERS["b0"]

    def prior(self, areas: Areas) -> ClusterPrior:
        """Build the prior for these areas, or say what is wrong with it."""
        try:
            affinity = self._affinity(areas)
            alone = np.flatnonzero((affinity - np.diag(np.diag(affinity))).sum(axis=1) == 0)
            if len(alone):
                raise StudyError(
                    f"{areas.names[alone[0]]!r} has no neighbour to share a cluster with; "
                    "join it to an area with an extra edge, or choose a wider affinity"
                )
            return ClusterPrior(affinity, self.beta, self.mu0, self.kappa0, self.a0, self.b0)
        except StudyError:
            raise
        except ValueError as error:
            raise StudyError(f"the prior of the clusters cannot be built: {error}") from None

    def _affinity(self, areas: Areas) -> np.ndarray:
        if self.affinity == "communicability":
            return communicability_affinity(areas.graph)
        if self.affinity == "window":
            return window(areas.graph, int(self.length))
        if self.affinity == "decay":
            return decay(areas.graph, self.length)
        hint = did_you_mean(self.affinity, AFFINITIES)
        text = f"there is no affinity {self.affinity!r}{hint}; choose one of {quoted(AFFINITIES)}"
        raise StudyError(text, field="affinity")
