"""The page of a study's map, where neighbours are joined and separated, and what it loads."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judgemap.web.server.forms import StudyForm, by_script
from judgemap.web.studies import editing
from judgemap.web.studies.access import researcher_of, study_page
from judgemap.web.studies.basemap.pages import base_map_of
from judgemap.web.studies.maps import (
    draw_lines,
    draw_map,
    has_tiles,
    map_facts,
    neighbours_of,
    picture,
    picture_response,
    stored_rings,
)
from judgemap.web.studies.models import Area, Study, Tile, Upload

PLAIN = "#dde5dc"
KEPT = "private, max-age=604800, immutable"
"""A draft made again has another key, and so other addresses: what is at one never changes."""


class EdgeForm(StudyForm):
    """Two areas to make neighbours, or to separate."""

    a: forms.Field = forms.ModelChoiceField(
        Area.objects.none(), label=_("One area"), to_field_name="position", empty_label=_("Choose an area")
    )
    b: forms.Field = forms.ModelChoiceField(
        Area.objects.none(), label=_("Another area"), to_field_name="position", empty_label=_("Choose an area")
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's
        super().__init__(*args, **kwargs)
        areas = study.areas.order_by("name", "position").only("position", "code", "name", "study")
        for field in ("a", "b"):
            self.fields[field].queryset = areas  # type: ignore[attr-defined]

    def clean(self) -> None:
        """Check that the two areas are different."""
        given = self.cleaned_data
        if given.get("a") is not None and given.get("a") == given.get("b"):
            self.add_error("b", gettext("Choose two different areas."))


class NamedArea(forms.CharField):
    """An area by its name or its id."""

    queryset = Area.objects.none()

    def clean(self, value: Any) -> Any:  # noqa: ANN401 - Django's
        """Find the area."""
        text = " ".join(super().clean(value).replace("\0", "").split())
        found = self.queryset.filter(code=text).first()
        called = [found] if found else list(self.queryset.filter(name__iexact=text)[:2])
        if len(called) == 1:
            return called[0]
        if called:
            raise forms.ValidationError(
                gettext("Several areas are called “%(text)s”. Give the id of the one you mean.") % {"text": text}
            )
        like = list(self.queryset.filter(name__icontains=text).values_list("name", flat=True)[:5])
        hint = (
            (gettext("Did you mean %(like)s?") % {"like": ", ".join(like)}) if like else gettext("Check the spelling.")
        )
        raise forms.ValidationError(gettext("No area is called “%(text)s”. %(hint)s") % {"text": text, "hint": hint})


class NamedEdgeForm(EdgeForm):
    """Two areas of a large map, by name or id: a list of all would be too long."""

    a = NamedArea(label=_("One area, by name or id"), max_length=200, widget=forms.TextInput({"autocomplete": "off"}))
    b = NamedArea(
        label=_("Another area, by name or id"), max_length=200, widget=forms.TextInput({"autocomplete": "off"})
    )


@study_page
def tile(request: HttpRequest, study: Study, key: int, level: int, x: int, y: int) -> HttpResponse:  # noqa: ARG001
    """Serve a tile, compressed as it is stored; an empty one if it has no areas."""
    if key != study.pk or level > 9 or max(x, y) >= 2**level:
        raise Http404
    kept = Tile.objects.filter(study=study, level=level, x=x, y=y).values_list("content", flat=True).first()
    headers = {"Cache-Control": KEPT}
    if kept is None:
        return HttpResponse("[]", "application/json", headers=headers)
    return HttpResponse(bytes(kept), "application/json", headers=headers | {"Content-Encoding": "gzip"})


@study_page
def plain_picture(request: HttpRequest, study: Study, key: int) -> HttpResponse:  # noqa: ARG001 - a page
    """Serve the whole map in one colour."""
    if key != study.pk:
        raise Http404
    rings = stored_rings(study.pk)
    response = picture_response(picture(rings, [0] * len(rings), [PLAIN]))
    response["Cache-Control"] = KEPT
    return response


@study_page.form
def show_map(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the areas and their edges; make two areas neighbours, or separate them."""
    large = has_tiles(study)
    form = (NamedEdgeForm if large else EdgeForm)(study, request.POST or None)
    if form.is_valid():
        with form.refusals():
            return _edge_changed(request, study, form)
    notes = study.acts.filter(verb="map read").values_list("detail__notes", flat=True).first()
    file = Upload.objects.filter(drafts__study=study, researcher=researcher_of(request)).defer("content").first()
    shown = map_facts(study.version.pk) if large else draw_map(study)
    context = {"study": study, "form": form, "map": shown, "notes": notes or [], "here": "map", "file": file}
    template = "studies/large_map.html" if large else "studies/map.html"
    return render(request, template, context | base_map_of(study), status=400 if form.errors else 200)


@study_page
def area(request: HttpRequest, study: Study, position: int) -> HttpResponse:  # noqa: ARG001 - a page
    """Name an area and its neighbours, for the page of a large map."""
    found = get_object_or_404(study.areas.only("name", "code"), position=position)
    names = study.areas.filter(position__in=neighbours_of(study.version, position)).order_by("name")
    return JsonResponse(
        {"name": found.name, "id": found.code, "neighbours": list(names.values_list("name", flat=True))}
    )


def _edge_changed(request: HttpRequest, study: Study, form: EdgeForm) -> HttpResponse:
    a, b = form.cleaned_data["a"], form.cleaned_data["b"]
    edge = editing.change_edge(study, a, b, researcher_of(request))
    names = {"one": a.name, "other": b.name}
    apart = gettext("%(one)s and %(other)s are no longer neighbours.") % names
    news = gettext("%(one)s and %(other)s are now neighbours.") % names if edge else apart
    if by_script(request):
        return JsonResponse(
            {"said": news, "joined": edge is not None, "lines": {} if has_tiles(study) else draw_lines(study)}
        )
    messages.success(request, news)
    return redirect("studies:map", study.slug)
