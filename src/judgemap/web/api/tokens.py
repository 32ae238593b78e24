"""Tokens that let a program read a study: making, finding and revoking them, and the page for that."""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Literal

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Researcher
from judgemap.web.api.models import SCOPES, ApiToken
from judgemap.web.server.forms import StudyForm, whole_number
from judgemap.web.server.tokens import hashed, whole_address
from judgemap.web.studies.access import owner_page, researcher_of
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Study

MOST = 50
"""How many tokens one researcher may have at a time."""
USED_WITHIN = timedelta(minutes=1)
Reach = Literal["study", "all"]


def make_token(
    study: Study, by: Researcher, *, name: str, scopes: Sequence[str], days: int, reach: Reach = "study"
) -> str:
    """Make a token on a study's page and return it, the only time it is shown; the study's log records this."""
    token = f"jm_{secrets.token_urlsafe(32)}"
    now = timezone.now()
    with transaction.atomic():
        ApiToken.objects.filter(researcher=by, expires_at__lt=now - timedelta(days=30)).delete()
        if ApiToken.objects.filter(researcher=by).count() >= MOST:
            raise StudyError(gettext("you have %(most)s tokens already; revoke one that is not used"), most=MOST)
        ApiToken.objects.create(
            researcher=by,
            study=study if reach == "study" else None,
            name=name,
            hint=token[:7],
            token_hash=hashed(token),
            scopes=sorted(scopes),
            created_at=now,
            expires_at=now + timedelta(days=days),
        )
        detail = {"token": f"{token[:7]}… {name}", "scopes": sorted(scopes), "days": days}
        record(study, by, "API token made", detail | ({"studies": "all"} if reach == "all" else {}))
    return token


def revoke_token(study: Study, by: Researcher, key: str) -> bool:
    """Revoke a token at once and for good; False if the researcher has no such token."""
    with transaction.atomic():
        token = tokens_of(study, by).filter(pk=whole_number(key) or 0).first()
        if token is None:
            return False
        record(study, by, "API token revoked", {"token": str(token)})
        token.delete()
    return True


def tokens_of(study: Study, researcher: Researcher) -> QuerySet[ApiToken]:
    """Return a researcher's tokens that open a study."""
    return ApiToken.objects.filter(Q(study=study) | Q(study=None), researcher=researcher).order_by("-created_at")


def find_token(token: str) -> ApiToken | None:
    """Find a valid token, and note that it was used."""
    now = timezone.now()
    known = (
        ApiToken.objects.select_related("researcher")
        .filter(token_hash=hashed(token), expires_at__gt=now, researcher__is_active=True)
        .first()
    )
    # Written once a minute: a program that asks five times a second should not write five times a second.
    if known is not None and (known.last_used_at is None or now - known.last_used_at > USED_WITHIN):
        ApiToken.objects.filter(pk=known.pk).update(last_used_at=now)
    return known


def studies_of_token(token: ApiToken) -> QuerySet[Study]:
    """Return the studies that a token opens: its own, or all that its researcher owns."""
    mine = (
        Study.objects.select_related("current")
        .defer("current__packed_design")
        .filter(owner=token.researcher_id, deleted_at=None)
    )
    return mine if token.study_id is None else mine.filter(pk=token.study_id)


DAYS = ((7, _("a week")), (30, _("30 days")), (90, _("90 days")), (365, _("a year")))
REACH = (("study", _("This study only")), ("all", _("Every study I own")))


@owner_page.form
def tokens(request: HttpRequest, study: Study) -> HttpResponse:
    """Make a token and show it once; list the existing ones."""
    form = TokenForm(request.POST or None)
    made = ""
    if form.is_valid():
        with form.refusals():
            made = make_token(study, researcher_of(request), **form.cleaned_data)
            form = TokenForm()
    address = whole_address(request, reverse("api-v1:comparisons", args=[study.slug]))
    context = {
        "study": study, "form": form, "made": made, "address": address, "here": "api", "now": timezone.now(),
        "tokens": tokens_of(study, researcher_of(request)), "scopes": SCOPES,
    }  # fmt: skip
    return render(request, "api/tokens.html", context, status=400 if form.errors else 200)


@owner_page.act
def revoke(request: HttpRequest, study: Study) -> HttpResponse:
    """Revoke a token."""
    if revoke_token(study, researcher_of(request), request.POST.get("token", "")):
        messages.success(request, _("The token is revoked. Programs that use it will be refused from now on."))
    return redirect("api:tokens", study.slug)


class TokenForm(StudyForm):
    """A token: what it is for, what it may read, and for how long."""

    name = forms.CharField(
        label=_("What is it for?"),
        max_length=60,
        help_text=_("To help you recognise it, for example “Nightly fit on the cluster”."),
    )
    scopes = forms.MultipleChoiceField(
        label=_("It may read"),
        choices=list(SCOPES.items()),
        widget=forms.CheckboxSelectMultiple,
        initial=list(SCOPES),
        error_messages={"required": _("Choose at least one thing it may read.")},
    )
    reach = forms.ChoiceField(label=_("It opens"), choices=REACH, widget=forms.RadioSelect, initial="study")
    days = forms.TypedChoiceField(label=_("It works for"), choices=DAYS, coerce=int, initial=90)
