"""The base map on the study's map page: upload, progress, removal, and tiles for those who may see the study."""

import json

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.web.server.forms import by_script, sentence
from judgemap.web.studies.access import reading_page, researcher_of, study_page
from judgemap.web.studies.basemap import making as actions
from judgemap.web.studies.basemap.pictures import WHOLE_PIXELS, Frame, kept_by_browser, picture
from judgemap.web.studies.models import BaseMap, Extract, Study


class PartForm(forms.Form):
    """A part of an extract, as the page's script sends it; without scripts, the whole extract is one part."""

    content = forms.FileField(max_length=255)
    credit = forms.CharField(max_length=200, required=False)
    name = forms.CharField(max_length=255, required=False)
    size = forms.IntegerField(min_value=1, required=False)
    number = forms.IntegerField(min_value=0, max_value=10_000, required=False)
    extract = forms.IntegerField(min_value=1, required=False)


def job_of(study: Study) -> BaseMap | None:
    """Return the base map that is being made, or that failed; None if the last one is in use or was cancelled."""
    last = BaseMap.objects.filter(study=study).order_by("-pk").first()
    job = last.show_if_lost() if last is not None and last.pk != study.base_map_id else None
    return job if job is not None and job.status != BaseMap.Status.CANCELLED else None


def base_map_of(study: Study) -> dict[str, object]:
    """Return what the map page shows about the base map: the one in use, and what became of the last upload."""
    return {
        "base_map": study.base_map,
        "job": job_of(study),
        "credit": actions.CREDIT,
        "part": actions.PART,
        "largest": actions.LARGEST,
    }


@study_page.act
def change(request: HttpRequest, study: Study) -> HttpResponse:
    """Receive an extract or a part of one, stop making a base map, remove it, or show it in the results."""
    try:
        if "content" in request.FILES:
            return _uploaded(request, study)
        _act(request, study)
    except StudyError as error:
        if by_script(request):
            return JsonResponse({"said": sentence(error)}, status=400)
        messages.error(request, sentence(error))
    return redirect(_here(study))


def _act(request: HttpRequest, study: Study) -> None:
    act, by = request.POST.get("act", ""), researcher_of(request)
    if act == "remove":
        actions.remove_base_map(study, by)
        messages.success(request, _("The base map is removed."))
    elif act == "stop":
        for job in BaseMap.objects.filter(study=study, status__in=BaseMap.UNDER_WAY):
            job.cancel()
    elif act == "results":
        actions.show_in_results(study, by, on="on" in request.POST)
        messages.success(request, _("Saved."))
    else:
        raise StudyError(_("choose a file first"))


def _uploaded(request: HttpRequest, study: Study) -> HttpResponse:
    form = PartForm(request.POST, request.FILES)
    if not form.is_valid():
        raise StudyError(_("the file is empty, or its name is too long; choose another one"))
    given, by = form.cleaned_data, researcher_of(request)
    sent = given["content"]
    if given["number"] is None:
        extract = actions.begin_extract(study, sent.name or "", sent.size or 0)
        for number, part in enumerate(sent.chunks(actions.PART)):
            actions.add_part(extract, number, part)
        actions.ask_for_base_map(extract, given["credit"], by)
        return redirect(_here(study))
    if given["number"] == 0 and not given["extract"]:
        extract = actions.begin_extract(study, given["name"], given["size"] or 0)
    else:
        found = Extract.objects.filter(pk=given["extract"], study=study).first()
        if found is None:
            raise StudyError(_("another upload has started since; choose the file again"))
        extract = found
    there = actions.add_part(extract, given["number"], sent.read())
    if there == -(-extract.size // actions.PART):
        actions.ask_for_base_map(extract, given["credit"], by)
        return JsonResponse({"go": _here(study)})
    return JsonResponse({"extract": extract.pk})


def _here(study: Study) -> str:
    return reverse("studies:map", args=[study.slug]) + "#base-map"


@reading_page
def news(request: HttpRequest, study: Study) -> HttpResponse:
    """Show how far the base map is; when it is done, reload the map page."""
    job = job_of(study)
    if job is None or job.over:
        return HttpResponse(headers={"HX-Refresh": "true"})
    return render(request, "job_news.html", {"job": job, "address": _here(study)})


@reading_page
def whole(request: HttpRequest, study: Study, key: int) -> HttpResponse:
    """Serve a picture of the base map under all areas to somebody who may see the study."""
    if study.base_map_id != key or not study.outline:
        raise Http404
    drawn = picture(key, Frame(*json.loads(study.outline)["box"]), names=False, pixels=WHOLE_PIXELS)
    return kept_by_browser(request, drawn.encode(), "image/svg+xml")
