"""The form that asks for a fit: the options of `judgemap fit`, and whose answers."""

import re
from dataclasses import fields
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from judgemap.errors import StudyError
from judgemap.study.fit.settings import DEFAULTS, LARGE, MODELS, SETTINGS, FitSettings, PanelSettings, Setting
from judgemap.web.judge.models import Judge, JudgeGroup
from judgemap.web.results import actions
from judgemap.web.results.models import FitRun, excluded_from
from judgemap.web.results.pages import find_run
from judgemap.web.server.forms import StudyForm
from judgemap.web.studies.access import researcher_of, study_page
from judgemap.web.studies.models import Study

USES = (
    ("all", _("All judges, except those left out of this study’s fits")),
    ("without", _("All except the judges ticked below")),
    ("only", _("Only the judges ticked below")),
)
ON_TOP = ("model", "judges")
"""The settings that everybody sees; the others are in groups."""
PANEL = {each.name for each in fields(PanelSettings)}
OF_JUDGES = "Judges and their answers"
GROUPS = (OF_JUDGES, "The spatial and the standard model", "Clusters", "Sampling")


@require_http_methods(["GET", "HEAD", "POST"])
@study_page
def new(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask for a fit, with all options available; an empty form uses sensible ones."""
    if request.method == "POST":
        form = FitForm(study, request.POST)
        if form.is_valid():
            try:
                run = actions.ask_for_fit(study, by=researcher_of(request), **form.asked())
                return redirect("fits:progress", study.slug, run.number)
            except StudyError as error:
                form.add_study_error(error)
    else:
        number = request.GET.get("from", "")
        earlier = find_run(study, int(number)) if re.fullmatch(r"[0-9]{1,9}", number) else None
        form = FitForm(study, initial=initial_of(earlier) if earlier else {})
    context = {"study": study, "form": form, "decided": actions.has_decided(study), "here": "results"}
    return render(request, "fits/new.html", context, status=400 if form.errors else 200)


def make_field(setting: Setting) -> forms.Field:
    """Make the field of a setting; if left empty, the default applies."""
    shown: dict[str, Any] = {"label": setting.label, "required": False, "help_text": setting.help.replace("'", "’")}
    if setting.choices:
        return forms.ChoiceField(choices=list(setting.choices.items()), **shown)
    if setting.kind is bool:
        return forms.BooleanField(**shown)
    if setting.kind is int:
        return forms.IntegerField(min_value=setting.least, max_value=setting.most or 10**6, **shown)
    return forms.FloatField(widget=forms.NumberInput({"step": "any"}), **shown)


def group_of(name: str, setting: Setting) -> str:
    """Return the heading under which a setting stands."""
    if name in PANEL:
        return OF_JUDGES
    if setting.models == ("clusters",):
        return "Clusters"
    return "Sampling" if setting.models == MODELS else "The spatial and the standard model"


class FitForm(StudyForm):
    """The options of a fit. Everything may be left as it is."""

    model = forms.ChoiceField(
        required=False,
        choices=[(each, SETTINGS["model"].choices[each]) for each in ("spatial", "clusters", "standard")],
        widget=forms.RadioSelect,
        initial="spatial",
    )
    judges = forms.ChoiceField(
        label=SETTINGS["judges"].label,
        required=False,
        choices=list(SETTINGS["judges"].choices.items()),
        widget=forms.RadioSelect,
        initial="alike",
        help_text=SETTINGS["judges"].help.replace("'", "’"),
    )
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
        self.fields |= {name: make_field(each) for name, each in SETTINGS.items() if name not in ON_TOP}
        # Large maps are fitted without ties, so a form that says nothing about ties must not be refused.
        self.usual = {"ties": "leave-out"} if study.areas.count() > LARGE else {}
        usual = {name: value for name, value in DEFAULTS.items() if value is not None} | self.usual
        self.initial = {**usual, **self.initial}
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
        for name, setting in SETTINGS.items():
            if name not in ON_TOP:
                groups[group_of(name, setting)].append(self[name])
        return list(groups.items())

    @property
    def opened(self) -> bool:
        """Whether to show the options that few need: one is invalid, or not the default."""
        names = [name for name in SETTINGS if name not in ON_TOP]
        return any(name in self.errors or self[name].value() not in (DEFAULTS.get(name), "", None) for name in names)

    def clean(self) -> dict[str, Any]:
        """Check the options together, and the judges."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        chosen = {name: given.get(name) for name in SETTINGS}
        chosen |= {name: value for name, value in self.usual.items() if not chosen[name]}
        try:
            given["settings"] = FitSettings(**{key: each for key, each in chosen.items() if each not in (None, "")})
        except StudyError as error:
            self.add_study_error(error)
        if given.get("use") in ("without", "only") and not given.get("named"):
            self.add_error("named", gettext("Tick the judges, or choose all of them."))
        return given

    def asked(self) -> dict[str, Any]:
        """Return what `actions.ask_for_fit` takes."""
        given = self.cleaned_data
        asked = {"settings": given["settings"], "note": given["note"]}
        if (group := self.groups.get(given["use"])) is not None:
            names = Judge.objects.filter(group=group, judged__gt=0).order_by("name").values_list("name", flat=True)
            excluded = excluded_from(group.study)
            only = [name for name in names if name not in excluded]
            return asked | {"only": only, "note": given["note"] or f"group {group.name}"}
        judges = {"without": "left_out", "only": "only"}.get(given["use"])
        return asked | ({judges: given["named"]} if judges else {})


def initial_of(run: FitRun) -> dict[str, Any]:
    """Fill the form as it was for an earlier fit, but with a new seed."""
    kept = {key: value for key, value in run.settings.items() if key != "seed"}
    use = "only" if run.only else "without" if run.left_out else "all"
    return kept | {"use": use, "named": run.only or run.left_out, "note": run.note}
