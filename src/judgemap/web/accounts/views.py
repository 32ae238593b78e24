"""Researchers' own pages, in addition to allauth's: one-time links, the account, and the list of researchers."""

from allauth.account import views as allauth_views
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from judgemap.web.accounts import actions
from judgemap.web.accounts.forms import NewResearcherForm, PasswordForm
from judgemap.web.accounts.models import Researcher
from judgemap.web.server.errors import kind_page
from judgemap.web.server.limits import WRONG_GUESSES
from judgemap.web.server.tokens import whole_address

BACKEND = settings.AUTHENTICATION_BACKENDS[0]


@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Create a researcher, or replace a forgotten password, through a one-time link."""
    invited = actions.find_invitation(token)
    if invited is None:
        return _gone(request)
    form_class = PasswordForm if invited.researcher else NewResearcherForm
    form = form_class(request.POST or None)
    if form.is_valid():
        given = form.cleaned_data
        with form.refusals():
            made = actions.accept_invitation(token, given.get("email", ""), given["password"], given.get("name", ""))
            if made is None:
                return _gone(request)
            if invited.researcher:  # with a new password, they sign in as usual, including the second step
                return redirect("account_login")
            login(request, made, backend=BACKEND)
            return redirect("studies:list")
    return render(request, "accounts/invitation.html", {"form": form, "researcher": invited.researcher})


def _gone(request: HttpRequest) -> HttpResponse:
    if not WRONG_GUESSES.allows():
        return kind_page(request, 429, _("One moment"), _("Too many links were tried at once. Please wait a minute."))
    text = _(
        "This link has already been used, has expired, or was not copied in full. Ask the person who "
        "sent it for a new one."
    )
    return kind_page(request, 404, _("This link does not work"), text)


@require_safe
@login_required
def account(request: HttpRequest) -> HttpResponse:
    """Show the researcher's own account."""
    return render(request, "accounts/account.html")


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def researchers(request: HttpRequest) -> HttpResponse:
    """List the researchers, and make a one-time link for one more, which is shown once."""
    by = request.user
    assert isinstance(by, Researcher)  # noqa: S101 - for the type checker
    context: dict[str, object] = {
        "researchers": Researcher.objects.filter(is_active=True).order_by("email"),
        "invited": actions.may_deactivate(by),
    }
    if request.method == "POST":
        token = actions.invite_researcher(by)
        context["address"] = whole_address(request, reverse("accounts:invitation", args=[token]))
    return render(request, "accounts/researchers.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def deactivate(request: HttpRequest, key: int) -> HttpResponse:
    """Deactivate a researcher after asking for confirmation; only whoever invited them may."""
    by = request.user
    if not isinstance(by, Researcher) or key not in actions.may_deactivate(by):
        raise PermissionDenied
    researcher = Researcher.objects.get(pk=key)
    if request.method != "POST":
        return render(request, "accounts/deactivate.html", {"researcher": researcher})
    actions.deactivate_researcher(researcher.email)
    messages.success(request, _("%(email)s can no longer sign in.") % {"email": researcher.email})
    return redirect("accounts:researchers")


def password_reset(request: HttpRequest) -> HttpResponse:
    """Email a link if the server sends mail; otherwise say whom to ask."""
    if settings.MAIL_IS_SENT:
        response: HttpResponse = allauth_views.password_reset(request)
        return response
    return render(request, "accounts/no_mail.html")
