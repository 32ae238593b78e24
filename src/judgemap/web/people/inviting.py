"""Judges' links, their groups and the export: researchers' pages about judges, and an overview of studies."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import segno
from django import forms
from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import csv_text
from judgemap.web.accounts.models import Researcher
from judgemap.web.judge.answering import find_judge
from judgemap.web.judge.joining import invite
from judgemap.web.judge.joining import preview as make_preview
from judgemap.web.judge.models import Judge, JudgeGroup
from judgemap.web.people.export import export_apart
from judgemap.web.server.errors import kind_page
from judgemap.web.server.forms import StudyForm, sentence
from judgemap.web.server.tokens import Problem, check_address, hashed, whole_address
from judgemap.web.studies.access import reading_page, researcher_of, study_page
from judgemap.web.studies.editing import locked
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Area, Study

MOST_LINKS = 2000
MOST_GROUPS = 50
LONGEST_NAME = 60
IN_TEXT = re.compile(r"(?<![\w-])[A-Za-z0-9_-]{22}(?![\w-])")
"""Anything in a text that could be the token of a link."""


class InviteForm(StudyForm):
    """How many judges to make links for, and in which group."""

    judges = forms.IntegerField(
        label=_("How many judges?"),
        min_value=1,
        max_value=200,
        initial=12,
        help_text=_("Up to 200 at a time. You can make more later."),
    )
    group = forms.ModelChoiceField(
        JudgeGroup.objects.none(), label=_("In which group?"), required=False, empty_label=_("No group")
    )

    anyway = forms.BooleanField(label=_("Make the links anyway: I am just trying it out"))

    def __init__(self, study: Study, *args: Any, problem: Problem | None = None, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self.problem = problem
        if problem is None:
            del self.fields["anyway"]
        groups = JudgeGroup.objects.filter(study=study).order_by("name")
        self.fields["group"].queryset = groups  # type: ignore[attr-defined]
        if not groups:
            del self.fields["group"]


class GroupForm(StudyForm):
    """A group of judges and its quota."""

    name = forms.CharField(
        label=_("Name"),
        max_length=LONGEST_NAME,
        help_text=_("A profession or an organisation, such as “Social workers”. Never a person’s name."),
    )
    quota = forms.IntegerField(
        label=_("Maximum number of judges"),
        required=False,
        min_value=1,
        max_value=100_000,
        help_text=_("Leave empty for no limit. To change a group’s quota, enter its name again."),
    )


class LinksForm(forms.Form):
    """Links that were sent out, to see which of them nobody has used."""

    links = forms.CharField(
        label=_("Your links"),
        max_length=200_000,
        widget=forms.Textarea({"rows": 5}),
        help_text=_("Paste the links, or the whole table you downloaded. None of it is kept."),
    )


@study_page.form
def judges(request: HttpRequest, study: Study) -> HttpResponse:
    """Make links for judges and show them, this once."""
    form = InviteForm(study, request.POST or None, problem=_problem(request, study))
    if form.is_valid() and study.status != Study.Status.CLOSED:
        with form.refusals():
            # Links are shown this once and only their hashes are kept, so that nobody who reads the database can judge.
            asked = form.cleaned_data
            invited = invite(study, asked["judges"], researcher_of(request), asked.get("group"))
            links = _links(request, study, [each.token for each in invited])
            context = {"study": study, "links": links, "texts": texts_to_send(study, "invitation")}
            return render(request, "people/invited.html", context)
    return _invite_page(request, study, form, GroupForm())


@study_page.act
def groups(request: HttpRequest, study: Study) -> HttpResponse:
    """Make a group of judges, or change its quota."""
    form = GroupForm(request.POST)
    if form.is_valid():
        with form.refusals():
            keep_group(study, form.cleaned_data["name"], form.cleaned_data["quota"], researcher_of(request))
            return redirect("inviting:judges", study.slug)
    return _invite_page(request, study, InviteForm(study, problem=_problem(request, study)), form)


def _problem(request: HttpRequest, study: Study) -> Problem | None:
    """Check that judges can open the server's address, before the first link is made."""
    if study.status == Study.Status.CLOSED or Judge.objects.filter(study=study).exists():
        return None
    return check_address(whole_address(request, "/"))


def _invite_page(request: HttpRequest, study: Study, form: InviteForm, group_form: GroupForm) -> HttpResponse:
    context = {
        "study": study,
        "form": form,
        "group_form": group_form,
        "links_form": LinksForm(),
        "judges": Judge.objects.filter(study=study).select_related("group").order_by("-judged", "name"),
        "groups": groups_of(study),
        "texts": texts_to_send(study, "invitation"),
        "here": "judges",
    }
    if study.join_code:
        context["open_links"] = [_open_link(request, gettext("Anyone"), study.join_code)] + [
            _open_link(request, each.name, each.join_code) for each in groups_of(study)
        ]
    return render(request, "people/invite.html", context, status=400 if form.errors or group_form.errors else 200)


@dataclass(frozen=True, slots=True)
class Link:
    """A link to show, and whose it is: a judge's, a group's or everybody's."""

    whose: str
    address: str
    token: str
    group: str = ""
    judged: int = 0

    @property
    def qr_code(self) -> str:
        """The address as a picture."""
        return segno.make(self.address, error="m").svg_data_uri(scale=3, border=2)


def _open_link(request: HttpRequest, whose: str, code: str) -> Link:
    return Link(whose, whole_address(request, reverse("judge:join", args=[code])), code)


def _links(request: HttpRequest, study: Study, tokens: Sequence[str]) -> list[Link]:
    """Return the links for those tokens that belong to this study's judges, in order, without judges who withdrew."""
    judges = Judge.objects.filter(study=study, withdrawn_at=None, token_hash__in=[hashed(each) for each in tokens])
    known = {judge.token_hash: judge for judge in judges.select_related("group")}
    return [
        Link(
            judge.name,
            whole_address(request, reverse("judge:home", args=[token])),
            token,
            judge.group.name if judge.group else "",
            judge.judged,
        )
        for token in dict.fromkeys(tokens)
        if (judge := known.get(hashed(token)))
    ]


def texts_to_send(study: Study, kind: str) -> list[dict[str, str]]:
    """Write an invitation or a reminder in each of the study's languages, with ``{link}`` where the link goes."""
    texts, version = [], study.version
    for code in version.languages:
        with translation.override(code):
            context = {
                "title": version.text("title", code),
                "question": version.text("question", code),
                "minutes": version.minutes,
                "until": study.answers_until,
            }
            text = render_to_string(f"people/{kind}.txt", context).strip() + "\n"
            name = translation.get_language_info(code)["name_local"]
            texts.append({"language": name, "code": code, "text": text})
    return texts


@study_page.act
def reminders(request: HttpRequest, study: Study) -> HttpResponse:
    """Show which of the links that the researcher pastes were not used, or not to the end."""
    form = LinksForm(request.POST)
    pasted = IN_TEXT.findall(form.cleaned_data["links"])[:MOST_LINKS] if form.is_valid() else []
    links = _links(request, study, pasted)
    context = {
        "study": study,
        "form": form,
        "known": len(links),
        "unused": [each for each in links if not each.judged],
        "begun": [each for each in links if 0 < each.judged < study.version.recommended],
        "texts": texts_to_send(study, "reminder"),
        "here": "judges",
    }
    return render(request, "people/reminders.html", context, status=400 if form.errors else 200)


@study_page.act
def links_csv(request: HttpRequest, study: Study) -> HttpResponse:
    """Write the links on the page as a table; the page sends them back, because they are stored nowhere."""
    tokens = [each for each in request.POST.getlist("token")[:MOST_LINKS] if IN_TEXT.fullmatch(each)]
    rows = [(each.whose, each.group, each.address) for each in _links(request, study, tokens)]
    name = f'attachment; filename="{study.slug}-links.csv"'
    text = csv_text(("judge", "group", "link"), rows)
    return HttpResponse(text, "text/csv", headers={"Content-Disposition": name})


@reading_page.act
def export(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Send every pair and answer of a study as a zip file."""
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        try:
            path = export_apart(study, Path(folder, f"{study.slug}.zip"))
        except StudyError as error:
            return kind_page(request, 503, gettext("One moment, please"), sentence(error))
        record(study, researcher_of(request), "exported", {})
        return FileResponse(path.open("rb"), as_attachment=True, filename=path.name)


@reading_page
def preview(request: HttpRequest, study: Study) -> HttpResponse:
    """Lead a researcher to the judge's side of a study, as a judge who is never counted; again to the same one."""
    kept = f"preview of {study.pk}"
    if find_judge(request.session.get(kept, "")) is None:
        request.session[kept] = make_preview(study)
    return redirect("judge:home", request.session[kept])


def studies_overview() -> list[dict[str, object]]:
    """Return one row per study, the newest first."""
    judges = Judge.objects.filter(withdrawn_at=None).order_by().values("study_id")
    counts = judges.annotate(judges=Count("pk"), judged=Coalesce(Sum("judged"), 0))
    answers = {row["study_id"]: row for row in counts}
    areas = dict(Area.objects.order_by().values_list("study_id").annotate(Count("pk")))
    return [
        {
            "study": study.slug,
            "status": study.status,
            "title": study.version.title,
            "areas": areas.get(study.pk, 0),
            "judges": answers.get(study.pk, {}).get("judges", 0),
            "judged": answers.get(study.pk, {}).get("judged", 0),
        }
        for study in Study.objects.exclude(current=None).select_related("current").order_by("-created_at")
    ]


def keep_group(study: Study, name: str, quota: int | None, by: Researcher | None = None) -> JudgeGroup:
    """Make a group, or change the quota of the existing one with that name."""
    with transaction.atomic():
        study = locked(study)
        group = JudgeGroup.objects.filter(study=study, name=name).first()
        if group is None and JudgeGroup.objects.filter(study=study).count() >= MOST_GROUPS:
            text = gettext("a study has at most %(most)s groups; use an existing one")
            raise StudyError(text, "name", most=MOST_GROUPS)
        if group is not None and group.quota == quota:
            return group
        group = group or JudgeGroup(study=study, name=name)
        group.quota = quota
        group.save()
        record(study, by, "group kept", {"group": name, "quota": quota or "none"})
    return group


def group_named(study: Study, name: str) -> JudgeGroup:
    """Return the group with a name; if there is none yet, make it, without a quota."""
    if not name.strip() or len(name.strip()) > LONGEST_NAME:
        raise StudyError(gettext("the name of a group has 1 to %(most)s characters"), most=LONGEST_NAME)
    return JudgeGroup.objects.filter(study=study, name=name.strip()).first() or keep_group(study, name.strip(), None)


def groups_of(study: Study) -> QuerySet[JudgeGroup]:
    """Return a study's groups by name, each with how many were ``invited`` and have ``begun``, and pairs ``judged``."""
    return JudgeGroup.objects.filter(study=study).order_by("name").annotate(
        invited=Count("judges"),
        begun=Count("judges", filter=Q(judges__judged__gt=0)),
        judged=Coalesce(Sum("judges__judged"), 0),
    )  # fmt: skip
