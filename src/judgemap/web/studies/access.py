"""Who may see and change which study: its owner, colleagues and readers. For everyone else it does not exist."""

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from judgemap.errors import StudyError
from judgemap.web.accounts.actions import find_researcher
from judgemap.web.accounts.models import Researcher
from judgemap.web.server.errors import Forbidden
from judgemap.web.server.forms import by_script, sentence, whole_number
from judgemap.web.studies.editing import locked
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Study

View = Callable[..., HttpResponseBase]
SAFE = ("GET", "HEAD", "OPTIONS")
READ_ONLY = _("You can look at this study but not change it. Ask its owner if you need to.")


def researcher_of(request: HttpRequest) -> Researcher:
    """Return the researcher who is signed in."""
    if not isinstance(request.user, Researcher):
        raise PermissionDenied
    return request.user


def studies_of(researcher: Researcher) -> QuerySet[Study]:
    """Return the studies that a researcher owns or shares, each with ``read_only``."""
    reads = Exists(researcher.readable_studies.filter(pk=OuterRef("pk")))
    mine = Q(owner=researcher) | Q(pk__in=researcher.shared_studies.values("pk")) | Q(read_only=True)
    studies = Study.objects.select_related("current", "owner").defer("current__packed_design")
    return studies.annotate(read_only=reads).filter(mine, deleted_at=None)


class Page:
    """A decorator of views for those whom ``admit`` lets in: as it is, the page only shows something."""

    def __init__(self, admit: Callable[[View], View]) -> None:
        self.admit = admit

    def __call__(self, view: View) -> View:
        """Only show something."""
        return require_safe(self.admit(view))

    def act(self, view: View) -> View:
        """Only do something."""
        return require_POST(self.admit(view))

    def form(self, view: View) -> View:
        """Show a form, and do what it asks for."""
        return require_http_methods(["GET", "HEAD", "POST"])(self.admit(view))


researcher_page = Page(login_required)
"""Require a sign-in."""


@Page
def reading_page(view: View) -> View:
    """Find the study for everyone it is shared with; nobody else learns that it exists."""

    @wraps(view)
    def page(request: HttpRequest, slug: str, **more: object) -> HttpResponseBase:
        study = studies_of(researcher_of(request)).filter(slug=slug).first()
        if study is None:
            raise Http404
        return view(request, study, **more)

    return login_required(page)


@Page
def study_page(view: View) -> View:
    """Find the study as `reading_page` does, and let readers only look; what is refused is said on the study's page."""

    @wraps(view)
    def page(request: HttpRequest, study: Study, **more: object) -> HttpResponseBase:
        if getattr(study, "read_only", False) and request.method not in SAFE:
            raise Forbidden(READ_ONLY)
        try:
            return view(request, study, **more)
        except StudyError as error:
            if request.method in SAFE:
                raise
            return _refused(request, study, error)

    return reading_page.admit(page)


def _refused(request: HttpRequest, study: Study, error: StudyError) -> HttpResponseBase:
    """Say why something was not done, on the page of the study, or on the list if the study is gone."""
    if by_script(request):
        return JsonResponse({"said": sentence(error)}, status=400)
    messages.error(request, sentence(error))
    there = studies_of(researcher_of(request)).filter(slug=study.slug).exists()
    return redirect("studies:overview", study.slug) if there else redirect("studies:list")


@Page
def owner_page(view: View) -> View:
    """Let only the owner in; a colleague is refused."""

    @wraps(view)
    def page(request: HttpRequest, study: Study, **more: object) -> HttpResponseBase:
        if study.owner_id != researcher_of(request).pk:
            raise PermissionDenied
        return view(request, study, **more)

    return study_page.admit(page)


def share_study(study: Study, email: str, by: Researcher, *, to_read: bool = False) -> Researcher:
    """Share a study with the researcher at an email address, or change what they may do."""
    colleague = Researcher.objects.filter(email=email.strip().lower(), is_active=True).first()
    if colleague is None:
        raise StudyError(gettext("no researcher here has this address; invite them under Researchers first"), "email")
    with transaction.atomic():
        study = locked(study)
        if colleague == study.owner:
            raise StudyError(gettext("this is the study's owner"), "email")
        now, before = (study.readers, study.colleagues) if to_read else (study.colleagues, study.readers)
        before.remove(colleague)
        now.add(colleague)
        record(study, by, "shared", {"with": colleague.email} | ({"to": "read"} if to_read else {}))
    return colleague


def unshare_study(study: Study, colleague_id: str, by: Researcher) -> None:
    """Stop sharing a study with a colleague; nothing happens if it was not shared."""
    with transaction.atomic():
        study = locked(study)
        for shared in (study.colleagues, study.readers):
            for colleague in shared.filter(pk=whole_number(colleague_id) or 0):
                shared.remove(colleague)
                record(study, by, "unshared", {"with": colleague.email})


def give_study(study: Study, email: str) -> Researcher:
    """Make a researcher the owner of a study; the previous owner stays on as a colleague."""
    owner = find_researcher(email)
    with transaction.atomic():
        study = locked(study)
        if study.owner is not None and study.owner != owner:
            study.colleagues.add(study.owner)
        study.colleagues.remove(owner)
        study.readers.remove(owner)
        study.owner = owner
        study.save(update_fields=["owner"])
        record(study, None, "given", {"to": owner.email})
    return owner
