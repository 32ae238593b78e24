"""What a wheel needs besides its sources: the translations, compiled."""

import tempfile
from pathlib import Path
from typing import Any

import polib
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


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
