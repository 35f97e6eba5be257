"""What mkdocs needs to know of this project's pages: which of them are not in docs, and how they say what is to be done
with a block of code."""

import re
from pathlib import Path

from mkdocs.structure.files import File

# Pages that stand at the top of the repository, and their names in the site.
TOP = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}


def on_files(files, config):
    """Adds the pages at the top."""
    root = Path(config.config_file_path).parent
    for name, page in TOP.items():
        text = (root / name).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](", text)
        for other, to in TOP.items():
            text = text.replace(f"]({other}", f"]({to}")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Shows the name of a file above its block, and leaves out what is only for tests. What is not in the site is
    named and not linked."""
    markdown = re.sub(r"^```(\w+) (?:file|fix)=(\S+)$", r'```\1 title="\2"', markdown, flags=re.M)
    markdown = re.sub(r"^```(\w+) (?:fails|output)$", r"```\1", markdown, flags=re.M)
    return re.sub(r"\[([^]]*)\]\(\.\./([^)]*)\)", r"\1 (`\2`)", markdown)
