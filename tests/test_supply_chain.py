"""What is installed: every file by its hash, from no named registry, under licences that are listed."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements.lock").read_text()


def test_every_package_is_locked_with_hashes():
    packages = re.split(r"\n(?=[a-z0-9])", LOCK)
    assert len(packages) > 100
    for package in packages:
        assert re.match(r"[a-z0-9._-]+(\[[a-z,]+\])?==\S+", package)
        assert "--hash=sha256:" in package, package.split("\n")[0]


def test_the_lock_names_no_registry():
    assert "://" not in LOCK
    assert "index-url" not in LOCK


def test_every_licence_is_listed():
    """By name: what a package says about its licence may change with its version, and then the page is rewritten."""
    spec = importlib.util.spec_from_file_location("licences", ROOT / "docs" / "licences.py")
    licences = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(licences)
    names = re.compile(r"^\| ([a-z0-9-]+) \|", re.MULTILINE)
    listed = set(names.findall((ROOT / "docs" / "licences.md").read_text()))
    assert {"django", "granian", "psycopg"} <= listed
    missing = set(names.findall(licences.page())) - listed
    assert missing == set(), "write the page again: make licences"
