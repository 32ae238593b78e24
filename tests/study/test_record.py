"""fit.json as a typed value, written and read back."""

import json
from dataclasses import replace

import numpy as np
import pytest

import judgemap as jm
from judgemap.study.fit.record import (
    FitRecord,
    Note,
    NoteKind,
    json_value,
)

NOTES = (
    Note(NoteKind.MAP, "Borders that nearly meet, or overlap, were treated as shared: 'a' and 'b'."),
    Note(NoteKind.UNDECIDED, "1,001 of 3,003 shown pairs have no winner (1,001 tie) and are left out of the model."),
    Note(NoteKind.NEVER_COMPARED, "1 of 4 areas were never compared ('d'): their risk rests on the prior alone."),
    Note(NoteKind.GROUPS, "The compared areas fall into 2,000 groups that were never compared with each other: so."),
    Note(NoteKind.ONE_JUDGE, "All answers are one judge's: the map shows what one person thinks."),
    Note(NoteKind.SINGLE_ANSWERS, "Judges with only one answer, treated like any other: 'ann'."),
    Note(NoteKind.SILENT_JUDGES, "The fit says nothing about judges who never answered left, right or tie: 'bob'."),
    Note(NoteKind.PARTS, "The map is in 1,002 parts: no cluster spans two of them."),
)
KEYS = {"model", "made_by", "why", "prior", "hyperparameters", "sampler", "seed", "plan", "complete", "seconds",
        "winner_is", "risk", "view", "data", "versions", "bridges", "notes", "note_kinds", "diagnostics",
        "settings"}  # fmt: skip


@pytest.fixture(scope="module")
def records():
    areas, data = jm.example_study(seed=1)
    quick = {"seed": 1, "chains": 2, "draws": 20}
    kernel = jm.prior_covariance(areas, "matern32", length=2.0 / 3.0)
    fits = (
        jm.fit_standard(data, areas, **quick, as_in_paper=True),
        jm.fit_spatial(data, areas, covariance=kernel, alpha=2.0, **quick, as_in_paper=True),
        jm.fit_clusters(data, areas, warmup=10, thin=1, **quick),
    )
    return [replace(fit.record, notes=NOTES) for fit in fits]


def test_there_and_back(records):
    for record in records:
        assert FitRecord.from_dict(json.loads(json.dumps(record.to_dict()))) == record


def test_the_keys_are_documented(records):
    for record in records:
        assert set(record.to_dict()) == KEYS | ({"n_clusters"} if record.model == "clusters" else {"correlation"})


def test_what_a_database_keeps_for_no_number(records):
    told = records[2].to_dict()
    told["diagnostics"]["rhat_max"] = told["diagnostics"]["clusters"]["ess_together"] = None
    judged = FitRecord.from_dict(told).diagnostics
    assert judged.rhat_max != judged.rhat_max
    assert judged.clusters.ess_together != judged.clusters.ess_together


@pytest.mark.parametrize("rubbish", [[1, 2], {"model": "spatial", "prior": 3}, "text"])
def test_rubbish_is_said_to_be(rubbish):
    with pytest.raises(jm.StudyError, match="is not the record of a fit"):
        FitRecord.from_dict(rubbish)


def test_no_number_becomes_none():
    given = {"a": [np.float64("nan"), np.int64(3), float("inf")], 2: np.array([1.5])}
    assert json_value(given) == {"a": [None, 3, None], "2": [1.5]}
