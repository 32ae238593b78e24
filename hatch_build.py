"""What a package needs besides its sources: the translations, compiled, and where its project lives."""

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import polib
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface


class CompiledTranslations(BuildHookInterface):
    """Put a .mo file beside every .po file of the wheel; a checkout compiles its own when the server starts."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into a temporary folder, so that nothing is left in the checkout."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="judgemap-locale-")
        for source in sorted(Path(self.root, "src").glob("judgemap/web/locale*/*/LC_MESSAGES/*.po")):
            inside = source.relative_to(Path(self.root, "src")).with_suffix(".mo")
            compiled = Path(self._folder.name, inside)
            compiled.parent.mkdir(parents=True)
            polib.pofile(str(source)).save_as_mofile(str(compiled))
            build_data["force_include"][str(compiled)] = str(inside)


class ProjectAddresses(MetadataHookInterface):
    """Give a release the addresses of its project, and its README links and pictures that open from anywhere.

    The repository is the one that builds it, as GitHub names it; elsewhere there is none, and links stay as they are.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Add readme and urls."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("GITHUB_REPOSITORY")
        if repository:
            home = f"https://github.com/{repository}"
            tag = f"v{metadata['version']}"
            text = re.sub(
                r"(!\[[^]]*\]\()(?!https?:)", rf"\1https://raw.githubusercontent.com/{repository}/{tag}/", text
            )
            text = re.sub(r"((?<!!)\[[^]]*\]\()(?!https?:|#)", rf"\1{home}/blob/{tag}/", text)
            metadata["urls"] = {
                "Repository": home,
                "Documentation": f"{home}/blob/{tag}/docs/index.md",
                "Changelog": f"{home}/blob/{tag}/CHANGELOG.md",
                "Issues": f"{home}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
