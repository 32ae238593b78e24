"""A page as a PDF: printed by a real browser if there is one, otherwise refused in one clear sentence."""

import re

import pytest

import judgemap as jm
from judgemap.report.pages.briefing import About, briefing
from judgemap.report.pages.finish import annex_alone, find_renderer, two_pages, write_pdf


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Return a function that puts a program called chromium on an otherwise empty PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def install(script):
        (folder / "chromium").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "chromium").chmod(0o755)

    return install


def test_no_browser_is_said_in_a_sentence(programs, tmp_path):
    assert find_renderer() is None
    with pytest.raises(jm.StudyError, match=r"report\.pdf cannot be made: no Chromium, Chrome or Edge"):
        write_pdf("<p>", tmp_path / "report.pdf")
    assert not (tmp_path / "report.pdf").exists()


def test_a_browser_that_fails(programs, tmp_path):
    programs("exit 3")
    assert find_renderer().name == "chromium"
    with pytest.raises(jm.StudyError, match=r"chromium ended with status 3"):
        write_pdf("<p>", tmp_path / "report.pdf")
    assert not (tmp_path / "report.pdf").exists()


def test_a_browser_that_never_ends(programs, tmp_path):
    programs("exec /bin/sleep 30")
    with pytest.raises(jm.StudyError, match=r"took more than 0\.3 seconds"):
        write_pdf("<p>", tmp_path / "report.pdf", limit=0.3)


@pytest.mark.slow
@pytest.mark.browser
def test_a_real_browser_prints_the_briefing(fit, study, tmp_path):
    if find_renderer() is None:
        pytest.skip("there is no Chromium on this machine")
    about = About("Wards", "Which of the two has the LOWER rate?", study.data)
    html = briefing(fit, about)
    front = write_pdf(two_pages(html), tmp_path / "two.pdf").read_bytes()
    assert len(re.findall(rb"/Type /Page\b", front)) == 2
    pdf = write_pdf(annex_alone(html), tmp_path / "annex.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    sizes = {
        tuple(round(float(side)) for side in box) for box in re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    }
    assert sizes == {(595, 842)}, "A4 throughout"
    assert 4 <= len(re.findall(rb"/Type /Page\b", pdf)) <= 12
