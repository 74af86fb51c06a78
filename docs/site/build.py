"""Builds the site of this repository's pages: ``build/site/index.html``, which also opens from disk.

The pages keep their places in the tree, so the links that people follow in the repository work on the site, too. A link
to a file that is no page (a stack file, a module) leads to a copy of it. A link without a target is an error.

Why Zensical: it is the successor of Material for MkDocs by the same authors, who develop only the successor
(https://squidfunk.github.io/mkdocs-material/blog/2025/11/05/zensical/), and it checks links and anchors itself.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
HERE: Final = Path(__file__).resolve().parent
_REMOTE_SHIM: Final = "https://unpkg.com/iframe-worker/shim"
_LINK: Final = re.compile(r"\]\(([^)\s#]+)[^)]*\)|(?:src|srcset)=\"([^\"]+)\"")


def pages(root: Path) -> list[Path]:
    """The Markdown files under version control, without those of tests; paths relative to ``root``."""
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=root, check=True, capture_output=True, text=True).stdout
    return [
        path for line in listed.splitlines() if "tests" not in (path := Path(line)).parts and (root / path).exists()
    ]


def linked_files(root: Path, page: Path) -> set[Path]:
    """The files that a page links and that are no pages; paths relative to ``root``."""
    links = {"".join(groups) for groups in _LINK.findall((root / page).read_text(encoding="utf-8"))}
    targets = {(root / page.parent / link).resolve() for link in links if "://" not in link}
    return {file.relative_to(root) for file in targets if file.is_file() and file.suffix != ".md"}


def build(root: Path, target: Path) -> Path:
    """Build the site in ``target``; its first page. Raises CalledProcessError if Zensical has a warning."""
    source, site = target / "site-source", target / "site"
    shutil.rmtree(source, ignore_errors=True)
    listed = pages(root)
    for path in {*listed, *(file for page in listed for file in linked_files(root, page))}:
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / path, source / path)
    shutil.copy(HERE / "zensical.toml", target / "zensical.toml")
    zensical = [Path(sys.executable).with_name("zensical"), "build", "--strict", "--clean"]
    subprocess.run(zensical, cwd=target, check=True)
    shutil.copy(HERE / "iframe-worker.js", site / "iframe-worker.js")
    for html in site.rglob("*.html"):
        text = html.read_text(encoding="utf-8")
        shim = "../" * len(html.relative_to(site).parent.parts) + "iframe-worker.js"
        html.write_text(text.replace(_REMOTE_SHIM, shim), encoding="utf-8")
    return site / "index.html"


if __name__ == "__main__":
    (ROOT / "build").mkdir(exist_ok=True)
    try:
        sys.stdout.write(f"Site: {build(ROOT, ROOT / 'build')}\n")
    except subprocess.CalledProcessError:
        sys.exit("The site was not built: mend the links that are reported above.")
