"""From a boundary file to a draft, in two steps."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from judgemap.errors import StudyError
from judgemap.web.server.forms import StudyForm, sentence
from judgemap.web.studies.access import researcher_of, researcher_page
from judgemap.web.studies.keeping import EndOfAnswersField
from judgemap.web.studies.models import Upload
from judgemap.web.studies.upload.actions import keep_upload, make_study, parse_toml, read_toml

DIRECTIONS = (("lower", "The area with the LOWER rate"), ("higher", "The area with the HIGHER rate"))


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
    kept = get_object_or_404(Upload.objects.defer("content"), pk=upload, researcher=researcher_of(request))
    form = ColumnsForm(kept, request.POST or None, initial=_first_choice(kept))
    if form.is_valid():
        try:
            study = make_study(kept, form.cleaned_data, researcher_of(request))
            messages.success(request, "Your draft is ready. Look at its map first.")
            return redirect("studies:map", study.slug)
        except StudyError as error:
            form.add_study_error(error)
    context = {"form": form, "upload": kept, "columns": kept.inspection["columns"][:12]}
    return render(request, "studies/columns.html", context, status=400 if form.errors else 200)


def _first_choice(upload: Upload) -> dict[str, object]:
    guessed = {"id": upload.inspection["id"], "name": upload.inspection["name"]}
    if not upload.definition:
        return guessed
    study = parse_toml(upload.definition)
    columns = {key: getattr(study.areas, key) for key in ("id", "name", "crs", "contiguity")}
    texts = {key: getattr(study, key) for key in ("title", "question", "direction", "answers_until")}
    return guessed | {key: value for key, value in columns.items() if value} | texts


class UploadForm(forms.Form):
    """Step 1: the files."""

    boundaries = forms.FileField(
        label="Boundary file",
        allow_empty_file=True,
        max_length=255,
        widget=forms.FileInput({"accept": ".geojson,.json,.gpkg,.zip"}),
        help_text="One row for each area: GeoJSON, GeoPackage, or a zip file with a Shapefile in it. Up to 25 MB.",
    )
    definition = forms.FileField(
        label="study.toml, if you have one",
        required=False,
        max_length=255,
        widget=forms.FileInput({"accept": ".toml"}),
        help_text="Fills in the title, question, texts and settings. Most people do not have one.",
    )

    def clean_definition(self) -> str:
        """Check that the study.toml makes sense."""
        try:
            return read_toml(self.cleaned_data["definition"])
        except StudyError as error:
            raise forms.ValidationError(sentence(error)) from None


class ColumnsForm(StudyForm):
    """Step 2: what identifies an area, where the map is, and what is asked."""

    id = forms.ChoiceField(
        label="Column with the ids",
        required=False,
        help_text="A unique code for each area, such as E05012345. It links the answers to other data.",
    )
    name = forms.ChoiceField(
        label="Column with the names", required=False, help_text="What judges will read on the screen."
    )
    contiguity = forms.ChoiceField(
        label="Two areas are neighbours when they share",
        choices=[("queen", "a border or a corner"), ("rook", "a stretch of border")],
        widget=forms.RadioSelect,
        initial="queen",
        help_text="You can add and remove neighbours on the map in the next step.",
    )
    crs = forms.CharField(
        label="Coordinate reference system",
        required=False,
        max_length=60,
        help_text="Only if the file does not state it, or states it wrongly. Great Britain: EPSG:27700.",
    )
    title = forms.CharField(
        max_length=200, help_text="Judges see it at the top of every page. For example: Hidden harm in our wards."
    )
    question = forms.CharField(
        max_length=300,
        help_text="Always in view. For example: Which ward has the LOWER rate of forced marriage?",
    )
    direction = forms.ChoiceField(
        label="Judges choose",
        choices=DIRECTIONS,
        widget=forms.RadioSelect,
        initial="lower",
        help_text="Say it in the question too. The analysis uses this to read the answers the right way round.",
    )
    answers_until = EndOfAnswersField()

    def __init__(self, upload: Upload, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's
        super().__init__(*args, **kwargs)
        columns = upload.inspection["columns"]
        names = [(each["name"], each["name"]) for each in columns]
        own = [(each["name"], each["name"]) for each in columns if each["unique"]]
        self.fields["id"].choices = [("", "Number the areas for me"), *own]  # type: ignore[attr-defined]
        self.fields["name"].choices = [("", "The same as the ids"), *names]  # type: ignore[attr-defined]
        self.fields["crs"].required = not upload.inspection["crs"]
