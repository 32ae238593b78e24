"""Researchers' pages about a study as a whole: the list, the overview, its status, its colleagues and its log."""

import re
from dataclasses import dataclass
from datetime import timedelta

from django import forms
from django.contrib import messages
from django.db.models import Count, Max, Q, Sum
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from judgemap.study.data.definition import CONSENT, LONGEST, write_definition
from judgemap.web.server.forms import StudyForm, search_words
from judgemap.web.server.tokens import check_address, whole_address
from judgemap.web.studies import editing
from judgemap.web.studies.access import (
    owner_page,
    researcher_of,
    researcher_page,
    share_study,
    studies_of,
    study_page,
    unshare_study,
)
from judgemap.web.studies.keeping import GRACE, bring_back, certificate_of, days_left, delete_study
from judgemap.web.studies.log import log_head
from judgemap.web.studies.models import Draft, Study
from judgemap.web.studies.upload.drafts import ask_for_copy

LONG = 8
"""A list with at least this many studies can be searched."""
LONGEST_LOG = 500
BUSY_FOR = timedelta(minutes=1)
"""Longer than answers keep a judge busy: `answering.BURST` and the time that one answer is permitted."""


class DeleteForm(StudyForm):
    """The title of the study to delete, so that nobody deletes one by accident."""

    title = forms.CharField(
        label=_("Type the title of the study to delete it"), max_length=LONGEST["title"], strip=True
    )


class ColleagueForm(StudyForm):
    """Somebody to share a study with."""

    email = forms.EmailField(
        label=_("Your colleague's email address"),
        max_length=254,
        help_text=_(
            "The address they sign in with here. If they have no account, invite them under Researchers first."
        ),
    )
    may = forms.ChoiceField(
        label=_("They may"),
        required=False,
        choices=(
            ("change", _("Do everything except share the study or close it")),
            ("read", _("Look at everything and change nothing")),
        ),
        widget=forms.RadioSelect,
        initial="change",
    )


@researcher_page
def list_studies(request: HttpRequest) -> HttpResponse:
    """List the researcher's studies."""
    studies = studies_of(researcher_of(request)).annotate(n_judges=Count("judges")).order_by("-created_at")
    gone = Study.objects.filter(owner=researcher_of(request), deleted_at__isnull=False).select_related("current")
    deleted = [(study, study.deleted_at + GRACE) for study in gone if study.deleted_at is not None]
    making = Draft.objects.filter(asked_by=researcher_of(request), status__in=Draft.UNDER_WAY)
    words = search_words(request)
    found = studies.filter(current__title__icontains=words) if words else studies
    context = {"studies": found, "words": words, "long": bool(words) or len(found) >= LONG}
    context |= {"deleted": deleted, "making": making}
    return render(request, "studies/list.html", context)


@study_page
def overview(request: HttpRequest, study: Study) -> HttpResponse:
    """Show where a study is, and what to do next."""
    address = whole_address(request, reverse("judge:join", args=[study.join_code])) if study.join_code else ""
    context = {"study": study, "summary": summarise(study), "join_address": address, "here": "overview"}
    context |= {"days_left": days_left(study), "certificate": certificate_of(study)}
    waiting = [code for code in study.version.languages if code not in study.version.offered]
    context |= {"waiting": [(code, translation.get_language_info(code)["name"]) for code in waiting]}
    return render(request, "studies/overview.html", context)


@study_page.act
def status(request: HttpRequest, study: Study) -> HttpResponse:
    """Open or pause a study."""
    acts = {"open": editing.open_study, "pause": editing.pause_study}
    act = acts.get(request.POST.get("act", ""))
    if act is None:
        return redirect("studies:overview", study.slug)
    moved = act(study, researcher_of(request))
    messages.success(request, gettext("The study is %(status)s now.") % {"status": moved.status_word})
    return redirect("studies:overview", study.slug)


@study_page
def opening(request: HttpRequest, study: Study) -> HttpResponse:
    """List what to look at before judges are let in."""
    checks = preflight(study, whole_address(request, "/").rstrip("/"))
    return render(request, "studies/open.html", {"study": study, "checks": checks})


@owner_page.form
def reopen(request: HttpRequest, study: Study) -> HttpResponse:
    """Open a closed study again, after asking for confirmation."""
    return _confirmed(request, study, "reopen", gettext("The study is open again."))


@owner_page.form
def close(request: HttpRequest, study: Study) -> HttpResponse:
    """Close a study, after asking for confirmation."""
    return _confirmed(request, study, "close", gettext("The study is closed. Its answers are kept."))


def _confirmed(request: HttpRequest, study: Study, act: str, said: str) -> HttpResponse:
    if request.method != "POST":
        return render(request, f"studies/{act}.html", {"study": study})
    {"close": editing.close_study, "reopen": editing.reopen_study}[act](study, researcher_of(request))
    messages.success(request, said)
    return redirect("studies:overview", study.slug)


@owner_page.form
def delete(request: HttpRequest, study: Study) -> HttpResponse:
    """Delete a study after its title has been typed; it can be brought back for some days."""
    form = DeleteForm(request.POST or None)
    if form.is_valid():
        with form.refusals():
            delete_study(study, form.cleaned_data["title"], researcher_of(request))
            messages.success(
                request,
                gettext("“%(title)s” is deleted. You can bring it back for %(days)s days.")
                % {"title": study.version.title, "days": GRACE.days},
            )
            return redirect("studies:list")
    context = {"study": study, "form": form, "summary": summarise(study), "days": GRACE.days}
    return render(request, "studies/delete.html", context, status=400 if form.errors else 200)


@researcher_page.act
def undelete(request: HttpRequest, slug: str) -> HttpResponse:
    """Bring a deleted study back."""
    study = get_object_or_404(Study, slug=slug, owner=researcher_of(request), deleted_at__isnull=False)
    bring_back(study, researcher_of(request))
    messages.success(request, _("The study is back."))
    return redirect("studies:overview", slug)


@study_page.act
def duplicate(request: HttpRequest, study: Study) -> HttpResponse:
    """Copy a study as a new draft, without its judges and answers."""
    return redirect("studies:making", ask_for_copy(study, researcher_of(request)).pk)


@study_page
def colleagues(request: HttpRequest, study: Study) -> HttpResponse:
    """Show with whom a study is shared."""
    return _colleagues(request, study, ColleagueForm())


@owner_page.act
def share(request: HttpRequest, study: Study) -> HttpResponse:
    """Share a study with a colleague, or stop sharing it."""
    by = researcher_of(request)
    if "remove" in request.POST:
        unshare_study(study, request.POST["remove"], by)
        return redirect("studies:colleagues", study.slug)
    form = ColleagueForm(request.POST)
    if form.is_valid():
        with form.refusals():
            to_read = form.cleaned_data["may"] == "read"
            colleague = share_study(study, form.cleaned_data["email"], by, to_read=to_read)
            messages.success(request, gettext("Shared with %(colleague)s.") % {"colleague": colleague})
            return redirect("studies:colleagues", study.slug)
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


@study_page
def log(request: HttpRequest, study: Study) -> HttpResponse:
    """Show who did what to a study, the latest first."""
    acts = study.acts.select_related("researcher").order_by("-at", "-pk")[:LONGEST_LOG]
    rows = [(act, [(name, _plain(value)) for name, value in act.detail.items() if value]) for act in acts]
    return render(request, "studies/log.html", {"study": study, "rows": rows, "head": log_head(), "here": "log"})


def _plain(value: object) -> str:
    return "; ".join(str(each) for each in value) if isinstance(value, list) else str(value)


@study_page
def definition(request: HttpRequest, study: Study) -> HttpResponse:  # noqa: ARG001 - a page like the others
    """Send a study's definition as study.toml."""
    text = write_definition(editing.definition_of(study))
    name = f'attachment; filename="{study.slug}.toml"'
    return HttpResponse(text, "application/toml", headers={"Content-Disposition": name})


def summarise(study: Study) -> dict[str, object]:
    """Count a study's areas, judges and answers, and say what comes next."""
    counts = study.judges.aggregate(
        invited=Count("pk"),
        begun=Count("pk", filter=Q(judged__gt=0)),
        withdrawn=Count("pk", filter=Q(withdrawn_at__isnull=False)),
        busy=Max("busy_until", filter=Q(judged__gt=0)),
        judged=Coalesce(Sum("judged"), 0),
    )
    # Nobody is busy for long after an answer, so few judges can have given the last one. To read a million answers
    # takes half a second.
    busy, answered = counts.pop("busy"), study.judges.filter(pairs__practice=False)
    latest = answered.filter(busy_until__gte=busy - BUSY_FOR) if busy else answered
    return counts | {
        "areas": study.areas.count(),
        "edges": study.edges.filter(removed_in=None).count(),
        "last_answer": latest.aggregate(last=Max("pairs__answers__answered_at"))["last"],
        "next_step": next_step(study, counts["invited"]),
    }


def next_step(study: Study, invited: int) -> str:
    """Name the step that most helps the study on: try, invite, share the link, wait, open or export."""
    if study.status != Study.Status.OPEN:
        return {"draft": "try", "paused": "open", "closed": "export"}[study.status]
    if study.join_code:
        return "link"
    return "wait" if invited else "invite"


LONG_MINUTES = 30
"""A judge who is asked for more than this may well stop before the end."""
CONTACT = re.compile(r"\S@\S+\.\w|\+?\d[\d ()/.-]{6,}\d|https?://\S")
"""An email address, a telephone number or a page."""


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at before judges are let in: whether it looks right, what was found, and the page about it."""

    fine: bool
    said: str
    page: str = ""


def preflight(study: Study, address: str) -> list[Check]:
    """List what is worth a look before a study opens; ``address`` is what judges' links would start with."""
    version = study.version
    waiting = [code for code in version.languages if code not in version.offered]
    names = ", ".join(str(translation.get_language_info(code)["name_translated"]) for code in waiting)
    time = ngettext("about %(minutes)s minute", "about %(minutes)s minutes", version.minutes)
    problem = check_address(address)
    asked = editing.asked_direction(version.question, version.languages[0])
    says = {
        "lower": gettext("Judges choose the area with the LOWER rate, and the question says so."),
        "higher": gettext("Judges choose the area with the HIGHER rate, and the question says so."),
    }
    may_not_say = {
        "lower": gettext("Judges choose the area with the LOWER rate. Check that the question says so."),
        "higher": gettext("Judges choose the area with the HIGHER rate. Check that the question says so."),
    }
    return [
        _either(asked == version.direction, says[version.direction], may_not_say[version.direction], "studies:texts"),
        _either(
            CONTACT.search(version.consent),
            gettext("The consent says whom to contact."),
            gettext("The consent names no email address, telephone number or page to contact."),
            "studies:texts",
        ),
        _either(
            version.consent.strip() != CONSENT,
            gettext("The consent is your own text."),
            gettext("The consent is still our example: it does not say who runs the study."),
            "studies:texts",
        ),
        _either(
            version.instructions or version.example,
            gettext("Judges get instructions or an example."),
            gettext("There are no instructions and no example of how to choose."),
            "studies:texts",
        ),
        _either(
            not waiting,
            gettext("Judges can read the study in every language you chose."),
            gettext("These languages are not complete, so judges cannot choose them: %(names)s.") % {"names": names},
            "studies:texts",
        ),
        _either(
            problem is None,
            gettext("Links start with %(address)s.") % {"address": address},
            str(problem),
            "inviting:judges",
        ),
        Check(
            version.minutes <= LONG_MINUTES,
            gettext("Each judge is asked for %(pairs)s pairs, %(time)s.")
            % {"pairs": f"{version.recommended:,}", "time": time % {"minutes": version.minutes}},
            "studies:judging",
        ),
    ]


def _either(fine: object, yes: str, no: str, page: str) -> Check:
    return Check(bool(fine), yes if fine else no, page)
