"""Which fit is asked for: the options of `judgemap fit` as one value, checked, run, and written down again."""

import math
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from judgemap.core.cluster_prior import ClusterPrior
from judgemap.core.prior import FixedVariance, InverseGamma, VariancePrior
from judgemap.core.samplers.run import SAMPLERS, Plan, Watcher
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.geo.maps import Areas
from judgemap.study.comparisons import Comparisons, Direction
from judgemap.study.correlation import PRIORS, prior_covariance
from judgemap.study.fit import RunOptions, fit_spatial, fit_standard

if TYPE_CHECKING:
    from judgemap.study.result import Fit

MODELS = ("spatial", "standard", "clusters")
AFFINITIES = ("communicability", "window", "decay")
LOSSES = ("vi", "binder")
LARGEST_SEED = 2**53
"""Every program that reads JSON has whole numbers up to here."""
CLUSTER_PLAN = Plan(chains=4, warmup=1000, draws=1000, thin=10)
"""How much is drawn of the cluster model, unless somebody says otherwise."""
OF_CLUSTERS = ("affinity", "length", "beta", "mu0", "kappa0", "a0", "b0")
CHOICES = {"model": MODELS, "prior": PRIORS, "sampler": tuple(SAMPLERS), "affinity": AFFINITIES, "loss": LOSSES}
WHOLE = ("clusters", "chains", "warmup", "draws", "thin", "seed")


def draw_seed() -> int:
    """Draw a seed, where nobody gave one; it is written into the results."""
    return secrets.randbits(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    """What `judgemap fit` is told: the model, what it assumes, and how long it runs. None is the model's usual value.

    The same settings give the same numbers from the same data, whether from the command line, from Python or on the
    study server. A seed is drawn where none is given.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> settings = FitSettings(model="standard", chains=2, draws=100, seed=1)
    >>> settings.run(data, areas).info["model"]
    'standard'
    >>> settings.command("comparisons.csv", "wards.gpkg")
    'judgemap fit comparisons.csv --areas wards.gpkg --model standard --chains 2 --draws 100 --seed 1 -o results'
    >>> FitSettings.from_dict(settings.to_dict()) == settings
    True
    """

    model: str = "spatial"
    prior: str = PRIORS[0]
    """Correlation of the spatial model, see `judgemap.study.correlation`."""
    length: float | None = None
    """Length scale of that prior, or of the cluster model's affinity, where it has one."""
    alpha: float | None = None
    """The prior's standard deviation α, where it is not inferred."""
    chi: float = 0.1
    omega: float = 0.1
    sampler: str = "hmc"
    affinity: str = AFFINITIES[0]
    beta: float = 1e-8
    mu0: float = 0.0
    kappa0: float = 1.0
    a0: float = 1.0
    b0: float = 1.0
    clusters: int | None = None
    """So many clusters in the partition that is shown."""
    loss: str = "vi"
    chains: int | None = None
    warmup: int | None = None
    draws: int | None = None
    thin: int | None = None
    seed: int = field(default_factory=draw_seed)

    def __post_init__(self) -> None:
        self._check_kinds()
        for name, known in CHOICES.items():
            value = getattr(self, name)
            if value not in known:
                raise StudyError(f"there is no {name} {value!r}{_choose(name, value, known)}")
        if self.length is not None and not self.length > 0:
            raise StudyError(f"the length scale must be a positive number, received {self.length}")
        if self.clusters is not None and self.model != "clusters":
            raise StudyError("clusters: only the model 'clusters' has a number of them; choose it, or leave this out")
        if self.clusters is not None and self.clusters < 1:
            raise StudyError(f"clusters must be at least 1, received {self.clusters}")
        if not 0 <= self.seed <= LARGEST_SEED:
            raise StudyError(f"seed must be a whole number from 0 to {LARGEST_SEED}, received {self.seed}")
        try:
            _ = self.variance, self.plan
            ClusterPrior(np.ones((2, 2)), self.beta, self.mu0, self.kappa0, self.a0, self.b0)
        except ValueError as error:
            raise StudyError(str(error)) from None

    def _check_kinds(self) -> None:
        """Refuse what is no text or no number, as JSON of somebody else's could have it."""
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in CHOICES:
                right, kind = isinstance(value, str), "a word"
            elif each.name in WHOLE:
                right, kind = isinstance(value, int) and not isinstance(value, bool), "a whole number"
            else:
                numeric = isinstance(value, int | float) and not isinstance(value, bool)
                right, kind = numeric and math.isfinite(value), "a finite number"
            optional = each.default is None and value is None
            if not (right or optional):
                raise StudyError(f"{each.name} must be {kind}, received {value!r}")

    @property
    def variance(self) -> VariancePrior:
        """What is assumed of α²."""
        return InverseGamma(self.chi, self.omega) if self.alpha is None else FixedVariance(self.alpha**2)

    @property
    def plan(self) -> Plan:
        """How much is drawn."""
        usual = CLUSTER_PLAN if self.model == "clusters" else Plan()
        given = {name: getattr(self, name) for name in ("chains", "warmup", "draws", "thin")}
        return replace(usual, **{name: value for name, value in given.items() if value is not None})

    def run(self, data: Comparisons, areas: Areas, *, cores: int = 1, watch: Watcher | None = None) -> "Fit":
        """Fit the model. ``cores`` are threads, on which the numbers do not depend; ``watch`` is told on the way."""
        options: RunOptions = {"sampler": self.sampler, "cores": cores, "watch": watch}
        options |= cast("RunOptions", asdict(self.plan))
        if self.model == "clusters":
            from judgemap.study.clusters import ClusterSettings, fit_clusters

            assumed = {name: getattr(self, name) for name in OF_CLUSTERS}
            assumed["length"] = 1.0 if self.length is None else self.length
            found = fit_clusters(data, areas, seed=self.seed, settings=ClusterSettings(**assumed), **options)
            return found.with_partition(self.clusters, cast("Literal['vi', 'binder']", self.loss))
        if self.model == "standard":
            return fit_standard(data, areas, seed=self.seed, variance=self.variance, **options)
        covariance = prior_covariance(areas, self.prior, self.length)
        return fit_spatial(data, areas, seed=self.seed, covariance=covariance, variance=self.variance, **options)

    def options(self) -> list[str]:
        """Write the options of the command line, those alone that are not as usual, and the seed.

        >>> FitSettings(model="clusters", beta=1e-6, seed=7).options()
        ['--model', 'clusters', '--beta', '1e-06', '--seed', '7']
        """
        told = [each for each in fields(self) if each.name == "seed" or getattr(self, each.name) != each.default]
        return [word for each in told for word in (f"--{each.name}", str(getattr(self, each.name)))]

    def command(self, comparisons: str, areas_file: str, winner_is: Direction = "lower") -> str:
        """Write the command line that gives the same numbers.

        ``areas_file`` is a boundary file, or edges.csv, where areas.csv beside it has the names.
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
        """Take settings by name; what is not named is as usual.

        >>> FitSettings.from_dict({"model": "cluster"})
        Traceback (most recent call last):
            ...
        judgemap.errors.StudyError: there is no model 'cluster'; choose one of spatial, standard, clusters
        """
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                raise StudyError(
                    f"there is no setting {name!r}{did_you_mean(str(name), known)}; there are {quoted(known)}"
                )
        return cls(**given)


def _choose(name: str, value: str, known: tuple[str, ...]) -> str:
    """Say what there is; the few models and samplers need no guess at what was meant."""
    if name == "prior":
        return f"{did_you_mean(value, known)}; the priors are {quoted(known)}"
    hint = did_you_mean(value, known) if name == "affinity" else ""
    return f"{hint}; choose one of {', '.join(known)}"
