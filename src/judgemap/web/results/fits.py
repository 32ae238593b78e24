"""The fits of a study: ask for one, with all options; list them, watch one, stop it, have them made automatically."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judgemap.errors import StudyError
from judgemap.study.data.comparisons import Direction
from judgemap.study.fit.settings import DEFAULTS, JUDGE_OPTIONS, MODELS, SETTINGS, FitSettings, Setting
from judgemap.web.accounts.models import Researcher
from judgemap.web.judge.models import Judge, JudgeGroup
from judgemap.web.results import actions
from judgemap.web.results.models import AutoFit, Exclusion, FitRun, excluded_from
from judgemap.web.results.pages import REMEDIES, add_verdicts, find_run
from judgemap.web.server.forms import StudyForm, by_htmx, lead_on, sentence, whole_number
from judgemap.web.studies.access import researcher_of, study_page
from judgemap.web.studies.models import Study

MOST_SHOWN = 200
HOW = ("seed", "longer")
"""What can differ in a fit that is made again; see `actions.again`."""


PAPER = "paper"
WHICH = (
    (
        "spatial",
        _(
            "The plain fit: neighbouring areas tend to have similar risk, ties count and, where three or more judges "
            "are named, each has their own view around the population’s"
        ),
    ),
    (PAPER, f"{SETTINGS['as_in_paper'].label}: {SETTINGS['as_in_paper'].help.partition(': ')[2].removesuffix('.')}"),
    *((model, SETTINGS["model"].choices[model]) for model in ("clusters", "standard")),
)
"""Which fit to make: the plain one first. All but the paper's are models of `FitSettings`."""
IN_GROUPS = [name for name in SETTINGS if name != "model"]
"""The settings that few need."""


class AutoFitForm(forms.Form):
    """How often a study is fitted automatically."""

    every = forms.IntegerField(
        label=_("New answers"),
        required=False,
        min_value=actions.LEAST_EVERY,
        max_value=10**6,
        help_text=_("How many new answers trigger a fit (%(least)s or more). Leave empty for no automatic fits.")
        % {"least": actions.LEAST_EVERY},
    )
    model = forms.ChoiceField(
        label=_("Which fit"), choices=lambda: [(each, str(words).partition(":")[0]) for each, words in WHICH]
    )


@study_page
def list_fits(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the fits of a study, the latest first, and the button that asks for one."""
    return _list(request, study)


def _list(request: HttpRequest, study: Study, refused: AutoFitForm | None = None) -> HttpResponse:
    latest = FitRun.objects.filter(study=study).order_by("-number").select_related("asked_by")
    runs = [run.show_if_lost() for run in latest.defer("rows", "findings", "log")[:MOST_SHOWN]]
    add_verdicts(runs)
    context = {"study": study, "runs": runs, "under_way": any(not run.over for run in runs), "here": "results"}
    if by_htmx(request):
        return render(request, "fits/runs.html", context)
    auto = AutoFit.objects.filter(study=study).first()
    kept = {"every": auto.every, "model": _chosen(auto.settings)["model"]} if auto else {}
    context |= {
        "auto_form": refused or AutoFitForm(initial=kept),
        "auto": auto,
        "answers": actions.answered(study),
        "decided": actions.has_decided(study),
        "excluded": Exclusion.objects.filter(judge__study=study).order_by("judge_id"),
    }
    return render(request, "fits/list.html", context, status=400 if refused else 200)


@study_page
def progress(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show how far a fit is; redirect to its map as soon as that is ready."""
    run = _seen(study, number)
    if run.status == FitRun.Status.DONE:
        return lead_on(request, reverse("results:map", args=[study.slug, number]))
    if run.over and by_htmx(request):
        return lead_on(request, reverse("fits:progress", args=[study.slug, number]))
    context = {"study": study, "run": run, "here": "results"}
    return render(request, "fits/news.html" if by_htmx(request) else "fits/progress.html", context)


@study_page
def explained(request: HttpRequest, study: Study, number: int) -> HttpResponse:  # noqa: ARG001 - all views have it
    """Tell a page that waits for a fit's explanation to reload as soon as it is ready."""
    return HttpResponse(headers={"HX-Refresh": "true"} if find_run(study, number).explained_at else None)


@study_page
def log(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show how a fit was made: its settings, its log, and the command that does the same."""
    run = _seen(study, number)
    add_verdicts([run])
    settings = FitSettings.from_dict(run.settings)
    direction: Direction = "lower" if run.version.direction == "lower" else "higher"
    context = {
        "study": study,
        "run": run,
        "command": settings.command("comparisons.csv", "edges.csv", direction),
        "settings": {name: str(value) for name, value in settings.to_dict().items() if value is not None},
        "here": "results",
    }
    return render(request, "fits/log.html", context)


@study_page.act
def cancel(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Stop a fit."""
    run = actions.cancel_fit(_seen(study, number), researcher_of(request))
    if run.status == FitRun.Status.CANCELLED:
        messages.success(request, gettext("Fit %(number)s is cancelled.") % {"number": number})
        return redirect("fits:list", study.slug)
    return redirect("fits:progress", study.slug, number)


@study_page.act
def again(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Ask for the same fit once more, or for a longer one."""
    run, how = _seen(study, number), request.POST.get("how", "")
    return _follow(request, study, lambda by: actions.again(run, by, how if how in HOW else ""))


@study_page.act
def remedy(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Ask for the same fit with the setting changed that the verdict names."""
    run = _seen(study, number)
    chosen = next((each for each in REMEDIES if each.option == request.POST.get("remedy")), None)
    if chosen is None:
        raise Http404
    return _follow(request, study, lambda by: actions.remedy(run, chosen, by))


def _follow(request: HttpRequest, study: Study, ask: Callable[[Researcher], FitRun]) -> HttpResponse:
    """Ask for a fit, and redirect to its progress; if it is refused, say why."""
    try:
        run = ask(researcher_of(request))
    except StudyError as error:
        messages.error(request, sentence(error))
        return redirect("fits:list", study.slug)
    return redirect("fits:progress", study.slug, run.number)


@study_page.act
def auto(request: HttpRequest, study: Study) -> HttpResponse:
    """Turn automatic fits on or off."""
    form = AutoFitForm(request.POST)
    if not form.is_valid():
        return _list(request, study, form)
    every = form.cleaned_data["every"]
    settings = FitSettings.from_dict(_which(form.cleaned_data["model"]))
    actions.set_auto_fit(study, every, settings, researcher_of(request))
    news = (
        (gettext("A fit is made after every %(every)s new answers.") % {"every": every})
        if every
        else gettext("Automatic fits are off.")
    )
    messages.success(request, news)
    return redirect("fits:list", study.slug)


def _which(model: str) -> dict[str, object]:
    """Return the settings that a choice among `WHICH` stands for."""
    return {"model": "spatial", "as_in_paper": True} if model == PAPER else {"model": model}


def _chosen(settings: Mapping[str, object]) -> dict[str, object]:
    """Return settings as the form has them, where the paper's spatial model is a choice of its own."""
    if settings.get("as_in_paper") and settings.get("model") == "spatial":
        return {**settings, "model": PAPER, "as_in_paper": False}
    return dict(settings)


def _seen(study: Study, number: int) -> FitRun:
    """Find a fit, and show it as lost if its worker is gone."""
    return find_run(study, number).show_if_lost()


USES = (
    ("all", _("All judges, except those left out of this study’s fits")),
    ("without", _("All except the judges ticked below")),
    ("only", _("Only the judges ticked below")),
)
OF_JUDGES = "Judges and their answers"
GROUPS = (OF_JUDGES, "The spatial and the standard model", "Clusters", "Sampling")


@study_page.form
def new(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask for a fit, with all options available; an empty form uses sensible ones."""
    if request.method == "POST":
        form = FitForm(study, request.POST)
        if form.is_valid():
            with form.refusals():
                return redirect("fits:progress", study.slug, form.ask(researcher_of(request)).number)
    else:
        earlier = FitRun.objects.filter(study=study, number=whole_number(request.GET.get("from", "")) or 0).first()
        form = FitForm(study, initial=initial_of(earlier) if earlier else {})
    context = {"study": study, "form": form, "decided": actions.has_decided(study), "here": "results"}
    return render(request, "fits/new.html", context, status=400 if form.errors else 200)


def make_field(name: str) -> forms.Field:
    """Make the field of a setting; if left empty, the default applies."""
    setting = SETTINGS[name]
    field: Callable[..., forms.Field]
    if setting.choices:
        chosen = [] if DEFAULTS[name] else [("", _("Chosen for you"))]
        field = partial(forms.ChoiceField, choices=[*chosen, *setting.choices.items()])
    elif setting.kind is str:
        field = partial(forms.CharField, max_length=500)
    elif setting.kind is bool:
        field = forms.BooleanField
    elif setting.kind is int:
        field = partial(forms.IntegerField, min_value=setting.least, max_value=setting.most or 10**6)
    else:
        field = partial(forms.FloatField, widget=forms.NumberInput({"step": "any"}))
    return field(label=setting.label, required=False, help_text=setting.help.replace("'", "’"))


def group_of(name: str, setting: Setting) -> str:
    """Return the heading under which a setting stands."""
    if name in JUDGE_OPTIONS:
        return OF_JUDGES
    if setting.models == ("clusters",):
        return "Clusters"
    return "Sampling" if setting.models == MODELS else "The spatial and the standard model"


class FitForm(StudyForm):
    """The options of a fit. Everything may be left as it is."""

    model = forms.ChoiceField(required=False, choices=WHICH, widget=forms.RadioSelect, initial="spatial")
    use = forms.ChoiceField(
        label=_("Whose answers"), required=False, choices=USES, widget=forms.RadioSelect, initial="all"
    )
    named = forms.MultipleChoiceField(label=_("Judges"), required=False, widget=forms.CheckboxSelectMultiple)
    note = forms.CharField(
        label=_("A note to yourself"),
        required=False,
        max_length=200,
        help_text=_("For example: after the second workshop."),
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's
        super().__init__(*args, **kwargs)
        self.study = study
        self.fields |= {name: make_field(name) for name in IN_GROUPS}
        self.initial = {**{name: value for name, value in DEFAULTS.items() if value is not None}, **self.initial}
        groups = JudgeGroup.objects.filter(study=study, judges__judged__gt=0).distinct().order_by("name")
        self.groups = {f"group-{each.pk}": each for each in groups}
        offered = [(key, f"Only the group {each.name}") for key, each in self.groups.items()]
        self.fields["use"].choices = [*USES, *offered]  # type: ignore[attr-defined]
        excluded = excluded_from(study)
        judged = Judge.objects.filter(study=study, judged__gt=0).order_by("name").values_list("name", "judged")
        self.fields["named"].choices = [  # type: ignore[attr-defined]
            (name, f"{name}, {pairs:,} pairs{' (left out of fits)' if name in excluded else ''}")
            for name, pairs in judged
        ]

    @property
    def grouped(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The options that few need, in groups."""
        groups: dict[str, list[forms.BoundField]] = {title: [] for title in GROUPS}
        for name in IN_GROUPS:
            groups[group_of(name, SETTINGS[name])].append(self[name])
        return list(groups.items())

    @property
    def opened(self) -> bool:
        """Whether to show the options that few need: one is invalid, or not the default."""
        usual = {name: (DEFAULTS.get(name), "", None) for name in IN_GROUPS}
        return any(name in self.errors or self[name].value() not in usual[name] for name in IN_GROUPS)

    def clean(self) -> None:
        """Check the options together, and the judges."""
        given = self.cleaned_data
        chosen = {name: given.get(name) for name in SETTINGS} | _which(given.get("model") or "spatial")
        try:
            filled = {key: each for key, each in chosen.items() if each not in (None, "")}
            given["settings"] = FitSettings.from_dict(filled)
        except StudyError as error:
            self.add_study_error(error)
        if given.get("use") in ("without", "only") and not given.get("named"):
            self.add_error("named", gettext("Tick the judges, or choose all of them."))

    def ask(self, by: Researcher) -> FitRun:
        """Ask for the fit."""
        given, left_out, only = self.cleaned_data, [], []
        note = given["note"]
        if (group := self.groups.get(given["use"])) is not None:
            names = Judge.objects.filter(group=group, judged__gt=0).order_by("name").values_list("name", flat=True)
            excluded = excluded_from(self.study)
            only, note = [name for name in names if name not in excluded], note or f"group {group.name}"
        elif given["use"] == "without":
            left_out = given["named"]
        elif given["use"] == "only":
            only = given["named"]
        return actions.ask_for_fit(self.study, given["settings"], by, left_out, only, note)


def initial_of(run: FitRun) -> dict[str, object]:
    """Fill the form as it was for an earlier fit, but with a new seed."""
    kept = _chosen({key: value for key, value in run.settings.items() if key != "seed"})
    use = "only" if run.only else "without" if run.left_out else "all"
    return kept | {"use": use, "named": run.only or run.left_out, "note": run.note}
