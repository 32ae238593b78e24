"""docs/cli.md is what the commands say of themselves."""

from pathlib import Path

from typer.testing import CliRunner

DOCS = Path(__file__).resolve().parents[2] / "docs" / "cli.md"


def test_the_reference_is_up_to_date(monkeypatch):
    from typer.cli import app

    monkeypatch.setenv("COLUMNS", "200")
    result = CliRunner().invoke(app, ["judgemap.cli.main", "utils", "docs", "--name", "judgemap"])
    assert result.exit_code == 0, result.output
    assert DOCS.read_text(encoding="utf-8").strip() == result.stdout.strip(), "run make docs"
