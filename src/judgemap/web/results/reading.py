"""A link for reading: a page of one fit's results for people without an account.

The researcher chooses what it shows, and may set a password and a last day. It never shows answers or judges. A link
that is wrong, over or revoked is answered like one that never was.
"""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.hashers import check_password, make_password
from django.db import transaction
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_safe

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Researcher
from judgemap.web.results.files import BRIEFING_POLICY, areas_csv, briefing_text, has_briefing
from judgemap.web.results.models import FitRun, ReadingLink
from judgemap.web.results.pages import SeenMap, add_verdicts, fit_page, show_page
from judgemap.web.results.risk_map import by_risk, draw_whole, layer_makers
from judgemap.web.server.forms import StudyForm, whole_number
from judgemap.web.server.limits import WRONG_GUESSES, Brake
from judgemap.web.server.tokens import hashed, make_token, whole_address
from judgemap.web.studies.access import researcher_of
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Study, imprint_of

SHOWS = {"map": _("The map"), "table": _("The table of areas"), "briefing": _("The briefing")}
MOST_LINKS = 50
MOST_ROWS = 200
"""How many areas the page lists; the file has all."""
PASSWORDS = Brake("reading passwords", most=10, seconds=60.0)
REMEMBERED = timedelta(hours=8)
"""For how long a browser that gave the password is not asked again."""


class LinkForm(StudyForm):
    """Who a link is for, what it shows, and how it is kept."""

    name = forms.CharField(
        label=_("Who is it for?"), max_length=60, help_text=_("To help you recognise it; readers do not see it.")
    )
    shows = forms.MultipleChoiceField(
        label=_("It shows"), choices=list(SHOWS.items()), widget=forms.CheckboxSelectMultiple, initial=list(SHOWS)
    )
    password = forms.CharField(
        label=_("Password"),
        required=False,
        min_length=8,
        max_length=100,
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    until = forms.DateField(label=_("Last day"), required=False, widget=forms.DateInput({"type": "date"}))
    embeds = forms.BooleanField(
        label=_("Other sites may show it in a frame"), required=False, help_text=_("Only without a password.")
    )

    def clean(self) -> dict[str, Any]:
        """Check the day, and that a page in a frame has no password."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if given.get("until") and given["until"] < timezone.localdate():
            self.add_error("until", gettext("This day is over; choose a later one."))
        if given.get("embeds") and given.get("password"):
            self.add_error("embeds", gettext("A page in a frame cannot ask for a password; choose one of the two."))
        return given


@fit_page.form
def share(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Make a link for reading and show it once; list those that there are."""
    form, made = LinkForm(request.POST or None), ""
    if form.is_valid():
        with form.refusals():
            token = make_link(run, form.cleaned_data, researcher_of(request))
            made, form = whole_address(request, reverse("reading:page", args=[token])), LinkForm()
    context = {"form": form, "made": made, "links": run.reading_links.order_by("-pk"), "today": timezone.localdate()}
    return show_page(request, "results/share.html", study, run, context, 400 if form.errors else 200)


@fit_page.act
def revoke(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Revoke a link, for good."""
    with transaction.atomic():
        there = run.reading_links.filter(pk=whole_number(request.POST.get("link", "")) or 0, revoked_at=None)
        name = there.values_list("name", flat=True).first()
        if there.update(revoked_at=timezone.now()):
            record(study, researcher_of(request), "reading link revoked", {"fit": run.number, "for": name})
            messages.success(request, gettext("The link is revoked: nobody can open it any more."))
    return redirect("results:share", study.slug, run.number)


def make_link(run: FitRun, given: dict[str, Any], by: Researcher | None = None) -> str:
    """Make a link for reading a fit, and return its token, of which only a hash is kept."""
    token = make_token()
    with transaction.atomic():
        if ReadingLink.objects.filter(fit=run, revoked_at=None).count() >= MOST_LINKS:
            raise StudyError(gettext("this fit has %(most)s links; revoke one first"), most=MOST_LINKS)
        ReadingLink.objects.create(
            fit=run, token_hash=hashed(token), name=given["name"], shows=list(given["shows"]), until=given["until"],
            password=make_password(given["password"]) if given["password"] else "", embeds=given["embeds"],
        )  # fmt: skip
        about = {"fit": run.number, "for": given["name"], "shows": list(given["shows"])}
        until = given["until"] and given["until"].isoformat()
        record(run.study, by, "reading link made", about | {"until": until, "password": bool(given["password"])})
    return token


def find_link(token: str) -> ReadingLink:
    """Find a link that still works; any other is answered as if it had never been."""
    current = Q(until=None) | Q(until__gte=timezone.localdate())
    links = ReadingLink.objects.filter(current, token_hash=hashed(token), revoked_at=None)
    links = links.filter(fit__status=FitRun.Status.DONE, fit__study__deleted_at=None)
    link = links.select_related("fit__study__current", "fit__version").defer("fit__rows", "fit__findings").first()
    if link is None:
        WRONG_GUESSES.allows()
        raise Http404
    return link


def _cookie(link: ReadingLink) -> str:
    return f"reading-{link.pk}"


def _let_in(request: HttpRequest, link: ReadingLink) -> bool:
    """Say whether a reader need not, or need no longer, give the password."""
    if not link.password:
        return True
    said = request.get_signed_cookie(_cookie(link), "", max_age=int(REMEMBERED.total_seconds()))
    return said == hashed(link.password)


def _part(request: HttpRequest, token: str, name: str) -> FitRun:
    """Find the fit of a link that shows a part, for somebody who may see it."""
    link = find_link(token)
    if name not in link.shows or not _let_in(request, link):
        raise Http404
    return link.fit


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, token: str) -> HttpResponse:
    """Show what a link shows, after its password if it has one."""
    link = find_link(token)
    if request.method == "POST" and link.password:
        fine = PASSWORDS.allows(str(link.pk)) and check_password(request.POST.get("password", ""), link.password)
        if not fine:
            return _kept_in(render(request, "reading/password.html", {"wrong": True}, status=403), link)
        response = redirect("reading:page", token)
        response.set_signed_cookie(
            _cookie(link), hashed(link.password), max_age=REMEMBERED, path=reverse("reading:page", args=[token]),
            httponly=True, secure=request.is_secure(), samesite="Lax",
        )  # fmt: skip
        return response
    if not _let_in(request, link):
        return _kept_in(render(request, "reading/password.html", {"wrong": False}), link)
    run = link.fit
    add_verdicts([run])
    shows = [each for each in link.shows if each != "briefing" or _has_briefing(run)]
    rows = SeenMap(run).rows if "table" in shows else []
    context = {
        "study": run.study, "run": run, "token": token, "shows": shows, "verdict": run.verdict,
        "whose": run.record.made_by, "until": link.until,
        "rows": [rows[at] for at in by_risk(rows)[:MOST_ROWS]], "count": len(rows),
    }  # fmt: skip
    return _kept_in(render(request, "reading/page.html", context), link)


def _has_briefing(run: FitRun) -> bool:
    """Whether the worker and the researcher have both written their part of the briefing."""
    return has_briefing(run) and bool(imprint_of(run.study).next_steps.strip())


def _kept_in(response: HttpResponse, link: ReadingLink) -> HttpResponse:
    """Tell other sites no addresses, and let a page into their frames only where the link allows it."""
    response["Referrer-Policy"] = "no-referrer"
    if link.embeds:
        response.xframe_options_exempt = True
        response._csp_replace = {"frame-ancestors": ["*"]}  # type: ignore[attr-defined]  # noqa: SLF001 - django-csp's
    return response


@require_safe
def map_picture(request: HttpRequest, token: str) -> HttpResponse:
    """Draw the map."""
    run = _part(request, token, "map")
    seen = SeenMap(run)
    return draw_whole(run.study, seen, layer_makers(seen.rows, {})["risk"]())


@require_safe
def table(request: HttpRequest, token: str) -> HttpResponse:
    """Send the table of areas."""
    run = _part(request, token, "table")
    name = f'attachment; filename="{run.study.slug}.csv"'
    return HttpResponse(areas_csv(SeenMap(run)).encode("utf-8-sig"), "text/csv", headers={"Content-Disposition": name})


@require_safe
def briefing(request: HttpRequest, token: str) -> HttpResponse:
    """Show the briefing."""
    run = _part(request, token, "briefing")
    if not _has_briefing(run):
        raise Http404
    text = briefing_text(run)
    return HttpResponse(text, headers={"Content-Security-Policy": BRIEFING_POLICY})
