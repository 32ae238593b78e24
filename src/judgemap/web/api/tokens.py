"""The page on which a study's owner makes and revokes tokens."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST

from judgemap.errors import StudyError
from judgemap.web.api.actions import Wanted, make_token, revoke_token, tokens_of
from judgemap.web.api.models import SCOPES
from judgemap.web.server.forms import sentence
from judgemap.web.server.tokens import whole_address
from judgemap.web.studies.access import owner_page, researcher_of
from judgemap.web.studies.models import Study

DAYS = ((7, _("a week")), (30, _("30 days")), (90, _("90 days")), (365, _("a year")))
REACH = (("study", _("This study only")), ("all", _("Every study I own")))


@require_http_methods(["GET", "HEAD", "POST"])
@owner_page
def tokens(request: HttpRequest, study: Study) -> HttpResponse:
    """Make a token and show it once; list the existing ones."""
    form = TokenForm(request.POST or None)
    made = ""
    if form.is_valid():
        try:
            made = make_token(study, researcher_of(request), Wanted(**form.cleaned_data))
            form = TokenForm()
        except StudyError as error:
            form.add_error(None, sentence(error))
    address = whole_address(request, reverse("api-v1:comparisons", args=[study.slug]))
    context = {
        "study": study, "form": form, "made": made, "address": address, "here": "api", "now": timezone.now(),
        "tokens": tokens_of(study, researcher_of(request)), "scopes": SCOPES,
    }  # fmt: skip
    return render(request, "api/tokens.html", context, status=400 if form.errors else 200)


@require_POST
@owner_page
def revoke(request: HttpRequest, study: Study) -> HttpResponse:
    """Revoke a token."""
    if revoke_token(study, researcher_of(request), request.POST.get("token", "")):
        messages.success(request, _("The token is revoked. Programs that use it will be refused from now on."))
    return redirect("api:tokens", study.slug)


class TokenForm(forms.Form):
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

    def clean_scopes(self) -> list[str]:
        """Return the scopes in alphabetical order."""
        given: Any = self.cleaned_data["scopes"]
        return sorted(given)
