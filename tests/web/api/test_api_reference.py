"""docs/api-reference.md is what the interface says of itself."""

from pathlib import Path

from judgemap.study.fit.settings import SETTINGS
from judgemap.web.api.endpoints import api
from judgemap.web.api.reference import write_reference

DOCS = Path(__file__).resolve().parents[3] / "docs" / "api-reference.md"


def test_the_reference_is_up_to_date():
    written = write_reference(api.get_openapi_schema(path_prefix="/api/v1/"))
    assert DOCS.read_text(encoding="utf-8") == written, "run make docs"


def test_every_scope_is_in_it():
    text = DOCS.read_text(encoding="utf-8")
    for scope in ("study:read", "comparisons:read", "results:read"):
        assert f"Needs the scope `{scope}`" in text


def test_every_setting_of_a_fit_is_in_it():
    schema = api.get_openapi_schema(path_prefix="/api/v1/")
    assert set(schema["components"]["schemas"]["FitSettingsOut"]["properties"]) == set(SETTINGS)
