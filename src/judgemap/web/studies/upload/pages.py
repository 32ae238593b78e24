"""From a boundary file to a draft: the file, its content, and making the draft in a worker."""

import math
from typing import Any

import msgspec
from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from judgemap.errors import StudyError
from judgemap.study.data.definition import LONGEST
from judgemap.web.server.forms import StudyForm, by_htmx, lead_on, sentence
from judgemap.web.studies.access import researcher_of, researcher_page
from judgemap.web.studies.models import Draft, Upload
from judgemap.web.studies.upload.drafts import (
    ENDINGS,
    LARGEST,
    READY,
    SOURCE,
    TEXTS,
    ask_for_draft,
    define,
    keep_upload,
    look_again,
    parse_toml,
    read_toml,
)  # fmt: skip
from judgemap.web.studies.upload.records import REMEDIES, Chosen, FaultKind, FaultyRows, Guess, Remedy

NOWHERE = _(
    "The file does not state one, and its coordinates fit none that we know: it may be a drawing. If you know the "
    "system, enter it, for example EPSG:27700; otherwise look for the same map in longitude and latitude."
)
TOO_LARGE = _(
    "This file is larger than 100 MB. Simplify its boundaries, for example at mapshaper.org or with “Simplify” in "
    "QGIS, or cut out the part you need."
)
MAP_FIELDS = ("place", "crs", "id", "name")
"""Fields about the map come first, with those about its faults; then those about judging."""
DIRECTIONS = (("lower", _("The area with the LOWER rate")), ("higher", _("The area with the HIGHER rate")))


FAULTS = {
    FaultKind.NO_OUTLINE: ngettext_lazy(
        "%(count)s row has no outline: %(rows)s.", "%(count)s rows have no outline: %(rows)s.", "n"
    ),
    FaultKind.NOT_POLYGONS: ngettext_lazy(
        "%(count)s row is a point or a line, not an area: %(rows)s.",
        "%(count)s rows are points or lines, not areas: %(rows)s.",
        "n",
    ),
    FaultKind.NOWHERE: ngettext_lazy(
        "%(count)s row has coordinates that are nowhere on Earth: %(rows)s.",
        "%(count)s rows have coordinates that are nowhere on Earth: %(rows)s.",
        "n",
    ),
    FaultKind.NO_SURFACE: ngettext_lazy(
        "%(count)s row has an outline that encloses nothing: %(rows)s.",
        "%(count)s rows have an outline that encloses nothing: %(rows)s.",
        "n",
    ),
    FaultKind.NO_ID: ngettext_lazy("%(count)s row has no id: %(rows)s.", "%(count)s rows have no id: %(rows)s.", "n"),
    FaultKind.SAME_ID: ngettext_lazy(
        "%(count)s id is in more than one row: %(rows)s.", "%(count)s ids are in more than one row: %(rows)s.", "n"
    ),
    FaultKind.SAME_OUTLINE: ngettext_lazy(
        "%(count)s row has the same outline as an earlier row: %(rows)s.",
        "%(count)s rows have the same outline as an earlier row: %(rows)s.",
        "n",
    ),
    FaultKind.SLIVER: ngettext_lazy(
        "%(count)s row is a sliver, too small and thin to see: %(rows)s.",
        "%(count)s rows are slivers, too small and thin to see: %(rows)s.",
        "n",
    ),
}
LEAVE_OUT, KEEP = _("Leave them out"), _("Keep them as separate areas")
WHAT_TO_DO = {
    (FaultKind.NO_ID, Remedy.REPAIR): _("Give each one its own id, such as row-12"),
    (FaultKind.SAME_ID, Remedy.REPAIR): _("Join the rows of one id into one area, such as an island and its mainland"),
    (FaultKind.SAME_ID, Remedy.LEAVE_OUT): _("Keep the first row of each id, and leave out the others"),
    (FaultKind.SLIVER, Remedy.REPAIR): _("Join each one to the neighbour it shares most border with"),
}


@researcher_page.form
def upload(request: HttpRequest) -> HttpResponse:
    """Step 1: take the boundary file."""
    form = UploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            kept = keep_upload(researcher_of(request), form.cleaned_data["boundaries"], form.cleaned_data["definition"])
            return redirect("studies:columns", kept.pk)
        except StudyError as error:
            form.add_error("boundaries", sentence(error))
    earlier = Upload.objects.filter(researcher=researcher_of(request)).defer("content", "inspection").order_by("-pk")
    context = {"form": form, "earlier": earlier}
    return render(request, "studies/upload.html", context, status=400 if form.errors else 200)


@researcher_page.form
def columns(request: HttpRequest, upload: int) -> HttpResponse:
    """Step 2: look at the map, choose the columns, and say what is asked."""
    kept = get_object_or_404(Upload, pk=upload, researcher=researcher_of(request))
    if "look" in request.POST:
        return _other_layer(request, kept)
    form = ColumnsForm(kept, request.POST or None, initial=first_choice(kept))
    if form.is_valid():
        with form.refusals():
            chosen = form.chosen()
            define(kept, chosen)
            return redirect("studies:making", ask_for_draft(kept, chosen, researcher_of(request)).pk)
    found = form.found
    context = {"form": form, "upload": kept, "found": found, "columns": found.columns[:12]}
    context |= {"promise": promise(found.areas)}
    return render(request, "studies/columns.html", context, status=400 if form.errors else 200)


def promise(n_areas: int) -> str:
    """Say about how long a draft of this many areas takes, by the CPU times in docs/measurements.md.

    >>> promise(100), promise(4_397), promise(32_844)
    ('5 seconds', '25 seconds', '3 minutes')
    """
    seconds = 2 + n_areas / 200
    if seconds <= 90:
        return gettext("%(seconds)s seconds") % {"seconds": 5 * math.ceil(seconds / 5)}
    return gettext("%(minutes)s minutes") % {"minutes": math.ceil(seconds / 60)}


def _other_layer(request: HttpRequest, kept: Upload) -> HttpResponse:
    try:
        look_again(kept, request.POST.get("layer", "")[:200])
    except StudyError as error:
        messages.error(request, sentence(error))
    return redirect("studies:columns", kept.pk)


@researcher_page
def making(request: HttpRequest, draft: int) -> HttpResponse:
    """Show how far a draft is; redirect to its map as soon as that is ready."""
    job = _draft_of(request, draft).show_if_lost()
    if job.status == Draft.Status.DONE:
        if job.study is None:
            return redirect("studies:list")
        if job.said != READY:
            messages.warning(request, job.said)
        return lead_on(request, reverse("studies:map", args=[job.study.slug]))
    if job.over and by_htmx(request):
        return lead_on(request, request.path)
    template = "job_news.html" if by_htmx(request) else "studies/making.html"
    return render(request, template, {"draft": job, "job": job, "address": request.path})


@researcher_page.act
def cancel(request: HttpRequest, draft: int) -> HttpResponse:
    """Stop making a draft, and go back to where it was asked for."""
    job = _draft_of(request, draft)
    job.cancel()
    return redirect("studies:columns", job.upload_id) if job.upload_id else redirect("studies:list")


def _draft_of(request: HttpRequest, key: int) -> Draft:
    return get_object_or_404(Draft.objects.select_related("study"), pk=key, asked_by=researcher_of(request))


def first_choice(upload: Upload) -> dict[str, object]:
    """Fill in what was chosen last for an upload, or else what its study.toml says, or else what was guessed."""
    found = upload.found
    first: dict[str, object] = {"id": found.id, "name": found.name}
    if found.guesses:
        first["place"] = found.guesses[0].crs
    if last := upload.drafts.order_by("-pk").first():
        earlier = msgspec.structs.asdict(last.choice)
        return first | earlier | {fault_field(kind): remedy for kind, remedy in last.choice.remedies.items()}
    if not upload.definition:
        return first
    study = parse_toml(upload.definition)
    columns = {key: getattr(study.areas, key) for key in SOURCE}
    texts = {key: getattr(study, key) for key in (*TEXTS, "answers_until")}
    return first | {key: value for key, value in columns.items() if value} | texts


def fault_field(kind: str) -> str:
    """Name the field that asks what to do about a kind of fault."""
    return f"fault_{kind.replace(' ', '_')}"


class EndOfAnswersField(forms.DateField):
    """The last day on which answers are kept, as researchers fill it in."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - Django's
        super().__init__(
            label=_("Keep answers until"),
            required=False,
            widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d"),
            help_text=_(
                "Judges see this date before they agree. After it, the server deletes all answers, links and figures "
                "about individual judges. Once a judge has agreed, you can bring the date forward but not put it "
                "back. Leave it empty to keep answers indefinitely."
            ),
            **given,
        )


class UploadForm(forms.Form):
    """Step 1: the files."""

    boundaries = forms.FileField(
        label=_("Boundary file"),
        allow_empty_file=True,
        max_length=255,
        widget=forms.FileInput({"accept": ",".join(ENDINGS), "data-largest": LARGEST, "data-large": TOO_LARGE}),
        help_text=_(
            "One row for each area: GeoJSON, TopoJSON, GeoPackage, KML, KMZ, or a zip file with a Shapefile in it. "
            "Up to 100 MB; very detailed outlines are simplified."
        ),
    )
    definition = forms.FileField(
        label=_("study.toml, if you have one"),
        required=False,
        max_length=255,
        widget=forms.FileInput({"accept": ".toml"}),
        help_text=_("Fills in the title, question, texts and settings. Most people do not have one."),
    )

    def clean_definition(self) -> str:
        """Check that the study.toml makes sense."""
        try:
            return read_toml(self.cleaned_data["definition"])
        except StudyError as error:
            raise forms.ValidationError(sentence(error)) from None


class ColumnsForm(StudyForm):
    """Step 2: what identifies an area, where the map is, and what is asked."""

    place = forms.ChoiceField(label=_("Is this the right place?"), widget=forms.RadioSelect, required=False)
    crs = forms.CharField(
        label=_("Coordinate reference system"),
        required=False,
        max_length=60,
        help_text=_(
            "Fill this in only if the file is wrong, or none of the places is right. Great Britain: EPSG:27700."
        ),
    )
    id = forms.ChoiceField(
        label=_("Column with the ids"),
        required=False,
        help_text=_("A unique code for each area, such as E05012345. It links the answers to other data."),
    )
    name = forms.ChoiceField(
        label=_("Column with the names"), required=False, help_text=_("What judges will read on the screen.")
    )
    region = forms.ChoiceField(
        label=_("Column with the larger places"),
        required=False,
        help_text=_(
            "The town or district an area is in. Judges who are asked which part of the map they know choose from "
            "this list. Without a column, names such as “Nottingham 012A” are used."
        ),
    )
    contiguity = forms.ChoiceField(
        label=_("Two areas are neighbours when they share"),
        choices=[("queen", _("a border or a corner")), ("rook", _("a stretch of border"))],
        widget=forms.RadioSelect,
        initial="queen",
        help_text=_("You can add and remove neighbours on the map in the next step."),
    )
    title = forms.CharField(
        max_length=LONGEST["title"],
        help_text=_("Judges see it at the top of every page. For example: Hidden harm in our wards."),
    )
    question = forms.CharField(
        max_length=LONGEST["question"],
        help_text=_("Always on screen. For example: Which ward has the LOWER rate of forced marriage?"),
    )
    direction = forms.ChoiceField(
        label=_("Judges choose"),
        choices=DIRECTIONS,
        widget=forms.RadioSelect,
        initial="lower",
        help_text=_("Say so in the question too. The analysis uses this to read the answers the right way round."),
    )
    answers_until = EndOfAnswersField()

    def __init__(self, upload: Upload, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's
        super().__init__(*args, **kwargs)
        self.found = found = upload.found
        self.columns = {each.name: each for each in self.found.columns}
        names = [(name, name) for name in self.columns]
        self.fields["id"].choices = [("", _("Number the areas for me")), *names]  # type: ignore[attr-defined]
        self.fields["name"].choices = [("", _("The same as the ids")), *names]  # type: ignore[attr-defined]
        if shared := [(name, name) for name, each in self.columns.items() if each.repeated]:
            self.fields["region"].choices = [("", _("Guess from the area names")), *shared]  # type: ignore[attr-defined]
        else:
            del self.fields["region"]
        spots = [("", found.stated)] if found.stated else list(enumerate(found.guesses, start=1))
        self.places: list[tuple[int | str, float, float]] = [
            (number, round((each.longitude + 180) % 360, 1), round(90 - each.latitude, 1)) for number, each in spots
        ]
        if found.guesses:
            places = [(each.crs, f"{number}. {_place(each)}") for number, each in enumerate(found.guesses, start=1)]
            self.fields["place"].choices = [*places, ("", _("None of these: I will enter it below"))]  # type: ignore[attr-defined]
        else:
            del self.fields["place"]
            if not found.stated:
                self.fields["crs"].help_text = NOWHERE
        for fault in self._faults():
            if remedies := REMEDIES.get(fault.kind):
                usual = {Remedy.LEAVE_OUT: LEAVE_OUT, Remedy.KEEP: KEEP}
                self.fields[fault_field(fault.kind)] = forms.ChoiceField(
                    label=faulty(fault),
                    required=False,
                    widget=forms.RadioSelect,
                    choices=[(each, WHAT_TO_DO.get((fault.kind, each)) or usual[each]) for each in remedies],
                    initial=remedies[0],
                )
        about_the_map = [name for name in self.fields if name in MAP_FIELDS or name.startswith("fault_")]
        self.order_fields(about_the_map)

    @property
    def around(self) -> str:
        """Say where the file itself puts the map, and how large that makes it."""
        at = self.found.stated
        return f"{_degrees(at)}, {at.km:,.{0 if at.km >= 10 else 3}f} km" if at else ""

    @property
    def settled(self) -> list[str]:
        """Say what happens to the faulty rows that leave nothing to choose."""
        one, many = "%(fault)s It will be left out.", "%(fault)s They will be left out."
        alone = [each for each in self._faults() if each.kind not in REMEDIES]
        return [ngettext(one, many, each.count) % {"fault": faulty(each)} for each in alone]

    def _faults(self) -> list[FaultyRows]:
        """Return the faults of the outlines, and those of the ids in the column that is chosen."""
        chosen = self.data.get("id") if self.is_bound else self.initial.get("id")
        column = self.columns.get(str(chosen))
        if column is None:
            return self.found.faults
        unlabelled = FaultyRows(FaultKind.NO_ID, column.empty, [f"row {row}" for row in column.empty_rows])
        shared = FaultyRows(FaultKind.SAME_ID, column.repeated, column.repeated_values)
        return self.found.faults + [each for each in (unlabelled, shared) if each.count]

    def clean(self) -> None:
        """Ask for what the file leaves open: a place, and what to do about missing or repeated ids."""
        given = self.cleaned_data
        if not (given.get("crs") or given.get("place") or self.found.stated):
            self.add_error("crs", gettext("Enter the coordinate reference system: the file does not state it."))
        for kind in (FaultKind.NO_ID, FaultKind.SAME_ID):
            field = fault_field(kind)
            if field in self.fields and field not in self.data:
                text = str(self.fields[field].label)
                self.add_error(
                    "id",
                    gettext("%(text)s Choose another column, or choose below what to do about them.") % {"text": text},
                )

    def chosen(self) -> Chosen:
        """Return what was chosen."""
        given = self.cleaned_data
        kinds = [each.kind for each in self._faults()]
        remedies = {kind: Remedy(given[name]) for kind in kinds if given.get(name := fault_field(kind))}
        chosen = {name: given[name] for name in Chosen.__struct_fields__ if name in given}
        chosen["crs"] = given["crs"] or given.get("place", "")
        return Chosen(**chosen, layer=self.found.layer, remedies=remedies)


def faulty(fault: FaultyRows) -> str:
    """Say in a sentence which rows have a fault.

    >>> faulty(FaultyRows(FaultKind.NO_ID, 12, ["row 3", "row 4"]))
    '12 rows have no id: row 3, row 4 and 10 more.'
    """
    listed = ", ".join(fault.labels)
    if rest := fault.count - len(fault.labels):
        listed = gettext("%(listed)s and %(rest)s more") % {"listed": listed, "rest": f"{rest:,}"}
    return str(FAULTS[fault.kind] % {"n": fault.count, "count": f"{fault.count:,}", "rows": listed})


def _degrees(spot: Guess) -> str:
    north = gettext("%(degrees)s° north") if spot.latitude >= 0 else gettext("%(degrees)s° south")
    east = gettext("%(degrees)s° east") if spot.longitude >= 0 else gettext("%(degrees)s° west")
    return f"{north % {'degrees': f'{abs(spot.latitude):.1f}'}}, {east % {'degrees': f'{abs(spot.longitude):.1f}'}}"


def _place(guess: Guess) -> str:
    return gettext("%(place)s: around %(degrees)s (%(name)s)") % {
        "place": guess.place, "degrees": _degrees(guess), "name": guess.name,
    }  # fmt: skip
