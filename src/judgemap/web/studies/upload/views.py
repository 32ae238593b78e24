"""From a boundary file to a draft, in two steps."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from judgemap.errors import StudyError
from judgemap.web.server.forms import sentence
from judgemap.web.studies.access import researcher_of, researcher_page
from judgemap.web.studies.models import Upload
from judgemap.web.studies.upload.actions import keep_upload, make_study, parse_toml
from judgemap.web.studies.upload.forms import ColumnsForm, UploadForm


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_page
def upload(request: HttpRequest) -> HttpResponse:
    """Step 1: take the boundary file."""
    form = UploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            kept = keep_upload(researcher_of(request), form.cleaned_data["boundaries"], form.cleaned_data["definition"])
            return redirect("studies:columns", kept.pk)
        except StudyError as error:
            form.add_error("boundaries", sentence(error))
    return render(request, "studies/upload.html", {"form": form}, status=400 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_page
def columns(request: HttpRequest, upload: int) -> HttpResponse:
    """Step 2: choose the columns, and say what is asked."""
    found = get_object_or_404(Upload.objects.defer("content"), pk=upload, researcher=researcher_of(request))
    form = ColumnsForm(found, request.POST or None, initial=_first_choice(found))
    if form.is_valid():
        try:
            study = make_study(found, form.cleaned_data, researcher_of(request))
            messages.success(request, "Your draft is ready. Look at its map first.")
            return redirect("studies:map", study.slug)
        except StudyError as error:
            form.add_study_error(error)
    context = {"form": form, "upload": found, "columns": found.inspection["columns"][:12]}
    return render(request, "studies/columns.html", context, status=400 if form.errors else 200)


def _first_choice(upload: Upload) -> dict[str, object]:
    guessed = {"id": upload.inspection["id"], "name": upload.inspection["name"]}
    if not upload.definition:
        return guessed
    study = parse_toml(upload.definition)
    said = {key: getattr(study.areas, key) for key in ("id", "name", "crs", "contiguity")}
    texts = {key: getattr(study, key) for key in ("title", "question", "direction")}
    return guessed | {key: value for key, value in said.items() if value} | texts
