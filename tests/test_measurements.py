"""The page of measurements is written from what the benchmarks found, and a ratio that fell is noticed."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("page", ROOT / "benchmarks" / "page.py")
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)


def write(folder: Path, ties: float) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "judges.json").write_text(json.dumps({"ties": {"with ties": ties, "without": 2.0}}))


@pytest.mark.parametrize(("now", "worse"), [(1.0, False), (0.68, False), (0.66, True), (5.0, False)])
def test_a_ratio_that_fell_by_more_than_a_third_is_named(tmp_path, now, worse):
    write(tmp_path, 1.0)
    page.keep(tmp_path)
    write(tmp_path, now)
    assert [each.split(":")[0] for each in page.fallen(tmp_path)] == ["a model with ties to one without"] * worse


def test_what_was_not_measured_is_no_fall(tmp_path):
    write(tmp_path, 1.0)
    assert page.fallen(tmp_path) == []
    page.keep(tmp_path)
    (tmp_path / "judges.json").unlink()
    assert page.fallen(tmp_path) == []


def test_what_was_not_run_again_is_not_todays(tmp_path):
    write(tmp_path, 1.0)
    page.keep(tmp_path)
    assert page.ratio_rows(tmp_path) == [("a model with ties to one without", None, 0.5)]


def test_the_newest_figures_are_shown(tmp_path):
    write(tmp_path, 1.0)
    page.keep(tmp_path)
    write(tmp_path, 1.5)
    (tmp_path / "page.md").write_text('{{ machine.processor }}\n{{ ratios }}\n{{ newest("judges", "ties", {}) }}\n')
    written = page.fill_in(tmp_path, tmp_path / "page.md")
    assert "| a model with ties to one without | 0.75 |" in written
    assert json.loads((tmp_path / "machine.json").read_text())["processor"] in written


def test_the_page_itself_can_be_written_from_what_is_committed():
    written = page.fill_in(page.RESULTS, ROOT / "benchmarks" / "measurements.md")
    assert "| hmc, 8 chains |" in written
    assert "{{" not in written
