"""What holds of every page that people read: links lead somewhere, tables are narrow, the site is complete."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from components.outputs import cost
from components.settings.quotas import UNLIMITED, listed
from components.settings.read import from_stack_file
from docs.site.build import HERE, build, linked_files, pages
from policies.config import file_for
from policies.offline import OfflineGate
from tests import declared
from tests.stacks import ROOT, run_program

LONGEST_CELL: Final = 120
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
_FENCE: Final = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`[^`\n]*`")
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$|(?:src|srcset)=\"([^\"]+)\"", re.MULTILINE)
_EXTERNAL: Final = ("https://", "http://", "mailto:")


def _pages() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [page for page in listed.splitlines() if (ROOT / page).exists()]


PAGES: Final = _pages()


def anchors(text: str) -> set[str]:
    """As GitHub makes them of headings; the second of one name gets ``-1``."""
    made: Counter[str] = Counter()
    result = set[str]()
    for heading in re.findall(r"^#{1,6} (.+)$", _FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        result.add(f"{slug}-{made[slug]}" if made[slug] else slug)
        made[slug] += 1
    return result


def broken_links(page: Path) -> list[str]:
    """The relative links of a page that lead to no file, or to no heading of it."""
    text = page.read_text(encoding="utf-8")
    links = ["".join(groups) for groups in _LINK.findall(_CODE.sub("", _FENCE.sub("", text)))]
    broken = []
    for link in links:
        if link.startswith(_EXTERNAL):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            broken.append(link)
    return broken


def long_cells(text: str) -> list[str]:
    """Cells of tables that are longer than ``LONGEST_CELL``, as they are written."""
    rows = [line for line in _FENCE.sub("", text).splitlines() if line.lstrip().startswith("|")]
    cells = [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]
    return [cell for cell in cells if len(cell) > LONGEST_CELL]


@pytest.mark.parametrize("page", PAGES)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: str) -> None:
    assert broken_links(ROOT / page) == []


@pytest.mark.parametrize("page", PAGES)
def test_a_table_cell_holds_a_few_words(page: str) -> None:
    assert long_cells((ROOT / page).read_text(encoding="utf-8")) == []


def test_each_promise_of_security_is_held_by_a_test_that_exists() -> None:
    rows = re.findall(r"^\|.*\| `?([\w./-]*)`? \|$", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
    named = [row for row in rows if "test" in row]
    assert len(named) >= 22
    assert [name for name in named if not (ROOT / name).is_file()] == []


def _printed(command: str) -> list[str]:
    """What README shows below a command, without the lines that stand for others."""
    block = re.findall(rf"^```\n\$ {re.escape(command)}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[0]
    return [line for line in block.splitlines() if line and line != "…"]


def test_the_readme_shows_the_quotas_that_are_printed() -> None:
    printed = listed(from_stack_file(str(ROOT / "Pulumi.dev.yaml")), UNLIMITED).splitlines()
    assert [line for line in _printed("make quota STACK=dev") if line not in printed] == []


def test_the_readme_shows_checks_of_a_rehearsal() -> None:
    sources = "".join(file.read_text() for file in (ROOT / "packages" / "rehearsal" / "rehearsal").rglob("*.py"))
    titles = [line[2:].partition(":")[0].removeprefix("t4-1 ") for line in _printed("make rehearse") if line[0] == "✓"]
    assert len(titles) == 4
    assert [title for title in titles if title not in sources] == []


def test_the_readme_shows_the_words_of_the_rule() -> None:
    rule, title, _, remedy, *_ = _printed("make faults CASE=minimum-one")
    section = (ROOT / "docs" / "policies.md").read_text().partition(f"## {rule.split()[1]}\n")[2].partition("\n## ")[0]
    assert f"{title.strip()}." in section
    assert remedy.strip().removeprefix("Fix: ") in section


def test_no_page_watches_several_kinds_with_one_command() -> None:
    """kubectl refuses that: "you may only specify a single resource type"."""
    lines = [line for page in PAGES for line in (ROOT / page).read_text().splitlines()]
    watched = [line for line in lines if re.match(r"(\$ )?kubectl get .*--watch", line)]
    assert len(watched) >= 3
    assert [line for line in watched if "," in line] == []


def test_code_and_settings_name_pages_that_exist() -> None:
    """Messages and comments name pages as ``docs/….md``; those of other repositories come with their address."""
    pattern, files = r"(^|[^/A-Za-z0-9_.-])docs/[a-zA-Z0-9/_-]+\.md", ("*.py", "*.yaml", "*.yml", "Makefile")
    command = ["git", "grep", "-hoE", pattern, "--", *files]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    named = {line[line.index("docs/") :] for line in listed.splitlines()}
    assert {page for page in named if not (ROOT / page).exists()} == set()


@pytest.mark.parametrize(
    ("page", "cloud"), [("README", "gke"), *((f"docs/install-{cloud}", cloud) for cloud in ("gke", "eks", "aks"))]
)
def test_the_stack_file_of_a_page_is_valid(page: str, cloud: str, tmp_path: Path) -> None:
    (text,) = re.findall(r"^```yaml\n(config:.*?)^```$", (ROOT / f"{page}.md").read_text(), re.MULTILINE | re.DOTALL)
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(text)
    settings = from_stack_file(str(file))
    assert settings.cloud == cloud
    assert "t4-1" in {pool.name for pool in settings.gpu_pools}, "the pool whose job the page runs"
    assert refused_by_the_gate(file) == set()


@pytest.mark.parametrize("name", ["aks-company", "aks-research", "aks-train-infer"])
def test_an_example_passes_as_the_stack_of_the_install_page(name: str, tmp_path: Path) -> None:
    """The page of AKS has people copy any of these over ``Pulumi.dev.yaml``."""
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text((ROOT / f"examples/{name}.yaml").read_text())
    assert refused_by_the_gate(file) == set()


def refused_by_the_gate(file: Path) -> set[str]:
    """The mandatory rules of ``policies/config/dev.json`` that the program with this stack file breaks."""
    gate = OfflineGate.of_file(file_for("dev"))
    violations = gate.violations(declared.declarations(run_program(file)))
    return {rule for rule, _, mandatory in violations if mandatory}


@pytest.mark.parametrize("cloud", ["gke", "eks", "aks"])
def test_an_install_page_names_the_price_of_its_stack_file(cloud: str, tmp_path: Path) -> None:
    page = (ROOT / f"docs/install-{cloud}.md").read_text()
    (text,) = re.findall(r"^```yaml\n(config:.*?)^```$", page, re.MULTILINE | re.DOTALL)
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text(text)
    price = cost(from_stack_file(str(file)))
    assert f"${price['idleHourlyUsd']:.2f} an hour when idle" in page
    assert f"${price['maxHourlyUsd']:.2f} at maximum" in page


def test_the_install_pages_have_the_same_steps() -> None:
    steps = {
        cloud: re.findall(r"^## (.+)$", (ROOT / f"docs/install-{cloud}.md").read_text(), re.M)
        for cloud in ("gke", "eks", "aks")
    }
    assert steps["gke"] == steps["eks"] == steps["aks"]
    assert len(steps["gke"]) == 11


def test_what_is_wrong_with_a_page_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `two`\n\n[a](#one-two) [b](#three) [c](none.md) [d](page.md#one-two)\n\n```\n[e](no.md)\n```\n"
    )
    assert broken_links(page) == ["#three", "none.md"]
    assert anchors("# A\n## A\n### `x`, y\n") == {"a", "a-1", "x-y"}
    assert long_cells(f"| {'a' * 120} | {'b' * 121} |\n") == ["b" * 121]


LINKED_ONLY = ("packages/proof/docs/", "packages/rehearsal/docs/", "packages/machines/", "docs/adr/0")
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


@pytest.mark.parametrize("diagram", sorted((ROOT / "docs" / "diagrams").glob("*.svg")), ids=lambda file: file.stem)
def test_a_diagram_has_a_dark_colour_for_each_light_one(diagram: Path) -> None:
    text = diagram.read_text(encoding="utf-8")
    style = text.partition("<style>")[2].partition("</style>")[0]
    light, _, dark = style.partition("@media (prefers-color-scheme: dark)")
    coloured = {name for name, rule in re.findall(r"([.\w]+) \{([^}]*)\}", light) if "#" in rule}
    # Those of attributes: the ground and the heads of the arrows.
    attributes = re.findall(r"<\w+ ([^>]*(?:fill|stroke)=\"#[^>]*)>", text)
    coloured |= {f".{name}" for each in attributes for name in re.findall(r'class="(\w+)"', each)}
    assert all("class=" in each for each in attributes)
    assert {".ground", ".tip", ".box", "text"} <= coloured
    assert coloured <= {name for name, rule in re.findall(r"([.\w]+) \{([^{}]*)\}", dark) if "#" in rule}
