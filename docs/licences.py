"""Write docs/licences.md: the licence of every package that judgemap, with all its extras, brings.

python docs/licences.py docs/licences.md
"""

import re
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
HEAD = """# Licences of what judgemap is built on

judgemap itself is under the MIT licence. These packages come with it, under the licences that their
own metadata name. The map of Chicago is from the examples of libpysal (BSD).

| package | licence |
|---|---|
"""


def wanted() -> list[str]:
    """Return what judgemap requires, with every extra it has."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    return [line for line in lines if Requirement(line).name != "judgemap"]


def installed_with(text: str, extras_seen: set[str] | None = None) -> dict[str, Distribution]:
    """Return a requirement's packages: itself and, going by markers, everything it needs on this machine."""
    seen = set() if extras_seen is None else extras_seen
    requirement = Requirement(text)
    name = canonicalize_name(requirement.name)
    extras = sorted(requirement.extras) or [""]
    if f"{name}{extras}" in seen:
        return {}
    seen.add(f"{name}{extras}")
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return {}
    packages = {name: package}
    for line in package.requires or []:
        needed = Requirement(line)
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
            packages |= installed_with(re.sub(r"\s*;.*", "", line), seen)
    return packages


def licence_of(package: Distribution) -> str:
    """Return a package's licence: its expression, else its classifiers, else the first line of its licence field."""
    about = package.metadata
    if expression := about.get("License-Expression"):
        return str(expression)
    classifiers = [each.split(" :: ")[-1] for each in about.get_all("Classifier", []) if each.startswith("License ::")]
    text = str(about.get("License") or "").strip().split("\n")[0]
    named = [each for each in classifiers if each != "OSI Approved"]
    return " / ".join(named) or text[:60] or _first_line(package)


def _first_line(package: Distribution) -> str:
    """Return the first line of a package's licence file."""
    files = [file for file in package.files or [] if "LICEN" in file.name.upper()]
    return files[0].read_text().strip().split("\n")[0] if files else "not said"


def page() -> str:
    """Return the whole page."""
    packages: dict[str, Distribution] = {}
    for text in wanted():
        packages |= installed_with(text)
    rows = [f"| {name} | {licence_of(package).replace('|', '/')} |" for name, package in sorted(packages.items())]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
