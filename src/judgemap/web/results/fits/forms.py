"""What a researcher says about a fit: the options of `judgemap fit`, and whose answers."""

from dataclasses import fields
from typing import Any

from django import forms

from judgemap.errors import StudyError
from judgemap.study.settings import AFFINITIES, LARGEST_SEED, PRIORS, FitSettings
from judgemap.web.judge.models import Judge
from judgemap.web.results.fits.actions import LEAST_EVERY
from judgemap.web.results.models import Exclusion, FitRun
from judgemap.web.server.forms import sentence
from judgemap.web.studies.models import Study

MODELS = (
    ("spatial", "Spatial: neighbours are alike, so an answer about one area tells us about the next"),
    ("clusters", "Clusters: areas fall into groups of similar risk, by location and answers together"),
    ("standard", "Standard: every area on its own"),
)
USES = (
    ("all", "All judges, except those left out of this study’s fits"),
    ("without", "All except the judges ticked below"),
    ("only", "Only the judges ticked below"),
)
USUAL: dict[str, Any] = {each.name: each.default for each in fields(FitSettings) if each.name != "seed"}
EMPTY = "Leave empty for the default."


def number(label: str, help_text: str = "") -> forms.FloatField:
    """Make a field for a number; the empty one is as usual."""
    return forms.FloatField(label=label, required=False, help_text=help_text, widget=forms.NumberInput({"step": "any"}))


def count(label: str, help_text: str = "", least: int = 1) -> forms.IntegerField:
    """Make a field for a whole number; the empty one is as usual."""
    return forms.IntegerField(label=label, required=False, min_value=least, max_value=10**6, help_text=help_text)


def choice(label: str, choices: list[tuple[str, str]], help_text: str = "") -> forms.ChoiceField:
    """Make a field to choose from; nothing chosen is as usual."""
    return forms.ChoiceField(label=label, required=False, choices=choices, help_text=help_text)


class FitForm(forms.Form):
    """The options of a fit. Everything may be left as it is."""

    model = forms.ChoiceField(required=False, choices=MODELS, widget=forms.RadioSelect, initial="spatial")
    use = forms.ChoiceField(
        label="Whose answers", required=False, choices=USES, widget=forms.RadioSelect, initial="all"
    )
    judges = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    note = forms.CharField(
        label="A note to yourself", required=False, max_length=200, help_text="For example: after the second workshop."
    )
    prior = choice("Prior correlation", [(each, each) for each in PRIORS], "Spatial model: the correlation of areas.")
    length = number("Length scale", "Of the prior correlation or the cluster affinity, if it has one. " + EMPTY)
    alpha = number(
        "α, fixed", "The prior’s standard deviation, if you know it. Leave empty to learn it from the answers."
    )
    chi = number("χ", "Shape of the inverse-gamma prior of α².")
    omega = number("ω", "Scale of the inverse-gamma prior of α².")
    affinity = choice("Cluster affinity", [(each, each) for each in AFFINITIES])
    beta = number("β", "The weight of an area’s link to itself: the larger, the more clusters.")
    mu0 = number("μ₀", "Prior mean of a cluster’s strength.")
    kappa0 = number("κ₀", "Prior weight of that mean.")
    a0 = number("a₀", "Shape of the prior of a cluster’s variance.")
    b0 = number("b₀", "Scale of that prior.")
    clusters = count("Number of clusters to show", "Leave empty for the number the answers suggest.")
    loss = choice(
        "Which partition is best", [("vi", "least variation of information"), ("binder", "least Binder loss")]
    )
    sampler = choice("Sampler", [("hmc", "Hamiltonian Monte Carlo"), ("gibbs", "Gibbs, as in the paper")])
    chains = count("Chains", "Usually 8; 4 for clusters.")
    warmup = count("Warm-up", "Steps discarded at the start of a chain: usually 100; 1000 for clusters.", least=0)
    draws = count("Draws per chain", "Usually 1000.", least=4)
    thin = count("Keep one draw in", "Usually 1; 10 for clusters.")
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=LARGEST_SEED,
        help_text="The same seed and answers give the same numbers. Leave empty for a random seed.",
    )

    groups = (
        ("The spatial and the standard model", ("prior", "length", "alpha", "chi", "omega")),
        ("Clusters", ("affinity", "beta", "mu0", "kappa0", "a0", "b0", "clusters", "loss")),
        ("Sampling", ("sampler", "chains", "warmup", "draws", "thin", "seed")),
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's
        super().__init__(*args, **kwargs)
        self.initial = {**{name: value for name, value in USUAL.items() if value is not None}, **self.initial}
        excluded = set(Exclusion.objects.filter(judge__study=study).values_list("judge_id", flat=True))
        judged = Judge.objects.filter(study=study, judged__gt=0).order_by("name").values_list("name", "judged")
        self.fields["judges"].choices = [  # type: ignore[attr-defined]
            (name, f"{name}, {pairs} pairs{' (left out of fits)' if name in excluded else ''}")
            for name, pairs in judged
        ]

    @property
    def grouped(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The options that few need, in groups."""
        return [(title, [self[name] for name in names]) for title, names in self.groups]

    @property
    def opened(self) -> bool:
        """Whether the options that few need are to be seen: one is wrong, or not as usual."""
        names = [name for _, group in self.groups for name in group]
        return any(name in self.errors or self[name].value() not in (USUAL.get(name), "", None) for name in names)

    def clean(self) -> dict[str, Any]:
        """Check the options together, and the judges."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        told = {name: given.get(name) for name in (*USUAL, "seed")}
        try:
            given["settings"] = FitSettings(**{key: each for key, each in told.items() if each not in (None, "")})
        except StudyError as error:
            self.add_study_error(error)
        if given.get("use") in ("without", "only") and not given.get("judges"):
            self.add_error("judges", "Tick the judges, or choose all of them.")
        return given

    def asked(self) -> dict[str, Any]:
        """Return what `actions.ask_for_fit` takes."""
        given = self.cleaned_data
        judges = {"without": "left_out", "only": "only"}.get(given["use"])
        return {"settings": given["settings"], "note": given["note"]} | ({judges: given["judges"]} if judges else {})

    def add_study_error(self, error: StudyError) -> None:
        """Put a sentence beside the field that its first words name."""
        words = str(error).replace(":", "").split()[:4]
        self.add_error(next((word for word in words if word in self.fields), None), sentence(error))


def initial_of(run: FitRun) -> dict[str, Any]:
    """Fill the form as it was for an earlier fit; with a new seed."""
    kept = {key: value for key, value in run.settings.items() if key != "seed"}
    use = "only" if run.only else "without" if run.left_out else "all"
    return kept | {"use": use, "judges": run.only or run.left_out, "note": run.note}


class AutoFitForm(forms.Form):
    """How often a study is fitted by itself."""

    every = forms.IntegerField(
        label="New answers",
        required=False,
        min_value=LEAST_EVERY,
        max_value=10**6,
        help_text=f"A fit is made after this many, {LEAST_EVERY} or more. Leave empty for never.",
    )
    model = forms.ChoiceField(choices=[("spatial", "spatial"), ("clusters", "clusters"), ("standard", "standard")])
