"""The site of the pages: complete, self-contained, and not built with a broken link."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from docs.site.build import HERE, build, linked_files, pages
from tests.stacks import ROOT

LINKED_ONLY = ("packages/rehearsal/docs/", "packages/machines/", "docs/adr/0")
"""Pages that other pages link; the navigation has only the page that lists them."""


def test_every_page_is_in_the_navigation_or_linked_by_one_that_is() -> None:
    navigation = (HERE / "zensical.toml").read_text()
    missing = [str(page) for page in pages(ROOT) if f'"{page}"' not in navigation]
    assert [page for page in missing if not page.startswith(LINKED_ONLY)] == []


def test_every_page_of_the_navigation_exists() -> None:
    listed = re.findall(r"\"([^\"]+\.md)\"", (HERE / "zensical.toml").read_text())
    assert listed
    assert [page for page in listed if not (ROOT / page).is_file()] == []


def test_linked_files_are_copied_with_the_page() -> None:
    files = {str(file) for file in linked_files(ROOT, Path("examples/README.md"))}
    assert "examples/gke-tips.yaml" in files
    assert not [file for file in files if file.endswith(".md")]


def test_every_example_is_listed() -> None:
    files = {str(file) for file in linked_files(ROOT, Path("examples/README.md"))}
    assert {str(file.relative_to(ROOT)) for file in (ROOT / "examples").glob("*.yaml")} == files


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one page and one file that it links."""
    root = tmp_path / "repository"
    root.mkdir()
    (root / "README.md").write_text("# Title\n\n[a file](stack.yaml) and [a heading](#title)\n")
    (root / "stack.yaml").write_text("config: {}\n")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    (tmp_path / "build").mkdir()
    return root


@pytest.mark.slow
def test_a_page_makes_no_request(repository: Path) -> None:
    index = build(repository, repository.parent / "build")
    text = index.read_text()
    loaded = re.findall(r"<(?:script|img|iframe)[^>]*src=\"([^\"]+)\"", text)
    loaded += re.findall(r"<link[^>]*rel=\"?(?:stylesheet|preload)\"?[^>]*href=\"([^\"]+)\"", text)
    assert loaded
    assert [address for address in loaded if "//" in address] == []
    assert (index.parent / "stack.yaml").exists()
    assert (index.parent / "iframe-worker.js").exists()


@pytest.mark.slow
@pytest.mark.parametrize("link", ["nowhere.md", "README.md#no-such-heading"])
def test_a_broken_link_is_an_error(repository: Path, link: str) -> None:
    (repository / "README.md").write_text(f"# Title\n\n[a page]({link})\n")
    with pytest.raises(subprocess.CalledProcessError):
        build(repository, repository.parent / "build")
    shutil.rmtree(repository.parent / "build")
