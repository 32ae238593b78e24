"""The programming interface: each address by scope, study and format; refusals in one sentence; rubbish."""

import csv
import io
import runpy
import tomllib
from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
import pytest
import xarray as xr
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st

import judgemap as jm
from judgemap.study.data.definition import parse_definition
from judgemap.study.fit.settings import SETTINGS
from judgemap.web.api import access, endpoints
from judgemap.web.api.endpoints import api
from judgemap.web.api.models import SCOPES, ApiToken
from judgemap.web.results.models import FitRun
from judgemap.web.server.limits import Brake
from judgemap.web.studies import editing, making
from judgemap.web.studies.keeping import delete_study
from judgemap.web.studies.models import Study

NEEDS = {
    "": "study:read",
    "/wards": "study:read",
    "/wards/areas": "study:read",
    "/wards/edges": "study:read",
    "/wards/comparisons": "comparisons:read",
    "/wards/fits": "results:read",
    "/wards/fits/1": "results:read",
    "/wards/fits/1/areas": "results:read",
    "/wards/fits/1/posterior.nc": "results:read",
}


@pytest.fixture
def fitted(owned, judge, edit, ask_fit, make_fit) -> FitRun:
    """A finished fit of the study, number 1."""
    study = edit(recommended=30, maximum=30)
    for number in range(12):
        judge.answer(("left", "right")[number % 2])
    return make_fit(ask_fit(study))


@pytest.mark.parametrize("path", NEEDS)
def test_a_scope_opens_what_it_says_and_nothing_else(fitted, program, path):
    for scope in SCOPES:
        response = program([scope]).get(path)
        assert response["Cache-Control"] == "no-store"
        assert not response.cookies
        assert response.status_code == (200 if scope == NEEDS[path] else 403)
        if response.status_code == 403:
            assert response.json() == {"error": f"This token has no scope '{NEEDS[path]}'; make one that has it."}


@pytest.mark.parametrize("path", NEEDS)
def test_without_a_token_nothing_is_said(fitted, clients, path):
    for client in clients.values():
        response = client.get(f"/api/v1/studies{path}")
        assert response.status_code == 401, "a browser's session is no token"
        assert response["WWW-Authenticate"] == "Bearer"
        assert list(response.json()) == ["error"]
        assert not response.cookies


@pytest.mark.parametrize("path", [path for path in NEEDS if path])
def test_somebody_elses_study_is_not_there(fitted, draft, people, program, path):
    draft.owner = people["stranger"]
    draft.save()
    theirs = program(who="stranger", study=draft, reach="all")
    missing = theirs.get(path.replace("wards", "no-such-study"))
    hidden = theirs.get(path)
    assert missing.status_code == hidden.status_code == 404
    assert missing.content == hidden.content


def test_a_token_of_one_study_does_not_open_another(owned, draft, program):
    of_one, of_all = program(), program(reach="all")
    assert of_one.get(f"/{draft.slug}").status_code == 404
    assert of_all.get(f"/{draft.slug}").status_code == 200
    assert [row["slug"] for row in of_one.read()] == ["wards"]
    assert {row["slug"] for row in of_all.read()} == {"wards", draft.slug}


def test_a_study_that_is_given_away_is_closed_to_its_old_owners_token(owned, people, program):
    reader = program()
    owned.owner = people["stranger"]
    owned.save()
    assert reader.get("/wards").status_code == 404
    assert reader.read() == []


@pytest.mark.parametrize("reach", ["study", "all"])
def test_a_deleted_study_is_closed_to_its_owners_tokens(owned, people, program, reach):
    reader = program(reach=reach)
    delete_study(owned, "Wards", people["owner"])
    assert reader.get("/wards/comparisons").status_code == 404
    assert reader.read() == []


def test_a_study(owned, program, definition):
    answer = program().read("/wards")
    assert (answer["direction"], answer["status"], answer["areas"], answer["version"]) == ("lower", "open", 16, 1)
    assert parse_definition(tomllib.loads(answer["toml"])) == definition


def test_areas_and_edges_in_every_format(owned, program, areas, tmp_path):
    reader = program()
    assert reader.read("/wards/areas")[0] == {"id": "W00", "name": "Ward 1.1"}
    for name in ("areas", "edges"):
        response = reader.get(f"/wards/{name}", format="csv")
        assert response["Content-Type"].startswith("text/csv")
        (tmp_path / f"{name}.csv").write_bytes(response.content)
    (tmp_path / "areas.geojson").write_bytes(reader.get("/wards/areas", format="geojson").content)
    listed = jm.read_edges(tmp_path / "edges.csv", tmp_path / "areas.csv")
    assert listed.ids == areas.ids
    np.testing.assert_array_equal(listed.graph.edges, areas.graph.edges)
    assert len(reader.read("/wards/edges")) == len(areas.graph.edges)
    there = geopandas.read_file(tmp_path / "areas.geojson").to_crs(areas.geometry.crs)
    assert there.geometry.distance(areas.geometry).max() < 1


def test_a_study_without_a_map_has_no_geojson(people, program, areas, definition):
    study = making.create_study(replace(definition, title="Bare"), replace(areas, geometry=None), people["owner"])
    response = program(study=study).get("/bare/areas", format="geojson")
    assert response.status_code == 404
    assert "has no map" in response.json()["error"]


def test_a_fit(fitted, program, tmp_path):
    reader = program()
    line = reader.read("/wards/fits")[0]
    assert (line["number"], line["status"], line["model"]) == (1, "done", "spatial")
    assert reader.read("/wards/fits/latest") == reader.read("/wards/fits/1")
    assert reader.read("/wards/fits/1")["info"]["seed"] == 1
    rows = reader.read("/wards/fits/1/areas")
    assert rows == fitted.rows
    table = list(csv.DictReader(io.StringIO(reader.get("/wards/fits/1/areas", format="csv").text)))
    assert [float(row["risk_mean"]) for row in table] == [row["risk_mean"] for row in rows]
    (tmp_path / "posterior.nc").write_bytes(reader.get("/wards/fits/1/posterior.nc").content)
    with xr.open_dataset(tmp_path / "posterior.nc", group="posterior", engine="h5netcdf") as posterior:
        assert posterior["risk"].shape == (2, 20, 16)


def test_the_columns_of_a_fit_are_in_order_on_every_database(fitted, program):
    fitted.rows = [dict(sorted(row.items())) for row in fitted.rows]
    fitted.save()
    header = program().get("/wards/fits/1/areas", format="csv").text.splitlines()[0]
    assert header.startswith("id,name,risk_median,risk_mean,")
    assert sorted(header.split(",")) == list(fitted.rows[0])


def test_a_fit_that_is_not_done(owned, program):
    FitRun.objects.create(study=owned, number=1, version=owned.version)
    reader = program()
    assert reader.read("/wards/fits/1")["status"] == "waiting"
    for path in ("/wards/fits/1/areas", "/wards/fits/1/posterior.nc", "/wards/fits/latest", "/wards/fits/2"):
        assert reader.get(path).status_code == 404


def test_the_description_is_public_names_every_address_and_is_made_once(client, monkeypatch):
    endpoints._description.cache_clear()
    made = []
    make = api.get_openapi_schema
    monkeypatch.setattr(api, "get_openapi_schema", lambda **options: made.append(options) or make(**options))
    first, second = (client.get("/api/v1/openapi.json") for _ in range(2))
    assert first.content == second.content
    assert len(made) == 1
    paths = first.json()["paths"]
    assert len(paths) == len(NEEDS)
    assert all(set(operations) == {"get"} for operations in paths.values())
    assert client.get("/api/v1/openapi.json", headers={"If-None-Match": first["ETag"]}).status_code == 304
    assert client.post("/api/v1/openapi.json").status_code == 405
    assert client.get("/api/v1/docs").status_code == 404


def test_a_token_that_asks_too_often_is_asked_to_wait(owned, program, monkeypatch):
    monkeypatch.setattr(access, "ASKED", Brake("test", most=3, seconds=1e6))
    reader, other = program(), program()
    statuses = [reader.get("/wards").status_code for _ in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    assert reader.get("/wards")["Retry-After"] == "1"
    assert other.get("/wards").status_code == 200, "each token has a brake of its own"


def test_wrong_tokens_are_braked_and_right_ones_are_not(owned, program, monkeypatch):
    monkeypatch.setattr(access, "WRONG_GUESSES", Brake("test", most=2, seconds=1e6))
    reader = program()
    wrong = {"Authorization": "Bearer jm_wrong"}
    statuses = {Client().get("/api/v1/studies", headers=wrong).status_code for _ in range(30)}
    assert statuses == {401, 429}
    assert reader.get("/wards").status_code == 200


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "head", "options"])
def test_nothing_can_be_changed(owned, program, method):
    reader = program()
    response = getattr(Client(enforce_csrf_checks=True), method)(
        "/api/v1/studies/wards", headers={"Authorization": f"Bearer {reader.token}"}
    )
    assert response.status_code == 405
    if method != "head":
        assert response.json()["error"] == "This address is read-only: use GET."


@pytest.mark.parametrize(
    "path", ["", "studies/", "study", "studies/wards/", "studies/a b", "studies/wards/secrets", "x"]
)
def test_other_addresses_are_not_there_in_json(owned, path):
    response = Client().get(f"/api/v1/{path}")
    assert response.status_code in (401, 404)
    assert list(response.json()) == ["error"]


PATHS = ["", "/wards", "/wards/areas", "/wards/edges", "/wards/comparisons", "/wards/fits", "/wards/fits/{}",
         "/wards/fits/{}/areas", "/{}", "/{}/comparisons"]  # fmt: skip
WORDS = ["", "0", "-1", "1", "9" * 30, "0.0", "1.1", f"0.{'9' * 18}", "csv", "geojson", "json", "\0", "١.١", "latest"]
word = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(WORDS)


@settings(max_examples=settings.default.max_examples // 2)
@given(
    path=st.sampled_from(PATHS),
    inner=word,
    asked=st.dictionaries(st.sampled_from(["after", "limit", "format", "x"]), word, max_size=3),
)
def test_rubbish_is_refused_in_one_sentence(owned, program, path, inner, asked):
    reader = program()
    ApiToken.objects.exclude(pk=ApiToken.objects.latest("pk").pk).delete()
    inner = inner.replace("/", "").replace("?", "").replace("#", "")
    response = reader.get(path.format(inner), **asked)
    assert response.status_code in (200, 400, 404)
    if response.status_code != 200:
        assert list(response.json()) == ["error"]


@given(header=st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=60))
def test_rubbish_as_a_token(owned, header):
    for text in (header, f"Bearer {header}"):
        response = Client().get("/api/v1/studies/wards", headers={"Authorization": text})
        assert response.status_code in (401, 429)


def test_judges_links_and_codes_are_nowhere(fitted, judge, program):
    reader = program()
    text = "".join(reader.get(path).content.decode("latin-1") for path in NEEDS)
    assert judge.name in text
    assert judge.token not in text
    assert Study.objects.get().judges.get().withdrawal_hash not in text


def test_ids_that_a_spreadsheet_would_run_fit_together_in_tables_and_map(
    people, program, areas, definition, visit, tmp_path
):
    nasty = replace(areas, ids=("=1+1", "@b", *areas.ids[2:]))
    study = editing.open_study(
        making.create_study(replace(definition, title="Nasty", maximum=30), nasty, people["owner"])
    )
    visitor = visit(of=study)
    for _ in range(3):
        visitor.answer("left")
    reader = program(study=study)
    for name, kind in (("comparisons", "csv"), ("edges", "csv"), ("areas", "geojson")):
        (tmp_path / f"{name}.{kind}").write_bytes(reader.get(f"/nasty/{name}", format=kind).content)
    cells = [cell for row in csv.reader((tmp_path / "edges.csv").read_text().splitlines()) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=@"]
    there = jm.read_areas(tmp_path / "areas.geojson", id="id", name="name", edges=tmp_path / "edges.csv")
    np.testing.assert_array_equal(there.graph.edges, areas.graph.edges)
    assert len(jm.read_comparisons(tmp_path / "comparisons.csv", there)) == 3


def test_the_reference_is_what_the_interface_says_of_itself():
    docs = Path(__file__).parents[3] / "docs"
    schema = api.get_openapi_schema(path_prefix="/api/v1/")
    written = runpy.run_path(str(docs / "api_reference.py"))["write_reference"](schema)
    assert (docs / "api-reference.md").read_text(encoding="utf-8") == written, "run make docs"
    assert all(f"Needs the scope `{scope}`" in written for scope in SCOPES)
    assert set(schema["components"]["schemas"]["FitSettingsOut"]["properties"]) == set(SETTINGS)
