"""Researchers' pages about their studies."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.db.models import Count, F, Max, Q, Sum
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from judgemap.errors import StudyError
from judgemap.study.data.definition import TEXTS, write_definition
from judgemap.web.server.forms import sentence
from judgemap.web.server.markdown import render_markdown
from judgemap.web.server.tokens import whole_address
from judgemap.web.studies import actions
from judgemap.web.studies.access import owner_page, researcher_of, researcher_page, studies_of, study_page
from judgemap.web.studies.actions import change_study, share_study, unshare_study
from judgemap.web.studies.basemap.pages import base_map_of
from judgemap.web.studies.forms import (
    ColleagueForm,
    DeleteForm,
    EdgeForm,
    JudgingForm,
    NamedEdgeForm,
    TextsForm,
    TranslationForm,
    VersionForm,
)
from judgemap.web.studies.keeping import certificate_of, days_left
from judgemap.web.studies.log import log_head
from judgemap.web.studies.maps import draw_lines, draw_map, map_facts, neighbours_of
from judgemap.web.studies.models import Draft, Study, Upload
from judgemap.web.studies.removal import GRACE, bring_back, delete_study
from judgemap.web.studies.upload.actions import ask_for_copy
from judgemap.web.studies.whole_map import has_tiles

LONG = 8
"""A list with at least this many studies can be searched."""
FORM = ["GET", "HEAD", "POST"]
LONGEST_LOG = 500


@require_safe
@researcher_page
def list_studies(request: HttpRequest) -> HttpResponse:
    """List the researcher's studies."""
    studies = studies_of(researcher_of(request)).annotate(n_judges=Count("judges")).order_by("-created_at")
    gone = Study.objects.filter(owner=researcher_of(request), deleted_at__isnull=False).select_related("current")
    deleted = [(study, study.deleted_at + GRACE) for study in gone if study.deleted_at is not None]
    making = Draft.objects.filter(asked_by=researcher_of(request), status__in=Draft.UNDER_WAY)
    words = request.GET.get("q", "").replace("\0", "").strip()[:100]
    found = studies.filter(current__title__icontains=words) if words else studies
    context = {"studies": found, "words": words, "long": bool(words) or len(found) >= LONG}
    context |= {"deleted": deleted, "making": making}
    return render(request, "studies/list.html", context)


@require_safe
@study_page
def overview(request: HttpRequest, study: Study) -> HttpResponse:
    """Show where a study is, and what to do next."""
    address = whole_address(request, reverse("judge:join", args=[study.join_code])) if study.join_code else ""
    context = {"study": study, "summary": summarise(study), "join_address": address, "here": "overview"}
    context |= {"days_left": days_left(study), "certificate": certificate_of(study)}
    waiting = [code for code in study.version.languages if code not in study.version.offered]
    context |= {"waiting": [(code, translation.get_language_info(code)["name"]) for code in waiting]}
    return render(request, "studies/overview.html", context)


@require_http_methods(FORM)
@study_page
def show_map(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the areas and their edges; make two areas neighbours, or separate them."""
    large = has_tiles(study)
    form: EdgeForm | NamedEdgeForm = (NamedEdgeForm if large else EdgeForm)(study, request.POST or None)
    if form.is_valid():
        try:
            return _edge_changed(request, study, form)
        except StudyError as error:
            form.add_error(None, sentence(error))
    notes = study.acts.filter(verb="map read").values_list("detail__notes", flat=True).first()
    file = Upload.objects.filter(drafts__study=study, researcher=researcher_of(request)).defer("content").first()
    shown = map_facts(study.version.pk) if large else draw_map(study)
    context = {"study": study, "form": form, "map": shown, "notes": notes or [], "here": "map", "file": file}
    template = "studies/large_map.html" if large else "studies/map.html"
    return render(request, template, context | base_map_of(study), status=400 if form.errors else 200)


@require_safe
@study_page
def area(request: HttpRequest, study: Study, position: int) -> HttpResponse:  # noqa: ARG001 - a page
    """Name an area and its neighbours, for the page of a large map."""
    found = get_object_or_404(study.areas.only("name", "code"), position=position)
    names = study.areas.filter(position__in=neighbours_of(study.version, position)).order_by("name")
    return JsonResponse(
        {"name": found.name, "id": found.code, "neighbours": list(names.values_list("name", flat=True))}
    )


def _edge_changed(request: HttpRequest, study: Study, form: EdgeForm | NamedEdgeForm) -> HttpResponse:
    a, b = form.cleaned_data["a"], form.cleaned_data["b"]
    edge = actions.change_edge(study, a, b, researcher_of(request))
    names = {"one": a.name, "other": b.name}
    apart = gettext("%(one)s and %(other)s are no longer neighbours.") % names
    news = gettext("%(one)s and %(other)s are now neighbours.") % names if edge else apart
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse(
            {"said": news, "joined": edge is not None, "lines": {} if has_tiles(study) else draw_lines(study)}
        )
    messages.success(request, news)
    return redirect("studies:map", study.slug)


@require_http_methods(FORM)
@study_page
def texts(request: HttpRequest, study: Study) -> HttpResponse:
    """Edit what judges read."""
    initial = {key: getattr(study.version, key) for key in (*TEXTS, "direction")}
    form = TextsForm(study.version, request.POST or None, initial=initial | {"based_on": study.version.number})
    return _edit(request, study, form, "studies/texts.html", "studies:judging")


@require_http_methods(FORM)
@study_page
def translate(request: HttpRequest, study: Study, language: str) -> HttpResponse:
    """Edit what judges read in another language."""
    version = study.version
    if language not in version.languages[1:]:
        return redirect("studies:texts", study.slug)
    initial = version.translations.get(language, {}) | {"based_on": version.number}
    form = TranslationForm(version, language, request.POST or None, initial=initial)
    return _edit(request, study, form, "studies/translate.html", "studies:texts")


@require_http_methods(FORM)
@study_page
def judging(request: HttpRequest, study: Study) -> HttpResponse:
    """Edit how judges are asked, and who may be one."""
    definition = actions.definition_of(study)
    initial = {key: getattr(definition, key, None) for key in JudgingForm.base_fields} | {
        "language": definition.languages[0],
        "more_languages": list(definition.languages[1:]),
        "based_on": study.version.number,
    }
    form = JudgingForm(study.version, request.POST or None, initial=initial)
    return _edit(request, study, form, "studies/judging.html", "studies:overview")


def _edit(request: HttpRequest, study: Study, form: VersionForm, template: str, after: str) -> HttpResponse:
    """Show a form, with a preview if one is asked for, or store its content as a new version."""
    preview = {}
    if form.is_valid() and "preview" in request.POST:
        preview = {key: render_markdown(form.cleaned_data[key]) for key in TEXTS if form.cleaned_data.get(key)}
    elif form.is_valid():
        try:
            changed = change_study(study, researcher_of(request), form.changes())
            messages.success(request, gettext("Saved.") if changed else gettext("Nothing was changed."))
            return redirect(after, study.slug)
        except StudyError as error:
            form.add_study_error(error)
    names = [(code, translation.get_language_info(code)["name"]) for code in study.version.languages]
    missing = study.version.untranslated(form.language) if isinstance(form, TranslationForm) else []
    context = {"study": study, "form": form, "preview": preview, "languages": names, "here": template}
    context |= {"missing": missing}
    return render(request, template, context, status=400 if form.errors else 200)


@require_POST
@researcher_page
def markdown(request: HttpRequest) -> HttpResponse:
    """Return a text in Markdown as clean HTML, for the preview beside the field."""
    return HttpResponse(render_markdown(request.POST.get("text", "")[:20_000]))


@require_POST
@study_page
def status(request: HttpRequest, study: Study) -> HttpResponse:
    """Open or pause a study."""
    acts = {"open": actions.open_study, "pause": actions.pause_study}
    act = acts.get(request.POST.get("act", ""))
    if act is None:
        return redirect("studies:overview", study.slug)
    try:
        moved = act(study, researcher_of(request))
        messages.success(request, gettext("The study is %(status)s now.") % {"status": moved.status})
    except StudyError as error:
        messages.error(request, sentence(error))
    return redirect("studies:overview", study.slug)


@require_http_methods(FORM)
@owner_page
def close(request: HttpRequest, study: Study) -> HttpResponse:
    """Close a study for good, after asking for confirmation."""
    if request.method != "POST":
        return render(request, "studies/close.html", {"study": study})
    actions.close_study(study, researcher_of(request))
    messages.success(request, _("The study is closed. Its answers are kept."))
    return redirect("studies:overview", study.slug)


@require_http_methods(FORM)
@owner_page
def delete(request: HttpRequest, study: Study) -> HttpResponse:
    """Delete a study after its title has been typed; it can be brought back for some days."""
    form = DeleteForm(request.POST or None)
    if form.is_valid():
        try:
            delete_study(study, form.cleaned_data["title"], researcher_of(request))
            messages.success(
                request,
                gettext("“%(title)s” is deleted. You can bring it back for %(days)s days.")
                % {"title": study.version.title, "days": GRACE.days},
            )
            return redirect("studies:list")
        except StudyError as error:
            form.add_study_error(error)
    context = {"study": study, "form": form, "summary": summarise(study), "days": GRACE.days}
    return render(request, "studies/delete.html", context, status=400 if form.errors else 200)


@require_POST
@researcher_page
def undelete(request: HttpRequest, slug: str) -> HttpResponse:
    """Bring a deleted study back."""
    study = get_object_or_404(Study, slug=slug, owner=researcher_of(request), deleted_at__isnull=False)
    bring_back(study, researcher_of(request))
    messages.success(request, _("The study is back."))
    return redirect("studies:overview", slug)


@require_POST
@study_page
def duplicate(request: HttpRequest, study: Study) -> HttpResponse:
    """Copy a study as a new draft, without its judges and answers."""
    return redirect("studies:making", ask_for_copy(study, researcher_of(request)).pk)


@require_safe
@study_page
def colleagues(request: HttpRequest, study: Study) -> HttpResponse:
    """Show with whom a study is shared."""
    return _colleagues(request, study, ColleagueForm())


@require_POST
@owner_page
def share(request: HttpRequest, study: Study) -> HttpResponse:
    """Share a study with a colleague, or stop sharing it."""
    by = researcher_of(request)
    if "remove" in request.POST:
        unshare_study(study, request.POST["remove"], by)
        return redirect("studies:colleagues", study.slug)
    form = ColleagueForm(request.POST)
    if form.is_valid():
        try:
            to_read = form.cleaned_data["may"] == "read"
            colleague = share_study(study, form.cleaned_data["email"], by, to_read=to_read)
            messages.success(request, gettext("Shared with %(colleague)s.") % {"colleague": colleague})
            return redirect("studies:colleagues", study.slug)
        except StudyError as error:
            form.add_error("email", sentence(error))
    return _colleagues(request, study, form)


def _colleagues(request: HttpRequest, study: Study, form: ColleagueForm) -> HttpResponse:
    context = {
        "study": study,
        "form": form,
        "colleagues": study.colleagues.order_by("email"),
        "readers": study.readers.order_by("email"),
        "owner": study.owner_id == researcher_of(request).pk,
        "here": "colleagues",
    }
    return render(request, "studies/colleagues.html", context, status=400 if form.errors else 200)


@require_safe
@study_page
def log(request: HttpRequest, study: Study) -> HttpResponse:
    """Show who did what to a study, the latest first."""
    acts = study.acts.select_related("researcher").order_by("-at", "-pk")[:LONGEST_LOG]
    rows = [(act, [(name, _plain(value)) for name, value in act.detail.items() if value]) for act in acts]
    return render(request, "studies/log.html", {"study": study, "rows": rows, "head": log_head(), "here": "log"})


def _plain(value: object) -> str:
    return "; ".join(str(each) for each in value) if isinstance(value, list) else str(value)


@require_safe
@study_page
def definition(request: HttpRequest, study: Study) -> HttpResponse:  # noqa: ARG001 - a page like the others
    """Send a study's definition as study.toml."""
    text = write_definition(actions.definition_of(study))
    name = f'attachment; filename="{study.slug}.toml"'
    return HttpResponse(text, "application/toml", headers={"Content-Disposition": name})


@dataclass(frozen=True, slots=True)
class Summary:
    """How far a study has got."""

    areas: int
    edges: int
    invited: int
    begun: int
    withdrawn: int
    judged: int
    last_answer: datetime | None
    next_step: str


def summarise(study: Study) -> Summary:
    """Count a study's areas, judges and answers, and say what comes next."""
    counts = study.judges.aggregate(
        invited=Count("pk"),
        begun=Count("pk", filter=Q(judged__gt=0)),
        withdrawn=Count("pk", filter=Q(withdrawn_at__isnull=False)),
        judged=Sum("judged"),
    )
    # A judge's last answer is to a pair at position ``judged`` or later; reading a million answers takes half a second.
    latest = study.judges.filter(pairs__practice=False, pairs__position__gte=F("judged"))
    last = latest.aggregate(last=Max("pairs__answers__answered_at"))["last"]
    counts["judged"] = counts["judged"] or 0
    return Summary(
        areas=study.areas.count(),
        edges=study.edges.filter(removed_in=None).count(),
        last_answer=last,
        next_step=next_step(study, counts["invited"]),
        **counts,
    )


def next_step(study: Study, invited: int) -> str:
    """Name the step that most helps the study on: try, invite, share the link, wait, open or export."""
    if study.status == Study.Status.DRAFT:
        return "try"
    if study.status == Study.Status.PAUSED:
        return "open"
    if study.status == Study.Status.CLOSED:
        return "export"
    if study.join_code:
        return "link"
    return "wait" if invited else "invite"
