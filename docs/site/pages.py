"""Pages of the site that are written from other files: one for each command, and those of the project."""

import os
import re
from importlib.metadata import version
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ROOT / "docs" / "cli.md"
PROJECT = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}


def command_pages(reference: str) -> dict[str, str]:
    """Split the reference of all commands into pages, by the command's name.

    >>> pages = command_pages('''# `judgemap`
    ... ## `judgemap fit`
    ... ### `judgemap fit now`''')
    >>> print(pages["fit"])
    # judgemap fit
    ## judgemap fit now
    """
    parts = re.split(r"^## `judgemap (\S+)`$", reference, flags=re.MULTILINE)[1:]
    texts = (re.sub(r"^##(#+) `(.+)`$", r"#\1 \2", part, flags=re.MULTILINE) for part in parts[1::2])
    texts = (re.sub(r"^Example: (judgemap .+)$", r"Example: `\1`", text, flags=re.MULTILINE) for text in texts)
    return {name: f"# judgemap {name}{text}" for name, text in zip(parts[::2], texts, strict=True)}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the commands under "Commands", with the version at every page's foot and the repository, if built there."""
    pages = [
        {f"judgemap {name}": f"commands/{name}.md"} for name in command_pages(COMMANDS.read_text(encoding="utf-8"))
    ]
    for section in config.nav or []:
        for entry in section.get("Reference", []):
            if "Commands" in entry:
                entry["Commands"] = [{"All commands": "cli.md"}, *pages]
    if repository := os.environ.get("GITHUB_REPOSITORY"):
        config.repo_url, config.repo_name = f"https://github.com/{repository}", repository
    config.copyright = f"judgemap {version('judgemap')} · MIT licence"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that have no file of their own in docs/."""
    for name, text in command_pages(COMMANDS.read_text(encoding="utf-8")).items():
        files.append(File.generated(config, f"commands/{name}.md", content=text))
    for name, source in PROJECT.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Leave only the list on the page of all commands, each with a link to its own."""
    if page.file.src_uri != "cli.md":
        return markdown
    start = markdown.split("\n## `judgemap ", maxsplit=1)[0].replace("# `judgemap`", "# All commands", 1)
    return re.sub(r"^\* `(\w+)`:", r"* [`\1`](commands/\1.md):", start, flags=re.MULTILINE)


def on_page_content(html: str, **_: object) -> str:
    """Keep a number and its per cent sign on one line."""
    return re.sub(r"(?<=\d) %", "&nbsp;%", html)
