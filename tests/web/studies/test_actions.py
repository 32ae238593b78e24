"""What researchers' acts do to a study: never to an answer."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.study.data.definition import StudyDefinition
from judgemap.web.judge.models import Answer, Pair
from judgemap.web.studies import access, editing, making
from judgemap.web.studies.areas import load_areas, load_graph
from judgemap.web.studies.models import Act, Edge, Study, StudyVersion


def test_a_study_keeps_its_areas_edges_and_definition(study, areas, definition):
    loaded = load_areas(study.version)
    assert (loaded.ids, loaded.names) == (areas.ids, areas.names)
    assert np.array_equal(loaded.graph.edges, areas.graph.edges)
    assert loaded.geometry.to_crs("EPSG:27700").area.round(-2).eq(1_000_000).all()
    assert editing.definition_of(study) == definition


def test_studies_of_one_title_get_names_of_their_own(study, areas, definition):
    assert making.create_study(definition, areas).slug == "wards-2"


def test_a_map_with_too_many_areas_is_refused_before_it_is_drawn(areas, definition, db, monkeypatch):
    """Also from the command line, which reads maps without the limits of an upload."""
    monkeypatch.setattr(editing, "MOST_AREAS", 15)
    monkeypatch.setattr(making, "draw_areas", None)
    with pytest.raises(StudyError, match="the map has 16 areas; up to 15 can be judged, so use larger areas"):
        making.create_study(definition, areas)
    assert not Study.objects.exists()


def test_an_edit_is_a_new_version_and_destroys_no_answer(judge, study, edit):
    judge.answer("left")
    edit(question="Which ward, then?")
    assert list(StudyVersion.objects.values_list("number", "question")) == [
        (1, "Which ward has the LOWER rate?"),
        (2, "Which ward, then?"),
    ]
    assert Answer.objects.count() == 1
    assert Pair.objects.order_by("pk").first().version.number == 1
    judge.answer("left")
    assert Pair.objects.order_by("pk").last().version.number == 2


def test_an_edit_of_what_somebody_has_changed_meanwhile_is_refused(study, definition):
    """The pages check this too, but before they hold the study's row."""
    read = editing.find_study(study.slug)
    editing.edit_study(editing.find_study(study.slug), replace(definition, title="Theirs"))
    with pytest.raises(StudyError, match="Someone else has changed this study"):
        editing.edit_study(read, replace(definition, question="Mine?"))
    read = editing.find_study(study.slug)
    promised = timezone.localdate() + timedelta(days=30)
    editing.set_end(editing.find_study(study.slug), promised)
    with pytest.raises(StudyError, match="Someone else has changed this study"):
        editing.edit_study(read, replace(editing.definition_of(read), question="Mine?"))
    study = editing.find_study(study.slug)
    assert (study.version.number, study.version.title, study.answers_until) == (2, "Theirs", promised)


def test_an_owner_is_never_a_colleague_too(owned, people):
    read = editing.find_study(owned.slug)
    access.give_study(editing.find_study(owned.slug), people["stranger"].email)
    with pytest.raises(StudyError, match="this is the study's owner"):
        access.share_study(read, people["stranger"].email, people["owner"])
    assert access.give_study(read, people["teammate"].email) == people["teammate"]
    assert set(owned.colleagues.all()) == {people["owner"], people["stranger"]}


def test_an_edge_is_added_and_removed_in_new_versions(study):
    far, near, first = study.areas.get(code="W15"), study.areas.get(code="W01"), study.areas.get(code="W00")
    before = load_graph(study.version)
    assert editing.change_edge(study, far, first) is not None
    assert editing.change_edge(study, first, near) is None
    study = editing.find_study(study.slug)
    edges = load_graph(study.version).edges.tolist()
    assert [0, 15] in edges
    assert [0, 1] not in edges
    assert np.array_equal(load_graph(study.versions.get(number=1)).edges, before.edges)
    assert editing.change_edge(study, near, first) is not None
    assert [0, 1] in load_graph(editing.find_study(study.slug).version).edges.tolist()


def test_life_of_a_study(areas, definition, db):
    study = making.create_study(definition, areas)
    assert study.status == "draft"
    for act, status in [(editing.open_study, "open"), (editing.pause_study, "paused"), (editing.open_study, "open"),
                        (editing.close_study, "closed")]:  # fmt: skip
        assert act(study).status == status
    with pytest.raises(StudyError, match="is closed and cannot become open"):
        editing.open_study(study)
    with pytest.raises(StudyError, match="is closed"):
        editing.edit_study(study, definition)
    assert editing.reopen_study(study).status == "open"
    assert list(Act.objects.order_by("pk").values_list("verb", flat=True)) == [
        "created", "open", "paused", "open", "closed", "reopened",
    ]  # fmt: skip


def test_an_unknown_study_lists_those_there_are(study):
    with pytest.raises(StudyError, match=r"no study 'ward' \(did you mean 'wards'\?\); there are 'wards'"):
        editing.find_study("ward")


def test_a_language_that_is_not_translated_is_refused(areas, definition, db):
    with pytest.raises(StudyError, match="'de' is not translated"):
        making.create_study(replace(definition, languages=("en", "de"), translations={}), areas)
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ({"recommended": 0}, "version_recommended_to_maximum"),
        ({"maximum": 1}, "version_recommended_to_maximum"),
        ({"direction": "down"}, "version_direction"),
    ],
)
def test_the_database_refuses_what_cannot_be(study, fields, constraint):
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        StudyVersion.objects.filter(study=study).update(**fields)


def test_the_database_refuses_an_edge_twice_or_to_itself(study):
    edge = Edge.objects.filter(study=study).first()
    for a, b in [(edge.a, edge.b), (edge.b, edge.a), (edge.a, edge.a)]:
        with pytest.raises(IntegrityError), transaction.atomic():
            Edge.objects.create(study=study, a=a, b=b, origin="added")


def test_definitions_survive_the_database(db, areas):
    definition = StudyDefinition("T", "Q?", "higher", ties=False, skips=False, access="open", thanks="*Ta*")
    assert editing.definition_of(making.create_study(definition, areas)) == definition


CONTRADICTIONS = [
    {"direction": "higher"},
    {"question": "Which ward has the HIGHEST rate?"},
    {"translations": {"fr": {"question": "Quel quartier a le taux le plus élevé ?"}}},
    {"languages": ("en", "es"), "translations": {"es": {"question": "¿Qué zona tiene la tasa más alta?"}}},
    {"translations": {"ar": {"question": "أي حي لديه المعدل الأعلى؟"}}},
]


@pytest.mark.parametrize("fields", CONTRADICTIONS)
def test_a_question_that_contradicts_its_direction_is_refused(db, areas, definition, people, fields):
    with pytest.raises(StudyError, match="the question asks for the") as refused:
        making.create_study(replace(definition, **fields), areas)
    assert refused.value.field == "question"
    study = making.create_study(definition, areas)
    with pytest.raises(StudyError, match="the question asks for the"):
        editing.change_study(study, people["owner"], replace(definition, **fields))
    editing.edit_study(study, replace(definition, **fields))
    with pytest.raises(StudyError, match="the question asks for the"):
        editing.open_study(editing.find_study(study.slug))
