"""Hooks of mkdocs for this project's pages: pages outside docs, links that leave the site, and the info strings of code
blocks, which select an action of the tests (see internal/testkit/page)."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

# Pages at the top of the repository, and their names in the site.
TOP = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}


REPORT = re.compile(r"reports/([a-z0-9-]+)/README\.md")


def on_files(files, config):
    """Adds the pages at the top and the bug reports, which are beside their programs."""
    root = Path(config.config_file_path).parent
    for file in sorted(root.glob("reports/*/README.md")):
        text = file.read_text(encoding="utf-8").replace("](../../docs/", "](../")
        text = text.replace("program in this directory", f"program in `reports/{file.parent.name}`")
        files.append(File.generated(config, f"reports/{file.parent.name}.md", content=text))
    for name, page in TOP.items():
        text = (root / name).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](", text)
        text = REPORT.sub(r"reports/\1.md", text)
        for other, to in TOP.items():
            text = text.replace(f"]({other}", f"]({to}")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """Shows the name of a file above its block and removes what only tests need. A link to a file that is not a page
    becomes the name of the file."""
    markdown = re.sub(r"^```(\w+) (?:file|fix)=(\S+)$", r'```\1 title="\2"', markdown, flags=re.M)
    markdown = re.sub(r"^```(\w+) (?:fails|output)$", r"```\1", markdown, flags=re.M)
    source = page.file.src_uri
    if source in TOP.values():
        return markdown

    def resolve(link):
        text, to, anchor = link.group(1), link.group(2), link.group(3) or ""
        file = posixpath.normpath(posixpath.join("docs", posixpath.dirname(source), to))
        if file.startswith("docs/"):
            return link.group(0)
        page = TOP.get(file) or (REPORT.fullmatch(file) and REPORT.sub(r"reports/\1.md", file))
        if page:
            return f"[{text}]({posixpath.relpath(page, posixpath.dirname(source) or '.')}{anchor})"
        return f"`{file}`" if text.strip("`") in file else f"{text} (`{file}`)"

    return re.sub(r"\[([^]]*)\]\(((?:\.\./)+[^)#]*)(#[^)]*)?\)", resolve, markdown)
