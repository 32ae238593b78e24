"""Studies at the edge of what can be fitted: the worker explains each, and every page and file of it answers."""

from dataclasses import replace

import numpy as np
import pytest
from django.urls import reverse

from judgemap.core.model.graph import AreaGraph
from judgemap.geo.maps import Areas
from judgemap.study.fit.settings import FitSettings
from judgemap.web.results.actions import ask_for_fit
from judgemap.web.results.files import KINDS
from judgemap.web.results.models import FitRun
from judgemap.web.studies import editing, making
from judgemap.web.studies.models import Study

QUICK = {"chains": 2, "warmup": 5, "draws": 20, "seed": 1}
MODELS = {
    "spatial": FitSettings(**QUICK, as_in_paper=True),
    "standard": FitSettings(model="standard", **QUICK, as_in_paper=True),
    "clusters": FitSettings(model="clusters", thin=1, **QUICK),
}
PAGES = ("map", "convergence", "checks", "compare", "files", "briefing")
OF_STUDY = ("dashboard:live", "dashboard:now", "dashboard:areas", "fits:judges", "fits:reliability", "fits:list")
NASTY = ("=1+1", "<script>alert(1)</script>", "NA", "none", "a, \"b\" & 'c'", "-", "@x", "نص")


def some(areas: Areas, count: int) -> Areas:
    """The first areas of a map."""
    edges = areas.graph.edges[(areas.graph.edges < count).all(axis=1)]
    return Areas(areas.ids[:count], areas.names[:count], AreaGraph(count, edges), areas.geometry[:count])


def without_map(areas: Areas) -> Areas:
    return Areas(areas.ids, areas.names, areas.graph)


def islands(areas: Areas) -> Areas:
    """The same map with no neighbours at all but two."""
    return Areas(areas.ids, areas.names, AreaGraph(len(areas), np.array([[0, 1]])), areas.geometry)


def nasty(areas: Areas) -> Areas:
    """Areas whose names and ids are not what one hopes for."""
    few = some(areas, len(NASTY))
    return Areas(NASTY, NASTY, few.graph, few.geometry)


ODD = {
    "two areas": (lambda areas: some(areas, 2), {"judges": 1, "each": 5}),
    "one answer": (lambda areas: areas, {"judges": 1, "each": 1}),
    "one pair": (lambda areas: areas, {"judges": 2, "each": 6, "areas": 2}),
    "half of the areas": (lambda areas: areas, {"judges": 2, "each": 20, "areas": 6}),
    "nearly all ties": (lambda areas: areas, {"judges": 2, "each": 10, "outcomes": ["tie"] * 9 + ["left"]}),
    "skipped but for one": (lambda areas: areas, {"judges": 2, "each": 10, "outcomes": ["skipped"] * 9 + ["left"]}),
    "no map": (without_map, {"judges": 2, "each": 20}),
    "no neighbours": (islands, {"judges": 2, "each": 20}),
    "nasty names": (nasty, {"judges": 2, "each": 20}),
}


@pytest.fixture
def whole(carry_out):
    """Make a fit and everything that explains it."""

    def made(study: Study, settings: FitSettings) -> FitRun:
        run = ask_for_fit(study, settings)
        carry_out(run)
        return run

    return made


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("odd", ODD)
def test_every_page_and_file_of_an_odd_study(people, clients, definition, areas, answers, whole, odd, model):
    change, given = ODD[odd]
    definition = replace(definition, translations={})
    study = editing.open_study(making.create_study(definition, change(areas), people["owner"]), people["owner"])
    answers(study, **given)
    run = whole(study, MODELS[model])
    if (odd, model) == ("no neighbours", "clusters"):
        assert "'Ward 1.3' has no neighbour to share a cluster with; join it" in run.said
        return
    assert run.status == FitRun.Status.DONE, run.said
    assert "broke down" not in run.log
    client, wrong = clients["owner"], []

    def visit(name: str, *more: object) -> bytes:
        response = client.get(reverse(name, args=[study.slug, *more]))
        text = b"".join(response) if response.streaming else response.content
        if response.status_code not in (200, 204) and not (response.status_code == 409 and name == "results:download"):
            wrong.append((name, more, response.status_code, text[:200]))
        if b"<script>alert" in text and not name.endswith("download"):
            wrong.append((name, "runs a name"))
        return text

    for page in PAGES:
        visit(f"results:{page}", run.number)
    visit("results:area", run.number, 1)
    for kind in KINDS:
        if kind != "pdf":
            visit("results:download", run.number, kind)
    for page in OF_STUDY:
        visit(page)
    visit("fits:log", run.number)
    assert wrong == []
